//! The shapes of a network.
//!
//! A [`NetSpec`] holds input planes, action count and [`Architecture`]. Names, shapes and order of
//! all tensors follow from it ([`NetSpec::tensors`]). The learner, the file format and the CPU
//! engine all use this list, so they cannot disagree.
//!
//! Contract: a spec from outside may hold anything. [`NetSpec::validate`] refuses sizes out of
//! range; for a valid spec no size computed here overflows.

mod architecture;
mod tensors;

use ouro_game::PlaneShape;
use serde::{Deserialize, Serialize};

pub use architecture::{
    Architecture, BATCH_NORM_EPSILON, GlobalPooling, LEAKY_SLOPE, PRESETS, UnknownPreset,
    ValueRange, expected_outcome,
};
pub use tensors::{TensorRole, TensorSpec};

/// Most feature planes.
pub const MAX_PLANES: usize = 1_024;
/// Longest side of a board.
pub const MAX_SIDE: usize = 64;
/// Largest action space.
pub const MAX_ACTIONS: usize = 65_536;
/// Most channels of a convolution.
pub const MAX_CHANNELS: usize = 1_024;
/// Most layers in sequence.
pub const MAX_LAYERS: usize = 64;
/// Widest hidden layer.
pub const MAX_HIDDEN: usize = 4_096;
/// Most parameters in all, 512 MiB as f32.
pub const MAX_PARAMETERS: usize = 1 << 27;

/// Input, output and architecture of a policy-value network.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetSpec {
    /// Shape of an observation.
    pub planes: PlaneShape,
    /// Size of the action space.
    pub actions: usize,
    /// The layers between.
    pub architecture: Architecture,
}

/// The error for a spec, or metadata of a file, that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A field is too small or too large.
    #[error("net spec: {field} is {value}; it must be 1 to {max}")]
    OutOfRange {
        /// Path of the field.
        field: &'static str,
        /// The value that was given.
        value: usize,
        /// The largest that is accepted.
        max: usize,
    },
    /// Every field is in range, but the network has too many parameters.
    #[error("net spec: {parameters} parameters; at most {max} are accepted, make a layer narrower")]
    TooManyParameters {
        /// Parameters of the spec.
        parameters: usize,
        /// The largest that is accepted.
        max: usize,
    },
    /// The board is too small for the network's pooling.
    #[error(
        "net spec: planes of {height}×{width} cannot be pooled 2×2; both sides must be 2 or more"
    )]
    BoardTooSmall {
        /// Rows of the planes.
        height: usize,
        /// Columns of the planes.
        width: usize,
    },
    /// The description of the game is too long for the header of a file.
    #[error("net meta: the game's description has {bytes} bytes; at most {max} are accepted")]
    GameTooLong {
        /// Its length.
        bytes: usize,
        /// The longest that is accepted.
        max: usize,
    },
}

impl NetSpec {
    /// Checks every size against its bound, and the total against [`MAX_PARAMETERS`].
    pub fn validate(&self) -> Result<(), SpecError> {
        within("planes.channels", self.planes.channels, MAX_PLANES)?;
        within("planes.height", self.planes.height, MAX_SIDE)?;
        within("planes.width", self.planes.width, MAX_SIDE)?;
        within("actions", self.actions, MAX_ACTIONS)?;
        let channels = |channels| within("architecture.channels", channels, MAX_CHANNELS);
        let hidden = |hidden| within("architecture.hidden", hidden, MAX_HIDDEN);
        match self.architecture {
            Architecture::Conv { channels: width, layers, hidden: units } => {
                channels(width)?;
                within("architecture.layers", layers, MAX_LAYERS)?;
                hidden(units)?;
            }
            Architecture::Residual {
                channels: width,
                blocks,
                policy_channels,
                value_channels,
                value_hidden,
                value: _,
                global_pooling,
                opponent_policy: _,
            } => {
                channels(width)?;
                within("architecture.blocks", blocks, MAX_LAYERS)?;
                within("architecture.policy_channels", policy_channels, MAX_CHANNELS)?;
                within("architecture.value_channels", value_channels, MAX_CHANNELS)?;
                within("architecture.value_hidden", value_hidden, MAX_HIDDEN)?;
                if let Some(GlobalPooling { channels, every }) = global_pooling {
                    within("architecture.global_pooling.channels", channels, width)?;
                    within("architecture.global_pooling.every", every, blocks)?;
                }
            }
            Architecture::TwoConv { channels: width, hidden: units, narrow } => {
                channels(width)?;
                hidden(units)?;
                within("architecture.narrow", narrow, MAX_HIDDEN)?;
                let PlaneShape { height, width, .. } = self.planes;
                if height < 2 || width < 2 {
                    return Err(SpecError::BoardTooSmall { height, width });
                }
            }
            Architecture::Mlp { layers, hidden: units, value: _ } => {
                within("architecture.layers", layers, MAX_LAYERS)?;
                hidden(units)?;
            }
        }
        let parameters = self.parameter_count();
        if parameters > MAX_PARAMETERS {
            return Err(SpecError::TooManyParameters { parameters, max: MAX_PARAMETERS });
        }
        Ok(())
    }

