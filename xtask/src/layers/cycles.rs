//! Limits import cycles, the strongly connected components of a crate's import graph.
//!
//! At most three files of a crate may import each other, directly or through other files. The
//! imports of a file are its `use` lines and its paths from `crate`, `self` or `super`. Each import
//! leads to the file that defines or re-exports the name. Test modules do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::generated::sources;

/// Maximum number of files that may import each other.
const LARGEST_CYCLE: usize = 3;

/// The path of a module from the root of its crate; empty for the root itself.
type Module = Vec<String>;

/// The modules that each module imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// One line for each cycle of more than [`LARGEST_CYCLE`] files in the crates under `root`.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut folders = vec![root.to_owned()];
    folders.extend(fs::read_dir(root.join("crates"))?.flatten().map(|entry| entry.path()));
    folders.extend(fs::read_dir(root)?.flatten().map(|entry| entry.path()));
    folders.sort();
    let mut problems = Vec::new();
    for folder in folders.into_iter().map(|folder| folder.join("src")) {
        let name = folder.strip_prefix(root)?.display().to_string();
        for cycle in cycles(&imports(&texts(&folder)?)) {
            let (count, files) = (cycle.len(), cycle.join(", "));
            problems.push(format!(
                "{name}: {count} files import each other: {files}; move what they share into a \
                 file of its own, or import it from the file that defines it"
            ));
        }
    }
    Ok(problems)
}

/// The code of each module in a folder, without comments and tests.
fn texts(folder: &Path) -> Result<BTreeMap<Module, String>> {
    let mut texts = BTreeMap::new();
    for file in sources(folder)? {
        let path = file.strip_prefix(folder)?.with_extension("");
        let mut module: Module =
            path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        if module.iter().any(|name| ["tests", "testing", "bin"].contains(&name.as_str())) {
            continue;
        }
        if module == ["lib"] || module == ["main"] {
            module.clear();
        }
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        texts.entry(module).or_insert_with(String::new).push_str(&code(&text));
    }
    Ok(texts)
}

/// The code without line comments and without the test module at the end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let text: String = lines.map(|line| line.to_owned() + "\n").collect();
    // `pub(in path)` names a module without importing it.
    let mut parts = text.split("pub(in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + part.split_once(')').map_or(part, |(_, rest)| rest))
}

fn imports(texts: &BTreeMap<Module, String>) -> Imports {
    let paths = |module: &Module, text: &str| {
        let mut found = BTreeSet::new();
        for (start, _) in text.match_indices("use ") {
            let is_word = text[..start].ends_with(|before: char| before.is_whitespace());
            if start > 0 && !is_word {
                continue;
            }
            let tree = text[start + 4..].split(';').next().unwrap_or_default();
            let tree: String = tree.split_whitespace().collect::<Vec<_>>().join(" ");
            found.extend(leaves(&tree).iter().filter_map(|path| resolve(texts, module, path)));
        }
        for root in ["crate::", "self::", "super::"] {
            for (start, _) in text.match_indices(root) {
                let is_path = |one: char| one.is_alphanumeric() || one == '_' || one == ':';
                let path: String = text[start..].chars().take_while(|one| is_path(*one)).collect();
                // A path that ends before a brace belongs to a `use` line, which is handled above.
                let is_whole = !text[..start].ends_with(is_path) && !path.ends_with(':');
                found.extend(is_whole.then(|| resolve(texts, module, &path)).flatten());
            }
        }
        found.remove(module);
        found
    };
    texts.iter().map(|(module, text)| (module.clone(), paths(module, text))).collect()
}

/// The full paths of a `use` tree, one per imported name.
fn leaves(tree: &str) -> Vec<String> {
    let Some((prefix, inner)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for one in inner.chars() {
        match one {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(one);
        }
    }
    let within = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    within.flat_map(leaves).map(|leaf| format!("{}{leaf}", prefix.trim())).collect()
}

/// The module that a path in `module` leads to; `None` if the path starts outside the crate.
fn resolve(texts: &BTreeMap<Module, String>, module: &Module, path: &str) -> Option<Module> {
    let mut names = path.split("::").peekable();
    let mut at = module.clone();
    match names.peek()? {
        &"crate" => at.clear(),
        &("self" | "super") => {}
        first => {
            let child = [&module[..], &[(*first).to_owned()]].concat();
            texts.contains_key(&child).then_some(())?;
        }
    }
    for name in names {
        match name {
            "crate" | "self" => continue,
            "super" => {
                at.pop();
                continue;
            }
            _ => {}
        }
        at.push(name.to_owned());
        if !texts.contains_key(&at) {
            at.pop();
            break;
        }
    }
    Some(at)
}

/// The cycles of more than [`LARGEST_CYCLE`] files.
fn cycles(imports: &Imports) -> Vec<Vec<String>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reachable(imports, module))).collect();
    let mut cycles = BTreeSet::new();
    for (module, behind) in &reached {
        let cycle: Vec<String> = behind
            .iter()
            .filter(|other| reached.get(**other).is_some_and(|back| back.contains(*module)))
            .map(|module| if module.is_empty() { "lib".to_owned() } else { module.join("/") })
            .collect();
        if cycle.len() > LARGEST_CYCLE {
            cycles.insert(cycle);
        }
    }
    cycles.into_iter().collect()
}

fn reachable<'a>(imports: &'a Imports, from: &Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = imports.get(from).into_iter().flatten().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(imports.get(module).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cycles of a crate with these files.
    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let texts = files.iter().map(|(name, text)| {
            let module = name.split('/').filter(|name| *name != "lib").map(str::to_owned);
            (module.collect(), code(text))
        });
        cycles(&imports(&texts.collect()))
    }

    #[test]
    fn four_files_in_a_cycle_are_named() {
        let files = [
            ("lib", "mod a;\nmod b;\npub use a::A;"),
            ("a", "mod c;\nuse crate::b::{self, B};"),
            ("b", "fn f() -> crate::a::c::C { todo!() }"),
            ("a/c", "use super::super::{\n    A,\n    b::{B},\n};"),
        ];
        assert_eq!(found(&files), [["lib", "a", "a/c", "b"]]);
    }

    #[test]
    fn imports_in_one_direction_and_in_tests_and_comments_are_no_cycle() {
        let files = [
            ("lib", "mod a;\nmod b;\nmod c;\nmod d;\npub use a::A;"),
            ("a", "use crate::b::B; // not crate::A"),
            ("b", "use crate::c::C;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}"),
            ("c", "use crate::d::D;\npub(in crate::a) struct C;"),
            ("d", "use std::fmt;"),
        ];
        assert_eq!(found(&files), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_cycle_that_is_planted_in_the_workspace_is_named() {
        let root = crate::shell::root();
        assert_eq!(problems(&root).expect("the sources"), [""; 0]);
        let mut texts = texts(&root.join("crates/net/src")).expect("the sources");
        assert!(cycles(&imports(&texts)).is_empty());
        for text in texts.values_mut() {
            text.push_str("use crate::Weights;");
        }
        assert_eq!(cycles(&imports(&texts)).len(), 1);
    }
}
