//! Invariants of every search of every game.

use ouro_game::battlesnake::{self, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, ActionMask, Game, Rng, Turn};
use ouro_search::mcts::{
    ChanceWidth, FastSearch, FirstPlay, Gumbel, Noise, Objective, Simultaneous, Temperature,
    ValueScale,
};
use ouro_search::{Rollout, Scheduler, Search, SearchConfig, SearchResult};
use proptest::prelude::*;

use crate::walk::{Path, Walk};

fn configs() -> impl Strategy<Value = SearchConfig> {
    let selection = prop_oneof![
        Just((None, None, None, Simultaneous::Decoupled, 0.0)),
        Just((Some(Noise::default()), Some(2.0), None, Simultaneous::Decoupled, 0.0)),
        Just((Some(Noise::default()), Some(2.0), None, Simultaneous::Decoupled, 0.4)),
        Just((None, None, None, Simultaneous::Decoupled, 0.1)),
        Just((None, None, Some(Gumbel::default()), Simultaneous::Decoupled, 0.0)),
        Just((None, None, None, Simultaneous::RegretMatching { exploration: 0.2 }, 0.0)),
    ];
    let first_play = prop_oneof![
        Just(FirstPlay::Parent),
        Just(FirstPlay::ParentReduced { reduction: 0.2 }),
        Just(FirstPlay::Constant { value: -1.0 }),
    ];
    let scale = prop_oneof![
        Just(ValueScale::Raw),
        Just(ValueScale::Running),
        Just(ValueScale::Bounds { low: -2.0, high: 2.0 }),
    ];
    let temperature = prop_oneof![Just(0.0_f32), Just(0.5), Just(1.0)];
    let numbers = (1_u32..120, 1_u32..6, prop_oneof![Just(1.0_f32), Just(0.9)]);
    let flags = any::<[bool; 6]>();
    let rest = (
        prop_oneof![Just(-1.0_f32), Just(0.0), Just(-0.3)],
        prop_oneof![Just(None), Just(Some(19_652.0_f32)), Just(Some(10.0))],
        prop_oneof![Just(0.0_f32), Just(-1.0), Just(0.4)],
    );
    (selection, first_play, scale, temperature, numbers, flags, rest).prop_map(
        |(
            (noise, forced_playouts, gumbel, simultaneous, tremble),
            first_play,
            value_scale,
            temperature,
            (simulations, leaves_in_flight, discount),
            [returns, collapse_forced, random_symmetry, solver, fast, ignore],
            (virtual_value, exploration_base, draw),
        )| SearchConfig {
            simulations,
            first_play,
            simultaneous,
            tremble,
            objective: if returns { Objective::Returns } else { Objective::Outcome },
            draw,
            discount,
            value_scale,
            chance: ChanceWidth { ignore, ..ChanceWidth::default() },
            collapse_forced: Some(collapse_forced),
            random_symmetry,
            solver,
            noise,
            forced_playouts,
            gumbel,
            fast: fast.then_some(FastSearch { full_share: 0.5, simulations: 9 }),
            temperature: Temperature::Constant { value: temperature },
            leaves_in_flight,
            virtual_value,
            exploration_base,
            ..SearchConfig::default()
        },
    )
}

/// Plays a few plies with kept trees, checking every decision; returns all of them.
fn play<G: Game>(
    game: &G,
    config: &SearchConfig,
    seed: u64,
    scheduler: &mut Scheduler<G>,
    others: usize,
) -> Vec<SearchResult> {
    let mut chance = Rng::new(seed, "game");
    let mut state = game.initial(&mut chance);
    game.settle(&mut state, &mut chance);
    let new = || Search::new(config.clone(), game).unwrap();
    let mut searches: Vec<Search<G>> = (0..=others).map(|_| new()).collect();
    for (index, search) in searches.iter_mut().enumerate() {
        search.start(game, &state, Rng::indexed(seed, "search", index as u64));
    }
    let mut rollout =
        Rollout::for_objective(config.objective, config.discount).with_draw(config.draw);
    let mut decisions = Vec::new();
    let mut inherited = 0;
    for _ in 0..6 {
        let Turn::Move(movers) = game.turn(&state) else { break };
        scheduler.run(game, &mut searches, &mut rollout);
        let decision = searches[0].decide(game);
        let players: Vec<usize> = decision.seats.iter().map(|seat| seat.player).collect();
        assert_eq!(players, movers.iter().collect::<Vec<_>>());
        check(game, &state, config, &decision, &searches[0], inherited);
        let mut joint = vec![Action::default(); game.players()];
        for seat in &decision.seats {
            joint[seat.player] = seat.action;
        }
        game.advance(&mut state, &joint, &mut chance).unwrap();
        decisions.push(decision);
        if game.turn(&state) == Turn::Over {
            break;
        }
        let kept = searches[0].advance(game, &joint, &state);
        inherited = if kept { u32::MAX } else { 0 };
        for (index, search) in searches.iter_mut().enumerate().skip(1) {
            search.start(game, &state, Rng::indexed(seed, "search", index as u64));
        }
    }
    decisions
}

