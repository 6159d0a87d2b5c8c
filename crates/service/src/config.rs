//! Reads a TOML file into a typed configuration.
//!
//! Configuration is read before any port is bound. Types should carry
//! `#[serde(deny_unknown_fields)]`, so that a misspelt key is named instead of ignored.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// Why a configuration file is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFileError {
    /// The file cannot be read.
    #[error("cannot read config {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not TOML, misses a key, or has one that is unknown.
    #[error("config {} is not valid: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, column and reason.
        source: Box<toml::de::Error>,
    },
}

/// Reads `path` as TOML.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<T, ConfigFileError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigFileError::Read { path: path.to_owned(), source })?;
    toml::from_str(&text).map_err(|source| ConfigFileError::Parse {
        path: path.to_owned(),
        source: Box::new(source),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Example {
        games: u32,
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ouro.toml");
        std::fs::write(&path, "games = 3\n").unwrap();
        assert_eq!(load::<Example>(&path).unwrap(), Example { games: 3 });

        std::fs::write(&path, "games = 3\ngame = 4\n").unwrap();
        let message = load::<Example>(&path).unwrap_err().to_string();
        assert!(message.contains("line 2") && message.contains("`game`"), "{message}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = load::<Example>(Path::new("no/such/ouro.toml")).unwrap_err();
        assert!(error.to_string().starts_with("cannot read config no/such/ouro.toml: "));
    }
}
