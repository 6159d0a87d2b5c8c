//! SNAKGAME as a game of the catalog: laws, agreement with the contest's rules and Chef, records.

use std::collections::BTreeMap;

use ouro_game::record::{GAME_RNG, Recorder};
use ouro_game::snakgame::{
    Board, Cell, Chef, Config, Content, Large, Mode, Move, NewSnakes, Position, Side, Small,
    Snakgame, Snapshot, State, Words, generate, one_snake_bound,
};
use ouro_game::{
    Action, ActionMask, Chance, Game, GameConfig, GameRecord, Rng, RolloutBuffer, StepError,
    Symmetry, Turn, check_laws, rollout,
};

type SmallState = State<[u64; 16]>;

fn config(mode: Mode, rows: u16, columns: u16) -> Config {
    Config { mode, rows, columns, ..Config::default() }
}

/// A fixed board, `.` and `#`.
fn fixed(mode: Mode, board: &[&str]) -> Small {
    let rows = board.len() as u16;
    let config = config(mode, rows, board[0].len() as u16);
    let board = Some(board.iter().map(|&row| row.to_owned()).collect());
    Small::new(Config { board, ..config }).expect("the board is valid")
}

fn legal<W: Words>(game: &Snakgame<W>, state: &State<W>) -> ActionMask {
    let mut mask = ActionMask::default();
    game.legal(state, state.to_move() as usize, &mut mask);
    mask
}

/// Makes a move of the side to move, in the contest's words.
fn play<W: Words>(game: &Snakgame<W>, state: &mut State<W>, line: &str) {
    let action = line.parse().expect("a move");
    let action = game.move_action(state, action).unwrap_or_else(|| panic!("{line} is illegal"));
    game.step(state, &vec![action; game.players()]).expect("a legal move");
}

/// Chef's answer to the player's move that led from `before` to the settled state `after`.
///
/// It is EXIT after a move that ends the game, as in the contest's protocol.
fn chef_answer<W: Words>(before: &State<W>, after: &State<W>) -> Move {
    let [old, new] = [before, after].map(|state| state.snakes(Side::Second));
    match (old.current(), new.current()) {
        _ if after.cell_count(Side::Second) == before.cell_count(Side::Second) => {
            if after.is_over() { Move::Exit } else { Move::Freeze(after.frozen_turns()) }
        }
        (Some(old_snake), Some(snake)) if old.count() == new.count() => {
            let end = usize::from(old_snake.ends[0] == snake.ends[0]);
            Move::Extend { from: old_snake.ends[end], to: snake.ends[end] }
        }
        (_, snake) => snake.map_or(Move::Exit, |snake| Move::New(snake.ends[0])),
    }
}

/// Makes a move of Chef.
fn answer<W: Words>(game: &Snakgame<W>, state: &mut State<W>, line: &str) {
    let before = state.clone();
    let cells = game.config().cells() as u32;
    for outcome in 0..58 + cells {
        let mut after = before.clone();
        let applied = game.apply_chance(&mut after, outcome).is_ok();
        if applied && chef_answer(&before, &after).to_string() == line {
            *state = after;
            return;
        }
    }
    panic!("Chef cannot play {line}");
}

#[test]
fn all_modes_and_board_classes_keep_the_laws() {
    let board = ["...#..", "......", ".#....", "....#."].map(str::to_owned).to_vec();
    let duel = config(Mode::Duel, 10, 10);
    let official = config(Mode::Official, 10, 12);
    let stuck = NewSnakes::WhenStuck;
    let configs = [
        Config { new_snakes: stuck, exit: true, ..duel.clone() },
        Config { blocked: 0.5, ..config(Mode::Duel, 13, 10) },
        Config { exit: true, board_seed: Some(3), ..official.clone() },
        Config { new_snakes: stuck, blocked: 0.0, ..official },
        Config { board: Some(board), ..config(Mode::Official, 4, 6) },
        Config { new_snakes: stuck, ..config(Mode::Official, 33, 32) },
    ];
    for config in configs {
        let games = if config.cells() > 1_000 { 1 } else { 12 };
        let coverage = if Small::fits(&config) {
            check_laws(&Small::new(config.clone()).expect("in range"), 5, games)
        } else {
            check_laws(&Large::new(config.clone()).expect("in range"), 5, games)
        };
        let coverage = coverage.unwrap_or_else(|broken| panic!("{config:?}: {broken}"));
        assert!(coverage.ended == games || games == 1, "{config:?}");
        assert_eq!(coverage.chance_nodes > 0, config.mode == Mode::Official, "{config:?}");
    }
}

