//! Every input from outside is read or refused by name, and nothing panics.
//!
//! Each row takes a valid message, replaces one value and names the expected error and field.

use ouro_game::battlesnake::api::{GameState, Reply};
use ouro_game::battlesnake::conform::check;
use ouro_game::battlesnake::{Config, Large, Position};
use ouro_game::record::{Recorder, Replay, ReplayError};
use ouro_game::{Action, Game, GameConfig, GameRecord, GameVisitor, Rng};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

/// The type that a message is read as.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Request,
    Answer,
    Position,
    Config,
    Record,
    Recording,
}

const KINDS: [Kind; 6] =
    [Kind::Request, Kind::Answer, Kind::Position, Kind::Config, Kind::Record, Kind::Recording];

/// A request with two snakes on 11×11.
fn request() -> Value {
    let snake = |id: &str, x: i32| {
        json!({
            "id": id, "name": id, "latency": "12", "health": 90, "shout": "", "squad": "",
            "body": [{"x": x, "y": 5}, {"x": x, "y": 4}, {"x": x, "y": 4}],
            "head": {"x": x, "y": 5}, "length": 3,
            "customizations": {"color": "#00ff00", "head": "", "tail": ""}
        })
    };
    json!({
        "game": {"id": "g", "timeout": 500, "map": "standard", "source": "custom", "ruleset": {
            "name": "standard", "version": "1", "settings": {
                "foodSpawnChance": 15, "minimumFood": 1, "hazardDamagePerTurn": 14,
                "royale": {"shrinkEveryNTurns": 25}}}},
        "turn": 7,
        "board": {
            "width": 11, "height": 11, "food": [{"x": 0, "y": 0}], "hazards": [],
            "snakes": [snake("a", 2), snake("b", 8)]},
        "you": snake("b", 8)
    })
}

/// The same position in its portable form, with a third snake that has died.
fn position() -> Value {
    json!({
        "width": 11, "height": 11, "turn": 7,
        "food": [[0, 0]], "hazards": [], "shrunk": [0, 0, 0, 0],
        "snakes": [
            {"health": 90, "body": [[2, 5], [2, 4], [2, 4]]},
            {"health": 90, "body": [[8, 5], [8, 4], [8, 4]]},
            {"health": 4, "body": [[11, 5], [10, 5]],
                "death": {"cause": "snake-collision", "by": 0, "on": 5}}]
    })
}

fn config() -> Value {
    json!({"game": "battlesnake", "ruleset": "royale", "map": "standard", "solo": false,
        "width": 7, "height": 7, "snakes": 2, "food_spawn_chance": 15, "minimum_food": 1,
        "hazard_damage_per_turn": 14, "shrink_every_n_turns": 25})
}

fn record() -> Value {
    struct Play;
    impl GameVisitor for Play {
        type Output = (u64, Value);
        fn visit<G: Game>(self, game: G) -> Self::Output {
            let mut recorder = Recorder::new(&game, 5);
            for _ in 0..2 {
                let up = vec![Action(0); game.players()];
                recorder.advance(&game, &up).expect("two steps up from the start are possible");
            }
            let record = recorder.into_record(());
            (record.seed, json!({"plies": record.plies, "digests": record.digests}))
        }
    }
    let config: GameConfig = serde_json::from_value(config()).expect("the config is valid");
    let (seed, played) = config.visit(Play).expect("the config is playable");
    json!({"version": 1, "config": config, "seed": seed,
        "plies": played["plies"], "digests": played["digests"]})
}

/// A recorded game of one turn, as an array of its lines.
fn recording() -> Value {
    let moment = |health: i32, rows: [i32; 3]| {
        let body = |x: i32| rows.map(|y| [x, y]);
        json!({"food": [[0, 0]], "hazards": [], "snakes": [
            {"id": "a", "health": health, "body": body(2)},
            {"id": "b", "health": health, "body": body(8)}]})
    };
    let (before, after) = (moment(90, [5, 4, 4]), moment(89, [6, 5, 4]));
    json!([
        {"type": "game", "game": "g", "mode": "scenario", "ruleset": "standard",
            "map": "standard", "solo": false, "seed": 1, "width": 11, "height": 11,
            "policies": [], "setup": before, "settings": {"foodSpawnChance": 0,
                "minimumFood": 1, "hazardDamagePerTurn": 14, "shrinkEveryNTurns": 25}},
        {"type": "turn", "turn": 7, "before": before, "moves": [["a", "up"], ["b", "up"]],
            "after": after, "spawned": [], "over": false},
        {"type": "end", "game": "g", "turns": 1, "over": false, "alive": ["a", "b"],
            "events": {}}
    ])
}

