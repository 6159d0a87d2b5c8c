//! `buf lint` over the .proto files: names, comments, request and response types.
//!
//! buf is an external program, named by `OURO_BUF` or found on the PATH. If it is missing, the step
//! fails when npm could install it or `OURO_REQUIRE_ALL_CHECKS` is set. Otherwise the step reports
//! that it was skipped.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::shell::{self, root, say};

/// Lints the .proto files.
pub(crate) fn run() -> Result<()> {
    let buf = std::env::var_os("OURO_BUF").unwrap_or_else(|| "buf".into());
    let mut command = Command::new(&buf);
    command.current_dir(root().join("proto")).arg("lint");
    if is_installed(&buf) {
        return shell::run(command);
    }
    if is_installed("npm".as_ref()) || std::env::var_os("OURO_REQUIRE_ALL_CHECKS").is_some() {
        bail!("buf is missing; install it (npm install -g @bufbuild/buf) or set OURO_BUF");
    }
    say("NOT RUN: buf and npm are missing; the .proto files are not linted");
    Ok(())
}

/// Whether a program starts and prints its version.
fn is_installed(program: &std::ffi::OsStr) -> bool {
    let quiet =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}
