//! `ouro solve`, run as a process.

use std::process::Command;

use ouro_testkit::process::{Ended, run};
use serde_json::Value;

/// Runs `ouro solve` on a file with this text.
fn solve(board: &str, arguments: &[&str]) -> Ended {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("board.txt");
    std::fs::write(&file, board).expect("written");
    run(Command::new(env!("CARGO_BIN_EXE_ouro")).arg("solve").arg(&file).args(arguments))
}

#[test]
fn a_solution_is_printed_and_passes_its_own_check() {
    for board in ["S...\n.##.\n....\n", "x=3&y=2&board=....X.", r#"{"rows":["S.","..",".."]}"#] {
        let solved = solve(board, &[]);
        assert_eq!(solved.code, Some(0), "{board}: {}{}", solved.stdout, solved.stderr);
        let solution = solved.stdout.lines().next().expect("a solution").to_owned();
        assert!(solution.contains("&path="), "{solution}");
        let checked = solve(board, &["--check", &solution, "--decisions"]);
        assert_eq!(checked.code, Some(0), "{}", checked.stdout);
        let decisions = checked.stdout.lines().next().expect("a solution").to_owned();
        assert!(decisions.contains("&qpath="), "{decisions}");
        assert_eq!(solve(board, &["--check", &decisions]).code, Some(0));
    }
}

#[test]
fn a_board_without_a_solution_is_proven_to_have_none() {
    let proven = solve("S.#\n...\n#..\n..#\n", &["--json"]);
    let report: Value = serde_json::from_str(&proven.stdout).expect("JSON");
    assert_eq!((proven.code, &report["answer"]), (Some(1), &"no solution".into()), "{report}");
}

#[test]
fn a_board_in_two_parts_has_no_solution_and_says_why() {
    let reason = "1 of the free cells cannot be reached";
    for (board, size) in [("S.#\n##.\n", "3x2"), ("X.X\n.#.\n", "3x2"), ("S.#.\n", "4x1")] {
        for method in ["search", "backtracking", "sat", "mcts"] {
            let proven = solve(board, &["--method", method]);
            assert_eq!((proven.code, proven.stderr.as_str()), (Some(1), ""), "{board}");
            let expected = format!("no solution: {size}, 3 free cells, ");
            assert!(proven.stdout.starts_with(&expected), "{}", proven.stdout);
        }
    }
    let text = solve("S.#\n##.\n", &[]).stdout;
    assert_eq!(text, format!("no solution: 3x2, 3 free cells, 3 obstacles; {reason}\n"));
    let report: Value =
        serde_json::from_str(&solve("S.#\n##.\n", &["--json"]).stdout).expect("JSON");
    assert_eq!((&report["answer"], &report["reason"]), (&"no solution".into(), &reason.into()));
    assert_eq!((&report["width"], &report["obstacles"]), (&3.into(), &3.into()));
    let checked = solve("S.#\n##.\n", &["--check", "x=0&y=0&path=R"]);
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    assert!(checked.stdout.starts_with("not solved: ") && checked.stdout.contains(reason));
}

#[test]
fn one_thread_and_one_seed_give_one_answer() {
    let board = "S...\n.##.\n....\n";
    let answer = || solve(board, &["--threads", "1", "--seed", "1"]).success();
    let first = answer();
    let (solution, _) = first.split_once('\n').expect("two lines");
    for _ in 0..4 {
        assert!(answer().starts_with(solution), "{first}");
    }
    // The example of the documentation.
    assert_eq!(solution, "x=0&y=0&path=RDLU");
    assert!(first.contains("10 free cells, 2 obstacles; 1 decision in "), "{first}");
}

#[test]
fn several_boards_are_refused_with_their_number() {
    for format in [&[][..], &["--format", "line"], &["--json"]] {
        let two = generate(&[&["5", "5", "--boards", "2"], format].concat()).success();
        solve(&two, &[]).assert_refused(65, &["2 boards are here", "pass each on its own"]);
    }
    let mut from_input = Command::new(env!("CARGO_BIN_EXE_ouro"));
    from_input.args(["solve", "-"]).stdin(std::process::Stdio::null());
    run(&mut from_input).assert_refused(65, &["standard input: ", "the text is empty"]);
}

#[test]
fn every_method_finds_a_solution_and_a_proof() {
    for method in ["search", "backtracking", "sat", "mcts"] {
        for (board, code) in [("S...\n.##.\n....\n", 0), ("S.#\n...\n#..\n..#\n", 1)] {
            let solved = solve(board, &["--method", method]);
            assert_eq!(solved.code, Some(code), "{method}: {}{}", solved.stdout, solved.stderr);
        }
    }
    solve("S.\n", &["--method", "magic"]).assert_refused(64, &["known are search, backtracking"]);
    let long = format!("S{}\n", ".".repeat(200));
    solve(&long, &["--method", "mcts"])
        .assert_refused(64, &["side of 201", "up to 200", "use the method search"]);
}

