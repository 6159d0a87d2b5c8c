//! The export of spans to a collector.
//!
//! A span is built once it has ended and goes through a bounded queue to one task, which sends batches.
//! If the collector is slow or away, spans are dropped and counted in the log; no game waits.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use ouro_service::{ExitStatus, Failure, identity};
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

use crate::losses::{Losses, Notice};
use crate::span::parent;

/// The messages and the service of a collector, for tests.
pub use opentelemetry_proto::tonic as collector;

/// Spans that wait for the collector. At one game in 1,000 these are minutes of a large cluster.
const QUEUE: usize = 4_096;
/// Most spans of one request.
const BATCH: usize = 512;
/// Longest time until spans are sent.
const INTERVAL: Duration = Duration::from_secs(1);
/// Longest time of a request, and of the last one at the end of the process.
const PATIENCE: Duration = Duration::from_secs(5);
/// Least time between two lines of the log about a full queue.
const LOG_INTERVAL: Duration = Duration::from_secs(30);

/// The variable of OpenTelemetry that names a collector.
const VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

static EXPORT: OnceLock<Export> = OnceLock::new();

/// The way to the task that exports.
#[derive(Debug)]
struct Export {
    spans: mpsc::Sender<Span>,
    /// One game in so many is traced.
    one_in: u64,
    /// Spans that found no room in the queue.
    dropped: AtomicU64,
}

/// A traced game: the identifier of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace([u8; 16]);

/// The trace of a game of this run; `None` if the game is not traced.
pub fn trace_of(actor: &str, epoch: u64, sequence: u64) -> Option<Trace> {
    let export = EXPORT.get()?;
    Trace::of(identity().run(), actor, epoch, sequence, export.one_in)
}

impl Trace {
    /// The trace of a game if one game in `one_in` is traced.
    pub fn of(run: &str, actor: &str, epoch: u64, sequence: u64, one_in: u64) -> Option<Self> {
        if run.is_empty() {
            return None;
        }
        let name = format!("{run} {actor} {epoch} {sequence}");
        let [id, draw] = halves(Sha256::digest(name).into());
        let [_, draw] = halves8(draw);
        u64::from_be_bytes(draw).is_multiple_of(one_in).then_some(Self(id))
    }

    /// The identifier of a span of this trace.
    fn span(self, name: &str) -> Vec<u8> {
        let digest = Sha256::new().chain_update(self.0).chain_update(name).finalize();
        digest[..8].to_vec()
    }

