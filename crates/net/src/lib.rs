//! Policy-value networks: what they look like, how they are stored, how a CPU runs them.
//!
//! * [`NetSpec`] names the shapes; every tensor follows from it.
//! * [`Weights`] is a spec with its numbers, read from and written to safetensors.
//! * [`Generation`] counts the published weights; [`ContentHash`] names a file of them.
//! * [`Engine`] evaluates positions on one core, in batches; [`mod@reference`] does the same
//!   slowly and obviously, and is what the engine is tested against.
//! * [`Trunk`] takes a tower forward and back on one core, for whoever trains it.
//!
//! The crate knows no training framework: the learner converts its own tensors with
//! [`Weights::from_tensors`].

pub mod engine;
pub mod generation;
pub mod hash;
pub mod reference;
pub mod spec;
pub mod synthetic;
pub mod weights;

pub use engine::training::Trunk;
pub use engine::{Engine, Scratch};
pub use generation::Generation;
pub use hash::{ContentHash, HashError};
pub use spec::{
    Architecture, GlobalPooling, NetSpec, SpecError, TensorRole, TensorSpec, UnknownPreset,
    ValueRange,
};
pub use weights::{Weights, WeightsError, WeightsMeta};