/// `inherited` is 0 if the tree was new, anything else if it was kept.
fn check<G: Game>(
    game: &G,
    state: &G::State,
    config: &SearchConfig,
    decision: &SearchResult,
    search: &Search<G>,
    inherited: u32,
) {
    let budget = match config.fast {
        Some(fast) if !decision.full => fast.simulations,
        _ => config.simulations,
    };
    let forced = config.collapse_forced == Some(true)
        && decision.seats.iter().all(|seat| seat.actions.len() == 1);
    if !decision.proven && !forced {
        assert_eq!(decision.simulations, budget);
    }
    assert!(decision.simulations <= budget);
    assert!(decision.values.iter().all(|value| value.is_finite()));
    if config.objective == Objective::Outcome {
        assert!(decision.values.iter().all(|value| value.abs() <= 1.0 + 1e-5), "{decision:?}");
    }
    for (index, seat) in decision.seats.iter().enumerate() {
        let mut viable = ActionMask::default();
        game.viable(state, seat.player, &mut viable);
        assert_eq!(seat.actions, viable.iter().collect::<Vec<_>>());
        let total: u32 = seat.visits.iter().sum();
        let is_uncounted = config.tremble > 0.0 || config.forced_playouts.is_some();
        if is_uncounted && decision.seats.len() > 1 {
            // A tremble is not a visit, nor is a choice beside another player's forced playout.
            assert!(inherited != 0 || total <= decision.simulations, "{decision:?}");
        } else if inherited == 0 {
            assert_eq!(total, decision.simulations, "{decision:?}");
        } else {
            assert!(total >= decision.simulations || forced);
        }
        let chosen = seat.actions.iter().position(|&action| action == seat.action).unwrap();
        assert!((seat.policy.iter().sum::<f32>() - 1.0).abs() < 1e-4, "{seat:?}");
        assert!(seat.policy.iter().all(|share| (0.0..=1.0 + 1e-6).contains(share)), "{seat:?}");
        assert!(seat.probability > 0.0 && seat.probability <= 1.0 + 1e-6, "{seat:?}");
        assert!(seat.policy[chosen] > 0.0, "{seat:?}");
        let losses = search.proven_losses(index);
        if losses.contains(&false) {
            let shares = seat.policy.iter().zip(&losses);
            assert!(shares.clone().all(|(&share, &lost)| !lost || share == 0.0), "{seat:?}");
        }
        let by_visits = config.gumbel.is_none() && config.simultaneous == Simultaneous::Decoupled;
        // An action without visits is chosen if all visited ones are proven to lose. In a proven
        // position it may also have lost its visits, because a kept tree drops redirected ones. If all
        // are proven to lose in a position that is not proven, the policy is the prior.
        let mut shares = seat.visits.iter().zip(&seat.policy);
        let is_visited = shares.any(|(&visits, &share)| visits > 0 && share > 0.0);
        let mut visited = seat.visits.iter().zip(&losses).filter(|(visits, _)| **visits > 0);
        let is_refuted = visited.all(|(_, &lost)| lost) || decision.proven;
        let is_lost = !losses.is_empty() && !losses.contains(&false);
        let is_excepted = config.solver && (is_lost || !is_visited && is_refuted);
        if total > 0 && !forced && by_visits && !is_excepted {
            assert!(seat.visits[chosen] > 0, "{seat:?}");
            for (&visits, &share) in seat.visits.iter().zip(&seat.policy) {
                assert!(visits > 0 || share == 0.0, "{seat:?}");
            }
        }
    }
}