#[test]
fn a_board_that_is_too_large_for_every_method_is_refused_with_the_largest_side() {
    for (method, expected) in [
        ("search", "a side of 5000 is too large for search; give sides up to 1000\n"),
        ("mcts", "a side of 5000 is too large for mcts; give sides up to 200\n"),
    ] {
        let arguments = ["bench", "maze-dash", method, "--sides", "5000"];
        let refused = run(Command::new(env!("CARGO_BIN_EXE_ouro")).args(arguments));
        assert_eq!(refused.code, Some(64), "{}", refused.stderr);
        // A debug build prints a warning before.
        assert!(refused.stderr.ends_with(expected), "{}", refused.stderr);
    }
}

#[test]
fn the_bench_shows_every_method_beside_the_paper() {
    let arguments = ["bench", "maze-dash", "--sides", "5,6", "--boards", "3", "--json"];
    let report = run(Command::new(env!("CARGO_BIN_EXE_ouro")).args(arguments)).success();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 8);
    for row in rows {
        assert_eq!(row["solved"], 3, "{row}");
    }
    assert_eq!((&rows[2]["method"], &rows[2]["paper_seconds"]), (&"sat".into(), &0.45.into()));
}

#[test]
fn a_wrong_solution_is_refused_with_its_first_fault() {
    let refused = solve("S..\n", &["--check", "x=0&y=0&path=U"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stdout.starts_with("not solved: move 1 of the solution goes U"));
}

#[test]
fn bad_boards_are_refused_in_one_line() {
    let wide = "10000 10000\n.\n";
    let cases = [
        ("", "the text is empty"),
        ("###\n###\n", "no free cell"),
        ("0 5\n", "the board is 5x0"),
        (wide, "the board is 10000x10000"),
        ("hello\nworld\n", "cells are '.', '#', 'X', 'S'"),
        ("..\n...\n", "the first has 2"),
        ("S.S\n", "two starts"),
        ("x=3&y=2&board=..", "2 cells are given for 3x2"),
        ("{\"rows\":3}", "the JSON is not"),
    ];
    for (board, expected) in cases {
        let refused = solve(board, &[]);
        assert_eq!(refused.code, Some(65), "{board:?}: {}", refused.stderr);
        let text = refused.stderr;
        assert!(text.contains(expected) && text.lines().count() == 1, "{board:?}: {text}");
    }
    let missing = run(Command::new(env!("CARGO_BIN_EXE_ouro")).args(["solve", "nowhere.txt"]));
    assert_eq!(missing.code, Some(66));
}

/// Runs `ouro generate`.
fn generate(arguments: &[&str]) -> Ended {
    run(Command::new(env!("CARGO_BIN_EXE_ouro")).arg("generate").args(arguments))
}

#[test]
fn generated_boards_have_their_obstacles_and_the_printed_solution() {
    let text = generate(&["7", "5", "--obstacles", "9", "--solution"]).success();
    let (solution, rows) =
        text.trim_end().rsplit_once('\n').map(|(rows, last)| (last, rows)).expect("two parts");
    assert_eq!(rows.matches('#').count(), 9, "{text}");
    assert_eq!(solve(rows, &["--check", solution]).code, Some(0), "{text}");
}

#[test]
fn a_blank_line_is_between_boards_in_rows() {
    let of = |more: &[&str]| generate(&[&["5", "4"], more].concat()).success();
    for more in [&[][..], &["--solution"]] {
        let two = of(&[&["--boards", "2"], more].concat());
        let single = ["1", "2"].map(|seed| of(&[&["--seed", seed], more].concat()));
        assert_eq!(two, single.join("\n"));
        assert_eq!(two.split("\n\n").count(), 2, "{two}");
    }
}

#[test]
fn the_formats_are_one_board_and_a_seed_follows_the_other() {
    let of = |arguments: &[&str]| generate(&[&["6", "6", "--style", "hard"], arguments].concat());
    let rows = of(&[]).success();
    let lines = of(&["--format", "line", "--boards", "2"]).success();
    let lines: Vec<_> = lines.lines().collect();
    let board: ouro_game::maze_dash::Board = rows.parse().expect("a board");
    assert_eq!(lines[0], board.to_line());
    assert_eq!(of(&["--json"]).success().trim_end(), board.to_json());
    let second = of(&["--format", "line", "--seed", "2"]).success();
    assert_eq!([second.trim_end()], lines[1..]);
    assert!(!of(&["--free-start"]).success().contains('S'));
}

#[test]
fn boards_that_cannot_be_generated_are_refused() {
    for (width, height, named) in
        [("0", "5", "<WIDTH>"), ("4", "-1", "<HEIGHT>"), ("18446744073709551615", "2", "<WIDTH>")]
    {
        let parts = [named, "it is a whole number 1 to 1000"];
        generate(&[width, height]).assert_refused(64, &parts);
    }
    generate(&["3", "3", "--obstacles", "9"]).assert_refused(64, &["9 obstacles"]);
    generate(&["3", "3", "--style", "odd"]).assert_refused(64, &["known are plain, standard"]);
}
