//! Maze Dash as a game: slides, starts, results, boards of the configuration, states from outside.

use ouro_game::maze_dash::{Board, Config, Direction, MazeDash, Solution, Start, State, generate};
use ouro_game::record::{Recorder, Replay};
use ouro_game::{Action, ActionMask, Game, GameConfig, Rng, Turn};
use serde_json::json;

fn rules(config: serde_json::Value) -> MazeDash {
    let config: Config = serde_json::from_value(config).expect("well-formed");
    MazeDash::new(config).expect("in range")
}

fn start(game: &MazeDash) -> State {
    game.initial(&mut Rng::new(1, "test"))
}

fn legal(game: &MazeDash, state: &State) -> Vec<u32> {
    let mut mask = ActionMask::default();
    game.legal(state, 0, &mut mask);
    mask.iter().map(|action| action.0).collect()
}

fn rows(state: &State) -> serde_json::Value {
    serde_json::to_value(state).expect("states serialise")["rows"].clone()
}

#[test]
fn a_slide_goes_on_to_the_first_cell_that_is_not_free() {
    let game = rules(json!({"board": "S...\n.#..\n...."}));
    let mut state = start(&game);
    assert_eq!((game.action_count(), legal(&game, &state)), (4, vec![1, 3]));
    assert_eq!(game.turn(&state), Turn::Move(ouro_game::PlayerSet::one(0)));
    game.step(&mut state, &[Action(3)]).expect("right is free");
    assert_eq!(rows(&state), json!(["ooo@", ".#..", "...."]));
    assert_eq!((state.visited(), state.elapsed(), state.cells()), (4, 1, 11));
    for (action, options) in [(1, vec![2]), (2, vec![0]), (0, vec![3]), (3, vec![1])] {
        game.step(&mut state, &[Action(action)]).expect("a legal slide");
        if legal(&game, &state) != options {
            break;
        }
    }
    assert_eq!(rows(&state), json!(["oooo", "@#.o", "oooo"]));
    assert_eq!(game.turn(&state), Turn::Over);
    assert!((game.returns(&state, 0) - 10.0 / 11.0).abs() < 1e-6);
    assert!((game.outcome(&state, 0) + 1.0 / 11.0).abs() < 1e-6);
    let drawing = "action 4, 10 of 11 cells, stuck\noooo\n@#.o\noooo\n";
    assert_eq!(game.render(&state), drawing);
}

#[test]
fn the_path_of_the_generator_wins_and_its_record_replays() {
    let line = |board: &Board| json!({"board": board.to_line()});
    for (side, obstacles) in [(10, 32), (50, 776), (200, 12_400)] {
        let (board, path) = generate(side, side, obstacles, 1).expect("a board exists");
        let game = rules(line(&board));
        let mut recorder = Recorder::new(&game, 1);
        for slide in Solution::from_path(&board, &path).moves {
            recorder
                .advance(&game, &[Action(slide as u32)])
                .expect("slides of a solution are legal");
        }
        let last = recorder.state().clone();
        assert_eq!(game.turn(&last), Turn::Over);
        let results = [game.outcome(&last, 0), game.returns(&last, 0)];
        assert_eq!(results.map(f32::to_bits), [1.0_f32; 2].map(f32::to_bits));
        let record = recorder.into_record(GameConfig::MazeDash(game.config().clone()));
        assert_eq!(record.verify(), Ok(()));
        assert_eq!(Replay::new(&game, &record).and_then(Replay::finish), Ok(last));
    }
}

#[test]
fn the_first_action_chooses_a_free_start() {
    let game = rules(json!({"width": 5, "height": 4, "obstacles": 3, "start": "free"}));
    assert_eq!(game.action_count(), 24);
    let first = start(&game);
    let starts = legal(&game, &first);
    assert_eq!(starts.len(), 17);
    assert!(starts.iter().all(|&action| first.is_free(action as usize - 4)));
    assert_eq!(game.outcome(&first, 0).to_bits(), (-1.0_f32).to_bits());
    let mut state = first.clone();
    game.step(&mut state, &[Action(starts[3])]).expect("it is legal");
    assert_eq!((state.head(), state.visited()), (Some(starts[3] as usize - 4), 1));
    assert!(legal(&game, &state).iter().all(|&action| action < 4));
    assert_eq!(game.action_name(Action(4 + 7)), "start 2,1");
    // Without a start in its text, a fixed board has a free start, and `free` removes a given one.
    assert_eq!(rules(json!({"board": "..\n.."})).action_count(), 8);
    assert_eq!(rules(json!({"board": "S.\n..", "start": "free"})).action_count(), 8);
    assert_eq!(rules(json!({"board": "S.\n.."})).action_count(), 4);
}

#[test]
fn each_seed_of_a_game_has_a_board_of_its_own() {
    let game = MazeDash::new(Config::default()).expect("the default is in range");
    let state = |seed| game.initial(&mut Rng::new(seed, "game"));
    assert_eq!(state(1), state(1));
    assert_ne!(state(1), state(2));
    assert_ne!(game.digest(&state(1)), game.digest(&state(2)));
    assert_eq!((state(1).cells(), state(1).visited()), (68, 1));
}

