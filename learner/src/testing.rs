//! Set-up of the unit tests: a small configuration, networks and games.

use std::sync::Arc;

use ouro_game::record::{Playthrough, RECORD_VERSION};
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, ActionMask, Game, GameConfig, PlaneShape, Rng, Turn};
use ouro_net::{
    Architecture, Generation, GlobalPooling, NetSpec, ValueRange, Weights, WeightsMeta, reference,
};
use ouro_replay::journal::Options;
use ouro_replay::{
    Deal, FifoSettings, FolderDisk, Journal, Move, Ply, Record, RecordHeader, ReplaySettings,
    SearchTarget, Seat, Trajectory,
};

use crate::config::{Config, DeviceChoice, TrainConfig};
use crate::journal_writer::JOURNAL;

/// Tic-tac-toe on the CPU with a tiny network.
pub(crate) fn config() -> Config {
    let mut config = Config {
        device: DeviceChoice::Cpu,
        listen: ([127, 0, 0, 1], 0).into(),
        game: GameConfig::TicTacToe(tic_tac_toe::Config::default()),
        net: Architecture::Conv { channels: 4, layers: 1, hidden: 8 },
        train: TrainConfig { batch_moves: 8, report_every: 1, ..TrainConfig::default() },
        ..Config::default()
    };
    config.replay.queue_positions = 64;
    config.training_states.every_steps = 2;
    config
}

/// Journals a short searched game of each of these generations, and returns the journal.
pub(crate) fn journalled(config: &Config, generations: &[u32]) -> Journal {
    let disk = FolderDisk::open(&config.training_states.directory.join(JOURNAL)).expect("a folder");
    let game = config.game_identity();
    let (mut journal, _) =
        Journal::open(disk, game.as_bytes(), Options::default()).expect("a new journal");
    journal.greet("tester", None).expect("the first epoch");
    let payload = searched_game().encode().expect("a possible game");
    for (sequence, &generation) in (1..).zip(generations) {
        let generation = Generation(generation);
        let record = Record { actor: "tester", epoch: 1, sequence, generation, payload: &payload };
        journal.append(record).expect("the next game");
    }
    journal.commit().expect("there is room");
    journal
}

/// The settings of a queue that deals whole games in order.
pub(crate) fn fifo(max_positions: u64, batch: u64, max_lag: u32) -> ReplaySettings {
    let (max_bytes, deal) = (1 << 20, Deal::default());
    ReplaySettings::Fifo(FifoSettings { max_positions, max_bytes, batch, deal, max_lag })
}

/// A network for a board whose dimensions all differ, so that swapped dimensions fail a test.
pub(crate) fn spec() -> NetSpec {
    NetSpec {
        planes: PlaneShape { channels: 2, height: 4, width: 3 },
        actions: 5,
        architecture: Architecture::Conv { channels: 6, layers: 2, hidden: 7 },
    }
}

/// One small network of every architecture, with and without its options.
pub(crate) fn architectures() -> Vec<Architecture> {
    let tower = |value, global_pooling, opponent_policy| Architecture::Residual {
        channels: 5,
        blocks: 2,
        policy_channels: 3,
        value_channels: 2,
        value_hidden: 7,
        value,
        global_pooling,
        opponent_policy,
    };
    let pooling = GlobalPooling { channels: 3, every: 2 };
    vec![
        Architecture::Conv { channels: 6, layers: 2, hidden: 7 },
        tower(ValueRange::Tanh, None, false),
        tower(ValueRange::Unbounded, Some(pooling), false),
        Architecture::TwoConv { channels: 4, hidden: 9, narrow: 6 },
        Architecture::Mlp { layers: 2, hidden: 8, value: ValueRange::Tanh },
        tower(ValueRange::Outcome, None, false),
        tower(ValueRange::Tanh, None, true),
    ]
}

/// A residual network for the same board.
pub(crate) fn tower() -> NetSpec {
    NetSpec { architecture: architectures().swap_remove(1), ..spec() }
}

/// Weights of [`spec`] for gradient checks. The policy is far from uniform, so every term of a loss
/// counts. Biases are away from 0. Otherwise an empty patch of the board would be at the kink of a
/// ReLU, where central differences fail.
pub(crate) fn lively_weights(spec: &NetSpec) -> Weights {
    let mut tensors = weights(spec).tensors().to_vec();
    for (tensor, values) in spec.tensors().iter().zip(&mut tensors) {
        for (place, value) in values.iter_mut().enumerate() {
            if tensor.name == "policy.weight" {
                *value *= 100.0;
            } else if tensor.name.ends_with("bias") {
                *value = 0.1 + 0.03 * place as f32;
            }
        }
    }
    Weights::from_tensors(spec.clone(), WeightsMeta::default(), tensors).expect("finite values")
}

