//! Games with search: the contents of their records, and their independence of other games.

use std::collections::BTreeMap;

use ouro_game::battlesnake::{self, Small};
use ouro_game::{PlayerSet, snake};
use ouro_replay::{Ply, SearchTarget};
use ouro_search::SearchConfig;
use ouro_search::mcts::{FastSearch, Gumbel, Noise, Simultaneous};
use ouro_settings::exploring;

use super::*;
use crate::testing::roster_for;

const POOL: OpponentShares = OpponentShares { self_play: 0.4, prioritised: 0.4, uniform: 0.2 };

fn duel() -> (Small, Arc<GameConfig>) {
    snakes(2)
}

fn snakes(count: usize) -> (Small, Arc<GameConfig>) {
    let snakes = count as u8;
    let config = battlesnake::Config { width: 7, height: 7, snakes, ..Default::default() };
    (Small::new(config.clone()).unwrap(), Arc::new(GameConfig::Battlesnake(config)))
}

fn searching(games: usize, simulations: u32) -> WorkerSettings {
    let search = exploring(simulations, 4);
    WorkerSettings { search: Some(search), shares: POOL, max_plies: 60, ..settings(games) }
}

/// Ticks until `count` games have ended.
fn finish<G: Game>(worker: &mut Worker<G>, roster: &Roster, count: usize) -> Vec<Trajectory> {
    let mut games = Vec::new();
    while games.len() < count {
        games.extend(worker.tick(roster).unwrap().into_iter().map(|game| game.trajectory));
    }
    games
}

/// Replays a game and checks the search target of every move. Returns the number of policy
/// targets.
fn verify_searched<G: Game>(game: &G, played: &Trajectory, opening: u32) -> usize {
    let mut replay = played.replay(game).unwrap();
    let mut legal = ActionMask::new(game.action_count());
    let mut targets = 0;
    for (ply, Ply { moves }) in played.plies.iter().enumerate() {
        let Turn::Move(movers) = game.turn(replay.state()) else { panic!("the game is over") };
        assert_eq!(moves.len(), movers.len());
        for (one, player) in moves.iter().zip(movers.iter()) {
            game.legal(replay.state(), player, &mut legal);
            assert!(legal.contains(one.action));
            assert!(one.behaviour > 0.0 && one.behaviour <= 1.0, "{one:?}");
            let SearchTarget { policy, value, surprise } = one.search.as_ref().unwrap();
            assert!(value.abs() <= 1.0 && *surprise >= 0.0 && surprise.is_finite());
            if policy.is_empty() {
                assert_eq!(*surprise, 0.0);
                continue;
            }
            targets += 1;
            assert!(played.seats[player].learns && ply >= opening as usize);
            assert!(policy.iter().all(|&(action, share)| legal.contains(action) && share > 0.0));
            assert!(policy.windows(2).all(|pair| pair[0].0 < pair[1].0), "{policy:?}");
            let sum: f32 = policy.iter().map(|(_, share)| share).sum();
            assert!((sum - 1.0).abs() < 1e-5, "{policy:?}");
        }
        assert!(replay.advance().unwrap());
    }
    let last = replay.finish().unwrap();
    for (player, seat) in played.seats.iter().enumerate() {
        assert_eq!(seat.outcome, game.outcome(&last, player));
    }
    targets
}

fn moves(played: &Trajectory) -> usize {
    played.moves().count()
}

#[test]
fn every_move_of_a_learning_seat_has_a_target_and_no_other() {
    for players in [2, 4] {
        let (game, config) = snakes(players);
        let roster = roster_for(&game, 9, &[3, 4, 5]);
        let mut worker = Worker::new(game.clone(), config, searching(8, 12)).unwrap();
        let games = finish(&mut worker, &roster, 30);
        let mut pairings = BTreeSet::new();
        for played in &games {
            verify_searched(&game, played, 0);
            pairings.insert(played.seats.iter().filter(|seat| seat.learns).count());
            let mut replay = played.replay(&game).unwrap();
            for Ply { moves } in &played.plies {
                let Turn::Move(movers) = game.turn(replay.state()) else { panic!("over") };
                for (one, player) in moves.iter().zip(movers.iter()) {
                    let target = one.search.as_ref().unwrap();
                    assert_eq!(target.policy.is_empty(), !played.seats[player].learns);
                }
                replay.advance().unwrap();
            }
        }
        // Games are self-play or have one learning seat against the pool.
        assert!(pairings.iter().eq(&[1, players]), "{pairings:?}");
        let stats = worker.stats();
        assert!(stats.simulations >= stats.moves && stats.evaluations > stats.batches);
    }
}

