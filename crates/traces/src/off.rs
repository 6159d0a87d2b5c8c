//! No traces: types without values, whose uses the compiler removes.

use ouro_service::{ExitStatus, Failure};

/// A traced game. No game is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {}

/// The trace of a game, if it has one.
pub fn trace_of(_actor: &str, _epoch: u64, _sequence: u64) -> Option<Trace> {
    None
}

impl Trace {
    /// Sends a span.
    pub fn send(
        self,
        _name: &'static str,
        _start: Time,
        _end: Time,
        _facts: &[(&'static str, u64)],
    ) {
        match self {}
    }
}

/// A time in a trace. Equal to any other, so that it does not distinguish games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time;

impl Time {
    /// The present.
    pub fn now() -> Self {
        Self
    }

    /// The time so long ago.
    pub fn before(_ago: std::time::Duration) -> Self {
        Self
    }
}

/// The export of traces.
#[derive(Debug)]
pub struct Traces;

impl Traces {
    /// Starts the export to a collector. Fails if one is named, because this program knows none.
    pub fn start(url: Option<&str>, _one_in: u64) -> Result<Self, Failure> {
        let Some(url) = url else { return Ok(Self) };
        let problem = format!(
            "this program cannot send traces to {url}: build it with `--features otlp`, or leave out \
             --otlp and deploy.otlp"
        );
        Err(Failure::new(ExitStatus::BadConfiguration, problem))
    }

    /// Sends what is left.
    pub fn finish(self) -> std::future::Ready<()> {
        std::future::ready(())
    }
}
