//! The settings of a run: one file, `run.toml`, that `ouro train` and the three services read.
//!
//! [`Settings`] holds every key of every process. What actors, learner and arena must agree on
//! (game, network, seed, discount) is one key each, so they cannot disagree. [`Deployment`] says
//! where the processes are; flags and `OURO_…` variables override it.
//!
//! * [`mod@file`]: TOML to types, with errors that name the key, the value and the remedy.
//! * [`schema`]: the ranges of numbers, declared at the fields.
//! * [`keys`]: every key with its meaning, for `ouro config explain` and `docs/settings.md`.
//! * [`preset`]: settings with a name.
//! * [`arguments`]: the flags that all programs share.
//!
//! Contract: reading a file refuses unknown keys anywhere in it, and [`Settings::validate`]
//! checks every value, whatever process reads it. The names of players are the exception: only
//! the arena can build players.

mod actor;
mod arena;
pub mod arguments;
mod deploy;
mod error;
pub mod file;
pub mod keys;
mod learner;
mod memory;
mod page;
pub mod preset;
mod problem;
pub mod schema;
mod settings;

pub use actor::{PlayConfig, Swap, exploring};
pub use arena::MatchConfig;
pub use deploy::{
    Address, AddressError, Deployment, DeviceChoice, Log, WebAddress, WebAddressError,
};
pub use error::SettingError;
pub use file::FileError;
pub use learner::{
    AlgorithmConfig, AlgorithmName, AlphaZeroConfig, IntakeConfig, LearningRateSchedule,
    OptimizerConfig, ReinforceConfig, ReplayConfig, TrainConfig, WeightAveraging,
};
pub use memory::Process;
pub use page::settings_page;
pub use preset::Preset;
pub use problem::check_gate;
pub use settings::{SETTINGS_FILE, Settings, Source, net_spec};