#[test]
fn with_fresh_trees_the_targets_are_visits_of_their_own_move() {
    const SIMULATIONS: u32 = 16;
    let (game, config) = duel();
    let roster = roster_for(&game, 1, &[]);
    // Shares of policy targets that are not a number of visits divided by those of one move.
    let foreign = |fresh_trees| {
        let search = SearchConfig {
            simulations: SIMULATIONS,
            noise: Some(Noise::default()),
            random_symmetry: true,
            solver: false,
            ..SearchConfig::default()
        };
        let shares = OpponentShares::SELF_PLAY;
        let settings =
            WorkerSettings { fresh_trees, search: Some(search), shares, ..searching(4, 1) };
        let mut worker = Worker::new(game.clone(), config.clone(), settings).unwrap();
        let games = finish(&mut worker, &roster, 8);
        let targets = games.iter().flat_map(Trajectory::moves);
        let policies = targets.flat_map(|one| &one.search.as_ref().unwrap().policy);
        let visits = policies.map(|(_, share)| share * SIMULATIONS as f32);
        visits.filter(|visits| (visits - visits.round()).abs() > 1e-3).count()
    };
    assert_eq!(foreign(true), 0);
    assert!(foreign(false) > 10, "kept trees add visits of earlier moves");
}

/// The first games of a worker that plays `games` at once, by seed.
///
/// Returns four games, or as many as are necessary to include all of `wanted`.
fn by_seed<G: Game>(
    game: &G,
    config: &Arc<GameConfig>,
    settings: &WorkerSettings,
    games: usize,
    wanted: &[u64],
) -> BTreeMap<u64, Trajectory> {
    let roster = roster_for(game, 9, &[3, 4, 5]);
    let settings = WorkerSettings { games, ..settings.clone() };
    let mut worker = Worker::new(game.clone(), Arc::clone(config), settings).unwrap();
    let mut played = BTreeMap::new();
    while played.len() < 4 || !wanted.iter().all(|seed| played.contains_key(seed)) {
        let finished = worker.tick(&roster).unwrap().into_iter();
        played.extend(finished.map(|game| (game.trajectory.record.seed, game.trajectory)));
    }
    played
}

#[test]
fn a_game_depends_on_its_seed_and_not_on_the_games_beside_it() {
    fn check<G: Game>(game: &G, config: &Arc<GameConfig>, settings: &WorkerSettings) {
        let alone = by_seed(game, config, settings, 1, &[]);
        let seeds: Vec<u64> = alone.keys().copied().collect();
        let narrow = WorkerSettings { batch: 2, ..settings.clone() };
        for (settings, games) in [(settings, 3), (settings, 10), (&narrow, 10)] {
            let many = by_seed(game, config, settings, games, &seeds);
            seeds.iter().for_each(|seed| assert_eq!(alone[seed], many[seed]));
        }
    }
    let (game, config) = duel();
    let base = searching(1, 10);
    let search = base.search.clone().unwrap();
    check(&game, &config, &base);
    let search = SearchConfig {
        fast: Some(FastSearch { full_share: 0.5, simulations: 4 }),
        forced_playouts: Some(2.0),
        leaves_in_flight: 3,
        ..search
    };
    let fast = WorkerSettings { search: Some(search), opening_plies: 3, ..base.clone() };
    check(&game, &config, &fast);
    let (game, config) = snakes(4);
    check(&game, &config, &base);
    check(&TicTacToe::default(), &Arc::new(crate::testing::config()), &base);
    let cohorts = WorkerSettings { cohort: 3, ..base.clone() };
    check(&TicTacToe::default(), &Arc::new(crate::testing::config()), &cohorts);
    // The cached evaluations of other games make no difference either.
    let (game, config) = duel();
    let plain = by_seed(&game, &config, &base, 1, &[]);
    let remembering = WorkerSettings { remembered: 500, ..base.clone() };
    check(&game, &config, &remembering);
    assert_eq!(by_seed(&game, &config, &remembering, 1, &[]), plain);
    let policy = WorkerSettings { search: None, epsilon: 0.1, ..base };
    check(&game, &config, &policy);
}