    /// The tensors in their fixed order. Only for a valid spec: the length of the list depends on
    /// its fields.
    pub fn tensors(&self) -> Vec<TensorSpec> {
        tensors::of(self)
    }

    /// Number of logits: one per action, or two with the other player's policy.
    pub fn logits(&self) -> usize {
        self.actions * if self.architecture.has_opponent_policy() { 2 } else { 1 }
    }

    /// Numbers of the value head: 1, or 3 for outcome classes.
    pub fn value_width(&self) -> usize {
        self.architecture.value_range().width()
    }

    /// Values in all tensors of a valid spec, running statistics included.
    pub fn parameter_count(&self) -> usize {
        self.tensors().iter().map(TensorSpec::len).sum()
    }
}

fn within(field: &'static str, value: usize, max: usize) -> Result<(), SpecError> {
    if value == 0 || value > max {
        return Err(SpecError::OutOfRange { field, value, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(channels: usize, layers: usize, hidden: usize) -> NetSpec {
        NetSpec {
            planes: PlaneShape { channels: 14, height: 7, width: 7 },
            actions: 4,
            architecture: Architecture::Conv { channels, layers, hidden },
        }
    }

    #[test]
    fn tensors_come_in_the_documented_order_and_add_up() {
        let spec = spec(8, 2, 16);
        let listed: Vec<(String, Vec<usize>)> =
            spec.tensors().into_iter().map(|tensor| (tensor.name, tensor.shape)).collect();
        let expected: [(&str, &[usize]); 10] = [
            ("conv.0.weight", &[8, 14, 3, 3]),
            ("conv.0.bias", &[8]),
            ("conv.1.weight", &[8, 8, 3, 3]),
            ("conv.1.bias", &[8]),
            ("hidden.weight", &[16, 392]),
            ("hidden.bias", &[16]),
            ("policy.weight", &[4, 16]),
            ("policy.bias", &[4]),
            ("value.weight", &[1, 16]),
            ("value.bias", &[1]),
        ];
        assert_eq!(listed, expected.map(|(name, shape)| (name.to_owned(), shape.to_vec())));
        assert_eq!(spec.parameter_count(), 1_008 + 8 + 576 + 8 + 6_272 + 16 + 64 + 4 + 16 + 1);
        assert_eq!(spec.validate(), Ok(()));
    }

    #[test]
    fn sizes_out_of_range_are_refused_by_field() {
        let field = |spec: NetSpec| match spec.validate() {
            Err(SpecError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        let good = spec(8, 2, 16);
        assert_eq!(field(spec(0, 2, 16)), "architecture.channels");
        assert_eq!(field(spec(8, usize::MAX, 16)), "architecture.layers");
        assert_eq!(field(spec(8, 2, usize::MAX)), "architecture.hidden");
        assert_eq!(field(NetSpec { actions: 0, ..good.clone() }), "actions");
        let planes = PlaneShape { channels: usize::MAX, ..good.planes };
        assert_eq!(field(NetSpec { planes, ..good.clone() }), "planes.channels");
        let planes = PlaneShape { height: 65, ..good.planes };
        assert_eq!(field(NetSpec { planes, ..good.clone() }), "planes.height");
        let planes = PlaneShape { width: 0, ..good.planes };
        assert_eq!(field(NetSpec { planes, ..good }), "planes.width");
        assert!(matches!(
            NetSpec {
                planes: PlaneShape { channels: 1, height: 64, width: 64 },
                actions: 4,
                architecture: Architecture::Conv { channels: 1_024, layers: 1, hidden: 4_096 },
            }
            .validate(),
            Err(SpecError::TooManyParameters { .. })
        ));
    }

    #[test]
    fn a_spec_reads_back_from_json_and_refuses_unknown_fields() {
        let spec = spec(8, 2, 16);
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(
            json,
            r#"{"planes":{"channels":14,"height":7,"width":7},"actions":4,"architecture":{"kind":"conv","channels":8,"layers":2,"hidden":16}}"#
        );
        assert_eq!(serde_json::from_str::<NetSpec>(&json).unwrap(), spec);
        let odd = json.replace("\"layers\"", "\"depth\":1,\"layers\"");
        assert!(serde_json::from_str::<NetSpec>(&odd).is_err());
    }
}
