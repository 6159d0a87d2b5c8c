//! `ouro states`: a run whose journal lost games resumes from an older training state.

use std::fs;
use std::path::Path;

use crate::support::small_run::{self, ouro};
use ouro_learner::{FoundState, training_states};
use ouro_replay::check::inspect;
use ouro_testkit::process::Ended;

fn train(home: &Path, arguments: &[&str]) -> Ended {
    small_run::train(home, &[&["--run", "run"], arguments].concat())
}

/// Removes bytes from the end of the journal until it lacks games that the newest state needs, and
/// its last commit is cut short.
fn shorten(learner: &Path, newest: &FoundState) {
    let (journal, needs) =
        (learner.join("journal"), newest.content.as_ref().expect("whole").replay);
    let segment = journal.join("segment-000000000001.journal");
    let mut bytes = fs::read(&segment).expect("a segment");
    loop {
        bytes.truncate(bytes.len().saturating_sub(101));
        fs::write(&segment, &bytes).expect("it can be written");
        let found = inspect(&journal, |_, _| {}).expect("it can be read");
        if found.records.end < needs.cursor.next && found.torn > 0 {
            return;
        }
    }
}

#[test]
fn a_run_whose_journal_lost_games_resumes_with_the_command_that_the_refusal_names() {
    let home = small_run::home_with_run("2s");
    let (home, learner) = (home.path(), home.path().join("run/learner"));
    let listed = ouro(home, &["states", "run"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.stdout.lines().all(|line| line.ends_with("  fits")), "{}", listed.stdout);
    let states = training_states(&learner).expect("states");
    assert!(states.len() > 1 && listed.stdout.lines().count() == states.len());

    shorten(&learner, states.last().expect("a state"));
    let refused = train(home, &["--for", "1ms"]);
    assert_eq!(refused.code, Some(69), "{}", refused.stderr);
    assert!(
        refused.stderr.contains(" moved to run/learner/journal/segment-"),
        "{}",
        refused.stderr
    );
    // The bytes are cut once, so the second refusal is a single line.
    let refused = train(home, &["--for", "1ms"]);
    refused.assert_refused(69, &[" needs games ", "the newest that fits: ouro states run "]);
    let checked = ouro(home, &["check", "run"]);
    assert!(checked.stdout.contains("ouro states run --resume-from "), "{}", checked.stdout);
    let (_, command) = refused.stderr.trim_end().rsplit_once(": ouro ").expect("a command");
    let resumed = ouro(home, &command.split(' ').collect::<Vec<_>>());
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert!(resumed.stdout.contains("set aside: run/learner/training-states/set-aside/step-"));
    assert!(resumed.stdout.contains("the next start resumes from generation-"));
    let trained = train(home, &["--for", "2s"]);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    assert_eq!(ouro(home, &["check", "run"]).code, Some(0));

    let missing = ouro(home, &["states", "nothing"]);
    missing.assert_refused(66, &["nothing/learner: no folder of a learner is here"]);
    let unknown = ouro(home, &["states", "run", "--resume-from", "9999"]);
    unknown.assert_refused(64, &["generation-9999", "choose one of: "]);
}
