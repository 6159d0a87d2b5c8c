//! The learner: takes games in, trains a network on them, publishes it.
//!
//! A [`Learner`] is bound, then run until it is told to stop. Inside, actors' games come in by
//! [`service`], are replayed with the [`rules`] and refused if anything disagrees, and are
//! journalled and acknowledged by one thread, the [`ledger`]. From the [`replay`] a [`feed`] of
//! batches goes to the [`training`] thread, which takes optimiser steps ([`trainer`], towards
//! what an [`algorithm`] says) and, every so many, makes a *generation*: a [`checkpoint`] on
//! disk, then weights for the arena ([`publisher`]) that were seen to be played as they were
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
pub mod feed;
pub mod learner;
pub mod ledger;
pub mod loss;
pub mod model;
pub mod optimizer;
pub mod parity;
pub mod progress;
pub mod publisher;
pub mod refusal;
pub mod reinforce;
pub mod replay;
pub mod rules;
pub mod schedule;
pub mod service;
pub mod trainer;
pub mod training;

#[cfg(test)]
mod testing;

pub use config::Config;
pub use learner::{Learner, LearnerError};
