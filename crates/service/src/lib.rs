//! Parts that every Ouro process shares: start, logs, metrics, access, gRPC and web servers, background
//! threads, reconnect delays, shutdown.
//!
//! A service is first *bound*: its ports are open, and nothing runs. It is then *run until* a token
//! is cancelled, and `run_until` returns after the drain. [`process::run`] is the whole `main` of a
//! binary: runtime, logs, signals, exit code. This crate depends on no game and no network.

pub mod access;
pub mod background;
pub mod backoff;
pub mod blocking;
mod box_future;
pub mod clock;
pub mod conditions;
pub mod connections;
pub mod error;
pub mod files;
pub mod healthcheck;
pub mod http;
pub mod identity;
pub mod metrics;
pub mod process;
pub mod refusals;
pub mod server;
pub mod shutdown;
pub mod telemetry;
pub mod throttle;

pub use background::{Background, BackgroundError};
pub use backoff::Backoff;
pub use blocking::blocking;
pub use box_future::BoxFuture;
pub use clock::{Clock, ManualClock, SystemClock};
pub use conditions::Conditions;
pub use connections::ConnectionLimits;
pub use error::{IntoStatus, ServiceError};
pub use http::HttpServer;
pub use identity::identity;
pub use process::{ExitStatus, Failure};
pub use refusals::Refusals;
pub use server::GrpcServer;
pub use shutdown::{Drain, Shutdown};
pub use throttle::Throttle;