/// The contest's rules on the board of a state, before any move.
fn position<W: Words>(state: &State<W>) -> Position {
    let (rows, columns) = (state.rows(), state.columns());
    let cells = (1..=rows).flat_map(|row| (1..=columns).map(move |column| Cell::new(row, column)));
    let blocked = cells.filter(|&cell| !state.is_empty(cell));
    Position::new(Board::new(rows, columns, blocked).expect("the sides are valid"))
}

fn compare<W: Words>(state: &State<W>, position: &Position) {
    for side in [Side::First, Side::Second] {
        assert_eq!(state.snakes(side), position.snakes(side));
    }
    assert_eq!(state.is_over(), position.is_over());
    assert_eq!(state.empty_count(), position.board().empty_count());
    for row in 1..=state.rows() {
        for column in 1..=state.columns() {
            let cell = Cell::new(row, column);
            let content = match state.owner(cell) {
                Some(side) => Content::Snake(side),
                None if state.is_empty(cell) => Content::Empty,
                None => Content::Blocked,
            };
            assert_eq!(content, position.board().content(cell));
        }
    }
}

/// A random game beside the contest's rules and Chef; returns the freezes seen.
fn play_beside_the_contest<W: Words>(game: &Snakgame<W>, seed: u64) -> u32 {
    let mut choices = Rng::new(seed, "test");
    let (mut chance, mut chef) = (Rng::new(seed, GAME_RNG), Chef::new(seed));
    let mut state = game.initial(&mut choices);
    let mut position = position(&state);
    let mut freezes = 0;
    while let Turn::Move(_) = game.turn(&state) {
        compare(&state, &position);
        assert_eq!(state.to_move(), position.to_move());
        let mask = legal(game, &state);
        let (cells, empty) = (game.config().cells(), state.empty_count() as usize);
        let is_new = |action: &Action| action.index() < cells;
        assert_eq!(mask.iter().filter(is_new).count(), empty);
        for action in mask.iter() {
            let made = game.action_move(&state, action).expect("it is legal");
            assert_eq!(game.move_action(&state, made), Some(action));
            assert!(position.clone().play(made).is_ok(), "{made}");
        }
        // Extensions are preferred, so that snakes grow.
        let count = mask.count() - empty;
        let drawn = if count > 0 && choices.below(20) > 0 {
            empty + choices.below(count as u32) as usize
        } else {
            choices.below(empty as u32) as usize
        };
        let action = mask.nth(drawn).expect("it is below the count");
        position.play(game.action_move(&state, action).expect("legal")).expect("legal");
        let before = state.clone();
        game.advance(&mut state, &vec![action; game.players()], &mut chance).expect("legal");
        if game.config().mode == Mode::Official && !position.is_over() {
            let (made, expected) = (chef_answer(&before, &state), chef.choose(&position));
            assert_eq!(made, expected);
            freezes += u32::from(matches!(made, Move::Freeze(_)));
            position.play(made).expect("Chef's move is legal");
        }
    }
    compare(&state, &position);
    assert!(state.is_over());
    freezes
}

