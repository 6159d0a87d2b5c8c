//! Network architectures, and the presets among them.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_CHANNELS, MAX_HIDDEN, MAX_LAYERS};

/// Added to the running variance before its square root is taken.
pub const BATCH_NORM_EPSILON: f64 = 1e-5;

/// Slope of the leaky ReLU below zero.
pub const LEAKY_SLOPE: f32 = 0.1;

/// Names that [`Architecture`] parses from, smallest network first.
pub const PRESETS: [&str; 4] = ["tiny", "small", "medium", "snake_paper"];

/// An architecture with its sizes.
///
/// Flattening is in channel, row, column order. A 3×3 convolution has stride 1 and zero padding 1.
/// The value is the expected result of the rest of the game for the observing player.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Architecture {
    /// Plain convolutions, one hidden layer, two heads.
    ///
    /// `layers` times a 3×3 convolution (bias) with ReLU; flatten; linear to `hidden` with
    /// ReLU; then a policy head (linear to one logit per action) and a value head (linear to
    /// one number: the expected discounted return, unbounded).
    ///
    /// Tensors: `conv.{i}.weight` `[out, in, 3, 3]`, `conv.{i}.bias` `[out]`, `hidden.weight`
    /// `[hidden, channels · height · width]`, `hidden.bias`, `policy.weight`
    /// `[actions, hidden]`, `policy.bias`, `value.weight` `[1, hidden]`, `value.bias`.
    Conv {
        /// Output channels of every convolution.
        #[schemars(range(min = 1, max = MAX_CHANNELS))]
        channels: usize,
        /// Convolutions in sequence.
        #[schemars(range(min = 1, max = MAX_LAYERS))]
        layers: usize,
        /// Units of the hidden layer.
        #[schemars(range(min = 1, max = MAX_HIDDEN))]
        hidden: usize,
    },
    /// A residual tower with batch norm (Silver et al. 2017, "Mastering the game of Go without
    /// human knowledge", methods: neural network architecture).
    ///
    /// A stem (3×3 convolution, norm, ReLU), then `blocks` of convolution, norm, ReLU,
    /// convolution, norm, sum with the block's input, ReLU. The policy head is a 1×1
    /// convolution to `policy_channels`, norm, ReLU, flatten, linear to the logits; the value
    /// head the same to `value_channels`, then linear to `value_hidden`, ReLU, linear to the
    /// number of the value, or the three of `outcome`. Convolutions have no bias, their norm
    /// has. With `opponent_policy` the logits of the observing player come first, then those of
    /// the other.
    ///
    /// Tensors: `stem.conv.weight`, `stem.norm.*`; per block `blocks.{i}.conv1.weight`,
    /// `blocks.{i}.norm1.*`, with pooling `blocks.{i}.pool.weight` `[channels, 2 · pooled]` and
    /// `blocks.{i}.pool.bias`, then `blocks.{i}.conv2.weight`, `blocks.{i}.norm2.*`;
    /// `policy.conv.weight`, `policy.norm.*`, `policy.linear.{weight,bias}`;
    /// `value.conv.weight`, `value.norm.*`, `value.hidden.{weight,bias}`,
    /// `value.linear.{weight,bias}`. A norm is `weight`, `bias`, `running_mean` and
    /// `running_var`, each `[channels]`.
    Residual {
        /// Output channels of every 3×3 convolution.
        #[schemars(range(min = 1, max = MAX_CHANNELS))]
        channels: usize,
        /// Residual blocks, two convolutions each.
        #[schemars(range(min = 1, max = MAX_LAYERS))]
        blocks: usize,
        /// Channels that the policy head reads.
        #[schemars(range(min = 1, max = MAX_CHANNELS))]
        policy_channels: usize,
        /// Channels that the value head reads.
        #[schemars(range(min = 1, max = MAX_CHANNELS))]
        value_channels: usize,
        /// Units of the value head's hidden layer.
        #[schemars(range(min = 1, max = MAX_HIDDEN))]
        value_hidden: usize,
        /// Range of the value.
        #[serde(default)]
        value: ValueRange,
        /// Global pooling in some blocks; none if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        global_pooling: Option<GlobalPooling>,
        /// Whether the policy head also has a logit for each action of the other player, in games
        /// of two players. Where both are to move, a search then evaluates a position once
        /// instead of once per player. Left out: false.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        opponent_policy: bool,
    },
    /// The network of "AlphaSnake" (arXiv 2211.09622): two 3×3 convolutions (bias), 2×2
    /// max-pooling with stride 2 (an odd last row or column is dropped), flatten, and two heads
    /// of linear to `hidden`, linear to `narrow`, linear to the output. Leaky ReLU of slope 0.1
    /// after every layer but the last ones. The value is unbounded.
    ///
    /// Tensors: `conv.{0,1}.{weight,bias}`, `policy.{0,1,2}.{weight,bias}`,
    /// `value.{0,1,2}.{weight,bias}`.
    TwoConv {
        /// Output channels of both convolutions.
        #[schemars(range(min = 1, max = MAX_CHANNELS))]
        channels: usize,
        /// Units of the first layer of a head.
        #[schemars(range(min = 1, max = MAX_HIDDEN))]
        hidden: usize,
        /// Units of the second layer of a head.
        #[schemars(range(min = 1, max = MAX_HIDDEN))]
        narrow: usize,
    },
    /// Fully connected layers: flatten, `layers` times linear to `hidden` with ReLU, then both
    /// heads, linear.
    ///
    /// Tensors: `hidden.{i}.{weight,bias}`, `policy.{weight,bias}`, `value.{weight,bias}`.
    Mlp {
        /// Hidden layers.
        #[schemars(range(min = 1, max = MAX_LAYERS))]
        layers: usize,
        /// Units of each layer.
        #[schemars(range(min = 1, max = MAX_HIDDEN))]
        hidden: usize,
        /// Range of the value.
        #[serde(default)]
        value: ValueRange,
    },
}