/// Checks a game, and that decisions do not depend on the batch.
fn check_game<G: Game>(game: &G, config: &SearchConfig, seed: u64) {
    let alone = play(game, config, seed, &mut Scheduler::new(1), 0);
    assert!(!alone.is_empty());
    assert_eq!(play(game, config, seed, &mut Scheduler::new(64), 0), alone);
    assert_eq!(play(game, config, seed, &mut Scheduler::new(5), 3), alone);
}

/// The choice was an action that the kept tree had proven to lose, outside the policy.
#[test]
fn choices_in_a_lost_position_stay_within_the_policy() {
    let config = SearchConfig {
        simulations: 86,
        exploration_base: Some(10.0),
        first_play: FirstPlay::Constant { value: -1.0 },
        draw: 0.4,
        value_scale: ValueScale::Raw,
        collapse_forced: Some(false),
        temperature: Temperature::Constant { value: 0.0 },
        leaves_in_flight: 1,
        virtual_value: -1.0,
        ..SearchConfig::default()
    };
    for gumbel in [None, Some(Gumbel::default())] {
        let config = SearchConfig { gumbel, ..config.clone() };
        for seed in 0..100 {
            check_game(&TicTacToe::new(tic_tac_toe::Config {}).unwrap(), &config, seed);
        }
    }
}

/// All visits of the actions that were not proven to lose were forced playouts. Pruning removed
/// them, and the choice was an action without visits.
#[test]
fn choices_have_visits_although_forced_playouts_are_pruned() {
    let config = SearchConfig {
        simulations: 4,
        draw: 0.4,
        noise: Some(Noise::default()),
        forced_playouts: Some(2.0),
        fast: Some(FastSearch { full_share: 0.5, simulations: 9 }),
        ..SearchConfig::default()
    };
    for seed in 0..1_000 {
        check_game(&TicTacToe::new(tic_tac_toe::Config {}).unwrap(), &config, seed);
    }
}

/// The action with the soonest end had forced playouts only, and so no share of the policy.
#[test]
fn choices_in_a_proven_position_have_a_share_of_the_policy() {
    let config = SearchConfig {
        simulations: 103,
        draw: 0.4,
        discount: 0.9,
        noise: Some(Noise::default()),
        forced_playouts: Some(2.0),
        temperature: Temperature::Constant { value: 0.0 },
        ..SearchConfig::default()
    };
    for seed in 0..100 {
        check_game(&TicTacToe::new(tic_tac_toe::Config {}).unwrap(), &config, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn alternating_games_are_searched_soundly(config in configs(), seed in 0_u64..1_000) {
        check_game(&TicTacToe::new(tic_tac_toe::Config {}).unwrap(), &config, seed);
        let small = connect_four::Config { width: 5, height: 4 };
        check_game(&ConnectFour::new(small).unwrap(), &config, seed);
    }

    #[test]
    fn simultaneous_games_with_chance_are_searched_soundly(
        config in configs(),
        seed in 0_u64..1_000,
        snakes in 1_u8..5,
    ) {
        let ruleset = if snakes == 1 {
            battlesnake::Ruleset::Solo
        } else {
            battlesnake::Ruleset::Standard
        };
        let config = SearchConfig {
            // A single snake survives hundreds of turns in a rollout.
            simulations: if snakes == 1 { config.simulations.min(20) } else { config.simulations },
            ..config
        };
        let board = battlesnake::Config {
            width: 7, height: 7, snakes, ruleset, ..battlesnake::Config::default()
        };
        check_game(&Small::new(board).unwrap(), &config, seed);
    }

    #[test]
    fn single_player_games_are_searched_soundly(
        config in configs(),
        seed in 0_u64..1_000,
        forced in 0_u32..4,
        outcomes in 2_u32..40,
        skewed in any::<bool>(),
    ) {
        let path = Path { near: 1.0, forced, outcomes, skewed, tail: 9 };
        check_game(&Walk::new(path).unwrap(), &config, seed);
    }
}
