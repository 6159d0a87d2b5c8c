//! The arena over loopback, in this process and as the program `ouro-arena`. A module tests one
//! property.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod bytes;
mod connections;
mod floods;
mod forged;
mod page;
mod questions;
mod refusals;
mod running;
mod service;
mod starts;
mod tls;
mod worker_processes;
mod workers;
