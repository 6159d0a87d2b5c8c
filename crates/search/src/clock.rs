//! Time as a value passed in: a search that must answer by a deadline reads it from here.

use std::fmt::Debug;
use std::time::Duration;

/// A clock that never goes back.
pub trait Clock: Debug + Send + Sync {
    /// Time since some fixed moment.
    fn monotonic(&self) -> Duration;
}