#[test]
fn only_the_newest_weights_keep_evaluations_and_the_games_are_the_same() {
    let (game, config) = duel();
    let rosters: Vec<_> = (10..60).map(|newest| roster_for(&game, newest, &[1, 2])).collect();
    let games = |remembered| {
        let settings = WorkerSettings { remembered, ..searching(6, 8) };
        let mut worker = Worker::new(game.clone(), Arc::clone(&config), settings).unwrap();
        let (mut games, mut overlaps) = (Vec::new(), 0);
        for roster in &rosters {
            for _ in 0..20 {
                games.extend(play(&mut worker, roster, 1));
                let running = worker.games.iter().flatten();
                let seats = running.flat_map(|active| &active.seats).filter(|seat| seat.learns);
                let learning: BTreeSet<_> = seats.filter_map(|seat| seat.generation).collect();
                overlaps += usize::from(learning.len() > 1);
                let newest = learning.last().filter(|_| remembered > 0);
                let expected = newest.map(|&newest| (newest, remembered));
                assert_eq!(worker.shared.policies.caches(), Vec::from_iter(expected));
            }
        }
        assert!(overlaps > 0, "games of older weights go on beside those of newer ones");
        games
    };
    assert_eq!(games(500), games(0));
}

#[test]
fn games_without_a_full_search_are_dropped_and_counted() {
    let (game, config) = duel();
    let mut settings = WorkerSettings { shares: OpponentShares::SELF_PLAY, ..searching(8, 24) };
    let fast = Some(FastSearch { full_share: f32::MIN_POSITIVE, simulations: 4 });
    settings.search = settings.search.map(|search| SearchConfig { fast, ..search });
    let mut worker = Worker::new(game.clone(), config, settings).unwrap();
    let roster = roster_for(&game, 9, &[]);
    while worker.stats().games < 8 {
        assert!(worker.tick(&roster).unwrap().is_empty());
    }
    assert_eq!(worker.stats().dropped, worker.stats().games);
}

#[test]
fn a_random_opening_is_no_target_and_has_the_value_of_the_search_after_it() {
    let (game, config) = duel();
    let settings = WorkerSettings { opening_plies: 6, ..searching(8, 8) };
    let roster = roster_for(&game, 9, &[]);
    let mut worker = Worker::new(game.clone(), config, settings).unwrap();
    let mut lengths = BTreeSet::new();
    for played in finish(&mut worker, &roster, 60) {
        verify_searched(&game, &played, 0);
        // In self-play every move of a full search has a target.
        let target =
            |ply: usize, player: usize| played.plies[ply].moves[player].search.as_ref().unwrap();
        let is_random =
            |ply: &Ply| ply.moves.iter().all(|one| one.search.as_ref().unwrap().policy.is_empty());
        let length = played.plies.iter().take_while(|ply| is_random(ply)).count();
        assert!(played.plies[length..].iter().all(|ply| !is_random(ply)));
        lengths.insert(length);
        let mut replay = played.replay(&game).unwrap();
        let mut viable = ActionMask::new(game.action_count());
        for ply in 0..length {
            for (player, one) in played.plies[ply].moves.iter().enumerate() {
                game.viable(replay.state(), player, &mut viable);
                assert_eq!(one.behaviour, 1.0 / viable.count() as f32);
                assert_eq!(target(ply, player).value, target(length, player).value);
            }
            replay.advance().unwrap();
        }
    }
    assert!([0, 1, 2].iter().all(|length| lengths.contains(length)), "{lengths:?}");
    assert!(lengths.iter().all(|&length| length <= 6), "{lengths:?}");
}

#[test]
fn an_opening_that_would_end_the_game_is_left_out() {
    let settings = WorkerSettings { opening_plies: 8, max_plies: 9, ..searching(4, 8) };
    let mut worker =
        Worker::new(TicTacToe::default(), Arc::new(crate::testing::config()), settings).unwrap();
    for played in finish(&mut worker, &roster(1, &[]), 40) {
        assert!(verify_searched(&TicTacToe::default(), &played, 0) > 0);
    }
}

#[test]
fn fast_searches_play_on_without_being_targets() {
    let (game, config) = duel();
    let mut settings = WorkerSettings { shares: OpponentShares::SELF_PLAY, ..searching(8, 24) };
    let fast = Some(FastSearch { full_share: 0.25, simulations: 4 });
    settings.search = settings.search.map(|search| SearchConfig { fast, ..search });
    let mut worker = Worker::new(game.clone(), config, settings).unwrap();
    let games = finish(&mut worker, &roster_for(&game, 9, &[]), 40);
    let targets: usize = games.iter().map(|played| verify_searched(&game, played, 0)).sum();
    // Both snakes share the search of a ply, so full searches are drawn per ply.
    let plies: usize = games.iter().map(moves).sum::<usize>() / 2;
    let share = targets as f64 / 2.0 / plies as f64;
    assert!((share - 0.25).abs() < 5.0 * (0.25 * 0.75 / plies as f64).sqrt(), "{share}");
}

