//! The web page, requested as a browser would.

use std::net::SocketAddr;
use std::path::Path;

use ouro_arena::web::Gauge;
use ouro_arena::{Arena, ArenaConfig, ArenaError};
use ouro_rating::{Estimate, Rating};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::running::{Running, clock, config, strong};

/// An arena with a page on a free port.
fn with_page(folder: &Path) -> ArenaConfig {
    let web = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    ArenaConfig { web, ..config(folder) }
}

async fn request(address: SocketAddr, method: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Status line with headers, and the body.
async fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut answer = String::new();
    request(address, "GET", path).await.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

/// The body of an existing page.
async fn page(address: SocketAddr, path: &str) -> String {
    let (head, body) = get(address, path).await;
    assert!(head.starts_with("http/1.1 200 "), "{path}: {head}");
    let policy = head.lines().find(|line| line.starts_with("content-security-policy:")).unwrap();
    assert!(policy.contains("default-src 'self'") && !policy.contains("unsafe"), "{policy}");
    // Nothing that the policy forbids, and nothing from other hosts.
    for forbidden in [" style=", "<style", " onclick=", "http://", "https://", "//cdn"] {
        assert!(!body.contains(forbidden), "{path} has {forbidden}");
    }
    body
}

/// Reads a stream of events until it holds `part`.
async fn read_until(stream: &mut TcpStream, read: &mut String, part: &str) {
    let mut buffer = [0; 4_096];
    while !read.contains(part) {
        let bytes = stream.read(&mut buffer).await.unwrap();
        assert!(bytes > 0, "the stream ended before {part:?}: {read}");
        read.push_str(&String::from_utf8_lossy(&buffer[..bytes]));
    }
}

#[tokio::test]
async fn every_page_of_an_empty_run_says_that_it_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let arena = Running::start_with(with_page(folder.path())).await;
    let address = arena.web.unwrap();
    let home = page(address, "/").await;
    for part in [
        "No candidate is at the gate.",
        "No generation is rated yet.",
        "0 promoted, 0 rejected, 0 undecided.",
        "No player is rated yet.",
        "No match has started.",
        "No learner is known here.",
    ] {
        assert!(home.contains(part), "{part} is not in {home}");
    }
    assert!(page(address, "/matches").await.contains("No match has started."));
    assert!(page(address, "/live").await.contains("Waiting for the next game"));
    for asset in ["ouro.css", "ouro.js", "canvas.js"] {
        assert!(!page(address, &format!("/assets/{asset}")).await.is_empty());
    }
    for (path, part) in [
        ("/matches/7", "match 7 does not exist"),
        ("/games/7/0/1", "game 1 of cluster 0 of match 7 is not kept"),
        ("/games/7/0/1/frames", "game 1 of cluster 0 of match 7 is not kept"),
        ("/nowhere", "there is no page /nowhere here"),
    ] {
        let (head, body) = get(address, path).await;
        assert!(head.starts_with("http/1.1 404 ") && head.contains("content-security-policy"));
        assert!(body.contains(part), "{body}");
    }
    let (head, _) = get(address, "/matches/x").await;
    assert!(head.starts_with("http/1.1 400 "), "{head}");
    let mut refused = String::new();
    request(address, "POST", "/").await.read_to_string(&mut refused).await.unwrap();
    assert!(refused.starts_with("HTTP/1.1 405 "), "{refused}");
    arena.stop().await;
}

#[tokio::test]
async fn a_run_with_games_shows_its_champion_its_curve_and_every_kept_game() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start_with(with_page(folder.path())).await;
    let address = arena.web.unwrap();
    assert!(arena.publish(1, strong(1)).await.promotion().is_some());
    arena.idle_after(1).await;

    let home = page(address, "/").await;
    for part in [
        "1 promoted, 0 rejected, 0 undecided.",
        "champion",
        "<path class=\"band\"",
        "Promoted: ",
        "generation-1 – random",
        "minimax{depth=2}",
        "<time datetime=\"1970-01-01T00:16:40Z\">",
    ] {
        assert!(home.contains(part), "{part} is not in {home}");
    }
    let first = page(address, "/matches/0").await;
    assert!(first.contains("generation-1 against random"));
    let game = first.split("href=\"").find(|part| part.starts_with("/games/")).unwrap();
    let game = game.split('"').next().unwrap();

    let shown = page(address, game).await;
    assert!(shown.contains("The game is over.") && shown.contains("viewBox=\"0 0 30 30\""));
    assert!(page(address, &format!("{game}?ply=0")).await.contains("Turn 0."));
    let frames: serde_json::Value =
        serde_json::from_str(&page(address, &format!("{game}/frames")).await).unwrap();
    let frames = frames["frames"].as_array().unwrap();
    assert!((6..=10).contains(&frames.len()));
    assert!(frames[1]["board"].as_str().unwrap().contains("class=\"mark seat0 new\""));
    arena.stop().await;
}