/// Reads a message to its end: checked, built, replayed.
fn read(kind: Kind, message: &str) -> Result<(), (String, String)> {
    fn both(error: &(impl std::fmt::Debug + std::fmt::Display)) -> (String, String) {
        (format!("{error:?}"), error.to_string())
    }
    struct Build;
    impl GameVisitor for Build {
        type Output = ();
        fn visit<G: Game>(self, _game: G) {}
    }
    struct Finish<'a>(&'a GameRecord);
    impl GameVisitor for Finish<'_> {
        type Output = Result<(), ReplayError>;
        fn visit<G: Game>(self, game: G) -> Self::Output {
            Replay::new(&game, self.0)?.finish().map(|_| ())
        }
    }
    match kind {
        Kind::Request => GameState::parse(message.as_bytes())
            .and_then(|state| state.setup())
            .map(|_| ())
            .map_err(|error| both(&error)),
        Kind::Answer => Reply::parse(message.as_bytes()).map(|_| ()).map_err(|error| both(&error)),
        Kind::Position => {
            let position: Position = serde_json::from_str(message).map_err(|error| both(&error))?;
            position.validate(false).map_err(|error| both(&error))
        }
        Kind::Config => {
            let config: GameConfig = serde_json::from_str(message).map_err(|error| both(&error))?;
            config.visit(Build).map_err(|error| both(&error))
        }
        Kind::Record => {
            let record: GameRecord =
                GameRecord::from_json(message).map_err(|error| both(&error))?;
            let replayed = record.config.visit(Finish(&record)).map_err(|error| both(&error))?;
            replayed.map_err(|error| both(&error))
        }
        Kind::Recording => {
            let lines: Vec<Value> = serde_json::from_str(message).unwrap_or_default();
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            check("r.jsonl", text.as_bytes()).map(|_| ()).map_err(|error| both(&error))
        }
    }
}

fn base(kind: Kind) -> Value {
    match kind {
        Kind::Request => request(),
        Kind::Answer => json!({"move": "up", "shout": "hello"}),
        Kind::Position => position(),
        Kind::Config => config(),
        Kind::Record => record(),
        Kind::Recording => recording(),
    }
}

/// One row: the problem, the message, the location, the new value, the error, and a part of its
/// text that names the field.
type Row = (&'static str, Kind, &'static str, Value, &'static str, &'static str);

