//! The learner: takes games in, trains a network on them, publishes it.
//!
//! A [`Learner`] is bound, then run until it is told to stop. Inside, actors' games pass
//! through [`trajectory`] (replayed with the rules, refused if anything disagrees) into a
//! bounded [`window`]; one thread turns the window's moves into optimiser steps ([`trainer`],
//! towards what an [`algorithm`] says) and, every so many, into a *generation*: a [`checkpoint`]
//! on disk, then weights for the arena ([`publisher`]) that were seen to be played as they were
//! trained ([`agreement`]).
//!
//! The only crate that knows burn. Weights enter and leave as [`ouro_net::Weights`].

pub mod agreement;
pub mod algorithm;
pub mod alphazero;
pub mod average;
pub mod checkpoint;
pub mod config;
pub mod device;
pub mod export;
pub mod learner;
pub mod loss;
pub mod model;
pub mod optimizer;
pub mod parity;
pub mod progress;
pub mod publisher;
pub mod queue;
pub mod reinforce;
pub mod samples;
pub mod schedule;
pub mod service;
pub mod trainer;
pub mod training;
pub mod trajectory;
pub mod window;

#[cfg(test)]
mod testing;

pub use config::Config;
pub use learner::{Learner, LearnerError};
