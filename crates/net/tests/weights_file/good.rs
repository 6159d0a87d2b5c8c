//! Good weights, their file in parts, and the file with its header changed.

use ouro_game::PlaneShape;
use ouro_net::{
    Architecture, Generation, GlobalPooling, NetSpec, ValueRange, Weights, WeightsMeta,
};
use serde_json::Value;

pub(crate) fn spec() -> NetSpec {
    NetSpec {
        planes: PlaneShape { channels: 2, height: 3, width: 3 },
        actions: 3,
        architecture: Architecture::Conv { channels: 2, layers: 1, hidden: 4 },
    }
}

pub(crate) fn weights() -> Weights {
    let game = r#"{"game":"tic_tac_toe"}"#.to_owned();
    Weights::initialize(spec(), WeightsMeta { game, generation: Generation(3), step: 1_200 }, 7)
        .unwrap()
}

/// Header and values of the good file, for tests to damage.
pub(crate) fn parts() -> (Value, Vec<u8>) {
    let bytes = weights().to_safetensors();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), bytes[8 + length..].to_vec())
}

pub(crate) fn join(header: &[u8], values: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header, values].concat()
}

/// The good file with its header changed.
pub(crate) fn header(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let (mut header, values) = parts();
    change(&mut header);
    join(header.to_string().as_bytes(), &values)
}

/// The good file with the document in its metadata changed.
pub(crate) fn document(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    header(|header| {
        let entry = &mut header["__metadata__"]["ouro"];
        let mut document: Value = serde_json::from_str(entry.as_str().unwrap()).unwrap();
        change(&mut document);
        *entry = document.to_string().into();
    })
}

/// One small network of every family.
pub(crate) fn families() -> Vec<NetSpec> {
    let planes = PlaneShape { channels: 2, height: 3, width: 3 };
    let tower = |pooling, opponent_policy| Architecture::Residual {
        channels: 3,
        blocks: 2,
        policy_channels: 2,
        value_channels: 1,
        value_hidden: 4,
        value: ValueRange::Tanh,
        global_pooling: pooling,
        opponent_policy,
    };
    [
        Architecture::Conv { channels: 2, layers: 1, hidden: 4 },
        tower(None, false),
        tower(None, true),
        tower(Some(GlobalPooling { channels: 2, every: 2 }), false),
        Architecture::TwoConv { channels: 2, hidden: 5, narrow: 4 },
        Architecture::Mlp { layers: 2, hidden: 4, value: ValueRange::Tanh },
        Architecture::Mlp { layers: 1, hidden: 4, value: ValueRange::Outcome },
    ]
    .map(|architecture| NetSpec { planes, actions: 3, architecture })
    .to_vec()
}