#[rustfmt::skip]
fn rows() -> Vec<Row> {
    use Kind::{Answer, Config, Position, Record, Recording, Request};
    let cells = |count: usize| json!(vec![json!([0, 0]); count]);
    let coords = |count: usize| json!(vec![json!({"x": 0, "y": 0}); count]);
    let crowd = |count: usize| {
        let snake = |id| json!({"id": format!("s{id}"), "health": 9, "body": [{"x": 1, "y": 1}]});
        json!((0..count).map(snake).collect::<Vec<_>>())
    };
    vec![
        ("empty board", Request, "/board/width", json!(0), "OutOfRange", "board.width is 0"),
        ("huge board", Request, "/board/height", json!(1000), "OutOfRange", "board.height is 1000"),
        ("negative width", Request, "/board/width", json!(-11), "OutOfRange", "board.width is -11"),
        ("turn before the first", Request, "/turn", json!(-1), "OutOfRange", "turn is -1"),
        ("turn beyond all games", Request, "/turn", json!(u32::MAX), "OutOfRange", "turn is 42949"),
        ("number beyond 64 bits", Request, "/turn", json!(1e30), "Field", "turn: "),
        ("fractional turn", Request, "/turn", json!(1.5), "Field", "turn: "),
        ("turn as text", Request, "/turn", json!("7"), "Field", "turn: "),
        ("no turn", Request, "/turn", Value::Null, "Field", "turn: "),
        ("no snakes", Request, "/board/snakes", json!([]), "SnakeCount", "board.snakes has 0"),
        ("null snakes", Request, "/board/snakes", Value::Null, "SnakeCount", "board.snakes has 0"),
        ("17 snakes", Request, "/board/snakes", crowd(17), "SnakeCount", "board.snakes has 17"),
        ("snakes as text", Request, "/board/snakes", json!("a"), "Field", "board.snakes: "),
        ("shared id", Request, "/board/snakes/1/id", json!("a"), "DuplicateId", "board.snakes[1].id"),
        ("id as number", Request, "/board/snakes/0/id", json!(3), "Field", "board.snakes[0].id"),
        ("stranger asks", Request, "/you/id", json!("z"), "NotOnBoard", "you.id is \"z\""),
        ("dead health", Request, "/board/snakes/0/health", json!(0), "OutOfRange", "board.snakes[0].health is 0"),
        ("negative health", Request, "/board/snakes/1/health", json!(-3), "OutOfRange", "board.snakes[1].health is -3"),
        ("too much health", Request, "/board/snakes/0/health", json!(101), "OutOfRange", "board.snakes[0].health is 101"),
        ("head elsewhere", Request, "/board/snakes/0/head/x", json!(3), "Head", "board.snakes[0].head is (3, 5)"),
        ("wrong length", Request, "/board/snakes/1/length", json!(4), "Length", "board.snakes[1].length is 4"),
        ("negative length", Request, "/board/snakes/1/length", json!(-3), "Length", "board.snakes[1].length is -3"),
        ("no body", Request, "/board/snakes/0/body", Value::Null, "Field", "board.snakes[0].body"),
        ("body off the board", Request, "/board/snakes/1/body/1/y", json!(11), "Position", "board.snakes[1].body[1] is (8, 11)"),
        ("cell beyond 32 bits", Request, "/board/snakes/1/body/1/y", json!(1_u64 << 40), "Field", "board.snakes[1].body[1].y"),
        ("cell without y", Request, "/board/food/0", json!({"x": 1}), "Field", "board.food[0]"),
        ("food off the board", Request, "/board/food/0/x", json!(-1), "Position", "board.food[0] is (-1, 0)"),
        ("food without end", Request, "/board/food", coords(16), "Position", "board.food[15]"),
        ("message without end", Request, "/board/hazards", coords(60_000), "TooLarge", "message has"),
        ("settings as list", Request, "/game/ruleset/settings", json!("easy"), "Field", "game.ruleset.settings"),
        ("unknown move", Answer, "/move", json!("UP"), "Move", "move is \"UP\""),
        ("empty move", Answer, "/move", json!(""), "Move", "move is \"\""),
        ("move as number", Answer, "/move", json!(0), "Field", "move: "),
        ("endless shout", Answer, "/shout", json!("a".repeat(257)), "Shout", "shout has 257"),
        ("empty board", Position, "/width", json!(0), "BoardSize", "width is 0"),
        ("board too wide", Position, "/width", json!(26), "BoardSize", "width is 26"),
        ("board of 1000", Position, "/height", json!(1000), "Error", "1000"),
        ("late turn", Position, "/turn", json!(1_u32 << 31), "Turn", "turn is 2147483648"),
        ("nobody", Position, "/snakes", json!([]), "SnakeCount", "snakes has 0"),
        ("empty body", Position, "/snakes/0/body", json!([]), "EmptyBody", "snakes[0].body is empty"),
        ("endless body", Position, "/snakes/0/body", cells(400), "BodyLength", "snakes[0].body has 400"),
        ("endless tail", Position, "/snakes/0/body", cells(300), "TailStack", "snakes[0].body ends with 300"),
        ("gap", Position, "/snakes/0/body/1", json!([2, 3]), "Gap", "snakes[0].body[1] is (2, 3)"),
        ("diagonal", Position, "/snakes/0/body/1", json!([3, 4]), "Gap", "snakes[0].body[1] is (3, 4)"),
        ("across an edge", Position, "/snakes/0/body", json!([[0, 5], [10, 5]]), "Gap", "snakes[0].body[1] is (10, 5)"),
        ("stack in the middle", Position, "/snakes/0/body", json!([[2, 5], [2, 5], [2, 4]]), "Repeated", "snakes[0].body[1] repeats (2, 5)"),
        ("crossing itself", Position, "/snakes/0/body", json!([[2, 5], [2, 4], [3, 4], [3, 5], [2, 5], [1, 5]]), "SelfOverlap", "snakes[0].body[4] is (2, 5)"),
        ("on another", Position, "/snakes/1/body", json!([[2, 5], [2, 6]]), "Overlap", "snakes[1].body[0] is (2, 5)"),
        ("dead far away", Position, "/snakes/2/body/0", json!([40, 5]), "BodyOffBoard", "snakes[2].body[0] is (40, 5)"),
        ("dead with health", Position, "/snakes/2/health", json!(-1), "Health", "snakes[2].health is -1"),
        ("killed by nobody", Position, "/snakes/2/death/by", Value::Null, "DeathBy", "snakes[2].death.by is absent"),
        ("killed by a stranger", Position, "/snakes/2/death/by", json!(9), "DeathBy", "snakes[2].death.by is 9"),
        ("killed by itself", Position, "/snakes/2/death/by", json!(2), "DeathBy", "snakes[2].death.by is 2"),
        ("starved by another", Position, "/snakes/2/death/cause", json!("out-of-health"), "DeathBy", "snakes[2].death.by is 0"),
        ("unknown cause", Position, "/snakes/2/death/cause", json!("boredom"), "Error", "boredom"),
        ("dies tomorrow", Position, "/snakes/2/death/on", json!(8), "DeathOn", "snakes[2].death.on is 8"),
        ("dead before the start", Position, "/snakes/2/death/on", json!(0), "DeathOn", "snakes[2].death.on is 0"),
        ("closed in too soon", Position, "/shrunk", json!([9, 0, 0, 0]), "Shrunk", "shrunk adds up to 9"),
        ("food on the wall", Position, "/food/0", json!([11, 0]), "FoodOffBoard", "food[0] is (11, 0)"),
        ("food in heaps", Position, "/food", cells(16), "FoodStack", "food[15]"),
        ("hazards in heaps", Position, "/hazards", cells(40_001), "HazardCount", "hazards has 40001"),
        ("flat board", Config, "/height", json!(2), "ConfigError", "height is 2"),
        ("nobody plays", Config, "/snakes", json!(0), "ConfigError", "snakes is 0"),
        ("17 play", Config, "/snakes", json!(17), "ConfigError", "snakes is 17"),
        ("food for sure", Config, "/food_spawn_chance", json!(101), "ConfigError", "food_spawn_chance is 101"),
        ("deadly swamp", Config, "/hazard_damage_per_turn", json!(101), "ConfigError", "hazard_damage_per_turn is 101"),
        ("always shrinking", Config, "/shrink_every_n_turns", json!(0), "ConfigError", "shrink_every_n_turns is 0"),
        ("start elsewhere", Config, "/start", position(), "ConfigError", "start.width is 11"),
        ("unknown ruleset", Config, "/ruleset", json!("chess"), "Error", "chess"),
        ("unknown field", Config, "/wdith", json!(7), "Error", "wdith"),
        ("unknown game", Config, "/game", json!("go"), "Error", "go"),
        ("from the future", Record, "/version", json!(99), "Version", "version is 99"),
        ("before the first", Record, "/version", json!(0), "Version", "version is 0"),
        ("version as text", Record, "/version", json!("1"), "Malformed", "invalid type"),
        ("wrong digest", Record, "/digests/1", json!(1), "Digest", "ply 0: state is"),
        ("wrong set-up", Record, "/digests/0", json!(1), "Digest", "ply -1: state is"),
        ("digest missing", Record, "/digests", json!([1, 2]), "DigestCount", "2 digests for 2 plies"),
        ("move missing", Record, "/plies/0", json!([0]), "ActionCount", "ply 0 has 1 actions"),
        ("impossible move", Record, "/plies/1/1", json!(4), "Step", "ply 1: action 4 of player 1"),
        ("board too small", Record, "/config/width", json!(1), "Config", "width is 1"),
        ("unknown field", Record, "/moves", json!([]), "Malformed", "moves"),
        ("turn without a game", Recording, "/0", recording()[1].clone(), "Damaged", "r.jsonl:1: no game has started"),
        ("game in a game", Recording, "/1", recording()[0].clone(), "Damaged", "r.jsonl:2: g begins before"),
        ("no end", Recording, "/2", recording()[1].clone(), "Differs", "r.jsonl:3: g, turn 7: the recorded state"),
        ("unknown line", Recording, "/1/type", json!("pause"), "Damaged", "r.jsonl:2: not a line"),
        ("turns miscounted", Recording, "/2/turns", json!(2), "Damaged", "r.jsonl:3: turns is 2"),
        ("another's end", Recording, "/2/game", json!("h"), "Damaged", "r.jsonl:3: game is \"h\""),
        ("dead at the end", Recording, "/2/alive", json!(["a"]), "Damaged", "r.jsonl:3: alive is"),
        ("over at the end", Recording, "/2/over", json!(true), "Damaged", "r.jsonl:3: over is true"),
        ("move of a stranger", Recording, "/1/moves/0/0", json!("z"), "Damaged", "r.jsonl:2: moves names \"z\""),
        ("move listed twice", Recording, "/1/moves/0/0", json!("b"), "Damaged", "r.jsonl:2: moves names \"b\""),
        ("silent snake", Recording, "/1/moves", json!([["a", "up"]]), "Damaged", "r.jsonl:2: moves lacks \"b\""),
        ("snake renamed", Recording, "/1/after/snakes/0/id", json!("z"), "Damaged", "snakes[0].id is \"z\""),
        ("cause without turn", Recording, "/1/after/snakes/0/cause", json!("hazard"), "Damaged", "snakes[0] has one of cause and on"),
        ("impossible state", Recording, "/1/before/snakes/0/body/1", json!([9, 9]), "Damaged", "snakes[0].body[1] is (9, 9)"),
        ("other health", Recording, "/1/after/snakes/1/health", json!(88), "Differs", "the state after the moves"),
        ("other end", Recording, "/1/over", json!(true), "Differs", "the end of the game"),
        ("food from nowhere", Recording, "/1/spawned", json!([[5, 5]]), "Differs", "the recorded new food"),
        ("set-up off its points", Recording, "/0/mode", json!("full"), "Differs", "the set-up"),
    ]
}