#[test]
fn games_agree_with_the_rules_and_the_chef_of_the_contest() {
    let mut freezes = 0;
    for (mode, rows, columns) in
        [(Mode::Duel, 10, 10), (Mode::Official, 10, 14), (Mode::Official, 32, 32)]
    {
        let game = Small::new(config(mode, rows, columns)).expect("in range");
        let games = if rows > 20 { 3 } else { 10 };
        freezes += (0..games).map(|seed| play_beside_the_contest(&game, seed)).sum::<u32>();
    }
    let game = Large::new(config(Mode::Official, 36, 33)).expect("in range");
    freezes += (0..3).map(|seed| play_beside_the_contest(&game, seed)).sum::<u32>();
    assert!(freezes > 30, "{freezes} frozen turns");
}

#[test]
fn both_board_classes_play_the_same_game() {
    let config = config(Mode::Official, 12, 11);
    let (small, large) = (Small::new(config.clone()), Large::new(config));
    let (small, large) = (small.expect("in range"), large.expect("in range"));
    for seed in 0..5 {
        let (mut rng, mut other_rng) = (Rng::new(seed, "game"), Rng::new(seed, "game"));
        let (mut state, mut other) = (small.initial(&mut rng), large.initial(&mut other_rng));
        while small.turn(&state) != Turn::Over {
            small.guided_rollout(&mut state, 1, &mut RolloutBuffer::new(), &mut rng);
            large.guided_rollout(&mut other, 1, &mut RolloutBuffer::new(), &mut other_rng);
            assert_eq!(small.digest(&state), large.digest(&other));
        }
        assert_eq!(Snapshot::from(state), Snapshot::from(other));
    }
}

#[test]
fn the_examples_of_the_statement_score_1_10_and_3() {
    let score = |game: &Small, lines: &str| {
        let mut state = game.initial(&mut Rng::new(1, "test"));
        for line in lines.split(", ") {
            match game.turn(&state) {
                Turn::Chance => answer(game, &mut state, line),
                // The further turns of a freeze are no chance nodes.
                _ if line.starts_with("FREEZE") => {
                    assert_eq!(line, format!("FREEZE {}", state.frozen_turns()));
                }
                _ => play(game, &mut state, line),
            }
        }
        state.snakes(Side::First).score()
    };
    let game = fixed(Mode::Duel, &["..", ".."]);
    assert_eq!(score(&game, "NEW 1 1, NEW 2 2, MOVE 1 1 1 2, MOVE 2 2 2 1"), 1);
    let game = fixed(Mode::Official, &["....", "....", "...."]);
    let lines = "NEW 1 2, NEW 3 1, MOVE 1 2 1 1, FREEZE 2, MOVE 1 2 1 3, FREEZE 1, MOVE 1 3 1 4, \
        NEW 3 2, MOVE 1 4 2 4, NEW 3 3, MOVE 2 4 2 3, NEW 3 4";
    assert_eq!(score(&game, lines), 10);
    let game = fixed(Mode::Duel, &[".....", "....."]);
    let lines = "NEW 1 1, NEW 2 1, MOVE 1 1 1 2, MOVE 2 1 2 2, MOVE 1 2 1 3, MOVE 2 2 2 3, \
        NEW 2 5, MOVE 2 3 2 4, MOVE 2 5 1 5, NEW 1 4";
    assert_eq!(score(&game, lines), 3);
}

/// Chef's turn, with a snake whose ends (2, 2) and (3, 3) share two empty neighbours less one.
fn chef_to_move(game: &Small) -> SmallState {
    let mut state = game.initial(&mut Rng::new(1, "test"));
    for (own, chef) in
        [("NEW 5 5", "NEW 2 2"), ("MOVE 5 5 5 6", "MOVE 2 2 2 3"), ("MOVE 5 6 5 7", "MOVE 2 3 3 3")]
    {
        play(game, &mut state, own);
        answer(game, &mut state, chef);
    }
    play(game, &mut state, "MOVE 5 7 5 8");
    state
}

