//! Invalid configurations and states of Snake are refused by field.

use ouro_game::snake::{Config, Large, Small, State};
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
        json!({"game": "snake"}),
        json!({"game": "snake", "size": 2}),
        json!({"game": "snake", "size": 21, "time_limit": 1_000_000}),
        json!({"game": "snake", "size": 12, "time_limit": null}),
        json!({"game": "snake", "rewards": {"apple": 0.0, "loss": -1.0, "win": 1.0}}),
    ] {
        assert_eq!(configure(&config), Ok(()), "{config}");
    }
}

#[test]
fn configurations_out_of_range_are_refused_by_field() {
    let cases = [
        ("size", json!(0), "snake config: size is 0; boards are 2 to 21 wide and high"),
        ("size", json!(1), "size is 1; boards are 2 to 21"),
        ("size", json!(22), "size is 22; boards are 2 to 21"),
        ("size", json!(256), "256"),
        ("size", json!(-1), "-1"),
        ("size", json!("10"), "invalid type: string"),
        ("size", json!(10.5), "invalid type: floating point"),
        ("time_limit", json!(0), "time_limit is 0; it is 1 to 1000000 steps"),
        ("time_limit", json!(1_000_001), "time_limit is 1000001"),
        ("time_limit", json!(1_u64 << 32), "4294967296"),
        ("rewards", json!({"apple": 1e7}), "rewards.apple is 10000000"),
        ("rewards", json!({"loss": -1e300}), "rewards.loss is -inf"),
        ("rewards", json!({"win": 1_000_001}), "rewards.win is 1000001"),
        ("rewards", json!({"draw": 1}), "unknown field `draw`"),
        ("rewards", json!({"win": null}), "invalid type: null"),
        ("width", json!(10), "unknown field `width`"),
    ];
    for (field, value, expected) in cases {
        let mut config = json!({"game": "snake"});
        config[field] = value.clone();
        let Err(error) = configure(&config) else { panic!("{field} {value} was accepted") };
        assert!(error.contains(expected), "{field} {value}: {error}");
    }
}

#[test]
fn a_board_too_large_for_its_class_is_refused() {
    let config = Config { size: 12, ..Config::default() };
    assert!(!Small::fits(&config) && Large::fits(&config));
    let error = Small::new(config).expect_err("144 cells").to_string();
    assert_eq!(error, "snake config: size is 12; this class of board holds 128 cells");
}

#[test]
fn impossible_states_are_refused_by_field() {
    let good = json!({"size": 4, "body": [[1, 1], [1, 2], [2, 2]], "apple": [3, 3], "elapsed": 7});
    serde_json::from_value::<State<2>>(good.clone()).expect("nothing is wrong with it");
    let all: Vec<Value> = (0..4).flat_map(|y| (0..4).map(move |x| json!([x, y]))).collect();
    let cases = [
        ("size", json!(1), "size is 1; it must be 2 to 21, with at most 128 cells"),
        ("size", json!(12), "size is 12; it must be"),
        ("size", json!(255), "size is 255"),
        ("size", json!(256), "256"),
        ("size", json!(2), "body[2] is (2, 2), off the board of side 2"),
        ("body", json!([]), "body has 0 cells; it must have 2 to 16"),
        ("body", json!([[1, 1]]), "body has 1 cells"),
        ("body", json!([&all[..], &all[..]].concat()), "body has 32 cells"),
        ("body", json!([[1, 1], [1, 3]]), "body[1] is (1, 3), which is not next to body[0]"),
        ("body", json!([[1, 1], [2, 2]]), "body[1] is (2, 2), which is not next to body[0]"),
        ("body", json!([[3, 1], [0, 2]]), "body[1] is (0, 2), which is not next to body[0]"),
        ("body", json!([[1, 1], [1, 1]]), "body[1] is (1, 1), which is not next to body[0]"),
        (
            "body",
            json!([[1, 1], [2, 1], [2, 2], [1, 2], [1, 1], [0, 1]]),
            "body[0] is (1, 1), where the body has been before",
        ),
        ("body", json!([[0, 4], [0, 3]]), "body[0] is (0, 4), off the board of side 4"),
        ("body", json!([[0, -1], [0, 0]]), "-1"),
        ("body", json!([[0], [1]]), "invalid length 1"),
        ("apple", json!([1, 2]), "apple is (1, 2), a cell of the body"),
        ("apple", json!([4, 0]), "apple is (4, 0), off the board of side 4"),
        ("apple", json!([0, 0, 0]), "length 3"),
        ("elapsed", json!(-1), "-1"),
        ("elapsed", json!(1_u64 << 40), "1099511627776"),
        ("moves", json!(1), "unknown field `moves`"),
    ];
    for (field, value, expected) in cases {
        let mut state = good.clone();
        state[field] = value.clone();
        let error = serde_json::from_value::<State<2>>(state).expect_err("it cannot be");
        assert!(error.to_string().contains(expected), "{field} {value}: {error}");
    }
    for field in ["size", "body", "elapsed"] {
        let mut state = good.clone();
        state.as_object_mut().expect("an object").remove(field);
        let error = serde_json::from_value::<State<2>>(state).expect_err("it is missing");
        assert!(error.to_string().contains(&format!("missing field `{field}`")), "{error}");
    }
}
