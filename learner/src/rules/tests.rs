use ouro_game::record::{Playthrough, RECORD_VERSION};
use ouro_game::{Action, ActionMask, GameConfig, Turn, battlesnake, connect_four};
use ouro_net::{Architecture, Generation};
use ouro_replay::{Item, Move, Ply, RecordHeader, RefusalReason, SearchTarget, Seat};

use super::*;
use crate::batch::Batch;
use crate::config::{AlphaZeroConfig, ReinforceConfig};
use crate::testing::{architectures, config, game_of, random_game, searched_game, won_game};

mod augmentation;

const NEWEST: Generation = Generation(20);

fn alphazero() -> Config {
    let mut config = config();
    config.train.algorithm = AlgorithmConfig::AlphaZero(AlphaZeroConfig {
        surprise_share: 0.0,
        ..AlphaZeroConfig::default()
    });
    config
}

fn reinforce() -> Config {
    let mut config = config();
    config.train.algorithm = AlgorithmConfig::Reinforce(ReinforceConfig::default());
    config
}

fn examine(config: &Config, trajectory: &Trajectory) -> Result<AcceptedGame, Refusal> {
    rules(config).expect("a valid configuration").examine(trajectory, NEWEST)
}

/// The game, played by weights of an accepted generation.
fn fresh(mut game: Trajectory) -> Trajectory {
    for seat in &mut game.seats {
        seat.generation = Some(NEWEST);
    }
    game
}

/// The won game as the replay keeps it.
fn fresh_game(config: &Config) -> EncodedTrajectory {
    examine(config, &fresh(won_game())).unwrap().game
}

/// Every position of a game, in order.
fn all(game: EncodedTrajectory) -> Vec<Draw<EncodedTrajectory>> {
    let (positions, item) = (game.positions(), std::sync::Arc::new(game));
    let draw = |position| Draw { item: std::sync::Arc::clone(&item), number: 0, position };
    (0..positions).map(draw).collect()
}

#[test]
fn a_game_for_reinforce_becomes_one_segment_per_learning_seat() {
    let mut config = reinforce();
    config.discount = 0.5;
    config.train.reward_scale = 2.0;
    config.train.augment = false;
    let mut game = fresh(won_game());
    let rules = rules(&config).unwrap();
    let examined = examine(&config, &game).unwrap();
    assert_eq!(examined.returns, [1.0]);
    let batch = rules.segments(&all(examined.game), &mut Rng::new(1, "augment")).unwrap();
    // The seat moves on plies 0, 2 and 4, two time steps apart. Only ply 4 earns 2 · 1.
    assert_eq!(batch.actions, [0, 3, 6]);
    assert_eq!(batch.behaviour, [0.5; 3]);
    assert_eq!((batch.rewards, batch.discounts), (vec![0.0, 0.0, 2.0], vec![0.25, 0.25, 0.0]));
    assert_eq!((batch.weights, batch.ends), (vec![1.0; 3], vec![false, false, true]));
    // The first position is an empty board with all actions legal.
    assert!(batch.planes[..18].iter().all(|&value| value == 0.0));
    assert!(batch.legal[..9].iter().all(|&legal| legal));
    // The second position has the seat's mark on cell 0 and the opponent's on cell 1.
    let second = &batch.planes[18..36];
    assert_eq!((second[0], second[9 + 1]), (1.0, 1.0));
    assert_eq!(batch.legal[9..13], [false, false, true, true]);

    game.seats[1].learns = true;
    let both = examine(&config, &game).unwrap();
    assert_eq!(both.returns, [1.0, -1.0]);
    let batch = rules.segments(&all(both.game), &mut Rng::new(1, "augment")).unwrap();
    assert_eq!(batch.actions, [0, 3, 6, 1, 4]);
    assert_eq!(batch.ends, [false, false, true, false, true]);
}

