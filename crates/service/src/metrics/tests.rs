//! The text format, and what the port answers.

use std::fmt;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;

crate::series! {
    const ALL = [
        GAMES: Counter "test_games_total" [] "Games.";
        REFUSED: Counter "test_refused_total" ["reason"] "Refused games.";
        LOSS: Gauge "test_loss" [] "Loss.";
        LATE: Gauge "test_late" [] "A value that comes later.";
        SYNC: Histogram "test_sync_seconds" ["store"] "Time of a sync.";
        WAIT: Histogram "test_wait_seconds" [] "Time of a wait.";
        BUILD: Info "test_build_info" ["version"] "What was built.";
    ];
}

#[derive(Debug, Default)]
struct Example {
    sync: Histogram,
    scrapes: Arc<AtomicU64>,
}

impl Source for Example {
    fn read(&self, readings: &mut Readings<'_>) -> fmt::Result {
        self.scrapes.fetch_add(1, Ordering::Relaxed);
        readings.one(&GAMES, 7_u64)?;
        readings.each(&REFUSED, [("stale", 2_u64), ("a\"b\\c\nd", 3)])?;
        readings.one(&LOSS, 0.5)?;
        readings.maybe(&LATE, None::<u64>)?;
        readings.histogram(&SYNC, ["files"], &self.sync)?;
        readings.histogram(&WAIT, [], &self.sync)?;
        readings.info(&BUILD, ["1.2"])
    }
}

#[test]
fn names_and_values_are_written_as_openmetrics_demands() {
    let example = Example::default();
    example.sync.observe(Duration::from_millis(3));
    example.sync.observe(Duration::from_secs(60));
    let text = Metrics::default().with(example).render().unwrap();
    for line in [
        "# HELP test_games Games.",
        "# TYPE test_games counter",
        "test_games_total 7",
        "test_refused_total{reason=\"stale\"} 2",
        "test_refused_total{reason=\"a\\\"b\\\\c\\nd\"} 3",
        "# TYPE test_loss gauge",
        "test_loss 0.5",
        "# TYPE test_late gauge",
        "# TYPE test_sync_seconds histogram",
        "test_sync_seconds_count{store=\"files\"} 2",
        "test_sync_seconds_bucket{le=\"0.0025\",store=\"files\"} 0",
        "test_sync_seconds_bucket{le=\"0.005\",store=\"files\"} 1",
        "test_sync_seconds_bucket{le=\"+Inf\",store=\"files\"} 2",
        "test_wait_seconds_count 2",
        "test_wait_seconds_bucket{le=\"+Inf\"} 2",
        "# TYPE test_build info",
        "test_build_info{version=\"1.2\"} 1",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
    let is_late = text.lines().any(|line| line.starts_with("test_late"));
    assert!(!is_late, "a value that is not known is left out: {text}");
}

#[test]
fn the_page_has_a_row_for_every_series_and_no_cell_breaks_the_table() {
    let page = page(&[("Example", ALL), ("Process", process::SERIES)]);
    for series in ALL.iter().chain(process::SERIES) {
        let row = format!("| `{}` | {} | ", series.name, series.kind.name());
        assert!(page.lines().any(|line| line.starts_with(&row)), "{row}");
        assert!(!series.about.contains(['|', '\n']) && series.about.ends_with('.'));
        assert!(series.name.ends_with(series.kind.suffix()), "{}", series.name);
    }
}

/// Sends a request to the port and returns the answer.
async fn ask(address: SocketAddr, request: &'static str) -> String {
    tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let text = format!("{request} HTTP/1.1\r\nHost: any.name\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn the_port_answers_metrics_and_nothing_else_also_during_a_drain() {
    let server = MetricsServer::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
    let (address, stop) = (server.local_addr(), CancellationToken::new());
    let serving = serve(Some(server), &stop, |metrics| metrics.with(Example::default()));
    let answer = ask(address, "GET /metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("application/openmetrics-text; version=1.0.0"), "{answer}");
    assert!(answer.contains("\ntest_games_total 7\n") && answer.contains("\nouro_draining 0\n"));
    let version = format!("ouro_build_info{{version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(answer.contains(&version), "{answer}");
    for (request, expected) in [
        ("GET /", "404"),
        ("GET /metrics/", "404"),
        ("POST /metrics", "405"),
        ("HEAD /metrics", "200"),
    ] {
        let answer = ask(address, request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected}")), "{request}: {answer}");
    }
    stop.cancel();
    // The text from before the stop is kept for a moment.
    while !ask(address, "GET /metrics").await.contains("\nouro_draining 1\n") {}
    drop(serving);
}

#[tokio::test]
async fn many_scrapes_at_once_read_the_values_once() {
    let server = MetricsServer::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
    let (address, example) = (server.local_addr(), Example::default());
    let scrapes = Arc::clone(&example.scrapes);
    let _serving = server.start(Metrics::default().with(example));
    let start = std::time::Instant::now();
    for _ in 0..50 {
        assert!(ask(address, "GET /metrics").await.contains("test_games_total 7"));
    }
    let intervals = start.elapsed().as_millis() as u64 / 100 + 1;
    let count = scrapes.load(Ordering::Relaxed);
    assert!((1..=intervals).contains(&count), "{count} of {intervals}");
}
