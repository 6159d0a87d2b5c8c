//! The programs of the three services.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of the programs. Testing the whole workspace builds all of them; testing
/// this crate alone builds only `ouro`.
pub(crate) fn programs() -> PathBuf {
    let ouro = Path::new(env!("CARGO_BIN_EXE_ouro"));
    let folder = ouro.parent().expect("a program lies in a folder").to_owned();
    let services = ["ouro-arena", "ouro-learner", "ouro-actor"];
    if services.iter().any(|name| !folder.join(name).exists()) {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--bins"]);
        let built = build.args(services.iter().flat_map(|name| ["-p", name])).status();
        assert!(built.expect("cargo runs").success(), "the services can be built");
    }
    folder
}