/// Writes `value` at the pointer, whose last part may be new.
fn edit(message: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').expect("pointers begin with a slash");
    let parent = message.pointer_mut(parent).expect("the row points into the message");
    match parent {
        Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value,
        other => other[key] = value,
    }
}

#[test]
fn valid_messages_are_read() {
    for kind in
        [Kind::Request, Kind::Answer, Kind::Position, Kind::Config, Kind::Record, Kind::Recording]
    {
        assert_eq!(read(kind, &base(kind).to_string()), Ok(()), "{kind:?}");
    }
}

#[test]
fn one_wrong_value_is_refused_by_the_name_of_its_field() {
    let rows = rows();
    assert!(rows.len() >= 60);
    for (name, kind, pointer, value, variant, text) in rows {
        let mut message = base(kind);
        edit(&mut message, pointer, value);
        let Err((debug, shown)) = read(kind, &message.to_string()) else {
            panic!("{kind:?}, {name}: was accepted");
        };
        assert!(debug.starts_with(variant), "{kind:?}, {name}: {debug}");
        assert!(shown.contains(text), "{kind:?}, {name}: {shown}");
        assert!(!shown.contains('\n'), "{kind:?}, {name}: more than a line: {shown}");
    }
}

/// The state after one turn of such a start could not be read back.
#[test]
fn a_start_whose_repeated_food_could_stack_a_tail_too_high_is_refused() {
    let build = |stacked: usize| {
        let body = [vec![json!([5, 5])], vec![json!([5, 4]); stacked]].concat();
        let start = json!({"width": 13, "height": 13, "turn": 1,
            "food": vec![json!([5, 6]); 15], "hazards": [],
            "snakes": [{"health": 90, "body": body}]});
        let config = json!({"solo": true, "width": 13, "height": 13, "snakes": 1, "start": start});
        Large::new(serde_json::from_value(config).expect("it is a configuration"))
    };
    for stacked in [243, 256] {
        let error = build(stacked).expect_err("the tail becomes too long").to_string();
        let expected = format!("snakes[0].body could end with {} equal cells", stacked + 14);
        assert!(error.contains(&expected), "{error}");
    }
    let rules = build(242).expect("the tail just fits");
    let mut state = rules.initial(&mut Rng::new(1, "test"));
    rules.step(&mut state, &[Action(0)]).expect("up is the food");
    assert_eq!(state.tail_stack(0), 255);
    let json = serde_json::to_string(&state).expect("states serialise");
    let back: <Large as Game>::State = serde_json::from_str(&json).expect("it reads back");
    assert_eq!(back, state);
}

