//! Traces of games across the processes of a run, received by a collector in the test.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::support::programs::programs;
use collector::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use collector::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use collector::common::v1::KeyValue;
use collector::common::v1::any_value::Value;
use collector::trace::v1::Span;
use ouro_testkit::process::Process;
use ouro_testkit::server;
use ouro_traces::{Trace, collector, span};
use tonic::{Request, Response, Status};

/// Longest time until a game is traced to its end.
const PATIENCE: Duration = Duration::from_secs(120);

/// Tic-tac-toe with a network that evaluates within microseconds, and one traced game in 20.
const SETTINGS: &str = r#"
preset = "tictactoe"
generation_steps = 20

[net]
kind = "mlp"
layers = 1
hidden = 8

[deploy]
trace_games = 20
"#;

/// All spans of a game.
const SPANS: [&str; 9] = [
    span::GAME,
    span::PLAY,
    span::OUTBOX,
    span::PUSH,
    span::INGEST,
    span::EXAMINE,
    span::JOURNAL,
    span::REPLAY,
    span::TRAIN,
];

/// Received spans, by trace and name, with the service that sent each.
type Received = BTreeMap<Vec<u8>, BTreeMap<String, (String, Span)>>;

/// A collector that keeps what it receives.
#[derive(Clone, Default)]
struct Collector(Arc<(Mutex<Received>, Condvar)>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let (received, arrived) = &*self.0;
        let mut received = received.lock().expect("no test panicked");
        for spans in request.into_inner().resource_spans {
            let resource = spans.resource.expect("a resource");
            let service = text(&resource.attributes, "service.name");
            assert_ne!(text(&resource.attributes, "ouro.run"), "", "the run is known");
            for span in spans.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                let trace = received.entry(span.trace_id.clone()).or_default();
                let before = trace.insert(span.name.clone(), (service.clone(), span));
                assert!(before.is_none(), "{before:?} was sent twice");
            }
        }
        arrived.notify_all();
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Waits until `count` traces have all spans, and returns them.
    fn complete(&self, count: usize) -> Vec<BTreeMap<String, (String, Span)>> {
        let (received, arrived) = &*self.0;
        let (mut received, start) = (received.lock().expect("no test panicked"), Instant::now());
        loop {
            let complete: Vec<_> =
                received.values().filter(|trace| trace.len() == SPANS.len()).cloned().collect();
            if complete.len() >= count {
                return complete;
            }
            let left = PATIENCE.checked_sub(start.elapsed());
            let left =
                left.unwrap_or_else(|| panic!("no trace is complete: {:?}", names(&received)));
            received = arrived.wait_timeout(received, left).expect("no test panicked").0;
        }
    }
}

/// The names of the spans of each trace.
fn names(received: &Received) -> Vec<Vec<&String>> {
    received.values().map(|trace| trace.keys().collect()).collect()
}

fn attribute<'a>(attributes: &'a [KeyValue], key: &str) -> &'a Value {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    let value = found.and_then(|found| found.value.as_ref()?.value.as_ref());
    value.unwrap_or_else(|| panic!("{key} is not in {attributes:?}"))
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    match attribute(attributes, key) {
        Value::StringValue(text) => text.clone(),
        other => panic!("{key} is {other:?}"),
    }
}

fn number(attributes: &[KeyValue], key: &str) -> i64 {
    match attribute(attributes, key) {
        Value::IntValue(number) => *number,
        other => panic!("{key} is {other:?}"),
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it has one")
}

/// Starts a service of the run. The addresses are those of the arena and the learner.
fn start(folder: &Path, service: &str, addresses: [SocketAddr; 2], otlp: &str) -> Process {
    let mut command = Command::new(programs().join(format!("ouro-{service}")));
    let log = File::create(folder.join(format!("{service}.log"))).expect("a file");
    let [arena, learner] = addresses.map(|address| address.to_string());
    command
        .current_dir(folder)
        .envs([("OURO_ARENA", &arena), ("OURO_LEARNER", &learner)])
        .env("OURO_WEB", "off")
        .env_remove("OURO_RUN")
        .stderr(log);
    match service {
        "arena" => &mut command,
        "learner" => command.args(["--device", "cpu", "--otlp", otlp]),
        _ => command.args(["--threads", "1", "--otlp", otlp]),
    };
    Process::start(&mut command)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_leads_from_the_first_move_of_a_game_to_its_first_training_step() {
    let collector = Collector::default();
    let server = server::serve(TraceServiceServer::new(collector.clone())).await;
    let folder = tempfile::tempdir().expect("a scratch folder");
    fs::write(folder.path().join("run.toml"), SETTINGS).expect("settings are written");
    let addresses = [free_address(), free_address()];
    let services = ["arena", "learner", "actor"];
    let mut processes =
        services.map(|service| start(folder.path(), service, addresses, &server.url));
    let complete = tokio::task::spawn_blocking(move || collector.complete(3));
    let complete = complete.await.expect("traces arrive");
    for trace in complete {
        let of = |name: &str| &trace[name].1;
        for name in SPANS {
            let (service, span) = &trace[name];
            let is_of_actor = [span::GAME, span::PLAY, span::OUTBOX, span::PUSH].contains(&name);
            let expected = if is_of_actor { "ouro-actor" } else { "ouro-learner" };
            assert_eq!(service, expected, "{name}");
            let parent = span::parent(name).map(|parent| of(parent).span_id.clone());
            assert_eq!(span.parent_span_id, parent.unwrap_or_default(), "{name}");
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{name}");
        }
        let identifiers: BTreeSet<_> = SPANS.iter().map(|name| &of(name).span_id).collect();
        assert_eq!(identifiers.len(), SPANS.len());
        // The processes share a clock here, so the steps follow one another.
        let steps = [span::PLAY, span::OUTBOX, span::PUSH, span::INGEST, span::JOURNAL];
        let starts = steps.map(|name| of(name).start_time_unix_nano);
        assert!(starts.is_sorted(), "{starts:?}");
        let [journal, replay, train] = [span::JOURNAL, span::REPLAY, span::TRAIN].map(of);
        assert!(journal.end_time_unix_nano <= replay.start_time_unix_nano);
        assert!(replay.end_time_unix_nano <= train.start_time_unix_nano);
        assert!(number(&of(span::GAME).attributes, "plies") >= 5);
        assert!(number(&of(span::TRAIN).attributes, "step") >= 1);
        assert!(number(&of(span::TRAIN).attributes, "generation") >= 0);
        assert_eq!(number(&of(span::EXAMINE).attributes, "accepted"), 1);
    }
    for process in processes.iter_mut().rev() {
        process.kill();
    }
}

#[test]
fn all_processes_choose_the_same_games_about_one_in_so_many() {
    let traced = |run: &str, actor: &str| -> Vec<Trace> {
        (1..=20_000).filter_map(|game| Trace::of(run, actor, 3, game, 100)).collect()
    };
    let first = traced("ab12", "fleet.a");
    assert_eq!(first, traced("ab12", "fleet.a"));
    assert!((150..250).contains(&first.len()), "{} of 20,000 games", first.len());
    // Other runs and actors have other traces.
    for other in [traced("ab13", "fleet.a"), traced("ab12", "fleet.b")] {
        assert!(other.iter().all(|trace| !first.contains(trace)));
    }
    assert_eq!(Trace::of("", "fleet.a", 3, 1, 1), None, "the run is not known yet");
    assert!(Trace::of("ab12", "fleet.a", 3, 1, 1).is_some());
}