#[test]
fn a_segment_that_does_not_end_with_its_game_gets_the_state_behind_it() {
    let mut config = reinforce();
    config.train.augment = false;
    let rules = rules(&config).unwrap();
    let draws = all(fresh_game(&config));
    let batch = rules.segments(&draws[..2], &mut Rng::new(1, "augment")).unwrap();
    assert_eq!((batch.actions, batch.weights), (vec![0, 3, 0], vec![1.0, 1.0, 0.0]));
    assert_eq!(batch.ends, [false, false, true]);
    // Moves that are not consecutive are segments of their own.
    let apart: Vec<_> = all(fresh_game(&config)).into_iter().step_by(2).collect();
    let batch = rules.segments(&apart, &mut Rng::new(1, "augment")).unwrap();
    assert_eq!((batch.actions, batch.weights), (vec![0, 0, 6], vec![1.0, 0.0, 1.0]));
    assert_eq!(batch.ends, [false, true, true]);
    // In a game that was cut short, the last state bootstraps the return.
    let mut cut = fresh(won_game());
    cut.plies.truncate(4);
    cut.record.digests.truncate(5);
    cut.seats.iter_mut().for_each(|seat| seat.outcome = 0.0);
    let examined = examine(&config, &cut).unwrap();
    let batch = rules.segments(&all(examined.game), &mut Rng::new(1, "augment")).unwrap();
    assert_eq!((batch.actions, batch.weights), (vec![0, 3, 0], vec![1.0, 1.0, 0.0]));
}

#[test]
fn a_searched_game_gives_targets_where_the_search_was_one() {
    let mut config = alphazero();
    config.discount = 0.5;
    config.train.augment = false;
    let rules = rules(&config).unwrap();
    // The first seat moves on plies 0, 2 and 4 and wins; ply 2 was a fast search.
    let examined = examine(&config, &fresh(searched_game())).unwrap();
    assert_eq!(examined.game.positions(), 2);
    let batch = rules.positions(&all(examined.game), &mut Rng::new(1, "augment")).unwrap();
    let row = |row: usize| &batch.policy[9 * row..9 * (row + 1)];
    assert_eq!(row(0)[..2], [0.75, 0.25]);
    assert_eq!((row(1)[6], row(1).iter().sum::<f32>()), (1.0, 1.0));
    // The game ends after five steps.
    assert_eq!((batch.outcomes, batch.root_values), (vec![1.0 / 32.0, 0.5], vec![0.5, 0.5]));
    assert_eq!(batch.weights, [1.0, 1.0]);
}

#[test]
fn a_network_with_both_policies_gets_the_targets_of_both_players() {
    let board = battlesnake::Config { width: 7, height: 7, snakes: 2, ..Default::default() };
    let mut config = alphazero();
    config.game = GameConfig::Battlesnake(board.clone());
    config.net = both_policies();
    let (game, mut targets) = (battlesnake::Small::new(board).unwrap(), Vec::new());
    let mut duel = searched_duel(&game, config.game.clone(), &mut targets);
    let rules = rules(&config).unwrap();
    for learns in [[true, true], [true, false]] {
        for (seat, learns) in duel.seats.iter_mut().zip(learns) {
            seat.learns = learns;
        }
        if !learns[1] {
            duel.plies.iter_mut().for_each(|ply| {
                ply.moves[1].search = Some(SearchTarget::default());
            });
        }
        let examined = examine(&config, &duel).unwrap();
        let batch = rules.positions(&all(examined.game), &mut Rng::new(1, "augment")).unwrap();
        assert_eq!(batch.check(&config.net_spec().unwrap()), Ok(()));
        let rows = batch.policy.chunks_exact(8).zip(batch.legal.chunks_exact(8));
        assert_eq!(rows.len(), targets.len() * (1 + usize::from(learns[1])));
        for (row, (policy, legal)) in rows.enumerate() {
            // The positions of one seat come before those of the other.
            let (ply, seat) = (row % targets.len(), row / targets.len());
            for (part, player) in [(0, seat), (1, 1 - seat)] {
                let (policy, legal) = (&policy[4 * part..][..4], &legal[4 * part..][..4]);
                let (viable, target): (usize, &[f32]) =
                    (targets[ply].0[player], &targets[ply].1[player]);
                assert_eq!(legal.iter().filter(|legal| **legal).count(), viable);
                let mut shares = policy.to_vec();
                shares.sort_by(f32::total_cmp);
                let is_known = learns[1] || player == 0;
                let expected = if is_known { target.to_vec() } else { vec![0.0; 4] };
                assert_eq!(shares, expected, "ply {ply}, player {player}");
                assert!(policy.iter().zip(legal).all(|(share, legal)| *share == 0.0 || *legal));
            }
        }
    }
}

