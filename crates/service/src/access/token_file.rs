//! The file of tokens that a service accepts.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::identity::includes;
use super::role::Role;
use super::token::{Token, TokenError, check_name, is_hex};
use crate::files::{read_regular, sync_folder};

/// Largest tokens file, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Seconds of a day.
const DAY: u64 = 86_400;
/// First lines of the file.
const HEADER: &str = "# Tokens of a run. `ouro token` edits this file; services read it again when \
                      it changes.\n# It holds hashes of secrets, no secrets. Times are seconds since \
                      1970.\n";

/// The tokens that a service accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenFile {
    /// The tokens. A name may have several, which all have its role.
    #[serde(default, rename = "token")]
    pub tokens: Vec<StoredToken>,
}

/// A token as services know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredToken {
    /// Name of the holder.
    pub name: String,
    /// What the holder is.
    pub role: Role,
    /// SHA-256 of the secret, in hexadecimal digits.
    pub sha256: String,
    /// When it was created, in seconds since 1970.
    pub created: u64,
    /// When it expires, in seconds since 1970; it does not if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// Why a tokens file cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file cannot be read or written.
    #[error("cannot {action} tokens file {path}: {source}{}", remedy(action, source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is not one of tokens.
    #[error("tokens file {path}: {problem}; correct or remove it")]
    Content {
        /// The file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// The name has a token of another role.
    #[error("{name} is {known} already; choose another name, or revoke {name} first")]
    OtherRole {
        /// The name.
        name: String,
        /// Its role.
        known: Role,
    },
    /// A token of one name could act under the other name.
    #[error(
        "a token of actor {wide} may also act as {narrow}, so only one of the two may have tokens; choose \
         another name, or revoke the other"
    )]
    Overlap {
        /// The shorter name.
        wide: String,
        /// The longer name.
        narrow: String,
    },
    /// No token has the name.
    #[error("{0} has no token; `ouro token list` names those that have one")]
    Unknown(String),
    /// The token cannot be made.
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// What to do about a tokens file that cannot be read or written.
fn remedy(action: &str, source: &io::Error) -> &'static str {
    match (action, source.kind()) {
        ("read", io::ErrorKind::NotFound) => {
            "; check the path, or make the file with `ouro token create`"
        }
        // The error of what is no file names its remedy.
        ("read", io::ErrorKind::Other) => "",
        ("read", _) => "; name a tokens file that this user may read",
        _ => "; free space, or name a file in a folder that exists and that this user may write to",
    }
}

/// Held while a process reads, changes and replaces a tokens file. Without it, two processes that do so at
/// once would keep the change of one only.
#[derive(Debug)]
pub struct TokenFileLock {
    /// The folder of the tokens file. A replacement is a new file, so the file itself cannot be locked.
    _folder: Option<fs::File>,
}

impl TokenFile {
    /// Waits until no other process holds the lock of the tokens file at `path`, and takes it.
    ///
    /// Some systems cannot lock a folder. There, users must run one command at a time.
    pub fn lock(path: &Path) -> TokenFileLock {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::File::open(folder.unwrap_or(Path::new("."))).ok();
        TokenFileLock { _folder: folder.filter(|folder| folder.lock().is_ok()) }
    }

    /// The file that [`save`](Self::save) writes first and then renames to `path`.
    pub fn draft(path: &Path) -> PathBuf {
        path.with_added_extension("new")
    }

    /// Reads the file at `path`.
    pub fn load(path: &Path) -> Result<Self, TokenFileError> {
        let content =
            |problem| TokenFileError::Content { path: path.display().to_string(), problem };
        let bytes =
            read_regular(path, MAX_BYTES).map_err(|source| io_error("read", path, source))?;
        let text = String::from_utf8(bytes).map_err(|_| content("it is not text".to_owned()))?;
        let file: Self = toml::from_str(&text).map_err(|error| {
            content(error.message().split_whitespace().collect::<Vec<_>>().join(" "))
        })?;
        file.check().map_err(content)?;
        Ok(file)
    }

