//! Trees that are kept from one decision to the next.

use ouro_game::battlesnake::{self, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, Game, Rng, Turn};
use ouro_search::mcts::{FastSearch, FirstPlay, Noise, Objective};
use ouro_search::{Rollout, Scheduler, Search, SearchConfig, Uniform};

use crate::walk::{Path, Walk};

#[test]
fn redirected_visits_are_not_inherited_as_policy() {
    let game = TicTacToe::new(tic_tac_toe::Config {}).unwrap();
    let config = SearchConfig { simulations: 400, ..SearchConfig::default() };
    let mut inherited = 0;
    for seed in 0..30 {
        let mut rng = Rng::new(seed, "game");
        let mut state = game.initial(&mut rng);
        game.rollout(&mut state, 1 + seed as u32 % 4, &mut Default::default(), &mut rng);
        let mut search = Search::new(config.clone(), &game).unwrap();
        search.start(&game, &state, Rng::new(seed, "search"));
        Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Rollout::new());
        let decision = search.decide(&game);
        let seat = &decision.seats[0];
        let most = (0..seat.actions.len()).max_by_key(|&at| seat.visits[at]).unwrap();
        game.step(&mut state, &[seat.actions[most]; 2]).unwrap();
        if game.turn(&state) != Turn::Over
            && search.advance(&game, &[seat.actions[most]; 2], &state)
        {
            // One visit evaluated the node; every other visit chose one of its moves.
            let kept: u32 = search.decide(&game).seats[0].visits.iter().sum();
            assert!(kept < seat.visits[most], "{kept} of {}", seat.visits[most]);
            inherited += kept;
        }
    }
    assert!(inherited > 1_000, "{inherited}");
}

#[test]
fn a_search_resumes_at_a_position_some_moves_on() {
    let game = TicTacToe::new(tic_tac_toe::Config {}).unwrap();
    let config = SearchConfig { simulations: 2_000, solver: false, ..SearchConfig::default() };
    let mut search = Search::new(config, &game).unwrap();
    let mut state = game.initial(&mut Rng::new(1, "game"));
    search.start(&game, &state, Rng::new(1, "search"));
    Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Uniform);
    for action in [4, 0] {
        game.step(&mut state, &[Action(action); 2]).unwrap();
    }
    let expected = {
        let mut other = Search::new(search.config().clone(), &game).unwrap();
        other.start(&game, &game.initial(&mut Rng::new(1, "game")), Rng::new(1, "search"));
        Scheduler::new(1).run(&game, std::slice::from_mut(&mut other), &mut Uniform);
        let mut on_the_way = game.initial(&mut Rng::new(1, "game"));
        for action in [4, 0] {
            game.step(&mut on_the_way, &[Action(action); 2]).unwrap();
            assert!(other.advance(&game, &[Action(action); 2], &on_the_way));
        }
        other.decide(&game)
    };
    assert!(search.resume(&game, &state, Rng::new(2, "search")));
    let resumed = search.decide(&game);
    assert!(resumed.seats[0].visits.iter().sum::<u32>() > 20, "{resumed:?}");
    assert_eq!(resumed.seats[0].visits, expected.seats[0].visits);
    // A position that the tree does not contain starts a new one.
    assert!(!search.resume(&game, &game.initial(&mut Rng::new(1, "game")), Rng::new(2, "search")));
    assert_eq!(search.nodes(), 1);
}

/// Walks the far path and all forced steps with the kept tree. Returns the decision at the next
/// choice, which is based on priors alone.
fn priors_behind_forced_steps(config: &SearchConfig, seed: u64) -> ouro_search::SearchResult {
    let path = Path { near: 0.0, forced: 3, outcomes: 1, skewed: false, tail: 5 };
    let game = Walk::new(path).unwrap();
    let mut chance = Rng::new(seed, "game");
    let mut state = game.initial(&mut chance);
    let mut search = Search::new(config.clone(), &game).unwrap();
    search.start(&game, &state, Rng::new(seed, "search"));
    Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Uniform);
    for action in [1, 2, 2, 2] {
        game.advance(&mut state, &[Action(action)], &mut chance).unwrap();
        assert!(search.advance(&game, &[Action(action)], &state));
    }
    let decision = search.decide(&game);
    assert_eq!((decision.seats[0].visits.as_slice(), decision.simulations), (&[0, 0][..], 0));
    decision
}

/// Each path is tried once, which evaluates the choice after the forced steps and nothing further.
/// Nearly all noise is on one action.
fn noisy() -> SearchConfig {
    SearchConfig {
        simulations: 2,
        first_play: FirstPlay::Constant { value: 1.0 },
        objective: Objective::Returns,
        collapse_forced: Some(true),
        solver: false,
        noise: Some(Noise { total: 0.02, share: 0.25 }),
        ..SearchConfig::default()
    }
}

