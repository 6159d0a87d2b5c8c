//! `ouro exam`, run as a process.

use std::process::{Command, Stdio};

use ouro_testkit::process::{Ended, run};
use serde_json::Value;

fn exam(arguments: &[&str]) -> Ended {
    run(Command::new(env!("CARGO_BIN_EXE_ouro")).arg("exam").args(arguments))
}

#[test]
fn whoever_loses_no_line_of_tic_tac_toe_passes() {
    let perfect = exam(&["minimax{depth=9}", "--game", "tic_tac_toe"]);
    assert_eq!(perfect.code, Some(0));
    let text = perfect.stdout;
    assert!(text.contains(" drawn, 0 lost\n") && !text.contains("lost by"), "{text}");
    let careless = exam(&["random", "--game", "tic_tac_toe"]);
    assert_eq!(careless.code, Some(1));
    let text = careless.stdout;
    assert!(text.contains("\n  lost by: "), "{text}");
}

#[test]
fn a_lost_line_is_the_exit_code_also_if_the_output_is_closed() {
    for output in [&[][..], &["--json"]] {
        let mut exam = Command::new(env!("CARGO_BIN_EXE_ouro"));
        exam.args(["exam", "random", "--game", "tic_tac_toe"]).args(output);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = exam.stdout(Stdio::from(writer)).status().expect("it starts");
        assert_eq!(status.code(), Some(1), "random play loses a line");
    }
}

#[test]
fn the_solver_marks_moves_of_connect_four() {
    let arguments = ["perfect", "--game", "connect_four", "--positions", "20", "--first", "20"];
    let report = exam(&[&arguments[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let agreement = &report["agreement"];
    assert_eq!((&agreement["positions"], &agreement["kept"]), (&20.into(), &20.into()), "{report}");
    assert_eq!(agreement["critical"], agreement["kept_critical"], "{report}");
}

#[test]
fn several_players_have_a_report_each() {
    let tic_tac_toe = ["random", "minimax{depth=9}", "--game", "tic_tac_toe", "--json"];
    let connect_four =
        ["perfect", "random", "--game", "connect_four", "--positions", "20", "--first", "20"];
    let reports = |ended: &Ended| -> Vec<Value> {
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let ended = exam(&tic_tac_toe);
    assert_eq!(ended.code, Some(1), "one of them loses a line");
    let lost = reports(&ended).into_iter().map(|report| report["lines"]["lost"].clone());
    let lost: Vec<_> = lost.map(|lost| lost.as_u64().expect("a number") > 0).collect();
    assert_eq!(lost, [true, false]);
    let ended = exam(&[&connect_four[..], &["--json"]].concat());
    let reports = reports(&ended);
    let players: Vec<_> = reports.iter().map(|report| &report["player"]).collect();
    assert_eq!(players, ["perfect", "random"]);
    assert_eq!(reports[0]["agreement"]["kept"], 20);
}

#[test]
fn a_search_without_a_network_needs_no_file() {
    for weights in ["rollout", "guided", "uniform"] {
        let player = format!("mcts{{sims=50,weights={weights}}}");
        let report =
            exam(&[&player, "--game", "connect_four", "--positions", "5", "--first", "24"]);
        assert_eq!(report.code, Some(0), "{}", report.stderr);
    }
}

#[test]
fn a_player_that_cannot_be_examined_is_named_before_the_game_is_asked_for() {
    exam(&["mtcs{sims=8}"]).assert_refused(64, &["did you mean mcts? known are random, "]);
    let snake = ["http{url=http://127.0.0.1:1}", "--game", "tic_tac_toe"];
    exam(&snake).assert_refused(64, &["only `ouro match` asks a snake elsewhere"]);
}

#[test]
fn a_game_without_known_perfect_play_is_refused_in_one_line() {
    let refused = exam(&["greedy", "--game", "battlesnake"]);
    assert_eq!(refused.code, Some(64));
    let text = refused.stderr;
    let expected = "perfect play is not known for battlesnake; tic_tac_toe and connect_four";
    assert!(text.contains(expected) && text.lines().count() == 1, "{text}");
}