#[test]
fn outcomes_have_the_probabilities_of_chefs_policy() {
    let game = fixed(Mode::Official, &["........"; 6]);
    let state = chef_to_move(&game);
    let Chance::Enumerable { count } = game.chance(&state) else { panic!("a small board") };
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let mut targets = Vec::new();
    for outcome in (0..count).filter(|&outcome| game.chance_probability(&state, outcome) > 0.0) {
        let mut after = state.clone();
        game.apply_chance(&mut after, outcome).expect("it is possible");
        let made = chef_answer(&state, &after);
        let kind = made.to_string().split(' ').next().unwrap_or_default().to_owned();
        *sums.entry(kind).or_default() += game.chance_probability(&state, outcome);
        if let Move::Extend { to, .. } = made {
            targets.push(to);
        }
    }
    // (3, 2) is next to both ends and counts once.
    targets.sort();
    let near = [(1, 2), (2, 1), (3, 2), (3, 4), (4, 3)].map(|(row, column)| Cell::new(row, column));
    assert_eq!(targets, near);
    let close = |kind: &str, expected: f64| (sums[kind] - expected).abs() < 1e-12;
    assert!(close("FREEZE", 1.0 / 500.0) && close("MOVE", 499.0 / 500.0 * 0.99), "{sums:?}");
    assert!(close("NEW", 499.0 / 500.0 * 0.01), "{sums:?}");

    // 200,000 draws: each count within 6 deviations of its binomial.
    let (mut rng, draws) = (Rng::new(2, "test"), 200_000.0);
    let mut counts = vec![0.0; count as usize];
    for _ in 0..200_000 {
        counts[game.sample_chance(&state, &mut rng) as usize] += 1.0;
    }
    for (outcome, drawn) in counts.into_iter().enumerate() {
        let probability = game.chance_probability(&state, outcome as u32);
        let deviation = (draws * probability * (1.0 - probability)).sqrt();
        let difference: f64 = drawn - draws * probability;
        assert!(difference.abs() <= 6.0 * deviation, "{outcome}: {drawn}, {probability}");
    }
    // The first turn is NEW or FREEZE.
    let mut first = game.initial(&mut rng);
    play(&game, &mut first, "NEW 1 1");
    let new: f64 = (58..count).map(|outcome| game.chance_probability(&first, outcome)).sum();
    assert!((new - 499.0 / 500.0).abs() < 1e-12, "{new}");
}

#[test]
fn exit_is_legal_if_configured_never_viable_and_loses_a_duel() {
    for mode in [Mode::Duel, Mode::Official] {
        let game = Small::new(Config { exit: true, ..config(mode, 10, 10) }).expect("in range");
        let mut state = game.initial(&mut Rng::new(4, "test"));
        let mut viable = ActionMask::default();
        game.viable(&state, 0, &mut viable);
        let exit = Action(108);
        assert!(legal(&game, &state).contains(exit) && !viable.contains(exit));
        play(&game, &mut state, "EXIT");
        assert_eq!((game.turn(&state), state.exited()), (Turn::Over, Some(Side::First)));
        let outcomes: Vec<f32> =
            (0..game.players()).map(|player| game.outcome(&state, player)).collect();
        assert_eq!(outcomes, [-1.0, 1.0][..game.players()]);
    }
    let game = Small::new(config(Mode::Duel, 10, 10)).expect("in range");
    let mut state = game.initial(&mut Rng::new(4, "test"));
    let error = game.step(&mut state, &[Action(108); 2]);
    assert_eq!(error, Err(StepError::IllegalAction { player: 0, action: 108 }));
}