/// Range of the value head's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueRange {
    /// Any number: an expected discounted return.
    #[default]
    Unbounded,
    /// The hyperbolic tangent of the head's number, between −1 and 1: an expected outcome.
    Tanh,
    /// The softmax of three numbers: the probabilities of a win, a draw and a loss, in this order.
    /// What a draw is worth is decided in the search.
    Outcome,
}

impl ValueRange {
    /// Numbers of the value head.
    pub fn width(self) -> usize {
        match self {
            Self::Unbounded | Self::Tanh => 1,
            Self::Outcome => 3,
        }
    }
}

/// The value of a position as one number, from the value head's results: the result itself, or
/// P(win) − P(loss) + `draw` · P(draw).
///
/// `values` is one row of [`Engine::evaluate`](crate::Engine::evaluate), `draw` the worth of a drawn
/// game, −1 to 1.
pub fn expected_outcome(values: &[f32], draw: f32) -> f32 {
    match *values {
        [win, drawn, loss] => win - loss + draw * drawn,
        _ => values.first().copied().unwrap_or(f32::NAN),
    }
}

/// Global pooling inside a tower, after KataGo (Wu 2019, "Accelerating self-play learning in
/// Go", section 3.3).
///
/// Every `every`-th block takes the first `channels` results of its first norm, applies a separate
/// ReLU, and reduces each channel to its mean and its maximum over the board. A linear layer maps
/// these (all means, then all maxima) to one number per channel. The number is added to all cells
/// of that channel before the block's ReLU. `KataGo`'s third statistic, the mean times the board's
/// size, is left out, since the size is fixed within one network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobalPooling {
    /// Channels that are pooled; at most all of the tower's.
    #[schemars(range(min = 1))]
    pub channels: usize,
    /// 1 for every block, 2 for the second, fourth …; at most the number of blocks.
    #[schemars(range(min = 1))]
    pub every: usize,
}

impl GlobalPooling {
    /// Whether the block of this index, from 0, pools.
    pub fn applies_to(self, block: usize) -> bool {
        (block + 1).is_multiple_of(self.every)
    }
}

/// The error for an unknown preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("network preset {name:?} is unknown; known are {}", PRESETS.join(", "))]
pub struct UnknownPreset {
    /// The name that was given.
    pub name: String,
}

impl FromStr for Architecture {
    type Err = UnknownPreset;

