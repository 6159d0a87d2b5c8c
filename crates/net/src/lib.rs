//! Policy-value networks: their shapes, their files, and their evaluation on a CPU.
//!
//! * [`NetSpec`] holds the shapes; every tensor follows from it.
//! * [`Weights`] is a spec with its values, read from and written to safetensors.
//! * [`Generation`] counts the published weights; [`ContentHash`] names a file of weights; [`RunId`]
//!   identifies a run.
//! * [`Engine`] evaluates positions on one core, in batches. [`mod@reference`] is the slow and
//!   simple implementation that the engine is tested against.
//! * [`Trunk`] runs a residual tower forward and backward on one core, for training.
//!
//! The crate depends on no training framework: the learner converts its own tensors with
//! [`Weights::from_tensors`].

pub mod engine;
pub mod generation;
pub mod hash;
pub mod reference;
pub mod run_id;
pub mod spec;
pub mod synthetic;
pub mod weights;

pub use engine::training::Trunk;
pub use engine::{Engine, Scratch};
pub use generation::Generation;
pub use hash::{ContentHash, HashError};
pub use run_id::{RunId, RunIdError};
pub use spec::{
    Architecture, GlobalPooling, NetSpec, SpecError, TensorRole, TensorSpec, UnknownPreset,
    ValueRange, expected_outcome,
};
pub use weights::{Weights, WeightsError, WeightsMeta};
