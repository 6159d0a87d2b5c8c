//! A few seeds, and that a seed can be repeated.

use std::process::Command;

use tempfile::TempDir;

/// The line of a simulation that shows no violation.
fn simulated(seed: u64, faults: u32) -> String {
    let folder = TempDir::new().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-simulation"));
    command.args([seed.to_string(), format!("--faults={faults}")]);
    let output = command.arg("--folder").arg(folder.path()).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("plain text");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{said}");
    assert!(text.ends_with("violations 0\n"), "{text}");
    text
}

/// A count of a line.
fn count(line: &str, name: &str) -> u64 {
    let mut words = line.split_whitespace().skip_while(|word| *word != name);
    words.nth(1).expect("the name is in the line").parse().expect("a number")
}

#[test]
fn seeds_show_no_violation_while_games_are_acknowledged_and_candidates_decided() {
    for seed in 1..=6 {
        let line = simulated(seed, 20);
        assert_eq!(count(&line, "faults"), 20);
        assert!(count(&line, "acknowledged") > 50, "{line}");
        assert!(count(&line, "decided") > 5, "{line}");
    }
}

/// With pings every 20 seconds, whose answers had 20 more, these seeds took longer than 30 seconds.
#[test]
fn connections_that_break_without_a_word_are_replaced_in_time() {
    for seed in [5, 7, 23] {
        simulated(seed, 20);
    }
}

#[test]
fn a_seed_gives_the_same_events_again_and_another_seed_gives_others() {
    let lines = [7, 7, 8].map(|seed| simulated(seed, 10));
    assert_eq!(lines[0], lines[1]);
    assert_ne!(lines[0].split(' ').nth(3), lines[2].split(' ').nth(3));
}

#[test]
fn a_folder_that_is_not_empty_is_refused_and_left_as_it_is() {
    let folder = TempDir::new().expect("a folder");
    let records = folder.path().join("records.log");
    std::fs::write(&records, "of an earlier simulation").expect("it is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-simulation"));
    command.args(["1", "--faults=1", "--folder"]).arg(folder.path());
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
    assert!(said.contains("is not empty; name an empty folder"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}
