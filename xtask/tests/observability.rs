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

/// Labels that Prometheus adds to every series.
const ADDED: [&str; 2] = ["job", "instance"];

/// Series with their types and labels.
type Series = BTreeMap<String, (String, Vec<String>)>;

/// Reads a file of the workspace. Tests run in the folder of their crate.
fn read(path: &str) -> String {
    let path = Path::new("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn query_file(name: &str) -> String {
    read(&format!("deploy/observability/{name}"))
}

/// The series in `docs/metrics.md` with their types and labels.
fn series() -> Series {
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

/// Type and labels of a series, or of the histogram that has it as a sample.
fn row<'a>(series: &'a Series, name: &str) -> Option<&'a (String, Vec<String>)> {
    let of_histogram = |end: &&str| {
        let row = series.get(name.strip_suffix(*end)?)?;
        (row.0 == "histogram").then_some(row)
    };
    series.get(name).or_else(|| HISTOGRAM.iter().find_map(of_histogram))
}

/// The labels in the selectors of a text that their series does not have, and the number of all labels.
fn unknown_labels(series: &Series, text: &str) -> (Vec<String>, usize) {
    let (mut unknown, mut checked) = (Vec::new(), 0);
    for name in named(text) {
        let Some((_, labels)) = row(series, name) else { continue };
        for (start, _) in text.match_indices(&format!("{name}{{")) {
            let selector = &text[start + name.len() + 1..];
            let selector = &selector[..selector.find('}').expect("a closing brace")];
            let keys = selector.split(',').filter_map(|part| part.split(['=', '!']).next());
            for key in keys.map(str::trim).filter(|key| !key.is_empty()) {
                let is_added = ADDED.contains(&key) || key == "le" && name.ends_with("_bucket");
                if !is_added && !labels.iter().any(|label| label == key) {
                    unknown.push(format!("{name} has no label {key}"));
                }
                checked += 1;
            }
        }
    }
    (unknown, checked)
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

/// Runs promtool from `OURO_PROMTOOL` or the PATH in the folder of the alerts. `None` if it is not
/// installed.
fn promtool(arguments: &[&str]) -> Option<()> {
    let program = std::env::var_os("OURO_PROMTOOL").unwrap_or_else(|| "promtool".into());
    if Command::new(&program).arg("--version").output().is_err() {
        assert!(
            !ouro_testkit::requires_all_checks(),
            "promtool is missing; install prometheus or set OURO_PROMTOOL"
        );
        ouro_testkit::not_run("promtool is not on the PATH; set OURO_PROMTOOL");
        return None;
    }
    let mut command = Command::new(program);
    let ended = run(command.args(arguments).current_dir("../deploy/observability"));
    assert_eq!(ended.code, Some(0), "promtool {arguments:?}: {}{}", ended.stdout, ended.stderr);
    Some(())
}

#[test]
fn every_series_in_a_query_exists() {
    let series = series();
    assert!(series.len() > 40, "docs/metrics.md has a table");
    let exists = |word: &str| row(&series, word).is_some();
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
    let mut all = 0;
    for file in QUERIES {
        // In JSON, quotes are escaped.
        let text = query_file(file).replace('\\', "");
        let (unknown, checked) = unknown_labels(&series, &text);
        assert_eq!(unknown, [""; 0], "{file}");
        all += checked;
    }
    assert!(all > 80, "{all}");
}

#[test]
fn an_unknown_label_is_found_on_every_sample_of_a_histogram() {
    let labels = vec!["store".to_owned()];
    let series = BTreeMap::from([
        ("ouro_append_seconds".to_owned(), ("histogram".to_owned(), labels.clone())),
        ("ouro_games_total".to_owned(), ("counter".to_owned(), labels)),
    ]);
    let unknown = |text: &str| unknown_labels(&series, text).0;
    for end in HISTOGRAM {
        let name = format!("ouro_append_seconds{end}");
        let found = unknown(&format!(r#"rate({name}{{nolabel="x"}}[5m])"#));
        assert_eq!(found, [format!("{name} has no label nolabel")]);
        assert_eq!(unknown(&format!(r#"{name}{{job="arena", store="redis"}}"#)), [""; 0]);
    }
    assert_eq!(unknown(r#"ouro_append_seconds_bucket{le="0.1"}"#), [""; 0]);
    assert_eq!(unknown(r#"ouro_games_total{le="0.1"}"#), ["ouro_games_total has no label le"]);
    // A counter has no samples of its own.
    assert_eq!(unknown(r#"ouro_games_total_sum{nolabel="x"}"#), [""; 0]);
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