#[test]
fn a_player_who_is_not_to_move_has_no_target_and_no_action() {
    let mut config = alphazero();
    config.net = both_policies();
    let examined = examine(&config, &fresh(searched_game())).unwrap();
    let rules = rules(&config).unwrap();
    let batch = rules.positions(&all(examined.game), &mut Rng::new(1, "augment")).unwrap();
    assert_eq!(batch.check(&config.net_spec().unwrap()), Ok(()));
    for (policy, legal) in batch.policy.chunks_exact(18).zip(batch.legal.chunks_exact(18)) {
        assert!(policy[..9].iter().sum::<f32>() == 1.0 && legal[..9].contains(&true));
        assert!(policy[9..].iter().all(|share| *share == 0.0) && !legal[9..].contains(&true));
    }
}

fn both_policies() -> Architecture {
    architectures().into_iter().find(Architecture::has_opponent_policy).unwrap()
}

/// Per player of a ply: its viable actions, and its policy target in rising order.
type PlyTargets = ([usize; 2], [[f32; 4]; 2]);

/// Some plies of a duel. Each player's target prefers its first viable action, with a share that
/// depends on ply and player.
fn searched_duel(
    game: &battlesnake::Small,
    config: GameConfig,
    targets: &mut Vec<PlyTargets>,
) -> Trajectory {
    let mut playthrough = Playthrough::new(game, 3);
    let mut plies = Vec::new();
    for ply in 0..6_u8 {
        let mut of_ply: PlyTargets = Default::default();
        let mut moves = Vec::new();
        for player in 0..2 {
            let mut mask = ActionMask::default();
            game.viable(playthrough.state(), player, &mut mask);
            let mut actions = mask.iter();
            let first = actions.next().expect("a viable action");
            let share =
                if mask.count() > 1 { 0.6 + f32::from(2 * ply + player as u8) / 64.0 } else { 1.0 };
            let policy = match actions.next() {
                Some(second) => vec![(first, share), (second, 1.0 - share)],
                None => vec![(first, share)],
            };
            of_ply.0[player] = mask.count();
            of_ply.1[player] = [0.0, 0.0, 1.0 - share, share];
            let search = Some(SearchTarget { policy, value: 0.25, surprise: 0.0 });
            moves.push(Move { action: first, behaviour: 1.0, search });
        }
        let actions: Vec<Action> = moves.iter().map(|one| one.action).collect();
        playthrough.advance(game, &actions).expect("viable actions");
        plies.push(Ply { moves });
        targets.push(of_ply);
    }
    let seat = || Seat { generation: Some(NEWEST), learns: true, outcome: 0.0 };
    let digests = playthrough.into_digests();
    let record =
        RecordHeader { version: RECORD_VERSION, config: Arc::new(config), seed: 3, digests };
    Trajectory { record, seats: vec![seat(), seat()], plies }
}

#[test]
fn a_game_that_was_cut_off_is_valued_by_its_last_search() {
    let mut config = alphazero();
    config.discount = 0.5;
    config.train.augment = false;
    let rules = rules(&config).unwrap();
    let mut cut = cut_game();
    target(&mut cut, 0).value = 0.5;
    target(&mut cut, 2).value = 0.75;
    let examined = examine(&config, &cut).unwrap();
    let batch = rules.positions(&all(examined.game), &mut Rng::new(1, "augment")).unwrap();
    // Two steps to the last search of the seat, on ply 2.
    assert_eq!((batch.outcomes, batch.root_values), (vec![0.75 / 4.0], vec![0.5]));
}

