//! Arena workers: processes that help the arena to play its matches.
//!
//! With a store in Redis, the arena issues the clusters of a match as jobs, and an [`ArenaWorker`] in
//! any other process takes them, plays them and returns their games. The arena verifies the games by
//! replaying them, puts them in order and alone writes the log. It plays along, so a match needs no
//! worker; and since the games follow from the job, it does not matter who played them. Jobs follow
//! from the match in the log: after a crash of anything they are issued again.
//!
//! * `job`: what a job and a result say.
//! * `job_table`: which clusters of a match are where, as a state machine.
//! * `queue`: jobs, leases and results in Redis.
//! * `shared_match`, `presence`, `verify`: the arena's side.
//! * `worker`, `session`, `leases`, `engines`: a worker's side.

pub mod command;
pub mod worker;

mod engines;
pub(crate) mod job;
pub(crate) mod job_table;
mod leases;
pub(crate) mod presence;
pub(crate) mod queue;
mod session;
pub(crate) mod shared_match;
#[cfg(feature = "simulation")]
pub mod testing;
mod verify;

pub use command::WorkerArguments;
pub use worker::{ArenaWorker, WorkerConfig, WorkerError};
