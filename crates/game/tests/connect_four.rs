//! Connect Four: the rules against a simple board, the solver against plain negamax and published
//! results.

use ouro_game::connect_four::{Config, ConnectFour, Outcome, Score, Solver, State};
use ouro_game::{Action, ActionMask, Game, Rng, RolloutBuffer, Symmetry, Turn};

fn game(width: u8, height: u8) -> ConnectFour {
    ConnectFour::new(Config { width, height }).expect("the size is in range")
}

/// Plays random legal moves until `plies` stones are on the board or the game is over.
fn random_position(game: &ConnectFour, plies: u32, rng: &mut Rng) -> State {
    let mut state = game.initial(rng);
    let mut mask = ActionMask::default();
    while let Turn::Move(movers) = game.turn(&state) {
        if state.plies() == plies {
            break;
        }
        let mover = movers.iter().next().expect("somebody is to move");
        game.legal(&state, mover, &mut mask);
        let choice = mask.nth(rng.below(mask.count() as u32) as usize).expect("not empty");
        game.step(&mut state, &[choice; 2]).expect("a legal move");
    }
    state
}

/// The score by its definition, over every continuation.
fn slow_score(game: &ConnectFour, state: &State) -> i32 {
    let cells = state.board().cells() as i32;
    let plies = state.plies() as i32;
    if game.turn(state) == Turn::Over {
        let lost = game.outcome(state, state.mover()) < 0.0;
        return if lost { -((cells + 2 - plies) / 2) } else { 0 };
    }
    let mut mask = ActionMask::default();
    game.legal(state, state.mover(), &mut mask);
    mask.iter()
        .map(|action| {
            let mut next = *state;
            game.step(&mut next, &[action; 2]).expect("a legal move");
            -slow_score(game, &next)
        })
        .max()
        .expect("a game that goes on has a move")
}

/// Number of stones until the game ends under perfect play from `state`, which has this score.
fn plies_to_end(score: Score, state: &State) -> u32 {
    if state.is_over() {
        return 0;
    }
    let empty = state.board().cells() - state.plies();
    let winner_left = |left: u32| (left + 1) - u32::from(score.value().unsigned_abs());
    match score.outcome() {
        Outcome::Draw => empty,
        Outcome::Win => 2 * winner_left(empty.div_ceil(2)) - 1,
        Outcome::Loss => 2 * winner_left(empty / 2),
    }
}

#[test]
fn the_solver_agrees_with_plain_negamax_on_random_positions() {
    let mut rng = Rng::new(11, "test");
    let mut solver = Solver::with_table_bits(18);
    let mut decided = [0; 3];
    // Size and fewest stones, so that plain negamax is fast.
    for (width, height, fewest) in [(4, 4, 5), (5, 4, 9), (4, 5, 9), (5, 5, 13), (7, 6, 29)] {
        let game = game(width, height);
        for _ in 0..150 {
            let plies = fewest + rng.below(u32::from(width * height) - fewest + 1);
            let state = random_position(&game, plies, &mut rng);
            let expected = slow_score(&game, &state);
            let score = solver.solve(&state);
            assert_eq!(i32::from(score.value()), expected, "{}", game.render(&state));
            assert_eq!(solver.outcome(&state), score.outcome());
            decided[score.outcome() as usize] += 1;
        }
    }
    assert!(decided.iter().all(|&count| count > 50), "{decided:?}");
}

#[test]
fn small_boards_have_the_published_results() {
    // John Tromp's table of the first player's result by board size, as plies to the end.
    let cases = [
        (4, 4, Outcome::Draw),
        (5, 4, Outcome::Draw),
        (6, 4, Outcome::Loss),
        (4, 5, Outcome::Draw),
        (5, 5, Outcome::Draw),
        (4, 6, Outcome::Draw),
        (4, 7, Outcome::Draw),
    ];
    for (width, height, outcome) in cases {
        let empty = game(width, height).position("").expect("no moves are legal");
        assert_eq!(Solver::new().outcome(&empty), outcome, "{width}x{height}");
    }
}

#[test]
fn positions_of_the_standard_board_have_their_known_scores() {
    let game = game(7, 6);
    let mut solver = Solver::new();
    let cases = [
        ("32164625", 11),
        ("44444433", 16),
        ("112233", 18),
        ("427566236745127177", 11),
        ("2252576253462244111563365343671351441", -1),
        ("7422341735647741166133573473242566", 1),
        ("23163416124767223154467471272416755633", 0),
    ];
    for (moves, expected) in cases {
        let state = game.position(moves).expect(moves);
        assert_eq!(solver.solve(&state).value(), expected, "{moves}");
    }
    // Eight plies in, from the UCI data set: the first player wins.
    for moves in ["44444435", "44444453"] {
        let state = game.position(moves).expect(moves);
        assert_eq!(solver.outcome(&state), Outcome::Win, "{moves}");
    }
}

