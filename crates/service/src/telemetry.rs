//! Logs as text on terminals and JSON elsewhere, filtered by `RUST_LOG`.
//!
//! Logs go to standard error, because standard output is for results. Each JSON line also says what
//! the process is ([`identity`](mod@crate::identity)): `service`, `actor`, `run` and `generation`,
//! as far as they are known and the event has no field of the same name.

use std::env::VarError;
use std::fmt::{self, Write as _};
use std::io::{IsTerminal, Write};

use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, JsonFields, Writer, format};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::identity::{Identity, identity};

/// What the filter of a process adds. If a Vulkan loader finds no driver, wgpu reports an error per
/// backend, although the choice of a device reports the outcome itself.
const QUIET: &str = "wgpu_hal::vulkan::instance=off";

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
    /// `RUST_LOG` is not text.
    #[error("RUST_LOG is not UTF-8 text; try `info` or `ouro_arena=debug`")]
    NotText,
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
    let directives = match std::env::var("RUST_LOG") {
        Err(VarError::NotUnicode(_)) => return Err(TelemetryError::NotText),
        directives => directives.ok(),
    };
    let filter = filter(directives, level)?;
    let terminal = std::io::stderr().is_terminal();
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(terminal);
    let layer = match (format, terminal) {
        (LogFormat::Text, _) | (LogFormat::Auto, true) => layer.boxed(),
        (LogFormat::Json, _) | (LogFormat::Auto, false) => {
            layer.fmt_fields(JsonFields::new()).event_format(JsonLine(identity())).boxed()
        }
    };
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
    subscriber.try_init().map_err(|_| TelemetryError::Installed)
}

/// The filter of `RUST_LOG`, or that of the level.
fn filter(directives: Option<String>, level: &str) -> Result<Targets, ParseError> {
    match directives {
        Some(directives) if !directives.is_empty() => directives.parse(),
        _ => format!("{level},{QUIET}").parse(),
    }
}

/// A JSON object per event, with the identity of the process.
struct JsonLine(&'static Identity);

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        let json = format().json().flatten_event(true);
        json.format_event(context, Writer::new(&mut line), event)?;
        let facts = facts(self.0, |name| event.metadata().fields().field(name).is_some());
        // The facts come first: the object starts with a brace and is not empty.
        writer.write_str("{")?;
        writer.write_str(&facts)?;
        writer.write_str(line.strip_prefix('{').unwrap_or(&line))
    }
}

/// The known facts as members of a JSON object, each with a comma after it. A field of the event
/// that `has` has takes precedence over a fact of the same name.
fn facts(identity: &Identity, has: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    let facts =
        [("service", identity.service()), ("actor", identity.actor()), ("run", identity.run())];
    for (name, fact) in facts {
        if !fact.is_empty() && !has(name) {
            // Identifiers, names of services and names of actors need no escapes.
            let _ = write!(text, "\"{name}\":\"{fact}\",");
        }
    }
    if let Some(generation) = identity.generation().filter(|_| !has("generation")) {
        let _ = write!(text, "\"generation\":{generation},");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn json_lines_say_what_the_process_is_unless_the_event_says_it() {
        let identity: &'static Identity = Box::leak(Box::new(Identity::new()));
        let written = Lines::default();
        let writer = written.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
            .fmt_fields(JsonFields::new())
            .event_format(JsonLine(identity));
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("before");
            identity.set_service("actor");
            identity.set_actor("gpu-1");
            identity.set_run("ab12");
            identity.set_generation(3);
            tracing::info!(games = 7, "with all");
            tracing::info!(actor = "other", generation = 2, "of its own");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let [before, all, own] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(before.starts_with("{\"timestamp\":"), "{before}");
        let facts = "{\"service\":\"actor\",\"actor\":\"gpu-1\",\"run\":\"ab12\",\"generation\":3,";
        assert!(all.starts_with(&format!("{facts}\"timestamp\":")), "{all}");
        assert!(all.contains("\"message\":\"with all\"") && all.contains("\"games\":7"), "{all}");
        let facts = "{\"service\":\"actor\",\"run\":\"ab12\",\"timestamp\":";
        assert!(own.starts_with(facts), "{own}");
        assert!(own.contains("\"actor\":\"other\"") && own.contains("\"generation\":2"), "{own}");
        assert!(text.lines().all(|line| line.ends_with('}')));
    }

    #[test]
    fn a_missing_driver_of_the_gpu_is_not_an_error_of_the_default_filter() {
        let shows = |directives: Option<&str>, target: &str| {
            let filter = filter(directives.map(str::to_owned), "info").unwrap();
            filter.would_enable(target, &tracing::Level::ERROR)
        };
        assert!(!shows(None, "wgpu_hal::vulkan::instance"));
        assert!(!shows(Some(""), "wgpu_hal::vulkan::instance"));
        assert!(shows(None, "wgpu_hal::vulkan::device") && shows(None, "ouro_learner"));
        assert!(shows(Some("info"), "wgpu_hal::vulkan::instance"), "RUST_LOG decides alone");
    }
}
