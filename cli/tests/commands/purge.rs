//! `ouro purge`: what it lists, refuses and takes out of training.

use crate::support::small_run::{self, ouro};

/// The actor of a run in one process, with its valid and its purged games.
fn actor(home: &std::path::Path) -> (String, u64, u64) {
    let listed = ouro(home, &["purge", "run"]).success();
    let line = listed.lines().next().expect("an actor");
    let (name, counts) = line.split_once("  ").expect("a name");
    let number = |end: &str| {
        let word = counts.split(", ").find_map(|part| part.strip_suffix(end)).expect("a count");
        word.parse::<u64>().expect("a number")
    };
    (name.to_owned(), number(" games"), number(" purged"))
}

#[test]
fn a_run_whose_only_actor_was_purged_stays_sound_and_trains_on_new_games() {
    let home = small_run::home_with_run("2s");
    let home = home.path();
    let (name, games, purged) = actor(home);
    assert!(games > 0 && purged == 0);
    let said = format!("has no game of nobody; it has games of: {name}");
    ouro(home, &["purge", "run", "nobody"]).assert_refused(64, &[&said]);
    ouro(home, &["purge", "nowhere"]).assert_refused(66, &["no journal of a learner is here"]);

    for by in ["", " ", "a test\npurged: nothing"] {
        let refused = ouro(home, &["purge", "run", &name, "--by", by]);
        refused.assert_refused(64, &["--by", "give a name of one line"]);
    }

    let text = ouro(home, &["purge", "run", &name, "--by", "a test"]).success();
    let note = format!("purged: {games} games of {name} before number ");
    assert!(text.starts_with(&note) && text.contains(", by a test, at Unix time "), "{text}");
    assert!(text.contains(&format!("ouro token revoke {name}")), "{text}");
    assert_eq!(actor(home), (name.clone(), 0, games));
    let again = ouro(home, &["purge", "run", &name]).success();
    assert!(again.contains("were purged before"), "{again}");
    let checked = ouro(home, &["check", "run"]).success();
    assert!(checked.contains(&format!("; {games} games were purged")), "{checked}");

    let trained = small_run::train(home, &["--run", "run", "--for", "3s"]);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    let (_, new, purged) = actor(home);
    assert!(new > 0 && purged <= games, "{new}, {purged}");
    ouro(home, &["check", "run"]).success();
}
