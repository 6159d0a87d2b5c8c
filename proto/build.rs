//! Compiles the .proto files with protox, so that no protoc need be installed.

use std::path::PathBuf;

use prost::Message;

const FILES: &[&str] =
    &["ouro/arena/v1/arena.proto", "ouro/arena/v1/pool.proto", "ouro/learner/v1/learner.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    // Only the path that runs protoc writes descriptors by itself.
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("ouro.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}