#[test]
fn a_game_that_was_cut_off_while_it_was_drawn_counts_as_a_draw() {
    let mut config = alphazero();
    (config.draw, config.discount) = (-0.5, 1.0);
    config.train.augment = false;
    let mut cut = cut_game();
    target(&mut cut, 2).value = -0.5;
    for (net, expected) in [(config.net.clone(), -0.5), (with_classes(), 0.0)] {
        config.net = net;
        let examined = examine(&config, &cut).unwrap();
        let rules = rules(&config).unwrap();
        let batch = rules.positions(&all(examined.game), &mut Rng::new(1, "augment")).unwrap();
        assert_eq!(batch.outcomes, [expected]);
    }
}

/// The searched game, cut off after three plies.
fn cut_game() -> Trajectory {
    let mut cut = fresh(searched_game());
    cut.plies.truncate(3);
    cut.record.digests.truncate(4);
    cut.seats.iter_mut().for_each(|seat| seat.outcome = 0.0);
    cut
}

/// A game of random snakes with a target for every move, and the elapsed time of each snake's
/// elimination, or of the end.
fn random_snakes(
    game: &battlesnake::Small,
    config: &GameConfig,
    seed: u64,
) -> (Trajectory, Vec<u32>) {
    let mut rng = Rng::new(seed, "test");
    let mut playthrough = Playthrough::new(game, seed);
    let (mut plies, mut mask) = (Vec::new(), ActionMask::default());
    let mut until = vec![0; game.players()];
    while let Turn::Move(movers) = game.turn(playthrough.state()) {
        let (mut moves, mut joint) = (Vec::new(), vec![Action::default(); game.players()]);
        for player in movers.iter() {
            game.viable(playthrough.state(), player, &mut mask);
            let action = mask.nth(rng.below(mask.count() as u32) as usize).expect("an action");
            let policy = vec![(action, 1.0)];
            let search = Some(SearchTarget { policy, value: 0.25, surprise: 0.0 });
            moves.push(Move { action, behaviour: 1.0, search });
            joint[player] = action;
        }
        playthrough.advance(game, &joint).expect("viable actions");
        plies.push(Ply { moves });
        for player in movers.iter() {
            until[player] = game.elapsed(playthrough.state());
        }
    }
    let outcome = |player| game.outcome(playthrough.state(), player);
    let seat = |player| Seat { generation: Some(NEWEST), learns: true, outcome: outcome(player) };
    let seats = (0..game.players()).map(seat).collect();
    let (config, digests) = (Arc::new(config.clone()), playthrough.into_digests());
    let record = RecordHeader { version: RECORD_VERSION, config, seed, digests };
    (Trajectory { record, seats, plies }, until)
}

#[test]
fn an_outcome_is_discounted_to_the_elimination_of_its_snake() {
    let board = battlesnake::Config { width: 7, height: 7, snakes: 3, ..Default::default() };
    let mut config = alphazero();
    config.game = GameConfig::Battlesnake(board.clone());
    (config.discount, config.intake.max_plies) = (0.5, 1_000);
    config.train.augment = false;
    let (rules, game) = (rules(&config).unwrap(), battlesnake::Small::new(board).unwrap());
    let mut early = 0;
    for seed in 0..20 {
        let (played, until) = random_snakes(&game, &config.game, seed);
        let examined = examine(&config, &played).unwrap();
        let batch = rules.positions(&all(examined.game), &mut Rng::new(1, "augment")).unwrap();
        // A turn is one time step, and a snake moves in every turn of its life.
        let expected = played.seats.iter().zip(&until).flat_map(|(seat, &until)| {
            (0..until).map(move |turn| 0.5_f32.powi((until - turn) as i32) * seat.outcome)
        });
        assert_eq!(batch.outcomes, expected.collect::<Vec<_>>(), "seed {seed}");
        let end = until.iter().max().expect("three snakes");
        early += until.iter().filter(|&&until| until + 3 <= *end).count();
    }
    assert!(early > 5, "{early} snakes died three turns before the end or earlier");
}