    /// Reads the file at `path`; a missing file holds no token.
    pub fn load_or_empty(path: &Path) -> Result<Self, TokenFileError> {
        match Self::load(path) {
            Err(TokenFileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            other => other,
        }
    }

    /// Replaces the file at `path`. A reader sees the old content or the new one. The file keeps its mode
    /// and its owner, whatever the umask: services of another user must be able to read it.
    ///
    /// A link to the file stays, and its target is replaced.
    pub fn save(&self, path: &Path) -> Result<(), TokenFileError> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let path = &*target;
        let text = toml::to_string(self).map_err(|error| TokenFileError::Content {
            path: path.display().to_string(),
            problem: error.to_string(),
        })?;
        let replace = || -> io::Result<()> {
            let new = Self::draft(path);
            // One that a crash left may not be writable.
            match fs::remove_file(&new) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = fs::File::create_new(&new)?;
            file.write_all(HEADER.as_bytes())?;
            file.write_all(text.as_bytes())?;
            keep_access(&file, path)?;
            file.sync_all()?;
            fs::rename(&new, path)?;
            // A token that was revoked must not be valid again after a loss of power.
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            sync_folder(parent.unwrap_or(Path::new(".")))
        };
        replace().map_err(|source| io_error("write", path, source))
    }

    /// Adds a new token, which expires after `days` if given, and returns it. A name may have
    /// several tokens, so that its holder can change from one to the next.
    pub fn create(
        &mut self,
        name: &str,
        role: Role,
        days: Option<u32>,
    ) -> Result<Token, TokenFileError> {
        if let Some(known) = self.tokens.iter().find(|one| one.name == name && one.role != role) {
            return Err(TokenFileError::OtherRole { name: name.to_owned(), known: known.role });
        }
        // One more token of a name adds no overlap: tokens of an older file can be renewed.
        if role == Role::Actor && self.tokens.iter().all(|one| one.name != name) {
            self.check_overlap(name)?;
        }
        let token = Token::create(name)?;
        let created = now();
        self.tokens.push(StoredToken {
            name: name.to_owned(),
            role,
            sha256: token.digest(),
            created,
            expires: days.map(|days| created + u64::from(days) * DAY),
        });
        Ok(token)
    }

    /// Refuses a name for an actor that a token of another actor includes, or that includes another.
    fn check_overlap(&self, name: &str) -> Result<(), TokenFileError> {
        for token in self.tokens.iter().filter(|token| token.role == Role::Actor) {
            for (wide, narrow) in [(&*token.name, name), (name, &*token.name)] {
                if wide != narrow && includes(wide, narrow) {
                    let (wide, narrow) = (wide.to_owned(), narrow.to_owned());
                    return Err(TokenFileError::Overlap { wide, narrow });
                }
            }
        }
        Ok(())
    }

    /// Removes the tokens of `name`, except the newest if `keep_newest`. Returns how many went.
    pub fn revoke(&mut self, name: &str, keep_newest: bool) -> Result<usize, TokenFileError> {
        let of_name = |one: &StoredToken| one.name == name;
        let newest = self.tokens.iter().rposition(of_name);
        let newest = newest.ok_or_else(|| TokenFileError::Unknown(name.to_owned()))?;
        let before = self.tokens.len();
        let mut index = 0;
        self.tokens.retain(|one| {
            let stays = !of_name(one) || (keep_newest && index == newest);
            index += 1;
            stays
        });
        Ok(before - self.tokens.len())
    }

    /// Names of actors of which the first may act as the second. [`create`](Self::create) makes none, but
    /// a file from before or from an editor may have them.
    pub(super) fn overlap(&self) -> Option<(&str, &str)> {
        let actors = self.tokens.iter().filter(|token| token.role == Role::Actor);
        let names: BTreeSet<&str> = actors.map(|token| token.name.as_str()).collect();
        names.iter().find_map(|&narrow| {
            let mut prefixes = narrow.match_indices('.').map(|(dot, _)| &narrow[..dot]);
            Some((prefixes.find(|prefix| names.contains(prefix))?, narrow))
        })
    }