#[test]
fn along_best_moves_the_score_only_changes_its_sign_until_the_game_ends_on_time() {
    let game = game(7, 6);
    let mut rng = Rng::new(12, "test");
    let mut solver = Solver::new();
    for _ in 0..40 {
        let plies = 14 + rng.below(10);
        let mut state = random_position(&game, plies, &mut rng);
        let mut score = solver.solve(&state);
        let mut left = plies_to_end(score, &state);
        while game.turn(&state) != Turn::Over {
            let best = solver.best_moves(&state);
            assert!(!best.is_empty());
            let choice = best[rng.below(best.len() as u32) as usize];
            game.step(&mut state, &[choice; 2]).expect("a best move is legal");
            let next = solver.solve(&state);
            assert_eq!(next.value(), -score.value(), "{}", game.render(&state));
            left -= 1;
            assert_eq!(plies_to_end(next, &state), left);
            score = next;
        }
        assert_eq!(left, 0);
        assert!(solver.best_moves(&state).is_empty());
        assert_eq!(solver.scores(&state), [None; 7]);
    }
}

#[test]
fn the_best_moves_are_those_with_the_best_score() {
    let mut rng = Rng::new(6, "test");
    for (width, height, plies) in [(7, 6, 22), (7, 6, 18), (5, 5, 6), (6, 4, 4)] {
        let game = game(width, height);
        for _ in 0..25 {
            let state = random_position(&game, plies, &mut rng);
            let scores = Solver::with_table_bits(20).scores(&state);
            let best = scores.iter().flatten().max().copied();
            let expected: Vec<Action> = (0..)
                .zip(&scores)
                .filter(|(_, score)| score.is_some() && **score == best)
                .map(|(column, _)| Action(column))
                .collect();
            assert_eq!(Solver::with_table_bits(20).best_moves(&state), expected);
        }
    }
}

#[test]
fn mirrored_positions_have_equal_scores_and_mirrored_best_moves() {
    let game = game(7, 6);
    let mut rng = Rng::new(13, "test");
    for _ in 0..20 {
        let state = random_position(&game, 18, &mut rng);
        let mirrored = game.transform(&state, Symmetry::FlipX);
        // Two solvers, so that they share no table.
        let mut best = Solver::with_table_bits(20).best_moves(&state);
        for action in &mut best {
            *action = game.transform_action(*action, Symmetry::FlipX);
        }
        best.sort();
        assert_eq!(Solver::with_table_bits(20).best_moves(&mirrored), best);
    }
}

#[test]
fn one_solver_serves_boards_of_different_sizes() {
    let mut solver = Solver::with_table_bits(17);
    for _ in 0..2 {
        for (width, height) in [(4, 4), (5, 4), (4, 5)] {
            let empty = game(width, height).position("").expect("no moves are legal");
            assert_eq!(solver.solve(&empty).value(), 0, "{width}x{height}");
        }
    }
    assert!(solver.nodes() > 0);
}

#[test]
fn scores_order_by_how_good_they_are() {
    let game = game(7, 6);
    let mut solver = Solver::new();
    let solve = |solver: &mut Solver, moves| -> Score {
        solver.solve(&game.position(moves).expect("legal moves"))
    };
    let (soon, late) = (solve(&mut solver, "112233"), solve(&mut solver, "32164625"));
    assert!(soon > late);
    assert!(soon.outcome() > Outcome::Draw);
}

#[test]
fn four_in_a_row_wins_in_every_direction_and_a_full_board_draws() {
    let game = game(7, 6);
    let cases = [
        ("1213141", 0),     // column
        ("1122334", 0),     // row
        ("12234334544", 0), // rising
        ("76654554344", 0), // falling
    ];
    for (moves, winner) in cases {
        let state = game.position(moves).expect(moves);
        assert!(game.position(&moves[..moves.len() - 1]).is_some_and(|state| !state.is_over()));
        assert!(game.position(&format!("{moves}7")).is_none(), "{moves} is over");
        assert_eq!(game.turn(&state), Turn::Over, "{moves}");
        assert!((game.outcome(&state, winner) - 1.0).abs() < f32::EPSILON, "{moves}");
        assert!((game.outcome(&state, 1 - winner) + 1.0).abs() < f32::EPSILON, "{moves}");
    }
    let full = "547125662261271266215743771576315353334444";
    let state = game.position(full).expect("a legal game");
    assert_eq!(game.turn(&state), Turn::Over);
    assert!(game.outcome(&state, 0).abs() < f32::EPSILON);
    assert_eq!(Solver::new().solve(&state).value(), 0);
}

