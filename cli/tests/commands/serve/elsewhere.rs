//! The player `http{url=URL}` of `ouro match`, which asks a snake over HTTP.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use ouro_game::battlesnake::api::GameState;
use serde_json::Value;

use super::Server;

/// Plays a match on 7×7 and returns its report.
fn play_match(players: &[&str], snakes: u8, games: u32) -> Value {
    let game = format!(r#"{{"game":"battlesnake","width":7,"height":7,"snakes":{snakes}}}"#);
    let games = games.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.arg("match").args(players);
    command.args(["--game", &game, "--games", &games, "--threads", "1", "--json"]);
    serde_json::from_str(&ouro_testkit::process::run(&mut command).success()).expect("JSON")
}

#[test]
fn a_match_asks_snakes_over_http() {
    let server = Server::start(&["minimax{depth=2}", "--path", "/snake"]);
    let snake = format!("http{{url=http://{}/snake}}", server.address);
    let report = play_match(&[&snake, "random"], 2, 4);
    assert_eq!(report["games"], 4);
    assert!(report.get("missing").is_none(), "{report}");
    assert_eq!(report["pairings"][0]["wins"], 4, "{report}");
    // It takes three of the four seats. Requests have the query of the URL.
    let snake = format!("http{{url=http://{}/snake/?key=1}}", server.address);
    let report = play_match(&["random", &snake], 4, 4);
    assert!(report.get("missing").is_none(), "{report}");
    let log = server.stop();
    let count = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!((count("game started"), count("game ended")), (4 + 3 * 4, 4 + 3 * 4), "{log}");
    let ids = log.lines().filter(|line| line.contains("game started")).filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        line["game"].as_str().map(str::to_owned)
    });
    assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 8, "{log}");
    assert!(!log.contains("refused") && !log.contains("alive at the end"), "{log}");
}

/// Path and body of a request.
type Received = (String, Vec<u8>);

/// Reads a request.
fn receive(stream: &mut TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length: usize = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, body))
}

/// A snake that says who it is and answers every other request with `reply`, the start of a game after
/// this time. Returns its address and what it receives.
fn mock_snake(reply: &'static str, start: Duration) -> (SocketAddr, mpsc::Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let Some(received) = receive(&mut stream) else { continue };
            if received.0 == "/start" {
                std::thread::sleep(start);
            }
            let text = if received.0 == "/" { r#"{"apiversion":"1"}"# } else { reply };
            let _ = sender.send(received);
            let length = text.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{text}"
            );
        }
    });
    (address, receiver)
}

#[test]
fn the_end_of_a_game_shows_a_dead_snake_as_in_its_last_move() {
    let (address, received) = mock_snake(r#"{"move":"up"}"#, Duration::ZERO);
    let report = play_match(&[&format!("http{{url=http://{address},ms=2000}}"), "greedy"], 2, 2);
    assert!(report.get("missing").is_none(), "{report}");
    let (mut last, mut ends) = (BTreeMap::new(), 0);
    for (path, body) in received.try_iter().filter(|(path, _)| path != "/") {
        let state = GameState::parse(&body).expect("a request of the API");
        if path != "/end" {
            last.insert(state.game.id, state.you);
            continue;
        }
        assert_eq!(state.seat(), None, "it went up until it died");
        assert_eq!(last.get(&state.game.id), Some(&state.you));
        ends += 1;
    }
    assert_eq!(ends, 2);
}

#[test]
fn replies_without_a_move_are_counted_and_repeat_the_previous_move() {
    let (address, _received) = mock_snake(r#"{"move":"north"}"#, Duration::ZERO);
    let snake = format!("http{{url=http://{address},ms=2000}}");
    let report = play_match(&[&snake, "greedy"], 2, 2);
    let missing = &report["missing"][0];
    assert_eq!(missing["player"], snake.as_str(), "{report}");
    assert!(missing["requests"].as_u64() >= Some(4), "it goes up until it dies: {report}");
    assert!(missing["first"].as_str().expect("text").contains("north"), "{report}");
}

#[test]
fn the_start_of_a_game_is_no_part_of_the_time_of_a_move() {
    let start = Duration::from_secs(1);
    let (address, _received) = mock_snake(r#"{"move":"up"}"#, start);
    let report = play_match(&[&format!("http{{url=http://{address},ms=2000}}"), "greedy"], 2, 2);
    assert!(report["times"][0]["moves"].as_u64() >= Some(2), "{report}");
    let slowest = report["times"][0]["max_ms"].as_f64().expect("milliseconds");
    assert!(slowest < start.as_secs_f64() * 1e3, "{report}");
}

#[test]
fn a_match_refuses_a_url_without_a_snake() {
    let free = ouro_testkit::server::free_port();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.args([
        "match",
        &format!("http{{url=http://{free}}}"),
        "greedy",
        "--game",
        "battlesnake",
    ]);
    ouro_testkit::process::run(&mut command).assert_refused(69, &["http{", "start it first"]);
    for (player, part) in [
        ("http{url=https://example.org}".to_owned(), "it starts with http://"),
        ("http{url=http://}".to_owned(), "http://HOST:PORT"),
        ("http{url=http://a b}".to_owned(), "http://HOST:PORT"),
        ("http{url=http://127.0.0.1:99999}".to_owned(), "a port is at most 65535"),
        ("http{url=http://127.0.0.1:1/#snake}".to_owned(), "leave it out"),
        ("http{ms=5}".to_owned(), "url is missing"),
        ("http{url=http://127.0.0.1:1,ms=0}".to_owned(), "1 to 60000"),
        ("http{url=http://127.0.0.1:1,sims=5}".to_owned(), "sims"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
        command.args(["match", &player, "greedy", "--game", "battlesnake", "--games", "4"]);
        ouro_testkit::process::run(&mut command).assert_refused(64, &["http{", part]);
    }
    let server = Server::start(&["greedy"]);
    let snake = format!("http{{url=http://{}}}", server.address);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.args(["match", &snake, "random", "--game", "tic_tac_toe"]);
    ouro_testkit::process::run(&mut command).assert_refused(64, &["battlesnake"]);
    // Another path of a running server.
    let elsewhere = format!("http{{url=http://{}/foo}}", server.address);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.args(["match", &elsewhere, "greedy", "--game", "battlesnake", "--games", "4"]);
    let refused = ouro_testkit::process::run(&mut command);
    refused.assert_refused(69, &["/foo}", "no snake: status 404; check the path of the URL"]);
}
