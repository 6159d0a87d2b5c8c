//! Parts that every Ouro process shares: start, logs, a gRPC server, background threads, reconnect
//! delays, shutdown.
//!
//! A service is *bound* first (ports open, nothing runs) and then *run until* a token is
//! cancelled; running returns once it has drained. [`process::run`] is the whole `main` of a
//! binary: runtime, logs, signals, exit code. Nothing here knows a game or a network.

pub mod background;
pub mod backoff;
pub mod clock;
pub mod conditions;
pub mod error;
pub mod process;
pub mod server;
pub mod shutdown;
pub mod telemetry;

pub use background::{Background, BackgroundError};
pub use backoff::Backoff;
pub use clock::{Clock, ManualClock, SystemClock};
pub use conditions::Conditions;
pub use error::{IntoStatus, ServiceError};
pub use process::{ExitStatus, Failure};
pub use server::GrpcServer;
pub use shutdown::{Drain, Shutdown};