#[test]
fn a_snake_that_can_be_extended_is_kept_where_the_configuration_says_so() {
    let config = Config { new_snakes: NewSnakes::WhenStuck, ..config(Mode::Official, 10, 10) };
    let game = Small::new(config).expect("in range");
    let (mut rng, mut state) = (Rng::new(4, "test"), game.initial(&mut Rng::new(4, "test")));
    assert_eq!(legal(&game, &state).count() as u32, state.empty_count());
    let mut starts = 0;
    while game.turn(&state) != Turn::Over {
        let mask = legal(&game, &state);
        let is_stuck = mask.iter().all(|action| action.index() < 100);
        assert!(is_stuck || mask.iter().all(|action| (100..108).contains(&action.index())));
        starts += u32::from(is_stuck);
        let action = mask.nth(rng.below(mask.count() as u32) as usize).expect("not empty");
        game.advance(&mut state, &[action], &mut rng).expect("legal");
    }
    assert_eq!(state.snakes(Side::First).count(), starts);
    assert!(starts > 1);
}

#[test]
fn rollouts_draw_like_the_policy_that_they_document() {
    let mut shares = [0.0; 2];
    for mode in [Mode::Duel, Mode::Official] {
        let config = Config { new_snakes: NewSnakes::WhenStuck, ..config(mode, 12, 12) };
        let game = Small::new(config).expect("in range");
        let mut buffer = RolloutBuffer::new();
        for seed in 0..30 {
            let start = game.initial(&mut Rng::new(seed, "test"));
            let run = |play: &mut dyn FnMut(&mut SmallState, &mut Rng)| {
                let (mut state, mut rng) = (start.clone(), Rng::new(seed, "rollout"));
                play(&mut state, &mut rng);
                assert_eq!(game.turn(&state), Turn::Over);
                (state, rng)
            };
            let uniform = run(&mut |state, rng| game.rollout(state, 999, &mut buffer, rng));
            let expected =
                run(&mut |state, rng| rollout::uniform(&game, state, 999, &mut buffer, rng));
            assert_eq!(uniform, expected);
            let guided = run(&mut |state, rng| game.guided_rollout(state, 999, &mut buffer, rng));
            let expected =
                run(&mut |state, rng| rollout::guided(&game, state, 999, &mut buffer, rng));
            assert_eq!(guided, expected);
            if mode == Mode::Official {
                shares[0] += game.returns(&uniform.0, 0) / 30.0;
                shares[1] += game.returns(&guided.0, 0) / 30.0;
            }
        }
    }
    assert!(shares[1] > 1.2 * shares[0], "{shares:?}");
}

#[test]
fn planes_turn_with_the_board_and_are_those_of_the_player() {
    let game = Small::new(config(Mode::Duel, 10, 10)).expect("in range");
    let (mut rng, mut buffer) = (Rng::new(8, "test"), RolloutBuffer::new());
    let mut state = game.initial(&mut rng);
    let planes = |state: &SmallState, player| {
        let mut planes = vec![f32::NAN; 1_600];
        game.observe(state, player, &mut planes);
        planes
    };
    while game.turn(&state) != Turn::Over {
        game.rollout(&mut state, 3, &mut buffer, &mut rng);
        let seen = planes(&state, 0);
        for &symmetry in Symmetry::SQUARE {
            let image = planes(&game.transform(&state, symmetry), 0);
            for (index, value) in seen.iter().enumerate() {
                let (plane, cell) = (index / 100, index % 100);
                let (x, y) = symmetry.cell(cell % 10, cell / 10, 10, 10);
                assert_eq!(value.to_bits(), image[plane * 100 + y * 10 + x].to_bits());
            }
        }
        let other = planes(&state, 1);
        for (own, theirs) in [(2, 3), (4, 6), (5, 7), (9, 10), (11, 12)] {
            let plane = |planes: &[f32], plane: usize| planes[plane * 100..][..100].to_vec();
            assert_eq!(plane(&seen, own), plane(&other, theirs));
            assert_eq!(plane(&seen, theirs), plane(&other, own));
        }
    }
}