#[test]
fn outcomes_grow_with_the_share_and_only_solved_boards_win() {
    let game = rules(json!({"width": 8, "height": 8, "obstacles": 15}));
    let mut rng = Rng::new(1, "test");
    for seed in 0..50 {
        let mut state = game.initial(&mut Rng::new(seed, "game"));
        let mut before = f32::NEG_INFINITY;
        while game.turn(&state) != Turn::Over {
            assert!(game.outcome(&state, 0) > before);
            before = game.outcome(&state, 0);
            assert!((-1.0..0.0).contains(&before));
            let actions = legal(&game, &state);
            let drawn = actions[rng.below(actions.len() as u32) as usize];
            game.step(&mut state, &[Action(drawn)]).expect("legal");
        }
        let is_solved = state.visited() == state.cells();
        assert_eq!(game.outcome(&state, 0) > 0.0, is_solved);
    }
}

#[test]
fn planes_show_slides_forced_moves_degrees_and_ends() {
    let game = rules(json!({"board": "S..\n.#.\n..."}));
    let mut state = start(&game);
    let mut planes = vec![f32::NAN; game.planes().len()];
    let set = |planes: &[f32], plane: usize| -> Vec<usize> {
        (0..9).filter(|&cell| planes[plane * 9 + cell] > 0.0).collect()
    };
    game.observe(&state, 0, &mut planes);
    assert_eq!(set(&planes, 0), [0, 1, 2, 3, 5, 7, 8]);
    assert_eq!((set(&planes, 1), set(&planes, 2), set(&planes, 3)), (vec![6], vec![4], vec![6]));
    assert_eq!((set(&planes, 4), set(&planes, 5)), (vec![0, 3, 7, 8], vec![0, 8]));
    assert!(set(&planes, 6).is_empty(), "two slides are possible");
    assert!((planes[7 * 9] - 0.5).abs() < 1e-6, "the corner has two neighbours");
    game.step(&mut state, &[Action(3)]).expect("right");
    game.observe(&state, 0, &mut planes);
    assert_eq!(set(&planes, 6).len(), 9, "one slide is possible");
    assert_eq!(set(&planes, 8), [3], "the path must end below the start");
    assert!((planes[9 * 9] - 3.0 / 8.0).abs() < 1e-6);
}

#[test]
fn configurations_out_of_range_are_refused_by_field() {
    let long = format!("{}\nS", ".".repeat(300));
    for (config, expected) in [
        (json!({"width": 0}), "width is 0; sides are 1 to 200"),
        (json!({"height": 201}), "height is 201; sides are 1 to 200"),
        (json!({"obstacles": 100}), "obstacles is 100; a board of 100 cells has at most 99"),
        (json!({"board": ""}), "board is \"\"; the board cannot be read: the text is empty"),
        (json!({"board": "..\n?."}), "board is \"..\\\\n?.\"; the board cannot be read"),
        (json!({"board": "##"}), "the board has no free cell"),
        (json!({"board": ".#."}), "1 of 2 free cells cannot be reached"),
        (json!({"board": long}), "row 2 has 1 cells, the first has 300"),
        (json!({"board": ".".repeat(201)}), "it is 201x1; sides of a game are 1 to 200"),
    ] {
        let read: Config = serde_json::from_value(config).expect("well-formed");
        let error = MazeDash::new(read).expect_err(expected).to_string();
        assert!(error.starts_with("maze_dash config: "), "{error}");
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
    }
    assert!(serde_json::from_value::<Config>(json!({"size": 3})).is_err());
    assert_eq!(Config::default().start, Start::Given);
}

#[test]
fn impossible_states_are_refused_by_name() {
    let tall = vec!["."; 201];
    for (rows, expected) in [
        (json!([]), "rows hold 0x0 cells"),
        (json!([""]), "rows hold 0x1 cells"),
        (json!(tall), "rows hold 1x201 cells; sides are 1 to 200"),
        (json!(["..", "."]), "rows[1] has 1 cells, rows[0] has 2"),
        (json!(["..", ".x"]), "rows[1] holds 'x'"),
        (json!(["##"]), "rows have no free cell"),
        (json!(["@@"]), "rows have 2 heads '@' and 0 other"),
        (json!(["oo."]), "rows have 0 heads '@' and 2 other"),
        (json!(["o.@"]), "1 visited cells are not connected with the head"),
    ] {
        let error = serde_json::from_value::<State>(json!({"rows": rows, "elapsed": 0}))
            .expect_err(expected)
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    for field in ["rows", "elapsed"] {
        let mut state = json!({"rows": ["@."], "elapsed": 0});
        state.as_object_mut().expect("an object").remove(field);
        assert!(serde_json::from_value::<State>(state).is_err());
    }
}

#[test]
fn states_of_other_boards_are_over_and_never_panic_the_rules() {
    let game = rules(json!({"width": 6, "height": 4, "obstacles": 5}));
    let read = |rows| serde_json::from_value::<State>(json!({"rows": rows, "elapsed": u32::MAX}));
    for rows in [json!(["@.."]), json!(["......"]), json!(["......", "......", "......", "......"])]
    {
        let mut state = read(rows).expect("a valid state");
        assert_eq!(game.turn(&state), Turn::Over);
        assert!(legal(&game, &state).is_empty());
        let mut planes = vec![f32::NAN; game.planes().len()];
        game.observe(&state, 0, &mut planes);
        assert!(planes.iter().all(|value| value.is_finite()));
        assert!(game.step(&mut state, &[Action(0)]).is_err());
        assert!(game.render(&state).ends_with('\n'));
    }
    // The count of actions does not overflow.
    let mut state = read(json!(["@.....", "......", "......", "......"])).expect("a valid state");
    game.step(&mut state, &[Action(Direction::Right as u32)]).expect("right is free");
    assert_eq!(game.elapsed(&state), u32::MAX);
}
