//! Forward and backward passes of a network in training.
//!
//! Burn's kernels for a residual tower are slow on every device: ADR 0013 has the figures of a CPU,
//! ADR 0031 those of a GPU. [`Passes`] therefore holds code of our own for the part of a network where
//! it is faster. Burn computes the rest of the network and the loss. Its graph then starts at the
//! features that our code hands over, and our code continues with their gradients.

use burn_tensor::{Device, Tensor, TensorData};
use ouro_game::PlaneShape;
use ouro_net::{NetSpec, Trunk};

use crate::device::TrainDevice;
use crate::error::TrainError;
use crate::loss::DeviceLoss;
use crate::model::{Mode, Net, Outputs, planes_tensor, read, vector};
use crate::tower::Tower;

/// What computes the passes of a network.
#[derive(Debug)]
pub(crate) enum Passes {
    /// Burn alone.
    Burn,
    /// Stem and blocks on the CPU.
    Trunk(Box<Trunk>),
    /// Stem, blocks and the convolutions of the heads on a GPU.
    Tower(Box<Tower>),
}

/// Result of a forward and a backward pass.
pub(crate) struct Differentiated {
    pub(crate) loss: DeviceLoss,
    /// `[trained]`.
    pub(crate) gradient: Tensor<1>,
    /// Batch norm statistics in order, as [`Net::update_statistics`] takes them.
    pub(crate) statistics: Vec<Tensor<1>>,
}

impl Passes {
    /// The fastest passes of networks of `spec` on `device`.
    pub(crate) fn new(spec: &NetSpec, device: &TrainDevice) -> Self {
        if device.is_cpu() {
            Trunk::new(spec).map_or(Self::Burn, |trunk| Self::Trunk(Box::new(trunk)))
        } else {
            Tower::new(spec).map_or(Self::Burn, |tower| Self::Tower(Box::new(tower)))
        }
    }

    /// Forward and backward pass of `net` over rows of `planes`. `loss` computes the loss of the
    /// outputs. `device` is that of the network.
    pub(crate) fn differentiate(
        &mut self,
        net: &Net,
        planes: &[f32],
        device: &Device,
        loss: impl FnOnce(&Outputs) -> Result<DeviceLoss, TrainError>,
    ) -> Result<Differentiated, TrainError> {
        match self {
            Self::Burn => by_burn(net, planes, device, loss),
            Self::Trunk(trunk) => by_trunk(trunk, net, planes, device, loss),
            Self::Tower(tower) => by_tower(tower, net, planes, device, loss),
        }
    }

    /// Batch norm statistics of `net` on rows of `planes`, in order.
    pub(crate) fn statistics(
        &mut self,
        net: &Net,
        planes: &[f32],
        device: &Device,
    ) -> Result<Vec<Tensor<1>>, TrainError> {
        let spec = net.layout().spec();
        let batch = || planes_tensor(spec, planes.to_vec(), device);
        Ok(match self {
            Self::Burn => net.untracked(0).forward(batch(), Mode::Train).statistics,
            Self::Trunk(trunk) => {
                let trained = read(&net.trained())?;
                let (features, first) = trunk_features(trunk, spec, &trained, planes, device);
                let heads = net.untracked(trunk.tensor_count()).heads(features, Mode::Train);
                std::iter::once(first).chain(heads.statistics).collect()
            }
            Self::Tower(tower) => tower.forward(net, batch()).statistics,
        })
    }
}

fn by_burn(
    net: &Net,
    planes: &[f32],
    device: &Device,
    loss: impl FnOnce(&Outputs) -> Result<DeviceLoss, TrainError>,
) -> Result<Differentiated, TrainError> {
    let parameters = net.tracked(0);
    let planes = planes_tensor(net.layout().spec(), planes.to_vec(), device);
    let outputs = parameters.forward(planes, Mode::Train);
    let loss = loss(&outputs)?;
    let gradient = parameters.gradient(&mut loss.total.backward());
    Ok(Differentiated { loss, gradient, statistics: outputs.statistics })
}

/// Burn computes the heads. The features of the trunk are a leaf of its graph.
fn by_trunk(
    trunk: &mut Trunk,
    net: &Net,
    planes: &[f32],
    device: &Device,
    loss: impl FnOnce(&Outputs) -> Result<DeviceLoss, TrainError>,
) -> Result<Differentiated, TrainError> {
    let trained = read(&net.trained())?;
    let spec = net.layout().spec();
    let (features, statistics) = trunk_features(trunk, spec, &trained, planes, device);
    let features = Tensor::from_inner(features).require_grad();

    let parameters = net.tracked(trunk.tensor_count());
    let outputs = parameters.heads(features.clone(), Mode::Train);
    let loss = loss(&outputs)?;
    let mut gradients = loss.total.backward();
    let pull = features.grad_remove(&mut gradients);
    let pull = read(&pull.unwrap_or_else(|| features.inner().zeros_like()))?;
    let gradient = vector(trunk.backward(&trained, &pull), device);
    let gradient = Tensor::cat(vec![gradient, parameters.gradient(&mut gradients)], 0);
    let statistics = std::iter::once(statistics).chain(outputs.statistics);
    Ok(Differentiated { loss, gradient, statistics: statistics.collect() })
}

/// The trunk's features of `planes`, `[rows, channels, H, W]`, and its batch statistics.
fn trunk_features(
    trunk: &mut Trunk,
    spec: &NetSpec,
    trained: &[f32],
    planes: &[f32],
    device: &Device,
) -> (Tensor<4>, Tensor<1>) {
    let (features, statistics) = trunk.forward(trained, planes);
    let PlaneShape { height, width, .. } = spec.planes;
    let rows = planes.len() / spec.planes.len();
    let shape = [rows, features.len() / rows / (height * width), height, width];
    let features = Tensor::from_data(TensorData::new(features, shape), device);
    (features, vector(statistics, device))
}

/// Burn computes the linear layers of the heads. The features of the heads are leaves of its graph.
fn by_tower(
    tower: &mut Tower,
    net: &Net,
    planes: &[f32],
    device: &Device,
    loss: impl FnOnce(&Outputs) -> Result<DeviceLoss, TrainError>,
) -> Result<Differentiated, TrainError> {
    let parameters = net.tracked(tower.tensor_count());
    let planes = planes_tensor(net.layout().spec(), planes.to_vec(), device);
    let mut pass = tower.forward(net, planes);
    let features = pass.features().map(|one| Tensor::from_inner(one).require_grad());

    let [policy, value] = features.clone();
    let loss = loss(&parameters.linear_heads(policy, value))?;
    let mut gradients = loss.total.backward();
    let pulls = features.map(|one| {
        let pull = one.grad_remove(&mut gradients);
        pull.unwrap_or_else(|| one.inner().zeros_like())
    });
    let statistics = std::mem::take(&mut pass.statistics);
    let [trunk, policy, value] = pass.backward(pulls);
    // A head is a convolution with its norm, then linear layers, which burn differentiated.
    let linear = parameters.gradients(&mut gradients);
    let (policy_linear, value_linear) = (&linear[3..5], &linear[8..]);
    let mut parts = trunk;
    parts.extend(policy.into_iter().chain(policy_linear.iter().cloned()));
    parts.extend(value.into_iter().chain(value_linear.iter().cloned()));
    Ok(Differentiated { loss, gradient: Tensor::cat(parts, 0), statistics })
}
