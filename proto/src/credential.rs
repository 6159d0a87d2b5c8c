//! What a client presents to a guarded service: a bearer token.

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// Largest file of a token, in bytes.
const MAX_FILE_BYTES: u64 = 4_096;

/// The token of a client, sent with each call. `Debug` leaves a token out.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Credential {
    /// None; for services on loopback and private networks.
    #[default]
    None,
    /// The token in a file, which is read for each call, so that a new token counts at once.
    File(PathBuf),
    /// A token.
    Text(String),
}

impl Credential {
    /// The token, if there is one. The error names the file.
    pub fn token(&self) -> Result<Option<String>, String> {
        let path = match self {
            Self::None => return Ok(None),
            Self::Text(token) => return Ok(Some(token.clone())),
            Self::File(path) => path,
        };
        let failed = |problem: &dyn fmt::Display| {
            format!("token file {} cannot be read: {problem}", path.display())
        };
        let unread = |error: std::io::Error| {
            failed(&format_args!("{error}; `ouro token create` writes one"))
        };
        if !fs::metadata(path).map_err(unread)?.is_file() {
            return Err(failed(&"it is not a regular file; name a file"));
        }
        let mut text = String::new();
        let file = File::open(path).map_err(unread)?;
        file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(unread)?;
        Ok(Some(text.trim().to_owned()))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(_) => f.debug_tuple("Text").finish_non_exhaustive(),
        }
    }
}

impl Interceptor for Credential {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = self.token().map_err(Status::unauthenticated)? {
            let value = MetadataValue::try_from(format!("Bearer {token}"));
            let mut value = value
                .map_err(|_| Status::unauthenticated("the token has unprintable characters"))?;
            value.set_sensitive(true);
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(credential: &mut Credential) -> Result<Option<String>, String> {
        let request = credential.call(Request::new(())).map_err(|s| s.message().to_owned())?;
        let value = request.metadata().get("authorization");
        Ok(value.map(|value| value.to_str().unwrap().to_owned()))
    }

    #[test]
    fn a_token_is_sent_and_a_new_one_in_the_file_counts_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert_eq!(sent(&mut Credential::None), Ok(None));
        let mut text = Credential::Text("a.0".to_owned());
        assert_eq!(sent(&mut text), Ok(Some("Bearer a.0".to_owned())));
        assert!(!format!("{text:?}").contains("a.0"));
        let mut file = Credential::File(path.clone());
        let error = sent(&mut file).unwrap_err();
        assert!(error.contains("token file ") && error.contains("ouro token create"), "{error}");
        for token in ["a.1", "a.2"] {
            fs::write(&path, format!("{token}\n")).unwrap();
            assert_eq!(sent(&mut file), Ok(Some(format!("Bearer {token}"))));
        }
        fs::write(&path, "a\nb").unwrap();
        assert!(sent(&mut file).is_err());
        let error = sent(&mut Credential::File(folder.path().to_owned())).unwrap_err();
        assert!(error.ends_with(": it is not a regular file; name a file"), "{error}");
    }
}
