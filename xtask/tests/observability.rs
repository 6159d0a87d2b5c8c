//! The alerts and the dashboard of `deploy/observability`: they name series that exist, Prometheus
//! accepts them, each alert fires when it should, and the runbook explains each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use ouro_testkit::process::run;
use serde_json::Value;

/// Files with queries.
const QUERIES: [&str; 3] = ["alerts.yml", "alerts.test.yml", "grafana/dashboards/ouro.json"];

/// Samples of a histogram.
const HISTOGRAM: [&str; 3] = ["_bucket", "_sum", "_count"];

/// Reads a file of the workspace. Tests run in the folder of their crate.
fn read(path: &str) -> String {
    let path = Path::new("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn query_file(name: &str) -> String {
    read(&format!("deploy/observability/{name}"))
}

/// The series in `docs/metrics.md` with their types and labels.
fn series() -> BTreeMap<String, (String, Vec<String>)> {
    let page = read("docs/metrics.md");
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        let name = cells.next()?.trim_end_matches('`').to_owned();
        let kind = cells.next()?.to_owned();
        let labels = cells.next()?.split(", ").map(|label| label.trim_matches('`').to_owned());
        Some((name, (kind, labels.collect())))
    });
    rows.collect()
}

/// The words of a text that look like series: `ouro_…` and `process_…`.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_series = |word: &&str| word.starts_with("ouro_") || word.starts_with("process_");
    words.filter(is_series).collect()
}

/// The names of the alerts.
fn alerts() -> BTreeSet<String> {
    let text = query_file("alerts.yml");
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.map(str::to_owned).collect()
}

/// Every query of the dashboard, by the title of its panel.
fn dashboard_queries() -> Vec<(String, String)> {
    let dashboard: Value =
        serde_json::from_str(&query_file("grafana/dashboards/ouro.json")).expect("valid JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let queries = panels.iter().flat_map(|panel| {
        let title = panel["title"].as_str().expect("a title").to_owned();
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        targets.into_iter().map(move |target| {
            (title.clone(), target["expr"].as_str().expect("a query").to_owned())
        })
    });
    queries.collect()
}

/// Runs promtool in the folder of the alerts. `None` if it is not installed.
fn promtool(arguments: &[&str]) -> Option<()> {
    if Command::new("promtool").arg("--version").output().is_err() {
        assert!(!ouro_testkit::requires_all_checks(), "promtool is missing; install prometheus");
        ouro_testkit::not_run("promtool is not installed");
        return None;
    }
    let mut command = Command::new("promtool");
    let ended = run(command.args(arguments).current_dir("../deploy/observability"));
    assert_eq!(ended.code, Some(0), "promtool {arguments:?}: {}{}", ended.stdout, ended.stderr);
    Some(())
}

#[test]
fn every_series_in_a_query_exists() {
    let series = series();
    assert!(series.len() > 40, "docs/metrics.md has a table");
    let exists = |word: &str| {
        let of_histogram = |end: &str| {
            let base = word.strip_suffix(end);
            base.is_some_and(|base| series.get(base).is_some_and(|(kind, _)| kind == "histogram"))
        };
        series.contains_key(word) || HISTOGRAM.iter().any(|end| of_histogram(end))
    };
    for file in QUERIES {
        let text = query_file(file);
        let words = named(&text);
        assert!(!words.is_empty(), "{file} has queries");
        for word in words {
            assert!(exists(word), "{file}: no series {word} in docs/metrics.md");
        }
    }
    let runbook = read("docs/runbook.md");
    for word in named(&runbook) {
        assert!(exists(word), "docs/runbook.md: no series {word} in docs/metrics.md");
    }
}

#[test]
fn every_label_in_a_selector_exists() {
    let series = series();
    // Labels that Prometheus adds.
    let added = ["job", "instance", "le"];
    let mut checked = 0;
    let texts = QUERIES.map(query_file);
    for text in &texts {
        // In JSON, quotes are escaped.
        let text = text.replace('\\', "");
        for name in named(&text) {
            let Some((_, labels)) = series.get(name) else { continue };
            for (start, _) in text.match_indices(&format!("{name}{{")) {
                let selector = &text[start + name.len() + 1..];
                let selector = &selector[..selector.find('}').expect("a closing brace")];
                let keys = selector.split(',').filter_map(|part| part.split(['=', '!']).next());
                for key in keys.filter(|key| !key.is_empty()) {
                    let is_known = added.contains(&key) || labels.iter().any(|label| label == key);
                    assert!(is_known, "{name} has no label {key}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 40, "{checked}");
}

#[test]
fn the_runbook_explains_every_alert() {
    let (alerts, rules, runbook) = (alerts(), query_file("alerts.yml"), read("docs/runbook.md"));
    assert!(alerts.len() > 10);
    let entries = runbook.lines().filter_map(|line| line.strip_prefix("### Ouro"));
    let entries: BTreeSet<String> = entries.map(|name| format!("Ouro{name}")).collect();
    assert_eq!(entries, alerts);
    for alert in &alerts {
        let entry = runbook.split(&format!("### {alert}\n")).nth(1).expect("an entry");
        let entry = entry.split("\n### ").next().expect("its text");
        for part in ["- **Means**: ", "- **Look at**: ", "- **Do**: "] {
            assert!(entry.contains(part), "{alert} has no {part}");
        }
        let link = format!("runbook: docs/runbook.md#{}\n", alert.to_lowercase());
        assert!(rules.contains(&link), "{alert} does not name its entry");
    }
}

#[test]
fn prometheus_accepts_the_settings_and_each_alert_fires_when_it_should() {
    let tests = query_file("alerts.test.yml");
    for alert in alerts() {
        assert!(tests.contains(&format!("alertname: {alert}\n")), "{alert} has no test");
    }
    let Some(()) = promtool(&["check", "config", "prometheus.yml"]) else { return };
    promtool(&["test", "rules", "alerts.test.yml"]);
}

#[test]
fn prometheus_parses_the_queries_of_the_dashboard() {
    let queries = dashboard_queries();
    assert!(queries.len() > 30);
    let rules = queries.iter().enumerate().map(|(number, (title, query))| {
        let query = serde_json::to_string(query).expect("a string");
        format!("      # {title}\n      - record: query:{number}\n        expr: {query}\n")
    });
    let rules = rules.collect::<String>();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("dashboard.yml");
    let text = format!("groups:\n  - name: dashboard\n    rules:\n{rules}");
    fs::write(&path, text).expect("it is written");
    promtool(&["check", "rules", &path.display().to_string()]);
}
