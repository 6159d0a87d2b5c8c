//! The published network: an exponential moving average (EMA) of the weights in training.
//!
//! Averaged weights play better than the weights of a single step (Izmailov et al. 2018,
//! "Averaging weights leads to wider optima and better generalization"; KataGo averages with
//! exponential decay). Batch norm's running statistics cannot be averaged, because the statistics
//! of averaged weights are not the average of the statistics. Passes of the averaged network track
//! the statistics instead.

use burn_tensor::Tensor;
use ouro_settings::WeightAveraging;

use crate::error::TrainError;
use crate::model::Net;

/// The moving average of a network's weights.
#[derive(Clone, Debug)]
pub(crate) struct WeightAverage {
    net: Net,
    /// Number of weights in the average, the initial ones included.
    count: u64,
    every: u64,
    half_life: u64,
}

impl WeightAverage {
    /// An average that holds `net`, the average of `count` weights so far. `None` if `config` asks
    /// for no average.
    pub(crate) fn new(config: &WeightAveraging, net: Net, count: u64) -> Option<Self> {
        match *config {
            WeightAveraging::None {} => None,
            WeightAveraging::Exponential { every_steps, half_life_steps } => {
                Some(Self { net, count, every: every_steps, half_life: half_life_steps })
            }
        }
    }

    /// The averaged network.
    pub(crate) fn net(&self) -> &Net {
        &self.net
    }

    /// Number of weights in the average.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds the network after `step` steps, if an update is due. `statistics` computes a network's
    /// batch norm statistics on the step's batch, and `momentum` is that of batch norm.
    pub(crate) fn update(
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
            self.net.update_statistics(statistics, momentum.max(mean as f32));
        }
        Ok(())
    }
}
