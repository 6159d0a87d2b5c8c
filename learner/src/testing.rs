//! What the tests share: a small configuration, and games to learn from.

use ouro_game::record::Recorder;
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, ActionMask, Game, GameConfig, PlaneShape, Stream, Turn};
use ouro_net::{Architecture, NetSpec, Weights, WeightsMeta};
use ouro_proto::{Seat, Trajectory};

use crate::config::{Config, DeviceChoice, TrainConfig};

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
    config.intake.queue_moves = 64;
    config.checkpoint.every_steps = 2;
    config
}

/// A network for an odd little board, so that no two dimensions are equal.
pub(crate) fn spec() -> NetSpec {
    NetSpec {
        planes: PlaneShape { channels: 2, height: 4, width: 3 },
        actions: 5,
        architecture: Architecture::Conv { channels: 6, layers: 2, hidden: 7 },
    }
}

pub(crate) fn weights(spec: &NetSpec) -> Weights {
    Weights::initialize(spec.clone(), WeightsMeta::default(), 11).expect("a valid spec")
}

/// A game of uniformly random players, both of generation 0; the first seat learns.
pub(crate) fn random_game(sequence: u64) -> Trajectory {
    let game = TicTacToe::default();
    let mut stream = Stream::indexed(1, "test", sequence);
    let mut recorder = Recorder::new(&game, sequence);
    let mut behaviour = Vec::new();
    let mut mask = ActionMask::default();
    while let Turn::Move(movers) = game.turn(recorder.state()) {
        let mover = movers.iter().next().expect("somebody moves");
        game.legal(recorder.state(), mover, &mut mask);
        let action = mask.nth(stream.below(mask.count() as u32) as usize).expect("a legal action");
        behaviour.push(vec![1.0 / mask.count() as f32]);
        recorder.advance(&game, &[action; 2]).expect("a legal action");
    }
    let outcomes = vec![game.outcome(recorder.state(), 0), game.outcome(recorder.state(), 1)];
    let record = recorder.into_record(config().game);
    let seats = [true, false].map(|learns| Seat { generation: Some(0), learns }).to_vec();
    Trajectory { sequence, record, behaviour, searched: Vec::new(), seats, outcomes }
}

/// A game that the first player wins on the left column: cells 0, 3, 6 against 1, 4.
pub(crate) fn won_game() -> Trajectory {
    let game = TicTacToe::default();
    let mut recorder = Recorder::new(&game, 5);
    for cell in [0, 1, 3, 4, 6] {
        recorder.advance(&game, &[Action(cell); 2]).expect("a legal action");
    }
    let record = recorder.into_record(config().game);
    let behaviour = vec![vec![0.5]; 5];
    Trajectory { record, behaviour, outcomes: vec![1.0, -1.0], ..random_game(1) }
}
