//! The networks and batch sizes of the benchmarks.

use ouro_game::PlaneShape;
use ouro_net::{Architecture, GlobalPooling, NetSpec, ValueRange};

/// Batch sizes of the benchmarks.
pub const BATCHES: [usize; 4] = [1, 8, 32, 128];

/// A Battlesnake board of the usual size.
const BATTLESNAKE: PlaneShape = PlaneShape { channels: 12, height: 11, width: 11 };

/// A network of the benchmarks.
#[derive(Clone, Debug)]
pub struct NetworkCase {
    /// Name of the preset, or a description.
    pub name: &'static str,
    /// Shapes of inputs, layers and outputs.
    pub spec: NetSpec,
}

/// Returns the networks: the presets on their usual boards, and two more.
///
/// The first is a tower of 10 channels on the board of the Snake paper, because 10 is not a
/// multiple of any vector width. The second is a tower with global pooling.
pub fn network_cases() -> Vec<NetworkCase> {
    let snake = PlaneShape { channels: 7, height: 10, width: 10 };
    let preset = |name: &str| name.parse().expect("it is one of the presets");
    let narrow = Architecture::Residual {
        channels: 10,
        blocks: 1,
        policy_channels: 2,
        value_channels: 1,
        value_hidden: 32,
        value: ValueRange::Unbounded,
        global_pooling: None,
        opponent_policy: false,
    };
    let pooled = Architecture::Residual {
        channels: 32,
        blocks: 4,
        policy_channels: 4,
        value_channels: 2,
        value_hidden: 64,
        value: ValueRange::Tanh,
        global_pooling: Some(GlobalPooling { channels: 8, every: 2 }),
        opponent_policy: false,
    };
    vec![
        case("tiny", snake, preset("tiny")),
        case("small", BATTLESNAKE, preset("small")),
        case("medium", BATTLESNAKE, preset("medium")),
        case("snake_paper", snake, preset("snake_paper")),
        case("tower_10x1", snake, narrow),
        case("small_pooled", BATTLESNAKE, pooled),
    ]
}

/// Returns the networks for measurements of training: [`network_cases`], and a tower that is large
/// enough to keep a GPU busy.
pub fn training_cases() -> Vec<NetworkCase> {
    let large = Architecture::Residual {
        channels: 128,
        blocks: 10,
        policy_channels: 4,
        value_channels: 2,
        value_hidden: 128,
        value: ValueRange::Tanh,
        global_pooling: None,
        opponent_policy: false,
    };
    let mut cases = network_cases();
    cases.push(case("tower_128x10", BATTLESNAKE, large));
    cases
}

fn case(name: &'static str, planes: PlaneShape, architecture: Architecture) -> NetworkCase {
    NetworkCase { name, spec: NetSpec { planes, actions: 4, architecture } }
}