#[test]
fn a_record_of_an_official_game_replays_with_its_freezes_on_any_board() {
    for (side, seed) in [(20, 1), (60, 2)] {
        let config = Config { board_seed: Some(7), ..config(Mode::Official, side, side) };
        let named = GameConfig::Snakgame(config.clone());
        let (record, freezes) = if Small::fits(&config) {
            record(&Small::new(config).expect("in range"), seed, named)
        } else {
            record(&Large::new(config).expect("in range"), seed, named)
        };
        assert!(freezes > 0, "{side}");
        let json = serde_json::to_string(&record).expect("records serialise");
        let mut read = GameRecord::<GameConfig>::from_json(&json).expect("its own JSON");
        assert_eq!(read.verify(), Ok(()));
        read.seed += 1;
        assert!(read.verify().is_err(), "another seed has another Chef");
    }
}

/// A game with the first legal extension; returns its record and the frozen turns.
fn record<W: Words>(game: &Snakgame<W>, seed: u64, config: GameConfig) -> (GameRecord, u32) {
    let mut recorder = Recorder::new(game, seed);
    let mut freezes = 0;
    while game.turn(recorder.state()) != Turn::Over {
        let mask = legal(game, recorder.state());
        let extension = mask.iter().find(|action| action.index() >= game.config().cells());
        let action = extension.or(mask.nth(0)).expect("the game is not over");
        recorder.advance(game, &[action]).expect("legal");
        freezes += u32::from(recorder.state().frozen_turns() > 0);
    }
    (recorder.into_record(config), freezes)
}

#[test]
fn a_board_seed_gives_the_board_of_the_generator_to_every_game() {
    let config = Config { board_seed: Some(9), ..config(Mode::Duel, 40, 30) };
    let game = Large::new(config).expect("in range");
    let board = generate(40, 30, 9).expect("in range");
    for seed in 0..2 {
        let state = game.initial(&mut Rng::new(seed, "game"));
        compare(&state, &Position::new(board.clone()));
    }
}

#[test]
fn official_values_are_shares_of_the_one_snake_bound() {
    let game = fixed(Mode::Official, &["........"; 6]);
    let state = chef_to_move(&game);
    let bound = one_snake_bound(48) as f32;
    // A snake of four cells scores 3 · 2.
    assert!((game.score(&state, 0) - 6.0).abs() < 1e-6);
    assert!((game.returns(&state, 0) - 6.0 / bound).abs() < 1e-6);
    assert!((game.outcome(&state, 0) - (12.0 / bound - 1.0)).abs() < 1e-6);
    assert_eq!(game.elapsed(&state), 4);
    let mut skipped = state.clone();
    assert!(game.skip_chance(&mut skipped));
    assert_eq!(game.turn(&skipped), Turn::Move(ouro_game::PlayerSet::one(0)));
}

#[test]
fn a_drawing_shows_both_sides_and_the_ends() {
    let game = fixed(Mode::Duel, &["...", "#.."]);
    let mut state = game.initial(&mut Rng::new(1, "test"));
    for line in ["NEW 1 1", "NEW 2 3", "MOVE 1 1 1 2"] {
        play(&game, &mut state, line);
    }
    assert_eq!(game.render(&state), "turn 3, score 1 to 0, b to move\nA A .\n# . B\n");
}

#[test]
fn a_state_of_another_board_is_over_and_states_of_small_boards_are_compact() {
    let game = Small::new(config(Mode::Duel, 10, 10)).expect("in range");
    let mut foreign = fixed(Mode::Duel, &["..", ".."]).initial(&mut Rng::new(1, "test"));
    assert_eq!(game.turn(&foreign), Turn::Over);
    assert_eq!(game.step(&mut foreign, &[Action(0); 2]), Err(StepError::GameOver));
    game.observe(&foreign, 0, &mut vec![f32::NAN; game.planes().len()]);
    let _ = (game.render(&foreign), game.outcome(&foreign, 1), game.digest(&foreign));
    assert!(size_of::<SmallState>() <= 512, "{}", size_of::<SmallState>());
}