    /// Sends a span with numbers as attributes. Does not block.
    pub fn send(self, name: &'static str, start: Time, end: Time, facts: &[(&'static str, u64)]) {
        let Some(export) = EXPORT.get() else { return };
        let fact = |(key, value): &(&str, u64)| {
            attribute(key, Value::IntValue(i64::try_from(*value).unwrap_or(i64::MAX)))
        };
        let span = Span {
            trace_id: self.0.to_vec(),
            span_id: self.span(name),
            parent_span_id: parent(name).map(|name| self.span(name)).unwrap_or_default(),
            name: name.to_owned(),
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: start.nanos(),
            // Clocks may be set back in between.
            end_time_unix_nano: end.nanos().max(start.nanos()),
            attributes: facts.iter().map(fact).collect(),
            ..Span::default()
        };
        if export.spans.try_send(span).is_err() {
            export.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Both halves of a hash.
fn halves(hash: [u8; 32]) -> [[u8; 16]; 2] {
    std::array::from_fn(|half| std::array::from_fn(|index| hash[16 * half + index]))
}

/// Both halves of half a hash.
fn halves8(hash: [u8; 16]) -> [[u8; 8]; 2] {
    std::array::from_fn(|half| std::array::from_fn(|index| hash[8 * half + index]))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}

/// A time in a trace. Equal to any other, so that it does not distinguish games.
#[derive(Clone, Copy, Debug)]
pub struct Time(SystemTime);

impl PartialEq for Time {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Time {}

impl Time {
    /// The present.
    pub fn now() -> Self {
        Self(SystemTime::now())
    }

    /// The time so long ago.
    pub fn before(ago: Duration) -> Self {
        let now = SystemTime::now();
        Self(now.checked_sub(ago).unwrap_or(now))
    }

    fn nanos(self) -> u64 {
        let since = self.0.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The export of traces.
#[derive(Debug)]
#[must_use = "the last spans are lost unless the export is finished"]
pub struct Traces(Option<Task>);

/// The task that exports.
#[derive(Debug)]
struct Task {
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<()>,
}

impl Traces {
    /// Starts the export to the collector at `url`, if one is named here or by
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`. One game in `one_in` is traced. Needs a runtime.
    pub fn start(url: Option<&str>, one_in: u64) -> Result<Self, Failure> {
        let variable = std::env::var(VARIABLE).ok();
        let named = url.map(|url| ("deploy.otlp", url));
        let named = named.or(variable.as_deref().map(|url| (VARIABLE, url)));
        let Some((key, url)) = named.filter(|(_, url)| !url.is_empty()) else {
            return Ok(Self(None));
        };
        let refused = |problem: &str| {
            let problem = format!("{key} is {url:?}: {problem}; give http://HOST:4317");
            Failure::new(ExitStatus::BadConfiguration, problem)
        };
        // With TLS, every request would fail, because this client has none.
        if !url.starts_with("http://") {
            return Err(refused("collectors are reached without TLS only"));
        }
        let endpoint =
            Endpoint::from_shared(url.to_owned()).map_err(|error| refused(&error.to_string()))?;
        let channel = endpoint.connect_timeout(PATIENCE).timeout(PATIENCE).connect_lazy();
        let (spans, queue) = mpsc::channel(QUEUE);
        let export = Export { spans, one_in: one_in.max(1), dropped: AtomicU64::new(0) };
        if EXPORT.set(export).is_err() {
            return Err(Failure::new(ExitStatus::Bug, "traces are already exported".to_owned()));
        }
        tracing::info!(url, one_in, "traces of games are sent");
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(run(queue, TraceServiceClient::new(channel), stopped));
        Ok(Self(Some(Task { stop, ended })))
    }

    /// Sends what is left, within a few seconds.
    pub async fn finish(self) {
        let Some(Task { stop, ended }) = self.0 else { return };
        drop(stop);
        // If the collector is away, the last spans are lost.
        let _ = timeout(PATIENCE, ended).await;
    }
}

/// Sends batches until the stop, then what is queued.
async fn run(
    mut queue: mpsc::Receiver<Span>,
    mut client: TraceServiceClient<Channel>,
    mut stopped: oneshot::Receiver<()>,
) {
    let (mut losses, mut is_open) = (Losses::new(LOG_INTERVAL), true);
    while is_open {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = &mut stopped => is_open = false,
        }
        while !queue.is_empty() {
            let mut spans = Vec::new();
            queue.recv_many(&mut spans, BATCH).await;
            let count = spans.len() as u64;
            let sent = client.export(request(spans)).await;
            match sent {
                Ok(_) => report(losses.sent(dropped())),
                Err(error) => {
                    if losses.failed(count + dropped()) {
                        tracing::warn!(%error, "the collector takes no traces: spans are dropped");
                    }
                    break;
                }
            }
        }
    }
    let lost = losses.take() + dropped() + queue.len() as u64;
    if lost > 0 {
        tracing::warn!(lost, "spans were dropped before the end");
    }
}

/// Spans that found no room in the queue since the last call.
fn dropped() -> u64 {
    EXPORT.get().map_or(0, |export| export.dropped.swap(0, Ordering::Relaxed))
}

fn report(notice: Option<Notice>) {
    match notice {
        None => {}
        Some(Notice::Back(lost)) => tracing::warn!(lost, "the collector takes traces again"),
        Some(Notice::Full(lost)) => tracing::warn!(
            lost,
            "spans were dropped, because the queue for the collector was full; \
             raise deploy.trace_games of actors and the learner, so that fewer games are traced"
        ),
    }
}

fn request(spans: Vec<Span>) -> ExportTraceServiceRequest {
    let identity = identity();
    let text = |key, value: &str| attribute(key, Value::StringValue(value.to_owned()));
    let attributes = vec![
        text("service.name", &format!("ouro-{}", identity.service())),
        text("service.instance.id", identity.actor()),
        text("ouro.run", identity.run()),
    ];
    let scope = InstrumentationScope { name: "ouro".to_owned(), ..InstrumentationScope::default() };
    let spans = ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() };
    let resource = Some(Resource { attributes, ..Resource::default() });
    let spans = ResourceSpans { resource, scope_spans: vec![spans], ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![spans] }
}
