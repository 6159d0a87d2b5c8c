//! Compiles the .proto files with protox, so that no protoc need be installed.

use std::path::PathBuf;

const FILES: &[&str] = &["ouro/arena/v1/arena.proto", "ouro/learner/v1/learner.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    tonic_prost_build::configure()
        .bytes(".")
        .file_descriptor_set_path(out.join("ouro.bin"))
        .compile_fds(descriptors)?;
    Ok(())
}