    /// The problem with the content, if there is one.
    fn check(&self) -> Result<(), String> {
        for (index, token) in self.tokens.iter().enumerate() {
            check_name(&token.name).map_err(|error| error.to_string())?;
            let name = &token.name;
            if token.sha256.len() != 64 || !is_hex(&token.sha256) {
                return Err(format!("sha256 of {name} is not 64 lower-case hexadecimal digits"));
            }
            let other = self.tokens[..index].iter().find(|one| one.name == *name);
            if other.is_some_and(|other| other.role != token.role) {
                return Err(format!("{name} has two roles"));
            }
        }
        Ok(())
    }
}

impl StoredToken {
    /// Whether the token has expired at `now`, in seconds since 1970.
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> TokenFileError {
    TokenFileError::Io { action, path: path.display().to_string(), source }
}

/// Gives a new file the mode and the owner of the file at `path`. Without such a file everybody may read
/// it: it has no secrets.
#[cfg(unix)]
fn keep_access(file: &fs::File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let Ok(known) = fs::metadata(path) else {
        return file.set_permissions(fs::Permissions::from_mode(0o644));
    };
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (known.uid(), known.gid()) {
        // Only root can. For others, the mode decides who can read the file.
        let _ = fchown(file, Some(known.uid()), Some(known.gid()));
    }
    file.set_permissions(known.permissions())
}

#[cfg(not(unix))]
fn keep_access(_: &fs::File, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn the_target_of_a_link_is_replaced_and_a_file_named_new_keeps_its_mode() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [target, link, named] =
            ["real.toml", "tokens.toml", "tokens.new"].map(|name| folder.path().join(name));
        TokenFile::default().save(&target).unwrap();
        symlink(&target, &link).unwrap();
        let mut file = TokenFile::default();
        file.create("gpu", Role::Actor, None).unwrap();
        file.save(&link).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(TokenFile::load(&target).unwrap(), file);
        TokenFile::default().save(&named).unwrap();
        fs::set_permissions(&named, fs::Permissions::from_mode(0o604)).unwrap();
        file.save(&named).unwrap();
        assert_eq!(fs::metadata(&named).unwrap().permissions().mode() & 0o777, 0o604);
    }