#[tokio::test]
async fn every_row_of_the_ratings_has_its_difference_to_the_champion() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start_with(with_page(folder.path())).await;
    assert!(arena.publish(1, strong(1)).await.promotion().is_some());
    arena.idle_after(1).await;

    let table = arena.ratings.borrow().clone();
    let home = page(arena.web.unwrap(), "/").await;
    let (_, shown) = home.split_once("<section id=\"ratings\"").expect("ratings are shown");
    let head = "<th scope=\"col\">Player</th><th scope=\"col\">To the champion</th>";
    assert!(shown.contains(head) && shown.contains("The champion is generation-1."), "{shown}");
    assert!(table.ratings.len() > 2, "{table:?}");
    for Rating { player, elo, to_champion, .. } in &table.ratings {
        let Estimate { value, low, high } = to_champion.expect("there is a champion");
        let cell = if player == "generation-1" {
            "–".to_owned()
        } else {
            assert!(low < value && value < high, "{player}: {to_champion:?}");
            format!("{value:+.0} ± {:.0}", (high - low) / 2.0)
        };
        assert_ne!(value, *elo, "{player}: not the difference to the anchor");
        let row = format!("<th scope=\"row\">{player}</th><td>{cell}</td>");
        assert!(shown.contains(&row), "{row} is not in {shown}");
    }
    arena.stop().await;
}

#[tokio::test]
async fn events_bring_changed_parts_sentences_and_live_games_until_the_arena_stops() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start_with(with_page(folder.path())).await;
    let address = arena.web.unwrap();
    let mut events = request(address, "GET", "/events").await;
    let mut live = request(address, "GET", "/live/events").await;
    let (mut received, mut shown) = (String::new(), String::new());
    read_until(&mut events, &mut received, "<section id=\"learner\"").await;
    assert!(received.to_ascii_lowercase().contains("content-type: text/event-stream"));

    let loss = Gauge { chart: "loss", line: "policy", unit: "nats" };
    arena.gauges.add(loss, 1.0, 2.25);
    read_until(&mut events, &mut received, "<b>2.25</b> nats").await;
    arena.publish(1, strong(1)).await;
    read_until(
        &mut events,
        &mut received,
        "event: say\ndata: generation-1 arrived, after 10 steps.",
    )
    .await;
    read_until(&mut events, &mut received, "1 promoted, 0 rejected").await;
    read_until(&mut live, &mut shown, "\"caption\":\"Turn 1: ").await;
    assert!(shown.contains("event: swap\ndata: <p id=\"live-title\"") && shown.contains("match 0"));

    // Both streams are open and do not delay the drain.
    arena.stop().await;
    for stream in [&mut events, &mut live] {
        stream.read_to_end(&mut Vec::new()).await.unwrap();
    }
}

#[tokio::test]
async fn a_port_in_use_is_reported_in_one_line_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let arena = Running::start_with(with_page(folder.path())).await;
    let other = tempfile::tempdir().unwrap();
    let taken = ArenaConfig { web: arena.web, ..config(other.path()) };
    let error = Arena::bind(taken, clock()).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ArenaError::Web { .. }) && !text.contains('\n'), "{text}");
    assert!(text.contains(&arena.web.unwrap().to_string()), "{text}");
    assert!(text.ends_with("choose another address for it, or `off`"), "{text}");
    arena.stop().await;

    // Without an address there is no page.
    let without = Arena::bind(config(other.path()), clock()).await.unwrap();
    assert_eq!(without.web_addr(), None);
}

#[tokio::test]
async fn idle_connections_do_not_delay_the_drain() {
    let folder = tempfile::tempdir().unwrap();
    let arena = Running::start_with(with_page(folder.path())).await;
    let address = arena.web.unwrap();
    // As browsers do: one opened ahead, one kept for the next page.
    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut kept = TcpStream::connect(address).await.unwrap();
    kept.write_all(b"GET /assets/ouro.svg HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    read_until(&mut kept, &mut String::new(), "</svg>").await;
    arena.stop().await;
    for stream in [&mut silent, &mut kept] {
        assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
    }
}

#[tokio::test]
async fn a_request_that_names_a_foreign_host_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = with_page(folder.path());
    config.web_names = vec!["ouro.example".to_owned()];
    let arena = Running::start_with(config).await;
    let address = arena.web.unwrap();
    for (host, status) in [("evil.example", "421"), ("ouro.example:8080", "200"), ("[::1]", "200")]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
    arena.stop().await;
}
