//! What the store and the weights folder need of a disk.

use std::fs::File;
use std::io;
use std::path::Path;

/// Makes the names in a folder durable. Windows cannot open folders and relies on the rename alone.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
