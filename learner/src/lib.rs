//! The learner: receives games, trains a network on them and publishes its weights.
//!
//! A [`Learner`] is bound, then runs until its stop token is cancelled. Games pass through these
//! modules:
//!
//! 1. `service` receives an actor's games. The `rules` replay each game and refuse invalid ones.
//! 2. The `journal_writer` thread journals and acknowledges accepted games, and inserts them into
//!    the `replay`.
//! 3. The `feed` threads draw positions and make batches.
//! 4. The `training_loop` thread takes optimiser steps (`trainer`) with the loss of an
//!    `algorithm`. After a fixed number of steps it makes a *generation*: a `training_state` on
//!    disk, then weights for the arena (`publisher`). Weights are published only if the CPU engine
//!    and training compute the same outputs (`export`).
//!
//! This is the only crate that uses burn. Weights enter and leave as [`ouro_net::Weights`].

mod actors;
mod algorithm;
mod alphazero;
mod backup;
mod batch;
pub mod config;
mod copies;
mod deviation;
pub mod device;
mod error;
mod export;
mod feed;
mod figures;
mod game_traces;
mod journal_writer;
mod learner;
mod loss;
mod loss_by_age;
pub mod metrics;
mod model;
mod optimizer;
pub mod parity;
mod passes;
mod publisher;
mod purge;
mod rebuild;
mod reinforce;
mod replay;
mod rules;
mod run_file;
mod service;
mod status;
mod tower;
mod trainer;
mod training_loop;
mod training_state;
mod weight_average;

#[cfg(test)]
mod testing;

pub use alphazero::{AlphaZero, Positions};
pub use backup::{BackupError, copy_learner};
pub use config::Config;
pub use error::TrainError;
#[cfg(feature = "simulation")]
pub use learner::SimulatedLearner;
pub use learner::{Learner, LearnerError, check_arena_fits};
pub use loss_by_age::{AgeLoss, LossByAge, LossByAgeError, loss_by_age};
pub use purge::StoppedJournal;
pub use rebuild::{Rebuilt, rebuild_training_state};
pub use reinforce::Reinforce;
pub use replay::SharedReplay;
pub use run_file::{store_run, stored_run};
pub use status::{LearnerStatus, SharedStatus};
pub use trainer::Trainer;
pub use training_state::{
    FoundState, ResumeError, StoppedLearner, StoredState, TrainingStateError, UnfitState,
    training_states,
};
