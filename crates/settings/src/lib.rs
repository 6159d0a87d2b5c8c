//! The settings of a run: one file, `run.toml`, that `ouro train` and the three services read.
//!
//! [`Settings`] holds every key of every process. Actors, learner and arena must use the same game,
//! network, seed and discount. Each of these is a single key, so a file cannot contradict itself.
//! [`Deployment`] holds the addresses and limits of the processes. Flags and `OURO_…` variables
//! override it.
//!
//! * [`mod@file`]: reads TOML into types, with errors that name the key, the value and the remedy.
//! * [`schema`]: the numeric ranges, which the fields declare.
//! * [`keys`]: every key with its meaning, for `ouro config explain` and `docs/settings.md`.
//! * [`preset`]: named settings.
//! * [`arguments`]: the flags that the programs share.
//! * [`process_report()`]: what a service tells about its process.
//!
//! Contract: an unknown key anywhere in the file is an error. [`Settings::validate`] checks every
//! value, in every process. Player names are the exception: only the arena and `ouro` check them.

mod actor;
mod arena;
pub mod arguments;
mod deploy;
mod error;
pub mod file;
pub mod keys;
mod learner;
mod memory;
mod off;
mod page;
mod players;
pub mod preset;
mod problem;
mod process_report;
pub mod schema;
mod settings;

pub use actor::{DemonstrationConfig, PlayConfig, ScriptedConfig, Swap, exploring};
pub use arena::MatchConfig;
pub use deploy::{
    Address, AddressError, Deployment, DeviceChoice, LimitsConfig, Log, WebAddress, WebAddressError,
};
pub use error::SettingError;
pub use file::FileError;
pub use learner::{
    AlgorithmConfig, AlgorithmName, AlphaZeroConfig, IntakeConfig, LearningRateSchedule,
    OptimizerConfig, ReinforceConfig, ReplayConfig, TrainConfig, WeightAveraging,
};
pub use memory::{Process, check_batch};
pub use page::settings_page;
pub use preset::Preset;
pub use problem::check_gate;
pub use process_report::process_report;
pub use settings::{Observation, SETTINGS_FILE, Settings, Source, net_spec};