#[test]
fn a_draw_is_worth_as_much_as_in_the_search() {
    let mut config = alphazero();
    (config.draw, config.discount) = (-0.5, 1.0);
    config.train.augment = false;
    let cells = [0, 1, 2, 4, 3, 5, 7, 6, 8];
    let mut drawn = fresh(game_of(&cells));
    for (ply, played) in drawn.plies.iter_mut().enumerate() {
        let policy = vec![(Action(cells[ply]), 1.0)];
        played.moves[0].search = Some(SearchTarget { policy, value: 0.0, surprise: 0.0 });
    }
    for (net, expected) in [(config.net.clone(), -0.5), (with_classes(), 0.0)] {
        config.net = net;
        let rules = rules(&config).unwrap();
        let examined = examine(&config, &drawn).unwrap();
        let batch = rules.positions(&all(examined.game), &mut Rng::new(1, "augment")).unwrap();
        assert_eq!(batch.outcomes, [expected; 5]);
    }
}

fn with_classes() -> Architecture {
    let is_of_classes = |net: &Architecture| net.value_range() == ValueRange::Outcome;
    architectures().into_iter().find(is_of_classes).unwrap()
}

#[test]
fn a_surprise_without_a_policy_target_changes_nothing() {
    let config = alphazero();
    let (plain, mut noted) = (fresh(searched_game()), fresh(searched_game()));
    target(&mut noted, 1).surprise = 0.5;
    // The actor hashes its own bytes and the learner journals its own: they must agree.
    assert_eq!(noted.encode(), plain.encode());
    assert_eq!(examine(&config, &noted), examine(&config, &plain));
}

#[test]
fn surprising_positions_are_drawn_more_often() {
    let mut config = alphazero();
    if let AlgorithmConfig::AlphaZero(alphazero) = &mut config.train.algorithm {
        alphazero.surprise_share = 0.5;
    }
    let mut game = fresh(searched_game());
    target(&mut game, 0).surprise = 0.3;
    target(&mut game, 4).surprise = 0.1;
    let examined = examine(&config, &game).unwrap();
    let weights: Vec<f32> = (0..2).map(|position| examined.game.weight(position)).collect();
    assert!((weights[0] - 1.25).abs() < 1e-6 && (weights[1] - 0.75).abs() < 1e-6, "{weights:?}");
}

#[test]
fn an_accepted_game_comes_back_from_its_bytes() {
    for config in [alphazero(), reinforce()] {
        let examined = examine(&config, &fresh(searched_game())).unwrap();
        let rules = rules(&config).unwrap();
        let restored = rules.restore(examined.game.as_bytes(), examined.game.generation());
        assert_eq!(restored, Ok((examined.game, examined.summary)));
    }
    let rules = rules(&alphazero()).unwrap();
    assert!(matches!(rules.restore(b"no game", Generation(0)), Err(UnpackError::Trajectory(_))));
}

/// The search target of a ply's first move.
fn target(game: &mut Trajectory, ply: usize) -> &mut SearchTarget {
    game.plies[ply].moves[0].search.as_mut().expect("a searched game")
}

fn other_game() -> Arc<GameConfig> {
    Arc::new(GameConfig::ConnectFour(connect_four::Config::default()))
}

