//! The network that is published: an average over the steps of training.
//!
//! Averaged weights play better than those of any one step (Izmailov et al. 2018, "Averaging
//! weights leads to wider optima and better generalization"; KataGo averages with exponential
//! decay). Batch norm's statistics cannot be averaged along, since those of the average are not
//! the average of those of its parts; they are tracked by passes of the averaged network itself.

use burn::tensor::Tensor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Net;
use crate::trainer::TrainError;

/// Which weights are published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Averaging {
    /// Those of the last step.
    #[default]
    None,
    /// An exponential average; the plain mean as long as that forgets faster.
    Exponential {
        /// Steps between two weights that go into the average. Each costs a forward pass.
        every_steps: u64,
        /// Steps over which the share of old weights halves.
        half_life_steps: u64,
    },
}

/// An average under way.
#[derive(Clone, Debug)]
pub struct Average {
    net: Net,
    /// Weights that went into it, the first ones included.
    count: u64,
    every: u64,
    half_life: u64,
}

impl Average {
    /// An average that begins with `net`, or goes on with one of `count` weights. None if
    /// nothing is averaged.
    pub fn new(config: &Averaging, net: Net, count: u64) -> Option<Self> {
        match *config {
            Averaging::None => None,
            Averaging::Exponential { every_steps, half_life_steps } => {
                Some(Self { net, count, every: every_steps, half_life: half_life_steps })
            }
        }
    }

    /// The averaged network.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// Weights that went into it.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes the network after `step` steps in, if it is its turn. `statistics` gives those of
    /// batch norm that a network has of the step's batch, `momentum` is batch norm's.
    pub fn update(
        &mut self,
        net: &Net,
        step: u64,
        statistics: impl FnOnce(&Net) -> Result<Vec<Tensor<1>>, TrainError>,
        momentum: f32,
    ) -> Result<(), TrainError> {
        if !step.is_multiple_of(self.every) {
            return Ok(());
        }
        self.count += 1;
        let mean = 1.0 / self.count as f64;
        let decay = 1.0 - 0.5_f64.powf(self.every as f64 / self.half_life as f64);
        let share = mean.max(decay) as f32;
        let average = self.net.trained();
        self.net = self.net.with_trained(average.clone() + (net.trained() - average) * share);
        if self.net.has_norms() {
            let statistics = statistics(&self.net)?;
            self.net.track(statistics, momentum.max(mean as f32));
        }
        Ok(())
    }
}