#[test]
fn a_full_column_is_refused_and_changes_nothing() {
    let game = game(7, 6);
    let mut state = game.position("111111").expect("six stones fit");
    let before = state;
    for action in [0, 7, 4_000_000_000] {
        let error = game.step(&mut state, &[Action(action); 2]).expect_err("no room");
        assert_eq!(error.to_string(), format!("action {action} of player 0 is illegal"));
        assert_eq!(state, before);
    }
}

#[test]
fn a_drawing_shows_stones_and_numbered_columns() {
    let game = game(4, 4);
    let state = game.position("1224").expect("legal moves");
    let drawn = "  .  .  .  .\n  .  .  .  .\n  .  X  .  .\n  X  O  .  O\n  1  2  3  4\n";
    assert_eq!(game.render(&state), drawn);
    assert_eq!(game.action_name(Action(3)), "column 4");
}

#[test]
fn impossible_positions_are_refused_by_name() {
    let cases = [
        (r#"{"width":3,"height":6,"stones":[0,0]}"#, "board is 3x6; it must be 4x4 or more"),
        (r#"{"width":9,"height":7,"stones":[0,0]}"#, "board is 9x7; it must be 4x4 or more"),
        (r#"{"width":7,"height":6,"stones":[64,0]}"#, "a stone lies off the board"),
        (r#"{"width":7,"height":6,"stones":[1,1]}"#, "a cell holds stones of both"),
        (r#"{"width":7,"height":6,"stones":[2,0]}"#, "column 1 has a stone above"),
        (r#"{"width":7,"height":6,"stones":[0,1]}"#, "0 stones against 1"),
        (r#"{"width":7,"height":6,"stones":[15,16512]}"#, "4 stones against 2"),
        (r#"{"width":7,"height":6,"stones":[0,0],"x":1}"#, "unknown field"),
        // Four in column 1, and the opponent has answered all four.
        (r#"{"width":7,"height":6,"stones":[15,34628190336]}"#, "after player 0 had four in a row"),
        // Player 1 has a column of four and player 0 continued.
        (r#"{"width":7,"height":6,"stones":[4432674701440,15]}"#, "after player 1 had four"),
        // Two lines of player 0 that share no stone.
        (
            r#"{"width":7,"height":6,"stones":[65970697666575,35165094272]}"#,
            "after player 0 had four",
        ),
    ];
    for (json, expected) in cases {
        let error = serde_json::from_str::<State>(json).expect_err(json).to_string();
        assert!(error.contains(expected), "{json}: {error}");
    }
}

#[test]
fn sizes_out_of_range_are_refused_with_a_remedy() {
    let cases = [
        (3, 6, "connect_four config: width is 3; it must be at least 4"),
        (7, 0, "connect_four config: height is 0; it must be at least 4"),
        (9, 7, "connect_four config: width is 9; width * (height + 1) must be at most 64"),
    ];
    for (width, height, expected) in cases {
        let error = ConnectFour::new(Config { width, height }).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn the_largest_sides_in_the_schema_are_those_that_fit() {
    let schema = schemars::schema_for!(Config).to_value();
    let most = |field: &str| {
        let most = schema["properties"][field]["maximum"].as_u64().expect("it has a maximum");
        u8::try_from(most).expect("a side is a byte")
    };
    let fits = |width, height| ConnectFour::new(Config { width, height }).is_ok();
    let (width, height) = (most("width"), most("height"));
    assert!(fits(width, 4) && !fits(width + 1, 4), "{width}");
    assert!(fits(4, height) && !fits(4, height + 1), "{height}");
}

/// Compares rollouts on bitboards with rollouts by the rules, from many positions.
fn compare_rollouts(fast: Play, plain: Play) {
    let mut rng = Rng::new(8, "test");
    for (width, height) in [(7, 6), (4, 4), (12, 4), (4, 15), (8, 7)] {
        let game = game(width, height);
        let mut buffer = RolloutBuffer::new();
        for round in 0..400 {
            let stones = round % game.initial(&mut rng).board().cells();
            let start = random_position(&game, stones, &mut rng);
            let limit = if round % 3 == 0 { rng.below(20) } else { u32::MAX };
            let rng = rng.fork();
            let mut rngs = [rng.clone(), rng];
            let mut ends = [start; 2];
            for ((play, end), rng) in [fast, plain].into_iter().zip(&mut ends).zip(&mut rngs) {
                play(&game, end, limit, &mut buffer, rng);
            }
            assert_eq!(ends[0], ends[1], "from {start:?}, {limit} turns");
            assert_eq!(rngs[0], rngs[1], "from {start:?}, {limit} turns");
        }
    }
}

type Play = fn(&ConnectFour, &mut State, u32, &mut RolloutBuffer, &mut Rng);

#[test]
fn the_fast_rollout_equals_the_default() {
    compare_rollouts(ConnectFour::rollout, ouro_game::rollout::uniform);
}

#[test]
fn the_fast_guided_rollout_follows_the_weights() {
    compare_rollouts(ConnectFour::guided_rollout, ouro_game::rollout::guided);
}

#[test]
fn weights_complete_lines_then_block_then_avoid_gifts() {
    let game = game(7, 6);
    let considered = |moves: &str| {
        let state = game.position(moves).expect("legal");
        let mut weights = [9; 7];
        game.weigh(&state, state.mover(), &mut ActionMask::default(), &mut weights);
        let columns = (1..).zip(weights).filter(|&(_, weight)| weight > 0);
        columns.map(|(column, _)| column).collect::<Vec<u32>>()
    };
    assert_eq!(considered(""), [1, 2, 3, 4, 5, 6, 7]);
    // Three of each in a column: completing a line goes before blocking one.
    assert_eq!(considered("121212"), [1]);
    assert_eq!(considered("127374"), [5], "a row of three is stopped");
    // The second player lacks the ends of a row above empty cells.
    assert_eq!(considered("23427473"), [2, 3, 4, 6, 7]);
}

#[test]
fn the_only_move_is_the_one_that_keeps_the_result() {
    let game = game(7, 6);
    let mut solver = Solver::with_table_bits(20);
    let mut rng = Rng::new(12, "test");
    let mut only = 0;
    for round in 0..300 {
        let state = random_position(&game, 22 + round % 18, &mut rng);
        let found = solver.only_move(&state);
        let outcomes: Vec<(u32, Outcome)> = (0..7)
            .filter_map(|column| {
                let mut next = state;
                game.step(&mut next, &[Action(column); 2]).ok()?;
                Some((column, solver.outcome(&next)))
            })
            .collect();
        let least = outcomes.iter().map(|&(_, outcome)| outcome).min();
        let keeping: Vec<u32> =
            outcomes.iter().filter(|entry| Some(entry.1) == least).map(|entry| entry.0).collect();
        let expected = (keeping.len() == 1 && outcomes.len() > 1)
            .then(|| (Action(keeping[0]), solver.outcome(&state)));
        assert_eq!(found, expected, "{}", game.render(&state));
        only += u32::from(found.is_some());
    }
    assert!(only >= 20, "{only}");
}

#[test]
fn positions_of_random_games_come_from_every_part_of_them_and_are_not_over() {
    let game = game(7, 6);
    let mut rng = Rng::new(3, "positions");
    let mut plies = [0_u32; 42];
    for _ in 0..4_000 {
        let state = game.random_position(&mut rng);
        assert_ne!(game.turn(&state), Turn::Over);
        plies[state.plies() as usize] += 1;
    }
    // The shortest random game has seven plies, so that the first seven are alike.
    assert!(plies[..7].iter().all(|&count| count > 100), "{plies:?}");
    assert!(plies[30..].iter().sum::<u32>() > 20, "{plies:?}");
    let again = game.random_position(&mut Rng::new(3, "positions"));
    assert_eq!(again, game.random_position(&mut Rng::new(3, "positions")));
}

#[test]
fn planes_show_stones_landing_cells_completing_cells_and_every_second_row() {
    let game = game(7, 6);
    // X has three in the lowest row, so column 4 completes it; O has three in column 7.
    let state = game.position("172737").expect("legal moves");
    let seen = |player| {
        let mut planes = vec![f32::NAN; game.planes().len()];
        game.observe(&state, player, &mut planes);
        let set = |plane: &[f32]| -> Vec<(usize, usize)> {
            (0..42).filter(|&at| plane[at] == 1.0).map(|at| (at % 7 + 1, at / 7)).collect()
        };
        planes.chunks(42).map(set).collect::<Vec<_>>()
    };
    let (first, second) = (seen(0), seen(1));
    assert_eq!(first[0], [(1, 0), (2, 0), (3, 0)]);
    assert_eq!(first[1], [(7, 0), (7, 1), (7, 2)]);
    assert_eq!(first[2], [(4, 0), (5, 0), (6, 0), (1, 1), (2, 1), (3, 1), (7, 3)]);
    assert_eq!((&first[3], &first[4]), (&vec![(4, 0)], &vec![(7, 3)]));
    assert!(first[5].len() == 21 && first[5].iter().all(|(_, row)| row % 2 == 1));
    // The other player sees the same, with the sides exchanged.
    let exchanged = [1, 0, 2, 4, 3, 5].map(|plane| first[plane].clone());
    assert_eq!(second, exchanged);
}
