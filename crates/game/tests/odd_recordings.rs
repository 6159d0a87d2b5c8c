//! Unusual but valid recordings are checked like any other, and every check ends with a result.

use ouro_game::battlesnake::conform::{ConformError, Counts, check};
use ouro_game::battlesnake::{Config, Large, Position, Small};
use ouro_game::{Game, GameConfig, GameVisitor};
use serde_json::{Value, json};

/// Two snakes in the middle of the board, one step apart in time.
fn moment(health: i32, head: i32) -> Value {
    let body = |x: i32| json!([[x, head], [x, head - 1], [x, head - 2]]);
    json!({"food": [[0, 0]], "hazards": [], "snakes": [
        {"id": "a", "health": health, "body": body(2)},
        {"id": "b", "health": health, "body": body(8)}]})
}

/// A game of one turn, as its lines.
fn one_turn() -> [Value; 3] {
    [
        json!({"type": "game", "game": "g", "mode": "scenario", "ruleset": "standard",
            "map": "standard", "solo": false, "width": 11, "height": 11, "setup": moment(90, 5),
            "settings": {"foodSpawnChance": 0, "minimumFood": 1, "hazardDamagePerTurn": 0,
                "shrinkEveryNTurns": 25}}),
        json!({"type": "turn", "turn": 7, "before": moment(90, 5),
            "moves": [["a", "up"], ["b", "up"]], "after": moment(89, 6), "spawned": [],
            "over": false}),
        json!({"type": "end", "game": "g", "turns": 1, "over": false, "alive": ["a", "b"]}),
    ]
}

/// A constrictor game that a snake has won before its first move.
fn no_turns() -> [Value; 2] {
    let [mut game, _, mut end] = one_turn();
    game["mode"] = json!("full");
    game["ruleset"] = json!("constrictor");
    game["setup"] = json!({"food": [[10, 4], [5, 5]], "hazards": [], "snakes": [
        {"id": "a", "health": 100, "body": [[9, 5], [9, 5], [9, 5]]}]});
    end["turns"] = json!(0);
    end["over"] = json!(true);
    end["alive"] = json!(["a"]);
    [game, end]
}

fn read(lines: &[Value]) -> Result<Counts, ConformError> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    check("r.jsonl", text.as_bytes())
}

const ONE_TURN: Counts = Counts { games: 1, turns: 1, placements: 0 };

#[test]
fn a_game_that_was_over_before_its_first_turn_is_checked() {
    assert_eq!(read(&no_turns()), Ok(Counts { games: 1, turns: 0, placements: 1 }));
    let [mut game, end] = no_turns();
    game["mode"] = json!("scenario");
    game["setup"]["snakes"][0]["body"] = json!([[3, 3], [3, 2]]);
    let dead = json!({"id": "b", "health": 9, "body": [[11, 5], [10, 5]],
        "cause": "wall-collision", "on": 5});
    game["setup"]["snakes"].as_array_mut().expect("it is a list").push(dead);
    assert_eq!(read(&[game, end]), Ok(Counts { games: 1, turns: 0, placements: 0 }));
}

#[test]
fn a_game_without_turns_is_refused_if_its_state_or_its_end_is_wrong() {
    for (line, pointer, value, expected) in [
        (1, "/over", json!(false), "g, turn 0: the end of the game"),
        (1, "/alive", json!([]), "r.jsonl:2: alive is []"),
        (1, "/turns", json!(1), "r.jsonl:2: turns is 1"),
        (0, "/setup/snakes/0/health", json!(99), "g, turn 0: the set-up"),
        (0, "/setup/food/0", json!([8, 5]), "g, turn 0: the set-up"),
        (0, "/setup/food/0/0", json!(i32::MIN), "g, turn 0: the set-up"),
        (0, "/setup/food/0/1", json!(i32::MAX), "g, turn 0: the set-up"),
    ] {
        let mut lines = no_turns();
        *lines[line].pointer_mut(pointer).expect("it points into the line") = value;
        let error = read(&lines).expect_err(expected).to_string();
        assert!(error.contains(expected), "{pointer}: {error}");
    }
    let [mut game, mut end] = no_turns();
    game["solo"] = json!(true);
    end["over"] = json!(false);
    let error = read(&[game, end]).expect_err("nothing was recorded").to_string();
    assert_eq!(error, "r.jsonl:2: the game has no turns, and it is not over");
}