#[test]
fn a_message_cut_anywhere_is_refused() {
    for kind in [Kind::Request, Kind::Answer, Kind::Position, Kind::Config, Kind::Record] {
        let text = base(kind).to_string();
        for end in 0..text.len() {
            let (debug, _) = read(kind, &text[..end]).expect_err("half a message is none");
            if matches!(kind, Kind::Request | Kind::Answer) {
                assert!(debug.starts_with("Truncated"), "{kind:?} cut at {end}: {debug}");
            }
        }
    }
}

#[test]
fn a_recording_cut_anywhere_but_after_a_game_is_damaged_or_empty() {
    let lines = recording();
    let lines = lines.as_array().expect("a recording is a list of lines");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // The last line break may be missing, and an empty file is a recording without games.
    for end in 1..text.len() - 1 {
        let error = check("r.jsonl", &text.as_bytes()[..end]).expect_err("it is cut");
        assert!(error.to_string().starts_with("r.jsonl:"), "cut at {end}: {error}");
    }
}

#[test]
fn unknown_json_literals_are_refused() {
    for word in ["NaN", "Infinity", "-", "1e999999", "0x10", "'up'", "undefined"] {
        let text = request().to_string().replace("\"turn\":7", &format!("\"turn\":{word}"));
        assert!(text.contains(word));
        assert!(read(Kind::Request, &text).is_err(), "{word}");
        let text = config().to_string().replace("\"width\":7", &format!("\"width\":{word}"));
        assert!(read(Kind::Config, &text).is_err(), "{word}");
    }
}

