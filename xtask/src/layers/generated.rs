//! Generated types stay in `proto`: elsewhere only services name them.
//!
//! Tonic passes generated requests to a service and expects generated responses, so the modules in
//! [`SERVICES`] must name those types. All other code uses domain types, which `proto` converts.
//! Tests may use generated types, because they act as the peer.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The modules that implement or register services: a file, or a folder with a slash.
const SERVICES: &[&str] = &[
    "arena/src/run.rs",
    "arena/src/service/",
    "arena/src/simulation.rs",
    "learner/src/learner.rs",
    "learner/src/learner/simulation.rs",
    "learner/src/service.rs",
    "learner/src/service/",
];

/// The folders with code that must not name generated types.
const FOLDERS: &[&str] = &["actor/src", "arena/src", "cli/src", "crates", "learner/src"];

/// Paths of generated modules, without spaces.
const GENERATED: &[&str] = &[
    "ouro_proto::arena::",
    "ouro_proto::learner::",
    "ouro_proto::service::",
    "arena::v1",
    "learner::v1",
    "service::v1",
    "{arena::{",
    ",arena::{",
    "{learner::{",
    ",learner::{",
];

/// A line for each file under `root` that names a generated type and must not.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for folder in FOLDERS {
        for file in sources(&root.join(folder))? {
            let name = file.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            if is_exempt(&name) {
                continue;
            }
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {name}"))?;
            if let Some(path) = generated(&text) {
                problems.push(format!(
                    "{name} names generated types ({path}); convert in proto and use a domain type"
                ));
            }
        }
    }
    for file in sources(&root.join("proto/src"))? {
        let text = fs::read_to_string(&file)?;
        if compact(&text).split(';').any(|line| line.contains("pubuse") && line.contains("v1::")) {
            let name = file.strip_prefix(root)?.display().to_string();
            problems.push(format!("{name} exports generated types under another name"));
        }
    }
    Ok(problems)
}

fn is_exempt(name: &str) -> bool {
    let is_service =
        SERVICES.iter().any(|one| name == *one || (one.ends_with('/') && name.starts_with(one)));
    let is_test = name.contains("/tests/") || name.ends_with("/tests.rs");
    is_service || is_test || name.ends_with("/testing.rs")
}

/// The generated path that a source names outside its test module, if any.
fn generated(text: &str) -> Option<&'static str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = compact(code);
    GENERATED.iter().copied().find(|path| code.contains(path))
}

/// Code without comments and spaces.
fn compact(text: &str) -> String {
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    text.lines().map(code).collect::<String>().split_whitespace().collect()
}

/// Rust files under a folder; none if there is no such folder.
pub(super) fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut open, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of a workspace with one file.
    fn found(name: &str, text: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        problems(root.path()).unwrap()
    }

    #[test]
    fn a_generated_type_outside_proto_is_named_with_its_file() {
        let planted = [
            "use ouro_proto::learner::v1::Ack;",
            "use ouro_proto::{Hello, learner::v1 as wire};",
            "use ouro_proto::{\n    Hello,\n    arena::{v1, other},\n};",
            "fn f() -> ouro_proto::arena::v1::Event { todo!() }",
        ];
        for text in planted {
            let found = found("actor/src/push.rs", text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with("actor/src/push.rs names generated types"), "{found:?}");
        }
        let exported = found("proto/src/lib.rs", "pub use learner::v1::Ack;");
        assert_eq!(exported, ["proto/src/lib.rs exports generated types under another name"]);
    }

    #[test]
    fn services_and_tests_may_name_generated_types() {
        let text = "use ouro_proto::learner::v1::Ack;";
        for name in [
            "learner/src/service.rs",
            "learner/src/service/stream.rs",
            "arena/src/service/pool.rs",
            "actor/src/push/tests.rs",
            "actor/tests/process.rs",
        ] {
            assert_eq!(found(name, text), [""; 0], "{name}");
        }
        let inline = "fn f() {}\n#[cfg(test)]\nmod tests {\n    use ouro_proto::learner::v1;\n}\n";
        assert_eq!(found("actor/src/push.rs", inline), [""; 0]);
        assert_eq!(found("actor/src/push.rs", "// as ouro_proto::learner::v1 says\n"), [""; 0]);
        assert_eq!(found("actor/src/push.rs", "use ouro_proto::arena_client::X;"), [""; 0]);
    }
}
