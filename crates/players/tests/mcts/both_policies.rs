//! Networks with the policies of both players: one observation serves the whole turn.

use std::sync::Arc;

use ouro_game::battlesnake::{self, Small};
use ouro_game::{Action, ActionMask, Game, PlayerSet, Rng, Symmetry, Turn};
use ouro_net::{Architecture, Engine, NetSpec, Scratch, ValueRange, synthetic};
use ouro_players::{NetEvaluator, NetPlayer, Player, Request, Selection};
use ouro_search::{Estimates, Evaluator, Leaf};

use super::positions;

fn duel(snakes: u8) -> Small {
    Small::new(battlesnake::Config { width: 7, height: 7, snakes, ..Default::default() }).unwrap()
}

fn network(game: &Small, value: ValueRange) -> Arc<Engine> {
    let architecture = Architecture::Residual {
        channels: 6,
        blocks: 1,
        policy_channels: 3,
        value_channels: 2,
        value_hidden: 8,
        value,
        global_pooling: None,
        opponent_policy: true,
    };
    let spec = NetSpec { planes: game.planes(), actions: 4, architecture };
    Arc::new(Engine::new(&synthetic::random_weights(&spec, 3).unwrap()))
}

/// Softmax over the viable actions.
fn policy(game: &Small, state: &<Small as Game>::State, mover: usize, logits: &[f32]) -> Vec<f32> {
    let mut viable = ActionMask::default();
    game.viable(state, mover, &mut viable);
    let weights: Vec<f32> = (0..4)
        .map(
            |action| {
                if viable.contains(Action(action)) { logits[action as usize].exp() } else { 0.0 }
            },
        )
        .collect();
    let sum: f32 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

fn near(got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len());
    let pairs = got.iter().zip(expected);
    assert!(pairs.clone().all(|(got, wanted)| (got - wanted).abs() < 1e-5), "{got:?} {expected:?}");
}

#[test]
fn the_observing_player_alternates_and_its_row_serves_both() {
    let (game, draw) = (duel(2), -0.3);
    let engine = network(&game, ValueRange::Outcome);
    let mut net = NetEvaluator::new("it", Arc::clone(&engine), &game).unwrap().with_draw(draw);
    let mut observers = PlayerSet::default();
    for state in positions(&game, 12) {
        let Turn::Move(movers) = game.turn(&state) else { continue };
        let (symmetry, rng) = (Symmetry::Identity, Rng::new(0, "x"));
        let mut out = Estimates::new();
        out.reset(&game);
        net.evaluate(&game, &mut [Leaf { state, movers, symmetry, rng }], &mut out);
        let estimate = out.get(0).unwrap();

        let observer = game.elapsed(&state) as usize % 2;
        observers.0 |= PlayerSet::one(observer).0;
        let mut seen = vec![0.0; game.planes().len()];
        game.observe(&state, observer, &mut seen);
        let (mut logits, mut values) = ([0.0; 8], [0.0; 3]);
        engine.evaluate(&mut Scratch::new(), &seen, &mut logits, &mut values);
        let [win, drawn, loss] = values;
        let mut expected = [win - loss + draw * drawn; 2];
        expected[1 - observer] = loss - win + draw * drawn;
        near(estimate.values, &expected);
        let priors = estimate.priors.unwrap();
        near(&priors[4 * observer..][..4], &policy(&game, &state, observer, &logits[..4]));
        near(&priors[4 - 4 * observer..][..4], &policy(&game, &state, 1 - observer, &logits[4..]));

        // Alone, the policy of the observing player counts, from either seat.
        let mut player =
            NetPlayer::new("it", Arc::clone(&engine), Selection::Argmax, &game).unwrap();
        for own in 0..2 {
            game.observe(&state, own, &mut seen);
            engine.evaluate(&mut Scratch::new(), &seen, &mut logits, &mut values);
            let shares = policy(&game, &state, own, &logits[..4]);
            let best = (0..4).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap();
            let mut choices = Vec::new();
            let (state, rng) = (&state, &mut Rng::new(0, "x"));
            player.choose(
                &game,
                &mut [Request { game: None, state, player: own, rng }],
                &mut choices,
            );
            assert_eq!(choices[0].action, Action(best as u32));
        }
    }
    assert_eq!(observers.len(), 2);
}

#[test]
fn a_batch_of_positions_gives_each_its_own_estimate() {
    let game = duel(2);
    let mut net = NetEvaluator::new("it", network(&game, ValueRange::Tanh), &game).unwrap();
    let leaf = |state: &<Small as Game>::State, symmetry| {
        let Turn::Move(movers) = game.turn(state) else { return None };
        Some(Leaf { state: *state, movers, symmetry, rng: Rng::new(0, "x") })
    };
    let states = positions(&game, 20);
    let symmetries = Symmetry::SQUARE.iter().cycle();
    let leaves: Vec<_> = states
        .iter()
        .zip(symmetries)
        .filter_map(|(state, &symmetry)| leaf(state, symmetry))
        .collect();
    let mut together = Estimates::new();
    together.reset(&game);
    net.evaluate(&game, &mut leaves.clone(), &mut together);
    for (index, leaf) in leaves.iter().enumerate() {
        let mut alone = Estimates::new();
        alone.reset(&game);
        net.evaluate(&game, &mut [leaf.clone()], &mut alone);
        let (alone, together) = (alone.get(0).unwrap(), together.get(index).unwrap());
        assert_eq!((alone.values, alone.priors), (together.values, together.priors));
        assert_eq!(alone.values[0], -alone.values[1]);
    }
}

#[test]
fn more_than_two_players_are_refused() {
    let engine = network(&duel(2), ValueRange::Tanh);
    let game = duel(3);
    let refused = NetEvaluator::new("it", engine, &game).unwrap_err().to_string();
    assert!(
        refused.ends_with(
            "has policies of two players, battlesnake has 3; use weights trained without \
             net.opponent_policy"
        ),
        "{refused}"
    );
}
