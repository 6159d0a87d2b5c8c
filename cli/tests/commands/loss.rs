//! `ouro loss`: the table and JSON of a run that has trained, and what it refuses.

use std::fs;

use serde_json::Value;

use crate::support::small_run::{self, ouro};

#[test]
fn the_loss_of_a_run_is_printed_by_the_age_of_its_games() {
    let home = small_run::home_with_run("4s");
    let home = home.path();
    let text = ouro(home, &["loss", "run", "--positions", "50"]).success();
    let mut lines = text.lines();
    let title = lines.next().unwrap_or_default();
    assert!(
        title.starts_with("loss of generation-") && title.ends_with("in generations"),
        "{text}"
    );
    let head: Vec<_> = lines.next().unwrap_or_default().split_whitespace().collect();
    let columns = ["age", "games", "positions", "policy", "target", "divergence", "value"];
    assert_eq!(head, columns);
    assert!(lines.next().is_some(), "{text}");

    let json = ouro(home, &["loss", "run", "--positions", "50", "--json"]).success();
    let report: Value = serde_json::from_str(&json).expect("one line of JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert!(!rows.is_empty());
    for row in rows {
        let number = |name: &str| row[name].as_f64().expect("a number");
        assert!((1.0..=50.0).contains(&number("positions")), "{row}");
        // The target's entropy is the least cross-entropy that a policy can have.
        assert!(number("policy") >= number("target_entropy") - 1e-6, "{row}");
        assert!(number("value") >= 0.0, "{row}");
    }
}

#[test]
fn what_has_no_loss_is_refused_in_one_line() {
    let home = small_run::home();
    let home = home.path();
    ouro(home, &["loss", "nowhere"]).assert_refused(66, &["no journal of a learner is here"]);
    let trained =
        small_run::train(home, &["--run", "run", "--config", "small.toml", "--for", "1s"]);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    ouro(home, &["loss", "run", "--weights", "none.safetensors"])
        .assert_refused(66, &["none.safetensors", "no weights are there"]);
    fs::write(home.join("bad.safetensors"), b"bad").expect("it is written");
    ouro(home, &["loss", "run", "--weights", "bad.safetensors"])
        .assert_refused(65, &["bad.safetensors"]);
    ouro(home, &["loss", "run", "--positions", "0"]).assert_refused(64, &["--positions"]);
}
