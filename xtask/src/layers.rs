//! The dependency order of the workspace: no crate depends on a higher layer, burn, tokio and
//! tonic stay in their crates, only `proto` and services name generated types, and no more than
//! three files of a crate import each other.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell::{cargo, root};

mod cycles;
mod generated;

/// The layers, lowest first. A crate may depend on crates of lower layers only.
const LAYERS: &[&[&str]] = &[
    &["ouro-game", "ouro-rating"],
    &["ouro-search", "ouro-net", "ouro-snakgame"],
    &["ouro-maze"],
    &["ouro-replay", "ouro-players", "ouro-tls"],
    &["ouro-bench", "ouro-proto", "ouro-service"],
    &["ouro-settings", "ouro-traces"],
    &["ouro-actor", "ouro-learner", "ouro-arena"],
    &["ouro-cli", "ouro-simulation"],
    // The highest layer, so it can only be a development dependency.
    &["ouro-testkit"],
];

/// Crates outside the order.
const APART: &[&str] = &["xtask"];

/// Bans: crates of the workspace, the external crates that they must never depend on, not even
/// transitively, and the reason.
const BANS: &[(&[&str], &[&str], &str)] = &[
    (
        &[
            "ouro-game",
            "ouro-rating",
            "ouro-search",
            "ouro-net",
            "ouro-maze",
            "ouro-snakgame",
            "ouro-players",
            "ouro-bench",
        ],
        &["tokio", "tonic", "burn-tensor"],
        "the cores are pure",
    ),
    (&["ouro-replay"], &["tokio", "tonic", "prost", "burn-tensor"], "replay is checked alone"),
    (
        &["ouro-proto", "ouro-service", "ouro-actor", "ouro-arena"],
        &["burn-tensor"],
        "burn lives in the learner alone",
    ),
];

/// Normal and build dependencies of every crate in the graph, by name.
type Graph = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn run() -> Result<()> {
    let (own, graph) = workspace()?;
    let mut problems = problems(&own, &graph);
    problems.extend(generated::problems(&root())?);
    problems.extend(cycles::problems(&root())?);
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    Ok(())
}

/// The crates of the workspace, and the dependencies of every crate.
fn workspace() -> Result<(BTreeSet<String>, Graph)> {
    let output = cargo(&["metadata", "--format-version", "1", "--locked"])
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    Ok((own_crates(&metadata)?, graph(&metadata)?))
}

fn problems(own: &BTreeSet<String>, graph: &Graph) -> Vec<String> {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let mut problems = Vec::new();
    for name in own.iter().filter(|name| !APART.contains(&name.as_str())) {
        let Some(level) = layer(name) else {
            problems.push(format!("{name} has no layer; add it to xtask/src/layers.rs"));
            continue;
        };
        for below in graph.get(name).into_iter().flatten().filter(|below| own.contains(*below)) {
            if layer(below).is_none_or(|other| other >= level) {
                problems.push(format!("{name} depends on {below}, which is not below it"));
            }
        }
    }
    for (crates, banned, reason) in BANS {
        for name in crates.iter().filter(|name| own.contains(**name)) {
            let reached = reachable(graph, name);
            for banned in banned.iter().filter(|banned| reached.contains(**banned)) {
                problems.push(format!("{name} reaches {banned}; {reason}"));
            }
        }
    }
    problems
}

fn own_crates(metadata: &Value) -> Result<BTreeSet<String>> {
    let members: BTreeSet<&str> =
        array(metadata, "workspace_members")?.filter_map(Value::as_str).collect();
    Ok(array(metadata, "packages")?
        .filter(|package| package["id"].as_str().is_some_and(|id| members.contains(id)))
        .filter_map(|package| package["name"].as_str().map(str::to_owned))
        .collect())
}

fn graph(metadata: &Value) -> Result<Graph> {
    let names: BTreeMap<&str, &str> = array(metadata, "packages")?
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let mut graph = Graph::new();
    for node in array(&metadata["resolve"], "nodes")? {
        let Some(&name) = node["id"].as_str().and_then(|id| names.get(id)) else { continue };
        let below = graph.entry(name.to_owned()).or_default();
        for dependency in array(node, "deps")? {
            let is_used = array(dependency, "dep_kinds")?.any(|kind| kind["kind"] != "dev");
            let id = dependency["pkg"].as_str().and_then(|id| names.get(id));
            if let (true, Some(id)) = (is_used, id) {
                below.insert((*id).to_owned());
            }
        }
    }
    Ok(graph)
}

fn array<'a>(value: &'a Value, key: &str) -> Result<impl Iterator<Item = &'a Value>> {
    let items = value[key].as_array();
    Ok(items.with_context(|| format!("cargo metadata has no {key}"))?.iter())
}

fn reachable<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> =
        graph.get_key_value(from).map(|(name, _)| name.as_str()).into_iter().collect();
    while let Some(name) = open.pop() {
        for below in graph.get(name).into_iter().flatten() {
            if reached.insert(below.as_str()) {
                open.push(below);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph_of(edges: &[(&str, &[&str])]) -> (BTreeSet<String>, Graph) {
        let graph: Graph = edges
            .iter()
            .map(|(name, below)| {
                ((*name).to_owned(), below.iter().map(|name| (*name).to_owned()).collect())
            })
            .collect();
        let own = graph.keys().filter(|name| name.starts_with("ouro")).cloned().collect();
        (own, graph)
    }

    #[test]
    fn an_arrow_that_points_up_or_sideways_is_named() {
        let (own, graph) = graph_of(&[
            ("ouro-game", &["ouro-net"]),
            ("ouro-net", &[]),
            ("ouro-actor", &["ouro-arena"]),
            ("ouro-arena", &[]),
        ]);
        let found = problems(&own, &graph);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|line| line.contains("ouro-game depends on ouro-net")));
        assert!(found.iter().any(|line| line.contains("ouro-actor depends on ouro-arena")));
    }

    #[test]
    fn burn_reached_through_another_crate_is_named() {
        let (own, graph) = graph_of(&[
            ("ouro-actor", &["helper"]),
            ("helper", &["burn-tensor"]),
            ("burn-tensor", &[]),
        ]);
        assert_eq!(
            problems(&own, &graph),
            ["ouro-actor reaches burn-tensor; burn lives in the learner alone"]
        );
    }

    #[test]
    fn the_testkit_is_a_development_dependency_only() {
        // Development dependencies are not edges of the graph, so any edge is a normal one.
        let (own, graph) = graph_of(&[("ouro-cli", &["ouro-testkit"]), ("ouro-testkit", &[])]);
        assert_eq!(
            problems(&own, &graph),
            ["ouro-cli depends on ouro-testkit, which is not below it"]
        );
    }

    #[test]
    fn a_crate_without_a_layer_is_named() {
        let (own, graph) = graph_of(&[("ouro-new", &[])]);
        assert!(problems(&own, &graph)[0].contains("ouro-new has no layer"));
    }

    #[test]
    fn an_upward_import_that_is_planted_in_the_workspace_is_named() {
        let (own, mut graph) = workspace().expect("cargo metadata");
        let below = graph.get_mut("ouro-replay").expect("it is in the workspace");
        below.insert("ouro-proto".to_owned());
        let found = problems(&own, &graph);
        let planted = "ouro-replay depends on ouro-proto, which is not below it";
        assert!(found.iter().any(|line| line == planted), "{found:?}");
    }

    #[test]
    fn the_workspace_itself_keeps_the_order() {
        run().expect("the layers hold");
    }
}
