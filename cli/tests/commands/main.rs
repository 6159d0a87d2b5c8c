//! `ouro` and the three services as a user runs them: one process or several, their output, their
//! exit codes and their files. A module tests one subcommand or one property of all.
//!
//! One program holds all of it, since every test program takes seconds to link.

mod access;
mod backup;
mod check;
mod cluster;
mod config;
mod conform;
mod deploy;
mod deterministic;
mod docs;
mod doctor;
mod exam;
mod games;
mod loss;
mod matches;
mod metrics;
mod purge;
mod refusals;
mod repair;
mod running;
mod serve;
mod snakgame;
mod solve;
mod states;
mod tls;
#[cfg(feature = "otlp")]
mod traces;
mod train;
mod tune;
#[cfg(feature = "object-store")]
mod weights;

/// Set-up that modules share.
#[path = "../support"]
mod support {
    pub(crate) mod cluster;
    pub(crate) mod http;
    pub(crate) mod programs;
    pub(crate) mod promoting_run;
    pub(crate) mod small_run;
}
