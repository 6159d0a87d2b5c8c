//! How the learner learns: the update rule, the replay, the games that it accepts.

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