#[test]
fn noise_is_mixed_in_once_however_many_forced_moves_lead_to_a_choice() {
    for seed in 0..40 {
        let policy = &priors_behind_forced_steps(&noisy(), seed).seats[0].policy;
        let least = policy[0].min(policy[1]);
        assert!((0.374..0.5).contains(&least), "{policy:?}");
    }
}

#[test]
fn forced_moves_bring_no_noise_into_fast_searches() {
    let fast = Some(FastSearch { full_share: 0.5, simulations: 2 });
    let config = SearchConfig { fast, ..noisy() };
    let mut fast = 0;
    for seed in 0..60 {
        let decision = priors_behind_forced_steps(&config, seed);
        if !decision.full {
            fast += 1;
            assert_eq!(decision.seats[0].policy, [0.5, 0.5]);
        }
    }
    // Binomial(60, 1/2): 30 with deviation 3.9; 5 sigma.
    assert!(30_u32.abs_diff(fast) < 20, "{fast}");
}

#[test]
fn a_small_tree_stays_small_over_many_kept_moves() {
    let board = battlesnake::Config { width: 7, height: 7, snakes: 2, ..Default::default() };
    let game = Small::new(board).unwrap();
    let config = SearchConfig { simulations: 200, max_nodes: 64, ..SearchConfig::default() };
    let mut search = Search::new(config, &game).unwrap();
    let mut kept = 0;
    for seed in 0..4 {
        let mut chance = Rng::new(seed, "game");
        let mut state = game.initial(&mut chance);
        game.settle(&mut state, &mut chance);
        search.start(&game, &state, Rng::new(seed, "search"));
        for _ in 0..12 {
            Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Uniform);
            assert!(search.nodes() <= 64, "{}", search.nodes());
            let decision = search.decide(&game);
            assert!(decision.simulations > 0 || decision.proven, "{decision:?}");
            let mut joint = vec![Action::default(); game.players()];
            for seat in &decision.seats {
                joint[seat.player] = seat.action;
            }
            game.advance(&mut state, &joint, &mut chance).unwrap();
            if game.turn(&state) == Turn::Over {
                break;
            }
            kept += u32::from(search.advance(&game, &joint, &state));
        }
    }
    assert!(kept > 5, "{kept}");
}

#[test]
fn listed_outcomes_count_against_the_size_of_a_tree() {
    let path = Path { near: 0.0, forced: 0, outcomes: 1_000, skewed: false, tail: 9 };
    let game = Walk::new(path).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    let config =
        SearchConfig { simulations: 50, objective: Objective::Returns, ..SearchConfig::default() };
    let nodes = |max_nodes| {
        let config = SearchConfig { max_nodes, ..config.clone() };
        let mut search = Search::new(config, &game).unwrap();
        search.start(&game, &state, Rng::new(1, "search"));
        Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Uniform);
        assert_eq!(search.decide(&game).seats.len(), 1);
        search.nodes()
    };
    assert!(nodes(100) < 10, "{}", nodes(100));
    assert!(nodes(1_000) > 40, "{}", nodes(1_000));
}

#[test]
fn the_policy_of_a_proven_loser_stays_among_the_actions_that_the_prior_allows() {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let config = SearchConfig {
        simulations: 64,
        noise: Some(Noise::default()),
        forced_playouts: Some(2.0),
        ..SearchConfig::default()
    };
    let mut search = Search::new(config, &game).unwrap();
    let (mut decisions, mut lost) = (0, 0);
    for seed in 0..60 {
        let mut state = game.initial(&mut Rng::new(seed, "game"));
        search.start(&game, &state, Rng::new(seed, "search"));
        loop {
            Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Rollout::new());
            let decision = search.decide(&game);
            let seat = &decision.seats[0];
            for (share, prior) in seat.policy.iter().zip(&seat.prior) {
                assert!(*share == 0.0 || *prior > 0.0, "{decision:?}");
            }
            assert!(seat.surprise() < 20.0, "{decision:?}");
            decisions += 1;
            let is_partly_refuted = seat.prior.contains(&0.0);
            let is_lost = decision.proven && decision.values[seat.player] == -1.0;
            lost += u32::from(is_lost && is_partly_refuted);
            game.step(&mut state, &[seat.action; 2]).unwrap();
            if game.turn(&state) == Turn::Over || !search.advance(&game, &[seat.action; 2], &state)
            {
                break;
            }
        }
    }
    assert!(lost > 10, "{lost} of {decisions}");
}
