//! Small disks that can be filled.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::network::run;

/// Size of a disk: more than a run of an hour writes.
const SIZE: &str = "size=256m";
/// Name of the file that fills a disk.
const FILLER: &str = "filler";

/// A file system in memory. Dropping it unmounts it.
#[derive(Debug)]
pub(crate) struct Disk(PathBuf);

impl Disk {
    /// Mounts a disk at a folder, which is created.
    pub(crate) fn mount(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        run(Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(folder))?;
        Ok(Self(folder.to_owned()))
    }

    /// Fills the disk to its last byte.
    pub(crate) fn fill(&self) -> Result<()> {
        let path = self.0.join(FILLER);
        let mut file = File::create(&path).context("cannot fill the disk")?;
        for size in [1 << 20, 4_096, 1] {
            let bytes = vec![0; size];
            loop {
                match file.write(&bytes) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => bail!("cannot fill the disk: {error}"),
                }
            }
        }
        Ok(())
    }

    /// Makes space again.
    pub(crate) fn empty(&self) -> Result<()> {
        fs::remove_file(self.0.join(FILLER)).context("the disk was filled")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, because a process that is being killed may still have files open.
        let _ = run(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}