/// Logits and values by the plain reference computation.
pub(crate) fn evaluate(weights: &Weights, planes: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let spec = weights.spec();
    let rows = planes.len() / spec.planes.len();
    let [mut logits, mut values] =
        [spec.logits(), spec.value_width()].map(|width| vec![0.0; rows * width]);
    reference::evaluate(weights, planes, &mut logits, &mut values);
    (logits, values)
}

/// Compares a gradient with central differences of `loss` in a few elements of every tensor, for a
/// network without running statistics.
pub(crate) fn central_differences(
    weights: &Weights,
    gradient: &[Vec<f32>],
    loss: impl Fn(&Weights) -> f64,
) {
    let nudged = |tensor: usize, index: usize, by: f32| {
        let mut tensors = weights.tensors().to_vec();
        tensors[tensor][index] += by;
        let (spec, meta) = (weights.spec().clone(), WeightsMeta::default());
        loss(&Weights::from_tensors(spec, meta, tensors).expect("finite values"))
    };
    let (mut dot, mut slow_square, mut fast_square) = (0.0, 0.0, 0.0);
    for (tensor, gradients) in gradient.iter().enumerate() {
        let stride = (gradients.len() / 5).max(1);
        for index in (0..gradients.len()).step_by(stride) {
            let step = 3e-4;
            let slow = (nudged(tensor, index, step) - nudged(tensor, index, -step)) / 6e-4;
            let fast = f64::from(gradients[index]);
            assert!((slow - fast).abs() < 5e-3, "{tensor}[{index}]: {slow} {fast}");
            dot += slow * fast;
            slow_square += slow * slow;
            fast_square += fast * fast;
        }
    }
    let cosine = dot / f64::sqrt(slow_square * fast_square);
    assert!(cosine > 0.999, "{cosine}");
}

pub(crate) fn weights(spec: &NetSpec) -> Weights {
    Weights::initialize(spec.clone(), WeightsMeta::default(), 11).expect("a valid spec")
}

/// A game of uniformly random players, both of generation 0; the first seat learns.
pub(crate) fn random_game(seed: u64) -> Trajectory {
    let mut rng = Rng::indexed(1, "test", seed);
    let choose = |mask: &ActionMask| mask.nth(rng.below(mask.count() as u32) as usize);
    play(seed, choose, |mask| 1.0 / mask.count() as f32)
}

/// Plays tic-tac-toe until it is over or `choose` has no action.
fn play(
    seed: u64,
    mut choose: impl FnMut(&ActionMask) -> Option<Action>,
    behaviour: impl Fn(&ActionMask) -> f32,
) -> Trajectory {
    let game = TicTacToe::default();
    let mut playthrough = Playthrough::new(&game, seed);
    let (mut plies, mut mask) = (Vec::new(), ActionMask::default());
    while let Turn::Move(movers) = game.turn(playthrough.state()) {
        let mover = movers.iter().next().expect("one player is to move");
        game.legal(playthrough.state(), mover, &mut mask);
        let Some(action) = choose(&mask) else { break };
        let played = Move { action, behaviour: behaviour(&mask), search: None };
        plies.push(Ply { moves: vec![played] });
        playthrough.advance(&game, &[action; 2]).expect("a legal action");
    }
    let seat = |(player, learns)| Seat {
        generation: Some(Generation(0)),
        learns,
        outcome: game.outcome(playthrough.state(), player),
    };
    let seats = [(0, true), (1, false)].map(seat).to_vec();
    let (config, digests) = (Arc::new(config().game), playthrough.into_digests());
    let record = RecordHeader { version: RECORD_VERSION, config, seed, digests };
    Trajectory { record, seats, plies }
}

/// A game that the first player wins on the left column, with cells 0, 3, 6 against 1, 4.
pub(crate) fn won_game() -> Trajectory {
    game_of(&[0, 1, 3, 4, 6])
}

/// A game with stones on these cells, in this order.
pub(crate) fn game_of(cells: &[u32]) -> Trajectory {
    let mut cells = cells.iter().copied().map(Action);
    play(5, |_| cells.next(), |_| 0.5)
}

/// [`won_game`] with a search result before every move. Only the first and the last move of the
/// winner have policy targets.
pub(crate) fn searched_game() -> Trajectory {
    let target = |policy: &[(u32, f32)], value: f32| {
        let policy = policy.iter().map(|&(action, share)| (Action(action), share)).collect();
        Some(SearchTarget { policy, value, surprise: 0.0 })
    };
    let targets = [
        target(&[(0, 0.75), (1, 0.25)], 0.5),
        target(&[], -0.5),
        target(&[], 0.5),
        target(&[], -0.5),
        target(&[(6, 1.0)], 0.5),
    ];
    let mut game = won_game();
    for (ply, search) in game.plies.iter_mut().zip(targets) {
        ply.moves[0].search = search;
    }
    game
}
