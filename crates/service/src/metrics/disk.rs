//! Free space of a file system.

use std::path::Path;

/// Bytes that this process may still write to the file system of `path`; `None` if the system does
/// not report them.
pub fn free_bytes(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let file_system = rustix::fs::statvfs(path).ok()?;
        Some(file_system.f_bavail.saturating_mul(file_system.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_has_free_space_and_a_missing_one_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).is_some_and(|bytes| bytes > 0));
        assert_eq!(free_bytes(&folder.path().join("missing")), None);
    }
}