    /// The preset of that name, one of [`PRESETS`].
    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        let tower = |channels, blocks, policy_channels, value_channels, value_hidden| {
            let (value, global_pooling) = (ValueRange::Unbounded, None);
            Self::Residual {
                channels,
                blocks,
                policy_channels,
                value_channels,
                value_hidden,
                value,
                global_pooling,
                opponent_policy: false,
            }
        };
        match name {
            "tiny" => Ok(tower(16, 1, 2, 1, 32)),
            "small" => Ok(tower(32, 4, 4, 2, 64)),
            "medium" => Ok(tower(64, 6, 4, 2, 128)),
            "snake_paper" => Ok(Self::TwoConv { channels: 10, hidden: 200, narrow: 100 }),
            _ => Err(UnknownPreset { name: name.to_owned() }),
        }
    }
}

impl Architecture {
    /// Name of the architecture, as in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Conv { .. } => "conv",
            Self::Residual { .. } => "residual",
            Self::TwoConv { .. } => "two_conv",
            Self::Mlp { .. } => "mlp",
        }
    }

    /// Whether the network also has logits of the other player's actions.
    pub fn has_opponent_policy(&self) -> bool {
        matches!(self, Self::Residual { opponent_policy: true, .. })
    }

    /// Range of the value.
    pub fn value_range(&self) -> ValueRange {
        match *self {
            Self::Conv { .. } | Self::TwoConv { .. } => ValueRange::Unbounded,
            Self::Residual { value, .. } | Self::Mlp { value, .. } => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::PlaneShape;

    use super::*;
    use crate::NetSpec;

    #[test]
    fn every_preset_parses_and_an_unknown_name_lists_them() {
        let planes = PlaneShape { channels: 7, height: 10, width: 10 };
        for name in PRESETS {
            let spec = NetSpec { planes, actions: 4, architecture: name.parse().unwrap() };
            assert_eq!(spec.validate(), Ok(()), "{name}");
        }
        let error = "huge".parse::<Architecture>().unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"network preset "huge" is unknown; known are tiny, small, medium, snake_paper"#
        );
    }

    #[test]
    fn the_snake_papers_network_has_the_papers_142_655_parameters() {
        let spec = NetSpec {
            planes: PlaneShape { channels: 7, height: 10, width: 10 },
            actions: 4,
            architecture: "snake_paper".parse().unwrap(),
        };
        // Convolutions 640 + 910; 250 pooled values; each head 250→200→100→out.
        let heads = 2 * (250 * 200 + 200 + 200 * 100 + 100) + (100 * 4 + 4) + (100 + 1);
        assert_eq!(640 + 910 + heads, 142_655);
        assert_eq!(spec.parameter_count(), 142_655);
    }

    #[test]
    fn files_write_sizes_by_name_and_leave_out_what_is_absent() {
        let text = serde_json::to_string(&"tiny".parse::<Architecture>().unwrap()).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"residual","channels":16,"blocks":1,"policy_channels":2,"value_channels":1,"value_hidden":32,"value":"unbounded"}"#
        );
        let pooled = text.replace(
            r#""value":"unbounded""#,
            r#""value":"tanh","global_pooling":{"channels":4,"every":1}"#,
        );
        let read: Architecture = serde_json::from_str(&pooled).unwrap();
        assert_eq!(read.value_range(), ValueRange::Tanh);
        assert_eq!(serde_json::to_string(&read).unwrap(), pooled);
        let odd = pooled.replace("\"every\"", "\"often\"");
        assert!(serde_json::from_str::<Architecture>(&odd).is_err());

        assert!(!read.has_opponent_policy());
        let both = text.replace(r#""unbounded""#, r#""unbounded","opponent_policy":true"#);
        let read: Architecture = serde_json::from_str(&both).unwrap();
        assert!(read.has_opponent_policy());
        assert_eq!(serde_json::to_string(&read).unwrap(), both);
    }

    #[test]
    fn pooling_falls_on_every_nth_block() {
        let pooling = GlobalPooling { channels: 1, every: 2 };
        assert_eq!([0, 1, 2, 3].map(|block| pooling.applies_to(block)), [false, true, false, true]);
    }
}
