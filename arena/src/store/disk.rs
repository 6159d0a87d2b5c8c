//! Disk operations that the store and the weights folder share.

use std::fs::File;
use std::io;
use std::path::Path;

/// Makes the file names in a folder durable. Windows cannot open folders, so there the function
/// does nothing.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
