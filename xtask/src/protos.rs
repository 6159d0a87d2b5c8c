//! `buf lint` over the .proto files: names, comments, request and response types.
//!
//! buf is a program of its own, named by `OURO_BUF` or found on the PATH. Where it is missing the
//! step fails if npm could install it or `OURO_REQUIRE_ALL_CHECKS` is set, and says that it was left
//! out if not.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::shell::{self, root, say};

/// Lints the .proto files.
pub(crate) fn run() -> Result<()> {
    let buf = std::env::var_os("OURO_BUF").unwrap_or_else(|| "buf".into());
    let mut command = Command::new(&buf);
    command.current_dir(root().join("proto")).arg("lint");
    if answers(&buf) {
        return shell::run(command);
    }
    if answers("npm".as_ref()) || std::env::var_os("OURO_REQUIRE_ALL_CHECKS").is_some() {
        bail!("buf is missing; install it (npm install -g @bufbuild/buf) or set OURO_BUF");
    }
    say("NOT RUN: neither buf nor npm is here; the .proto files are not linted");
    Ok(())
}

/// Whether a program starts and tells its version.
fn answers(program: &std::ffi::OsStr) -> bool {
    let quiet =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}
