//! Logs as text on terminals and JSON elsewhere, filtered by `RUST_LOG`.
//!
//! Logs go to standard error, because standard output is for results.

use std::io::{IsTerminal, Write};

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text if standard error is a terminal, JSON otherwise.
    #[default]
    Auto,
    /// One line of text per event.
    Text,
    /// One JSON object per event.
    Json,
}

/// Why logging cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// `RUST_LOG` does not parse.
    #[error("RUST_LOG is not a log filter: {0}; try `info` or `ouro_arena=debug`")]
    Filter(#[from] ParseError),
    /// Logging is already set up in this process.
    #[error("logging is already set up")]
    Installed,
}

/// Sets up logging for the whole process. `level` is the filter if `RUST_LOG` is not set.
pub fn init(format: LogFormat, level: &str) -> Result<(), TelemetryError> {
    init_with(format, level, std::io::stderr)
}

/// [`init`] with log lines written to `writer`, for programs that draw on the terminal.
pub fn init_with<W: Write>(
    format: LogFormat,
    level: &str,
    writer: impl Fn() -> W + Send + Sync + 'static,
) -> Result<(), TelemetryError> {
    let filter: Targets = match std::env::var("RUST_LOG") {
        Ok(directives) if !directives.is_empty() => directives.parse()?,
        _ => level.parse()?,
    };
    let terminal = std::io::stderr().is_terminal();
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(terminal);
    let layer = match (format, terminal) {
        (LogFormat::Text, _) | (LogFormat::Auto, true) => layer.boxed(),
        (LogFormat::Json, _) | (LogFormat::Auto, false) => layer.json().flatten_event(true).boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
    subscriber.try_init().map_err(|_| TelemetryError::Installed)
}
