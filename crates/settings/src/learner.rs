//! Settings of the learner: the update rule, the replay, and which games are accepted.

mod algorithm;
mod optimizer;
mod replay;
mod schedule;
mod train;

pub use algorithm::{AlgorithmConfig, AlgorithmName, AlphaZeroConfig, ReinforceConfig};
pub use optimizer::{OptimizerConfig, WeightAveraging};
pub use replay::{IntakeConfig, ReplayConfig};
pub use schedule::LearningRateSchedule;
pub use train::TrainConfig;
