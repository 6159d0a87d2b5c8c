//! `ouro snakgame`, run as a process.

use std::process::Command;
use std::time::{Duration, Instant};

use ouro_game::snakgame::{Content, Move, Position, Strategy, generate, play_official};
use ouro_snakgame::Named;
use ouro_testkit::process::{Ended, run};
use serde_json::Value;

/// Judges a shell command on 12×15.
fn judge_shell(script: &str, arguments: &[&str]) -> Ended {
    let board = ["snakgame", "judge", "--rows", "12", "--columns", "15"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    run(command.args(board).args(arguments).args(["--", "sh", "-c", script]))
}

/// The strategy of `snakgame_bot.py`.
struct FirstNeighbour;

impl Strategy for FirstNeighbour {
    fn choose(&mut self, position: &Position) -> Move {
        let board = position.board();
        let fresh = board.cells().find(|&cell| board.content(cell) == Content::Empty);
        position.extensions().next().unwrap_or_else(|| Move::New(fresh.expect("not over")))
    }
}

#[test]
fn a_program_in_python_gets_the_score_of_the_same_strategy_in_process() {
    let python = Command::new("python3").arg("--version").output();
    if python.is_err() && !ouro_testkit::requires_all_checks() {
        return ouro_testkit::not_run("python3 is not installed");
    }
    for (rows, columns, seed) in [(10_u16, 10_u16, 1_u64), (20, 30, 2), (60, 40, 3)] {
        let arguments = ["rows", "columns", "seed"].map(|name| format!("--{name}"));
        let numbers = [u64::from(rows), u64::from(columns), seed].map(|number| number.to_string());
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
        command.args(["snakgame", "judge", "--json", "--seconds", "60"]);
        for (name, number) in arguments.iter().zip(&numbers) {
            command.args([name, number]);
        }
        let bot = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/snakgame_bot.py");
        let judged = run(command.args(["--", "python3", bot]));
        assert_eq!(judged.code, Some(0), "{}{}", judged.stdout, judged.stderr);
        let report: Value = serde_json::from_str(&judged.stdout).expect("JSON");
        let board = generate(rows, columns, seed).expect("a board");
        let expected = play_official(board, seed, &mut FirstNeighbour).expect("legal moves");
        assert_eq!(report["verdict"], "finished");
        let counts = [&report["score"], &report["turns"], &report["snakes"]];
        let turns = [expected.score, expected.turns.into(), expected.snakes.into()];
        assert_eq!(counts.map(|count| count.as_u64().expect("a number")), turns);
    }
}

#[test]
fn every_strategy_gets_its_own_score_from_the_judge() {
    for named in Named::ALL {
        let ouro = env!("CARGO_BIN_EXE_ouro");
        let arguments =
            ["--rows", "40", "--columns", "50", "--seed", "7", "--seconds", "60", "--json"];
        let mut command = Command::new(ouro);
        command.args(["snakgame", "judge"]).args(arguments);
        command.args(["--", ouro, "snakgame", "play", named.name(), "--seed", "7"]);
        let judged = run(&mut command);
        assert_eq!(judged.code, Some(0), "{}{}", judged.stdout, judged.stderr);
        let report: Value = serde_json::from_str(&judged.stdout).expect("JSON");
        let board = generate(40, 50, 7).expect("a board");
        let expected = play_official(board, 7, named.player(7).as_mut()).expect("legal moves");
        assert_eq!(report["score"], expected.score, "{}", named.name());
    }
}

#[test]
fn the_record_of_a_judged_game_replays_to_the_same_score() {
    let ouro = env!("CARGO_BIN_EXE_ouro");
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("game.json.gz");
    for (rows, columns) in ["12", "40"].into_iter().zip(["15", "50"]) {
        let mut judge = Command::new(ouro);
        judge.args(["snakgame", "judge", "--rows", rows, "--columns", columns, "--seed", "3"]);
        judge.args(["--seconds", "60", "--json", "--record"]).arg(&record);
        let judged = run(judge.args(["--", ouro, "snakgame", "play", "fewest-free"])).success();
        let report: Value = serde_json::from_str(&judged).expect("JSON");
        let turns = report["turns"].to_string();
        let mut show = Command::new(ouro);
        let shown = run(show.arg("show").arg(&record).args(["--step", &turns, "--json"])).success();
        let frame: Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!((&frame["ply"], &frame["over"]), (&report["turns"], &true.into()), "{shown}");
    }
}

#[test]
fn the_bench_compares_strategies_with_the_editorial_on_the_same_seeds() {
    let arguments = ["bench", "snakgame", "random", "editorial", "--sides", "30", "--seeds", "3"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    let report = run(command.args(arguments).arg("--json")).success();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().map(|row| row["strategy"].as_str().expect("a name")).collect();
    assert_eq!(names, ["random", "editorial"]);
    assert_eq!(rows[1]["to_editorial"]["value"], 1.0);
    assert!(rows[0]["to_editorial"]["value"].as_f64().expect("a ratio") < 1.0, "{report}");
}

#[test]
fn the_bench_shows_scores_of_small_boards_in_points() {
    let arguments = ["bench", "snakgame", "chef", "--sides", "20", "--seeds", "2"];
    let text = run(Command::new(env!("CARGO_BIN_EXE_ouro")).args(arguments)).success();
    let row = text.lines().find(|line| line.starts_with("chef ")).expect("a row");
    let score: f64 = row.split_whitespace().nth(2).and_then(|one| one.parse().ok()).expect(row);
    assert!(score >= 10.0 && !row.contains("(-"), "{text}");
    assert!(text.lines().next().is_some_and(|line| line.ends_with(", 2 seeds")), "{text}");
}

#[test]
fn every_fault_of_a_program_is_named_and_costs_the_whole_score() {
    let faults = [
        ("echo NEW 0 0; cat >/dev/null", "illegal_move", "turn 1: illegal move \"NEW 0 0\""),
        ("echo FREEZE 3; cat >/dev/null", "illegal_move", "only Chef freezes"),
        ("echo hello; cat >/dev/null", "garbage", "\"hello\" is no move"),
        ("head -c 9000 /dev/zero; cat >/dev/null", "garbage", "is no move"),
        ("exec sleep 60", "silence", "no move within the time limit"),
        ("exit 3", "crash", "exit status: 3"),
        ("exit 0", "crash", "the program ended"),
        ("kill -SEGV $$", "crash", "signal"),
    ];
    for (script, verdict, reason) in faults {
        let judged = judge_shell(script, &["--json", "--seconds", "1"]);
        assert_eq!(judged.code, Some(1), "{script}: {}{}", judged.stdout, judged.stderr);
        let report: Value = serde_json::from_str(&judged.stdout).expect("JSON");
        assert_eq!(
            (&report["verdict"], &report["score"]),
            (&verdict.into(), &0.into()),
            "{script}"
        );
        let text = report["reason"].as_str().expect("a reason");
        assert!(text.contains(reason), "{script}: {text}");
    }
}

#[test]
fn a_program_may_exit_and_keeps_its_score() {
    let judged = judge_shell("echo EXIT", &[]);
    assert_eq!(judged.code, Some(0), "{}", judged.stdout);
    assert!(judged.stdout.contains("finished\nscore 0 "), "{}", judged.stdout);
}

#[test]
fn a_program_that_runs_on_after_its_game_is_killed_and_keeps_its_result() {
    // The second one closes its output.
    for script in ["echo EXIT; exec sleep 60", "echo EXIT; exec sleep 60 >&-"] {
        let begin = Instant::now();
        let judged = judge_shell(script, &["--json", "--seconds", "10"]);
        let elapsed = begin.elapsed().as_secs_f64();
        assert_eq!(judged.code, Some(0), "{script}: {}{}", judged.stdout, judged.stderr);
        let report: Value = serde_json::from_str(&judged.stdout).expect("JSON");
        assert_eq!(report["verdict"], "finished", "{script}");
        // The judge waits a second for the program's end, which is no time of a move.
        let seconds = report["seconds"].as_f64().expect("a number");
        assert!(elapsed - seconds >= 1.0, "{script}: {seconds} s of {elapsed} s");
    }
}

#[cfg(unix)]
#[test]
fn a_program_is_killed_with_the_processes_that_it_started() {
    let wrappers = [
        ("sleep 60; true", "1", "silence"),
        // The script ends, and leaves a process behind.
        ("sleep 60 >/dev/null & echo EXIT", "10", "finished"),
    ];
    for (script, limit, verdict) in wrappers {
        let begin = Instant::now();
        // The judge's standard error ends with the last process that has it.
        let judged = judge_shell(script, &["--json", "--seconds", limit]);
        let report: Value = serde_json::from_str(&judged.stdout).expect("JSON");
        assert_eq!(report["verdict"], verdict, "{script}");
        assert!(begin.elapsed() < Duration::from_secs(40), "{script} is not killed");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_judged_game_and_the_program() {
    use ouro_testkit::process::Process;

    let folder = tempfile::tempdir().expect("a folder");
    let started = folder.path().join("started");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.args(["snakgame", "judge", "--rows", "12", "--columns", "15", "--seconds", "600"]);
    command.args(["--", "sh", "-c", "touch \"$0\"; sleep 90; true"]).arg(&started);
    let mut judge = Process::start_piped(&mut command);
    let begin = Instant::now();
    while !started.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the program does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    let begin = Instant::now();
    judge.signal("-INT");
    // The judge's standard error ends with the last process that has it.
    let ended = judge.end();
    ended.assert_refused(130, &["interrupted before the game was over"]);
    assert!(begin.elapsed() < Duration::from_secs(60), "the program is not killed");
}

#[test]
fn bad_arguments_are_refused_in_one_line() {
    let judge = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
        run(command.args(["snakgame", "judge"]).args(arguments))
    };
    judge(&["--", "/no/such/program"]).assert_refused(66, &["/no/such/program", "check the path"]);
    judge(&["--rows", "5", "--columns", "5", "--", "true"])
        .assert_refused(64, &["--rows", "it is a whole number 10 to 600"]);
    judge(&["--record", "/no/such/folder/game.json", "--", "true"])
        .assert_refused(74, &["there is no folder /no/such/folder", "--record"]);
    judge(&[]).assert_refused(64, &["COMMAND"]);
    let play = |name: &str, input: &str| {
        let script = format!("printf '{input}' | \"$0\" snakgame play {name}");
        run(Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_ouro")]))
    };
    play("nobody", "").assert_refused(64, &["known are random, chef"]);
    play("random", "").assert_refused(65, &["standard input ended"]);
    play("random", "5 x 3").assert_refused(65, &["is not 3 numbers"]);
    play("random", "5 5 999999999").assert_refused(65, &["at most 360000"]);
    play("random", "9999999 5 0").assert_refused(65, &["sides are 1 to 600"]);
}
