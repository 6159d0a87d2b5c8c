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

/// The modules of `proto` that hold nothing but generated code, each in a module `v1`.
const MODULES: [&str; 3] = ["arena", "learner", "service"];

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
        if exports(&fs::read_to_string(&file)?) {
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

/// The generated path or module that a source names outside its test module, if any.
fn generated(text: &str) -> Option<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = without_comments(code);
    let compact: String = code.split_whitespace().collect();
    let path = GENERATED.iter().find(|path| compact.contains(**path));
    path.map(|path| (*path).to_owned()).or_else(|| imported(&code))
}

/// What an import of `proto` gives another name or brings into scope, if it is a generated module or
/// the crate itself. Another name would hide the paths of [`GENERATED`].
fn imported(code: &str) -> Option<String> {
    code.split(';').find_map(|item| {
        let (_, path) =
            item.split_once("use ouro_proto").or_else(|| item.split_once("use ::ouro_proto"))?;
        let names = words(path);
        let module = names.iter().find(|name| MODULES.contains(name));
        match (module, &names[..]) {
            (Some(module), _) => Some(format!("ouro_proto::{module}")),
            (None, ["as", ..] | ["self", "as", ..]) => Some("ouro_proto as".to_owned()),
            (None, _) => None,
        }
    })
}

/// Whether a source of `proto` exports generated types or modules under another name.
fn exports(text: &str) -> bool {
    let code = without_comments(text);
    code.split(';').any(|item| {
        let path = item.split_once("pub use ").or_else(|| item.split_once("pub type "));
        path.is_some_and(|(_, path)| {
            words(path).iter().any(|name| *name == "v1" || MODULES.contains(name))
        })
    })
}

/// Code without comments.
fn without_comments(text: &str) -> String {
    let code = |line: &str| format!("{}\n", line.split("//").next().unwrap_or_default());
    text.lines().map(code).collect()
}

/// The identifiers and keywords of a piece of code.
fn words(code: &str) -> Vec<&str> {
    let words = code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty()).collect()
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
            // Other names for a module or for the crate.
            "use ouro_proto::learner as wire;\nfn f(_: wire::v1::Ack) {}",
            "use ouro_proto::{\n    Hello,\n    service as wire,\n};\nfn f(_: wire::v1::Role) {}",
            "use ouro_proto::{Hello, arena};\nuse arena as wire;\nfn f(_: wire::v1::Event) {}",
            "use ouro_proto::{Hello, service::{v1}};\nfn f(_: v1::Role) {}",
            "use ::ouro_proto::{self as proto};\nuse proto::learner as wire;",
        ];
        for text in planted {
            let found = found("actor/src/push.rs", text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with("actor/src/push.rs names generated types"), "{found:?}");
        }
        for text in [
            "pub use learner::v1::Ack;",
            "pub use learner::v1 as wire;",
            "pub use self::{arena::v1, push::RefusedGame};",
            "pub use learner as wire;",
            "pub use learner::*;",
            "pub type Ack = learner::v1::Ack;",
        ] {
            let exported = found("proto/src/lib.rs", text);
            let expected = "proto/src/lib.rs exports generated types under another name";
            assert_eq!(exported, [expected], "{text}");
        }
        let own = "pub mod learner;\npub use arena_client::ArenaClient;\nuse crate::arena::v1;\n\
                   impl From<&Ack> for v1::Ack {}\n";
        assert_eq!(found("proto/src/lib.rs", own), [""; 0]);
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
        let own = "use ouro_proto::pool;\nuse crate::service as own;\nfn f(arena: u8) -> u32 {\n    \
                   arena as u32\n}\n";
        assert_eq!(found("actor/src/push.rs", own), [""; 0]);
    }
}