    #[test]
    #[cfg(unix)]
    fn a_replaced_file_keeps_its_mode_and_a_new_one_can_be_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let mut file = TokenFile::default();
        file.save(&path).unwrap();
        assert_eq!(mode(), 0o644);
        for kept in [0o604, 0o444] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            file.create("gpu", Role::Actor, None).unwrap();
            // As after a crash before the rename.
            let left = folder.path().join("tokens.new");
            fs::write(&left, "half").unwrap();
            fs::set_permissions(&left, fs::Permissions::from_mode(0o400)).unwrap();
            file.save(&path).unwrap();
            assert_eq!((mode(), TokenFile::load(&path).unwrap()), (kept, file.clone()));
        }
    }

    #[test]
    fn tokens_are_created_revoked_and_read_back_without_their_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let mut file = TokenFile::load_or_empty(&path).unwrap();
        let first = file.create("gpu", Role::Actor, None).unwrap();
        let second = file.create("gpu", Role::Actor, Some(2)).unwrap();
        file.create("me", Role::Reader, None).unwrap();
        file.save(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for token in [&first, &second] {
            assert!(text.contains(&token.digest()) && !text.contains(&token.reveal()));
        }
        let mut read = TokenFile::load(&path).unwrap();
        assert_eq!(read, file);
        let expires = read.tokens[1].expires.unwrap();
        assert_eq!(expires, read.tokens[1].created + 2 * DAY);
        assert!(read.tokens[1].is_expired(expires) && !read.tokens[1].is_expired(expires - 1));
        assert!(!read.tokens[0].is_expired(u64::MAX));

        assert_eq!(read.revoke("gpu", true).unwrap(), 1);
        assert_eq!(read.tokens[0].sha256, second.digest(), "the newest stays");
        assert_eq!(read.revoke("gpu", false).unwrap(), 1);
        assert_eq!(read.tokens.len(), 1);
        let error = read.revoke("gpu", false).unwrap_err().to_string();
        assert!(error.starts_with("gpu has no token; `ouro token list` "), "{error}");
        let other = read.create("me", Role::Admin, None).unwrap_err().to_string();
        assert!(other.starts_with("me is reader already; "), "{other}");
    }

    #[test]
    fn no_two_actors_get_tokens_if_one_may_act_as_the_other() {
        let mut file = TokenFile::default();
        file.create("gpu", Role::Actor, None).unwrap();
        file.create("lab.a.1", Role::Actor, None).unwrap();
        for (name, wide, narrow) in [("gpu.1", "gpu", "gpu.1"), ("lab.a", "lab.a", "lab.a.1")] {
            let error = file.create(name, Role::Actor, None).unwrap_err().to_string();
            let expected = format!("a token of actor {wide} may also act as {narrow}, ");
            assert!(error.starts_with(&expected), "{error}");
        }
        // Roles without names of actors, names that only begin alike, and a second token of a name.
        file.create("gpu.2", Role::Reader, None).unwrap();
        for name in ["gpus", "lab.a.2", "gpu"] {
            file.create(name, Role::Actor, None).unwrap();
        }
        assert_eq!(file.overlap(), None);
        // A file from before is read, and its tokens can be renewed and revoked.
        file.tokens[1].name = "gpu.3".to_owned();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        file.save(&path).unwrap();
        let mut read = TokenFile::load(&path).unwrap();
        assert_eq!(read.overlap(), Some(("gpu", "gpu.3")));
        read.create("gpu.3", Role::Actor, None).unwrap();
        read.revoke("gpu.3", false).unwrap();
        assert_eq!(read.overlap(), None);
    }

    #[test]
    fn a_file_of_something_else_is_refused_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let hash = "0".repeat(64);
        let token = |name: &str, role: &str, sha256: &str| {
            format!(
                "[[token]]\nname = \"{name}\"\nrole = \"{role}\"\nsha256 = \"{sha256}\"\ncreated = 1\n"
            )
        };
        let two_roles = token("a", "actor", &hash) + &token("a", "admin", &hash);
        for (content, problem) in [
            ("\u{7f}[[".to_owned(), "tokens file "),
            ("[[token]]\nname = 3".to_owned(), "invalid type"),
            (token("a", "king", &hash), "unknown variant `king`"),
            (token("a b", "actor", &hash), "is not a name"),
            (token("a", "actor", "1"), "sha256 of a is not"),
            (token("a", "actor", &hash) + "secret = 1\n", "unknown field `secret`"),
            (two_roles, "a has two roles"),
        ] {
            fs::write(&path, content).unwrap();
            let error = TokenFile::load(&path).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains('\n'), "{error}");
            assert!(error.ends_with("; correct or remove it"), "{error}");
        }
        for (path, parts) in [
            (folder.path().to_owned(), ["tokens file", "it is a folder; name a file"]),
            (folder.path().join("none"), ["No such file", "`ouro token create`"]),
        ] {
            let error = TokenFile::load(&path).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        let below = folder.path().join("none/tokens.toml");
        let error = TokenFile::default().save(&below).unwrap_err().to_string();
        assert!(error.contains("in a folder that exists"), "{error}");
    }

    #[test]
    fn changes_under_the_lock_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let _lock = TokenFile::lock(path);
                    let mut file = TokenFile::load_or_empty(path).unwrap();
                    file.create(&format!("actor-{number}"), Role::Actor, None).unwrap();
                    file.save(path).unwrap();
                });
            }
        });
        // Windows cannot lock folders.
        if cfg!(unix) {
            assert_eq!(TokenFile::load(&path).unwrap().tokens.len(), 8);
        }
    }
}