#[test]
fn other_searches_give_targets_too_and_a_single_player_learns_alone() {
    let (game, config) = duel();
    let base = searching(4, 12);
    let search = base.search.clone().unwrap();
    let gumbel = SearchConfig {
        gumbel: Some(Gumbel::default()),
        noise: None,
        forced_playouts: None,
        ..search.clone()
    };
    let matching =
        SearchConfig { simultaneous: Simultaneous::RegretMatching { exploration: 0.5 }, ..search };
    for search in [gumbel, matching] {
        let settings = WorkerSettings { search: Some(search), ..base.clone() };
        let mut worker = Worker::new(game.clone(), Arc::clone(&config), settings).unwrap();
        let roster = roster_for(&game, 9, &[1]);
        for played in finish(&mut worker, &roster, 10) {
            assert!(verify_searched(&game, &played, 0) > 0);
        }
    }
    let config = snake::Config { size: 4, ..snake::Config::default() };
    let game = snake::Small::new(config.clone()).unwrap();
    let mut worker = Worker::new(game.clone(), Arc::new(GameConfig::Snake(config)), base).unwrap();
    let played = finish(&mut worker, &roster_for(&game, 9, &[1]), 1).remove(0);
    assert!(verify_searched(&game, &played, 0) > 0);
    assert!(played.seats.len() == 1 && played.seats[0].learns);
    assert_eq!(number(&played.seats[0]), 9);
}

#[test]
fn weights_swapped_between_moves_go_on_in_trees_of_their_own() {
    let (game, config) = duel();
    let settings = WorkerSettings { swap: Swap::Moves, ..searching(6, 8) };
    let mut worker = Worker::new(game.clone(), config, settings).unwrap();
    let mut games = Vec::new();
    for newest in 10..60 {
        let roster = roster_for(&game, newest, &[1, 2]);
        games.extend(play(&mut worker, &roster, 20));
        let (_, trees, spare) = worker.shared.policies.census();
        assert!(trees + spare <= 6 * 2, "{trees} trees, {spare} spare");
    }
    assert!(games.len() > 10);
    for played in &games {
        verify_searched(&game, played, 0);
        assert!(played.seats.iter().all(|seat| seat.learns == (number(seat) >= 10)));
    }
}

#[test]
fn trees_are_kept_to_their_number_and_used_again() {
    let (game, config) = snakes(4);
    let settings = searching(5, 6);
    let most = settings.trees(4);
    assert_eq!(most, 20);
    let mut worker = Worker::new(game.clone(), config, settings.clone()).unwrap();
    let mut trees_seen = 0;
    for newest in 10..30 {
        let roster = roster_for(&game, newest, &[1, 2, 3, 4, 5, 6]);
        play(&mut worker, &roster, 60);
        let (_, trees, spare) = worker.shared.policies.census();
        assert!(trees + spare <= most, "{trees} {spare}");
        trees_seen = trees_seen.max(trees);
    }
    assert!(trees_seen > settings.games, "{trees_seen}");
    worker.close();
    let roster = roster_for(&game, 30, &[1]);
    while worker.running() > 0 {
        worker.tick(&roster).unwrap();
    }
    assert_eq!((worker.shared.policies.census().0, worker.shared.policies.census().1), (0, 0));
}

#[test]
fn trees_that_do_not_fit_their_memory_are_refused_with_what_they_need() {
    let (game, config) = duel();
    let settings = WorkerSettings { tree_bytes: 1 << 20, ..searching(64, 800) };
    let error = Worker::new(game.clone(), Arc::clone(&config), settings).err().unwrap().to_string();
    assert!(error.starts_with("128 trees of 800 simulations need "), "{error}");
    let settings = WorkerSettings { tree_bytes: 8 << 20, ..searching(8, 8) };
    let limits = Worker::new(game, config, settings).unwrap().limits().unwrap();
    assert_eq!(limits.trees, 16);
    assert!(limits.nodes >= 32 && limits.bytes <= 8 << 20, "{limits:?}");
}

#[test]
fn players_who_are_out_are_not_asked() {
    let (game, config) = snakes(4);
    let mut worker = Worker::new(game.clone(), config, searching(6, 6)).unwrap();
    let games = finish(&mut worker, &roster_for(&game, 9, &[1, 2, 3]), 20);
    let last_movers = |played: &Trajectory| {
        let mut replay = played.replay(&game).unwrap();
        let mut movers = PlayerSet::EMPTY;
        while let Turn::Move(now) = game.turn(replay.state()) {
            movers = now;
            if !replay.advance().unwrap() {
                break;
            }
        }
        movers.len()
    };
    assert!(games.iter().any(|played| last_movers(played) < 4));
}