#[test]
fn blank_lines_are_counted_and_skipped() {
    let [game, turn, mut end] = one_turn();
    let text = format!("\n{game}\n \t\r\n{turn}\r\n\n{end}\n\n  ");
    assert_eq!(check("r.jsonl", text.as_bytes()), Ok(ONE_TURN));
    assert_eq!(check("r.jsonl", b"\n\n".as_slice()), Ok(Counts::default()));
    end["turns"] = json!(2);
    let text = format!("\n{game}\n \n{turn}\n\n{end}\n\n");
    let error = check("r.jsonl", text.as_bytes()).expect_err("one turn was read").to_string();
    assert_eq!(error, "r.jsonl:6: turns is 2; 1 were read");
}

#[test]
fn names_with_line_breaks_stay_on_one_line_of_a_message() {
    let mut lines = one_turn();
    lines[0]["game"] = json!("g\nh");
    lines[2]["game"] = json!("g\nh");
    assert_eq!(read(&lines), Ok(ONE_TURN));
    let error = read(&lines[..2]).expect_err("the end is missing").to_string();
    assert_eq!(error, "r.jsonl:3: the file ends in the middle of g\\nh");
    lines[1]["after"]["food"] = json!([]);
    let error = read(&lines).expect_err("food does not vanish").to_string();
    assert!(error.starts_with("r.jsonl:2: g\\nh, turn 7: "), "{error}");
    lines[0]["mode"] = json!("a\nb");
    let error = read(&lines).expect_err("no mode").to_string();
    assert!(error.contains("unknown variant `a\\nb`"), "{error}");
}

#[test]
fn the_largest_turn_number_is_refused() {
    for ruleset in ["standard", "royale"] {
        let mut lines = one_turn();
        lines[0]["ruleset"] = json!(ruleset);
        lines[0]["settings"]["shrinkEveryNTurns"] = json!(u32::MAX);
        lines[0]["shrink_sides"] = json!([0]);
        lines[1]["turn"] = json!(u32::MAX);
        let error = read(&lines).expect_err("no game lasts so long").to_string();
        assert!(error.starts_with("r.jsonl:2: "), "{error}");
        assert!(error.contains("turn is 4294967295"), "{error}");
    }
}

#[test]
fn a_side_may_shrink_more_often_than_the_counter_holds() {
    let everywhere: Vec<[i32; 2]> = (0..11).flat_map(|x| (0..11).map(move |y| [x, y])).collect();
    let mut lines = one_turn();
    lines[0]["ruleset"] = json!("royale");
    lines[0]["settings"]["shrinkEveryNTurns"] = json!(1);
    lines[0]["shrink_sides"] = json!(vec![0; 65_537]);
    lines[1]["turn"] = json!(65_536);
    lines[1]["before"]["hazards"] = json!(everywhere);
    lines[1]["after"]["hazards"] = json!(everywhere);
    assert_eq!(read(&lines), Ok(ONE_TURN));
}

#[test]
fn turns_between_shrinks_have_no_effect_without_shrinking() {
    let mut lines = one_turn();
    lines[0]["settings"]["shrinkEveryNTurns"] = json!(0);
    assert_eq!(read(&lines), Ok(ONE_TURN));
    lines[0]["ruleset"] = json!("royale");
    let error = read(&lines).expect_err("a royale board closes in").to_string();
    assert!(error.contains("shrink_every_n_turns is 0"), "{error}");
}

#[test]
fn food_too_often_on_one_cell_for_a_small_board_is_played_on_a_large_one() {
    struct StateBytes;
    impl GameVisitor for StateBytes {
        type Output = usize;
        fn visit<G: Game>(self, _game: G) -> usize {
            size_of::<G::State>()
        }
    }
    for (repeated, small) in [(7, true), (8, false)] {
        let food = vec![[0, 0]; 1 + repeated];
        let start: Position = serde_json::from_value(json!({"width": 11, "height": 11, "turn": 7,
            "food": food, "hazards": [], "snakes": [
                {"health": 90, "body": [[2, 5], [2, 4]]},
                {"health": 90, "body": [[8, 5], [8, 4]]}]}))
        .expect("it is a position");
        let config = Config { snakes: 2, start: Some(start), ..Config::default() };
        assert_eq!(Small::fits(&config), small);
        assert_eq!(Small::new(config.clone()).is_ok(), small);
        let bytes = GameConfig::Battlesnake(config).visit(StateBytes).expect("it is playable");
        let expected = if small { StateBytes.visit(tiny()) } else { StateBytes.visit(wide()) };
        assert_eq!(bytes, expected);

        let mut lines = one_turn();
        lines[0]["setup"]["food"] = json!(food);
        lines[1]["before"]["food"] = json!(food);
        lines[1]["after"]["food"] = json!(food);
        assert_eq!(read(&lines), Ok(ONE_TURN));
    }
}

fn tiny() -> Small {
    Small::new(Config::default()).expect("the defaults are playable")
}

fn wide() -> Large {
    Large::new(Config::default()).expect("the defaults are playable")
}