#[test]
fn deep_nesting_is_refused_before_it_can_overflow_the_stack() {
    let deep = "[".repeat(100_000);
    for kind in [Kind::Request, Kind::Answer, Kind::Position, Kind::Config, Kind::Record] {
        assert!(read(kind, &deep).is_err(), "{kind:?}");
    }
    assert!(check("r.jsonl", deep.as_bytes()).is_err());
}

#[test]
fn lenient_readers_accept_what_servers_leave_out() {
    let mut message = request();
    for (pointer, value) in [
        ("/game", json!({"id": "g", "ruleset": {"name": "unheard of"}})),
        ("/board/hazards", Value::Null),
        ("/news", json!({"deep": [1, 2, 3]})),
        ("/you/latency", json!(12)),
        ("/board/snakes/0/length", Value::Null),
        ("/board/snakes/0/head", Value::Null),
    ] {
        edit(&mut message, pointer, value);
    }
    let state = GameState::parse(message.to_string().as_bytes()).expect("it is all optional");
    let setup = state.setup().expect("the position is whole");
    let expected = Config { width: 11, height: 11, snakes: 2, ..Config::default() };
    assert_eq!(Config { start: None, ..setup.config }, expected);
    assert_eq!((setup.you, setup.timeout_ms), (1, None));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        for kind in KINDS {
            let _ = read(kind, &text);
        }
        let _ = GameState::parse(&bytes);
        let _ = Reply::action_or_previous(&bytes, None);
        let _ = check("r.jsonl", &bytes[..]);
    }

    #[test]
    fn damaged_messages_never_panic_a_reader(
        kind in prop::sample::select(&KINDS),
        edits in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..4),
    ) {
        let mut text = base(kind).to_string().into_bytes();
        for (at, bytes) in edits {
            let at = at.index(text.len());
            text.splice(at..text.len().min(at + bytes.len()), bytes);
        }
        let _ = read(kind, &String::from_utf8_lossy(&text));
    }
}

/// Replacements for a part of a message: mostly JSON, so that the message stays readable.
fn damage() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(&b"0123456789-,:[]{}\"ue. "[..]).prop_map(|byte| vec![byte]),
        any::<i64>().prop_map(|number| number.to_string().into_bytes()),
        (0..300_i32).prop_map(|number| number.to_string().into_bytes()),
        Just(b"null".to_vec()),
        any::<u8>().prop_map(|byte| vec![byte]),
    ]
}
