//! The networks and batch sizes of the benchmarks.

use ouro_game::PlaneShape;
use ouro_net::{Architecture, GlobalPooling, NetSpec, ValueRange};

/// Batch sizes of the benchmarks.
pub const BATCHES: [usize; 4] = [1, 8, 32, 128];

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
    let battlesnake = PlaneShape { channels: 12, height: 11, width: 11 };
    let preset = |name: &str| name.parse().expect("it is one of the presets");
    let narrow = Architecture::Residual {
        channels: 10,
        blocks: 1,
        policy_channels: 2,
        value_channels: 1,
        value_hidden: 32,
        value: ValueRange::Unbounded,
        global_pooling: None,
    };
    let pooled = Architecture::Residual {
        channels: 32,
        blocks: 4,
        policy_channels: 4,
        value_channels: 2,
        value_hidden: 64,
        value: ValueRange::Tanh,
        global_pooling: Some(GlobalPooling { channels: 8, every: 2 }),
    };
    let case = |name, planes, architecture| {
        let spec = NetSpec { planes, actions: 4, architecture };
        NetworkCase { name, spec }
    };
    vec![
        case("tiny", snake, preset("tiny")),
        case("small", battlesnake, preset("small")),
        case("medium", battlesnake, preset("medium")),
        case("snake_paper", snake, preset("snake_paper")),
        case("tower_10x1", snake, narrow),
        case("small_pooled", battlesnake, pooled),
    ]
}
