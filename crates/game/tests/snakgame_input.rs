//! Invalid configurations and states of SNAKGAME are refused by field.

use ouro_game::snakgame::{Config, Small, State};
use ouro_game::{Game, GameConfig, GameVisitor};
use serde_json::{Value, json};

struct Build;

impl GameVisitor for Build {
    type Output = ();
    fn visit<G: Game>(self, _game: G) {}
}

/// The error of reading and building a configuration.
fn configure(config: &Value) -> Result<(), String> {
    let config: GameConfig =
        serde_json::from_value(config.clone()).map_err(|error| error.to_string())?;
    config.visit(Build).map_err(|error| error.to_string())
}

#[test]
fn configurations_in_range_are_built() {
    for config in [
        json!({"game": "snakgame"}),
        json!({"game": "snakgame", "mode": "official", "rows": 600, "columns": 600}),
        json!({"game": "snakgame", "blocked": 0.0, "board_seed": 1}),
        json!({"game": "snakgame", "rows": 1, "columns": 3, "board": [".#."]}),
    ] {
        assert_eq!(configure(&config), Ok(()), "{config}");
    }
}

#[test]
fn configurations_out_of_range_are_refused_by_field() {
    let cases = [
        ("rows", json!(9), "snakgame config: rows is 9; it must be 10 to 600"),
        ("columns", json!(601), "columns is 601; it must be 10 to 600"),
        ("columns", json!(70_000), "70000"),
        ("mode", json!("judge"), "unknown variant `judge`"),
        ("blocked", json!(0.6), "blocked is 0.6; it must be 0 to 0.5"),
        ("blocked", json!(-0.1), "blocked is -0.1"),
        ("board", json!([".#"]), "board is 1 lines; rows is 10; make both equal"),
        ("board", json!(vec![".."; 10]), "board is 2 cells in line 1; columns is 10"),
        ("board", json!(vec!["....\\n....."; 10]), "board is"),
        ("board", json!(vec!["a........."; 10]), "board is \"a\" in line 1; write . for empty"),
        ("board", json!(vec!["##########"; 10]), "blocked everywhere; leave a cell empty"),
        ("exit", json!(1), "invalid type"),
        ("size", json!(10), "unknown field `size`"),
    ];
    for (field, value, expected) in cases {
        let mut config = json!({"game": "snakgame"});
        config[field] = value.clone();
        let Err(error) = configure(&config) else { panic!("{field} {value} was accepted") };
        assert!(error.contains(expected), "{field} {value}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let both =
        json!({"game": "snakgame", "rows": 1, "columns": 1, "board": ["."], "board_seed": 1});
    let error = configure(&both).expect_err("two boards");
    assert!(error.contains("board_seed is 1; leave it out if the board is given"), "{error}");
}

#[test]
fn a_board_too_large_for_its_class_is_refused() {
    let config = Config { rows: 33, columns: 32, ..Config::default() };
    let error = Small::new(config).expect_err("1,056 cells").to_string();
    assert_eq!(error, "snakgame config: rows is 33; this class of board holds 1024 cells");
}

#[test]
fn impossible_states_are_refused_by_field() {
    let good = json!({
        "board": ["aa.b", "#a..", "a..."],
        "snakes": [
            {"ends": [[1, 1], [2, 2]], "length": 3, "count": 2, "dead_score": 0},
            {"ends": [[1, 4], [1, 4]], "length": 1, "count": 1, "dead_score": 0}],
        "to_move": 0, "frozen": 7, "exited": null});
    let read = |state: &Value| serde_json::from_value::<State<[u64; 16]>>(state.clone());
    read(&good).expect("nothing is wrong with it");
    let row = ".".repeat(601);
    let cases = [
        ("/board", json!([]), "board has 0 rows and 0 columns; it must have 1 to 600"),
        ("/board", json!([row]), "board has 1 rows and 601 columns"),
        ("/board", json!(vec!["."; 601]), "board has 601 rows"),
        ("/board", json!(vec![".".repeat(40); 40]), "at most 1024 cells"),
        ("/board/1", json!("#a.."), ""),
        ("/board/1", json!("#a."), "board[1] has 3 cells; the first row has 4"),
        ("/board/1", json!("#a.x"), "board[1] has an unknown cell in column 3"),
        ("/board/1", json!("#\u{e4}."), "board[1] has an unknown cell in column 1"),
        ("/board/2", json!("...."), "snakes[0].count is 2; the other cells"),
        ("/board/0", json!("aa.."), "snakes[1].length is 1; it must be 1 to"),
        ("/board/2", json!("abbb"), "snakes[1].count is 1; the other cells"),
        ("/snakes/0/length", json!(0), "snakes[0].length is 0"),
        ("/snakes/0/length", json!(5), "snakes[0].length is 5"),
        ("/snakes/0/length", json!(2), "snakes[0].ends are [(1, 1), (2, 2)]; no snake"),
        ("/snakes/0/ends", Value::Null, "snakes[0].length is 3; it must be 0"),
        ("/snakes/0/ends/0", json!([1, 4]), "both must be cells of this side"),
        ("/snakes/0/ends/0", json!([0, 0]), "both must be cells of this side"),
        ("/snakes/0/ends/0", json!([2, 2]), "no snake of this length joins them"),
        ("/snakes/0/count", json!(0), "snakes[0].count is 0"),
        ("/snakes/0/count", json!(3), "snakes[0].count is 3"),
        ("/snakes/0/dead_score", json!(1), "snakes[0].dead_score is 1; the dead snakes"),
        ("/to_move", json!(2), "to_move is 2; sides are 0 and 1"),
        ("/exited", json!(9), "exited is 9; sides are 0 and 1"),
        ("/frozen", json!(51), "frozen is 51; it must be 0 to 50"),
        ("/to_move", json!(1), "frozen is 7; it must be 0 to 50, and 0 while"),
        ("/moves", json!(1), "unknown field `moves`"),
    ];
    for (pointer, value, expected) in cases {
        let mut state = good.clone();
        match state.pointer_mut(pointer) {
            Some(place) => *place = value.clone(),
            None => state["moves"] = value.clone(),
        }
        if expected.is_empty() {
            read(&state).expect("it is the same");
            continue;
        }
        let error = read(&state).expect_err(pointer).to_string();
        assert!(error.contains(expected), "{pointer} {value}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let mut state = good;
    state["board"] = json!(["bb.b", "bbb.", "a..."]);
    state["snakes"][0] =
        json!({"ends": [[3, 1], [3, 1]], "length": 1, "count": 1, "dead_score": 0});
    state["snakes"][1] =
        json!({"ends": [[1, 4], [1, 4]], "length": 1, "count": 2, "dead_score": 8});
    let error = read(&state).expect_err("six to one").to_string();
    assert!(error.contains("the sides have 1 and 6 cells"), "{error}");
}