#[test]
fn whatever_disagrees_is_refused_by_its_reason() {
    type Spoil = fn(&mut Trajectory);
    use RefusalReason as Reason;
    fn first(game: &mut Trajectory) -> &mut SearchTarget {
        target(game, 0)
    }
    let cases: [(Spoil, Reason); 33] = [
        (|t| t.record.config = other_game(), Reason::Malformed),
        (|t| t.plies = vec![t.plies[0].clone(); 9], Reason::Oversize),
        (|t| t.plies.clear(), Reason::Malformed),
        (|t| t.seats.truncate(1), Reason::Seats),
        (|t| t.seats.push(Seat { generation: None, learns: false, outcome: 0.0 }), Reason::Seats),
        (|t| t.seats[0].learns = false, Reason::Seats),
        (|t| t.seats[0].generation = None, Reason::Seats),
        (|t| t.seats[0].generation = Some(NEWEST.next()), Reason::UnknownGeneration),
        (|t| t.seats[1].generation = Some(NEWEST.next()), Reason::UnknownGeneration),
        (|t| t.seats[0].generation = Some(NEWEST.before(17)), Reason::Stale),
        (|t| t.plies[2].moves[0].behaviour = 0.0, Reason::Behaviour),
        (|t| t.plies[2].moves[0].behaviour = -0.5, Reason::Behaviour),
        (|t| t.plies[2].moves[0].behaviour = 1.000_001, Reason::Behaviour),
        (|t| t.plies[2].moves[0].behaviour = f32::NAN, Reason::Behaviour),
        (|t| t.record.version = 99, Reason::Replay),
        (|t| t.record.digests[3] ^= 1, Reason::Replay),
        (|t| t.record.digests.truncate(5), Reason::Replay),
        (|t| t.plies[2].moves[0].action = Action(0), Reason::Replay),
        (|t| t.plies[2].moves.extend_from_within(..), Reason::Replay),
        (|t| t.seats[1].outcome = 0.0, Reason::Outcome),
        (|t| t.seats[0].outcome = f32::NAN, Reason::Outcome),
        (|t| t.plies[1].moves[0].search = None, Reason::Malformed),
        (|t| first(t).value = 1.5, Reason::Search),
        (|t| first(t).value = f32::NAN, Reason::Search),
        (|t| first(t).surprise = -0.1, Reason::Search),
        (|t| first(t).surprise = f32::INFINITY, Reason::Search),
        (|t| first(t).policy[0].1 = 0.5, Reason::Search),
        (|t| first(t).policy[0].1 = f32::NAN, Reason::Search),
        (|t| first(t).policy[0].1 = -0.75, Reason::Search),
        (|t| first(t).policy[1].0 = Action(0), Reason::Search),
        (|t| first(t).policy[1].0 = Action(9), Reason::Search),
        (|t| first(t).policy[1].0 = Action(u32::MAX), Reason::Search),
        (|t| t.plies.iter_mut().for_each(|ply| ply.moves[0].search = None), Reason::NothingToLearn),
    ];
    let mut config = alphazero();
    config.intake.max_plies = 8;
    assert!(examine(&config, &fresh(searched_game())).is_ok());
    for (index, (spoil, reason)) in cases.into_iter().enumerate() {
        let mut game = fresh(searched_game());
        spoil(&mut game);
        let refusal = examine(&config, &game).expect_err("spoilt");
        assert_eq!(refusal.reason(), reason, "case {index}: {refusal}");
        assert_eq!(refusal.to_string().lines().count(), 1, "case {index}: {refusal}");
    }
}

#[test]
fn a_target_on_a_stone_is_refused() {
    let mut game = fresh(searched_game());
    // Cell 0 was taken on ply 0.
    target(&mut game, 4).policy = vec![(Action(0), 1.0)];
    let refusal = examine(&alphazero(), &game).expect_err("illegal");
    assert_eq!(refusal.to_string(), "search at ply 4 gives illegal action 0 a share of 1");
}

#[test]
fn old_weights_may_sit_in_seats_that_do_not_learn() {
    let mut game = fresh(won_game());
    game.seats[1].generation = Some(Generation(0));
    assert!(examine(&reinforce(), &game).is_ok());
    game.seats[1].generation = None;
    assert!(examine(&reinforce(), &game).is_ok());
}

#[test]
fn random_games_pass_as_they_were_played() {
    for sequence in 1..40 {
        assert!(
            rules(&reinforce()).unwrap().examine(&random_game(sequence), Generation(0)).is_ok()
        );
    }
}
