//! The code in `generated/` is what the .proto files compile to.
//!
//! It is checked in, so that building Ouro needs no .proto compiler. After a change of a .proto
//! file, `OURO_GENERATE=1 cargo test -p ouro-proto --test generated` writes it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use prost::Message;

const FILES: &[&str] = &[
    "ouro/arena/v1/arena.proto",
    "ouro/arena/v1/pool.proto",
    "ouro/learner/v1/learner.proto",
    "ouro/service/v1/process.proto",
];

/// Compiles the .proto files into `folder`.
fn generate(folder: &Path) {
    let root = Path::new("proto");
    // protox is written in Rust, so that protoc need not be installed.
    let descriptors = protox::compile(FILES, [root]).expect("the .proto files compile");
    fs::write(folder.join("ouro.bin"), descriptors.encode_to_vec()).expect("a file");
    tonic_prost_build::configure()
        .bytes(".")
        .out_dir(folder)
        .compile_fds(descriptors)
        .expect("descriptors become code");
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry"));
    let named = entries.map(|entry| {
        let bytes = fs::read(entry.path()).expect("the file");
        (entry.file_name().to_string_lossy().into_owned(), bytes)
    });
    named.collect()
}

#[test]
fn the_generated_code_is_up_to_date() {
    // Tests run in the folder of their crate.
    let folder = Path::new("generated");
    if std::env::var_os("OURO_GENERATE").is_some() {
        generate(folder);
    }
    let scratch = tempfile::tempdir().expect("a folder");
    generate(scratch.path());
    let (known, fresh) = (files(folder), files(scratch.path()));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&known), names(&fresh));
    for (name, bytes) in &fresh {
        assert!(
            known[name] == *bytes,
            "proto/generated/{name} is stale; run \
             OURO_GENERATE=1 cargo test -p ouro-proto --test generated"
        );
    }
}
