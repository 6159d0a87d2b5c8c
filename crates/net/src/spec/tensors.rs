//! Names, shapes and roles of the tensors of a spec, in order.

use super::NetSpec;
use super::architecture::Architecture;

/// Name and shape of one tensor, f32, row-major, in PyTorch's layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// Name in files.
    pub name: String,
    /// Dimensions, outermost first.
    pub shape: Vec<usize>,
    /// Role in the network.
    pub role: TensorRole,
}

/// Role of a tensor, which determines its initial values and its allowed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorRole {
    /// Weight of an inner layer.
    Weight,
    /// Weight of the layer that computes the logits.
    PolicyOutput,
    /// Weight of the layer that computes the value.
    ValueOutput,
    /// Bias of a layer or of batch norm.
    Bias,
    /// Batch norm's factor.
    Scale,
    /// Batch norm's running mean.
    RunningMean,
    /// Batch norm's running variance; not negative.
    RunningVariance,
}

impl TensorRole {
    /// Whether the tensor is the weight of a layer, which the layer's other tensors follow.
    pub fn is_layer(self) -> bool {
        matches!(self, Self::Weight | Self::PolicyOutput | Self::ValueOutput)
    }
}

impl TensorSpec {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the tensor holds no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The tensors of a valid spec.
pub(super) fn of(spec: &NetSpec) -> Vec<TensorSpec> {
    let mut list = List(Vec::new());
    let planes = spec.planes;
    let cells = planes.height * planes.width;
    match spec.architecture {
        Architecture::Conv { channels, layers, hidden } => {
            let mut inputs = planes.channels;
            for layer in 0..layers {
                list.biased(
                    &format!("conv.{layer}"),
                    TensorRole::Weight,
                    &[channels, inputs, 3, 3],
                );
                inputs = channels;
            }
            list.biased("hidden", TensorRole::Weight, &[hidden, inputs * cells]);
            list.outputs([spec.actions, 1], hidden);
        }
        Architecture::Residual {
            channels,
            blocks,
            policy_channels,
            value_channels,
            value_hidden,
            value,
            global_pooling,
            opponent_policy: _,
        } => {
            list.normed("stem.conv", "stem.norm", &[channels, planes.channels, 3, 3]);
            for block in 0..blocks {
                let part = |part: &str| format!("blocks.{block}.{part}");
                list.normed(&part("conv1"), &part("norm1"), &[channels, channels, 3, 3]);
                if let Some(pooling) = global_pooling.filter(|pooling| pooling.applies_to(block)) {
                    let shape = [channels, 2 * pooling.channels];
                    list.biased(&part("pool"), TensorRole::Weight, &shape);
                }
                list.normed(&part("conv2"), &part("norm2"), &[channels, channels, 3, 3]);
            }
            list.normed("policy.conv", "policy.norm", &[policy_channels, channels, 1, 1]);
            let shape = [spec.logits(), policy_channels * cells];
            list.biased("policy.linear", TensorRole::PolicyOutput, &shape);
            list.normed("value.conv", "value.norm", &[value_channels, channels, 1, 1]);
            let shape = [value_hidden, value_channels * cells];
            list.biased("value.hidden", TensorRole::Weight, &shape);
            list.biased("value.linear", TensorRole::ValueOutput, &[value.width(), value_hidden]);
        }
        Architecture::TwoConv { channels, hidden, narrow } => {
            list.biased("conv.0", TensorRole::Weight, &[channels, planes.channels, 3, 3]);
            list.biased("conv.1", TensorRole::Weight, &[channels, channels, 3, 3]);
            let pooled = channels * (planes.height / 2) * (planes.width / 2);
            for (head, role, outputs) in [
                ("policy", TensorRole::PolicyOutput, spec.actions),
                ("value", TensorRole::ValueOutput, 1),
            ] {
                list.biased(&format!("{head}.0"), TensorRole::Weight, &[hidden, pooled]);
                list.biased(&format!("{head}.1"), TensorRole::Weight, &[narrow, hidden]);
                list.biased(&format!("{head}.2"), role, &[outputs, narrow]);
            }
        }
        Architecture::Mlp { layers, hidden, value } => {
            let mut inputs = planes.len();
            for layer in 0..layers {
                list.biased(&format!("hidden.{layer}"), TensorRole::Weight, &[hidden, inputs]);
                inputs = hidden;
            }
            list.outputs([spec.actions, value.width()], hidden);
        }
    }
    list.0
}

struct List(Vec<TensorSpec>);

impl List {
    fn push(&mut self, name: String, role: TensorRole, shape: &[usize]) {
        self.0.push(TensorSpec { name, shape: shape.to_vec(), role });
    }

    /// A layer with a bias; the first dimension of `shape` counts its outputs.
    fn biased(&mut self, name: &str, role: TensorRole, shape: &[usize]) {
        self.push(format!("{name}.weight"), role, shape);
        self.push(format!("{name}.bias"), TensorRole::Bias, &shape[..1]);
    }

    /// A convolution followed by batch norm.
    fn normed(&mut self, convolution: &str, norm: &str, shape: &[usize]) {
        self.push(format!("{convolution}.weight"), TensorRole::Weight, shape);
        for (part, role) in [
            ("weight", TensorRole::Scale),
            ("bias", TensorRole::Bias),
            ("running_mean", TensorRole::RunningMean),
            ("running_var", TensorRole::RunningVariance),
        ] {
            self.push(format!("{norm}.{part}"), role, &shape[..1]);
        }
    }

    /// Both heads, of `policy` and `value` numbers, as single layers over `inputs` values.
    fn outputs(&mut self, [policy, value]: [usize; 2], inputs: usize) {
        self.biased("policy", TensorRole::PolicyOutput, &[policy, inputs]);
        self.biased("value", TensorRole::ValueOutput, &[value, inputs]);
    }
}
