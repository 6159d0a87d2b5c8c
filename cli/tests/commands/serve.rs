//! `ouro serve`, played by a host of this test: the rules of the crate and requests over HTTP.

mod elsewhere;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ouro_game::battlesnake::api::{Coord, GameState, Host, Identity, Info, Reply};
use ouro_game::battlesnake::{Config, DeadBodies, Small};
use ouro_game::{Action, Game, Rng, Turn};
use ouro_testkit::process::{Ended, Process};
use serde_json::Value;

use crate::support::http::get;

/// The player of four snakes that is served by default, with a depth and without reductions.
const FOUR: &str = "minimax{depth=1,best_reply,weights=included:standard-minimax,\
                    duel=included:duel-minimax}";
/// The player for duels.
const TWO: &str = "minimax{depth=1,weights=included:duel-minimax}";

/// Posts a body and returns status and body of the answer.
fn post(address: SocketAddr, path: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("the port is open");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("the head is sent");
    stream.write_all(body).expect("the body is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an HTTP answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// A server and its address.
struct Server {
    process: Process,
    address: SocketAddr,
    path: String,
    players: Vec<String>,
}

impl Server {
    /// Starts a server on a free port.
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
        command.env("RUST_LOG", "info");
        command.args(["serve", "--json", "--listen", "127.0.0.1:0"]).args(arguments);
        let mut process = Process::start_piped(&mut command);
        let mut line = String::new();
        BufReader::new(process.stdout()).read_line(&mut line).expect("a line");
        let start: Value = serde_json::from_str(&line).expect("JSON");
        let url = start["url"].as_str().expect("text").strip_prefix("http://").expect("a URL");
        let (address, path) = url.split_at(url.find('/').unwrap_or(url.len()));
        let (address, path) = (address.parse().expect("an address"), path.to_owned());
        let players = start["players"].as_array().expect("names").iter();
        let players = players.map(|name| name.as_str().expect("text").to_owned()).collect();
        Self { process, address, path, players }
    }

    fn post(&self, verb: &str, state: &GameState) -> (u16, String) {
        let path = format!("{}{verb}", self.path);
        post(self.address, &path, &serde_json::to_vec(state).expect("requests serialise"))
    }

    /// Stops the server and returns its log.
    fn stop(mut self) -> String {
        self.process.signal("-TERM");
        let Ended { code, stderr, .. } = self.process.end_within(Duration::from_secs(30));
        assert_eq!(code, Some(0), "{stderr}");
        stderr
    }

    /// Plays a game between snakes that all play here. Returns its number of turns.
    fn play(&self, config: &Config, id: &str) -> u32 {
        let game = Small::new(config.clone()).expect("the configuration is playable");
        let identity = |seat| Identity { id: format!("{id}-{seat}"), ..Identity::default() };
        let host = Host {
            game_id: id.to_owned(),
            timeout_ms: 500,
            source: String::new(),
            version: "cli".to_owned(),
            snakes: (0..game.players()).map(identity).collect(),
        };
        let mut rng = Rng::new(1, id);
        let mut state = game.initial(&mut rng);
        let bodies = DeadBodies::new(game.players());
        let request = |state: &_, seat| {
            host.request(config, &game.position(state, &bodies), seat).expect("it has the seat")
        };
        for seat in 0..game.players() {
            assert_eq!(self.post("/start", &request(&state, seat)).0, 200);
        }
        while let Turn::Move(movers) = game.turn(&state) {
            let mut actions = vec![Action(0); game.players()];
            for seat in movers.iter() {
                let (status, body) = self.post("/move", &request(&state, seat));
                assert_eq!(status, 200, "{body}");
                let reply = Reply::parse(body.as_bytes()).expect("a reply of the API");
                actions[seat] = reply.action().expect("a move");
            }
            game.advance(&mut state, &actions, &mut rng).expect("every move is legal");
        }
        // The official host asks the winner of a decided game once more.
        for seat in game.alive(&state).iter() {
            assert_eq!(self.post("/move", &request(&state, seat)).0, 200);
        }
        for seat in 0..game.players() {
            assert_eq!(self.post("/end", &request(&state, seat)).0, 200);
        }
        game.elapsed(&state)
    }
}

/// The lines of a log about a game.
fn lines<'a>(log: &'a str, game: &str) -> Vec<&'a str> {
    let game = format!("\"game\":\"{game}\"");
    log.lines().filter(|line| line.contains(&game)).collect()
}

#[test]
fn whole_games_are_played_by_the_first_player_that_can() {
    let server = Server::start(&[TWO, FOUR]);
    assert_eq!(server.players[..2], [TWO, FOUR]);
    let duel = Config { snakes: 2, ..Config::default() };
    for (config, id) in [(&Config::default(), "four"), (&duel, "two")] {
        let turns = server.play(config, id);
        assert!(turns > 20, "{id}: {turns} turns");
    }
    let log = server.stop();
    for (id, snakes, player) in [("four", 4, FOUR), ("two", 2, TWO)] {
        let lines = lines(&log, id);
        let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
        assert_eq!((count("game started"), count("game ended")), (snakes, snakes), "{log}");
        let chosen = format!("\"turn\":0,\"player\":\"{player}\"");
        assert_eq!(count(&chosen), snakes, "{log}");
        assert!(count("\"won\"") == 1 || count("no snake is alive") == snakes, "{log}");
    }
    // The last two of four snakes are in a duel.
    let duels = lines(&log, "four").iter().filter(|line| line.contains(TWO)).count();
    assert!(duels >= 2, "{log}");
    assert!(!log.contains("refused") && !log.contains("reply is late"), "{log}");
}

#[test]
fn every_ruleset_is_played_by_players_with_a_limit_and_without() {
    use ouro_game::battlesnake::{Map, Ruleset};
    let server = Server::start(&["mcts{sims=30}", "--path", "/secret/snake", "--margin", "480"]);
    assert!(get(server.address, "/").is_none(), "only the path is known");
    assert!(get(server.address, "/secret/snake").is_some());
    let base = Config { width: 7, height: 7, snakes: 2, ..Config::default() };
    let wide = Config { width: 7, height: 15, snakes: 3, ..Config::default() };
    for (config, id) in [
        (Config { ruleset: Ruleset::Royale, shrink_every_n_turns: 5, ..base.clone() }, "royale"),
        (Config { map: Map::Royale, shrink_every_n_turns: 5, ..base.clone() }, "royale map"),
        (Config { ruleset: Ruleset::Wrapped, ..base.clone() }, "wrapped"),
        (Config { ruleset: Ruleset::Constrictor, ..base.clone() }, "constrictor"),
        (Config { ruleset: Ruleset::WrappedConstrictor, ..base.clone() }, "both"),
        (Config { map: Map::Empty, ..base }, "empty"),
        (wide, "wide"),
    ] {
        assert!(server.play(&config, id) > 2, "{id}");
    }
    let log = server.stop();
    assert!(log.contains("\"player\":\"mcts{sims=30}\""), "{log}");
    assert!(!log.contains("refused"), "{log}");
    // With a margin of 480 ms of 500, a player has a quarter of the time.
    let server = Server::start(&["minimax", "--margin", "480"]);
    let solo =
        Config { ruleset: Ruleset::Solo, width: 3, height: 3, snakes: 1, ..Config::default() };
    assert!(server.play(&solo, "solo") > 2);
    // A host may start a standard game with one snake.
    let alone = Config { solo: true, ruleset: Ruleset::Standard, ..solo };
    assert!(server.play(&alone, "alone") > 6, "a snake that always goes up dies on turn 2");
    let log = server.stop();
    assert!(log.contains("\"player\":\"minimax{ms=125}\"") && !log.contains("refused"), "{log}");
}

#[test]
fn the_server_says_who_it_is_and_refuses_what_it_cannot_play() {
    let server = Server::start(&["greedy", "--color", "#00ff7f", "--author", "me"]);
    let info = get(server.address, "/").expect("a reply");
    let info = Info::parse(info.as_bytes()).expect("a reply of the API");
    assert_eq!((info.apiversion.as_str(), info.author.as_str()), ("1", "me"));
    assert_eq!(info.customizations.color, "#00ff7f");

    let huge = vec![b' '; (512 << 10) + 1];
    for (path, body, status, part) in [
        ("/move", &b"{\"game\":"[..], 400, "ends early"),
        ("/move", b"not JSON", 400, "not JSON"),
        ("/move", b"{}", 400, "missing field"),
        ("/end", b"[]", 400, "invalid length 0"),
        ("/move", &huge, 413, "at most 524288 bytes"),
        ("/moves", b"", 404, "Battlesnake API"),
    ] {
        let (got, text) = post(server.address, path, body);
        assert_eq!(got, status, "{path}: {text}");
        assert!(text.contains(part) && text.lines().count() == 1, "{path}: {text}");
    }
    let long = format!(
        r#"{{"game":{{"id":"{}"}},"turn":1,"board":{{"width":7,"height":7,"snakes":[]}},"you":{{"id":"a","health":1,"body":[]}}}}"#,
        "x".repeat(300)
    );
    let (status, text) = post(server.address, "/move", long.as_bytes());
    assert_eq!(
        (status, text.as_str()),
        (400, "game.id has 300 bytes; an id is a line of at most 256\n")
    );
    let empty = long.replace(&"x".repeat(300), "x");
    let (status, text) = post(server.address, "/move", empty.as_bytes());
    assert!(status == 400 && text.starts_with("board.snakes has 0 entries"), "{text}");
    // A refusal is not the end.
    let small = Config { width: 7, height: 7, snakes: 2, ..Config::default() };
    assert!(server.play(&small, "small") > 0);
    let log = server.stop();
    assert!(log.contains("request refused: message ends early"), "{log}");
}

/// A request for a move of a snake in a duel, with a timeout in milliseconds.
fn duel(snake: &str, timeout: u32) -> String {
    let other = r#"{"id":"other","health":90,"body":[{"x":9,"y":9},{"x":9,"y":8},{"x":9,"y":7}]}"#;
    let you = format!(
        r#"{{"id":"{snake}","health":90,"body":[{{"x":5,"y":5}},{{"x":5,"y":4}},{{"x":5,"y":3}}]}}"#
    );
    format!(
        r#"{{"game":{{"id":"g","timeout":{timeout}}},"turn":9,"board":{{"width":11,"height":11,
        "snakes":[{you},{other}]}},"you":{you}}}"#
    )
}

#[test]
fn a_server_that_stops_sends_the_replies_that_it_owes() {
    let server = Server::start(&["mcts{ms=3000}"]);
    let address = server.address;
    let searched = (0..5).find_map(|_| {
        let slow = duel("one", 4_000);
        let searched = std::thread::spawn(move || post(address, "/move", slow.as_bytes()));
        std::thread::sleep(Duration::from_millis(300));
        // The server searches the first request if it refuses a second one.
        let (status, _) = post(address, "/move", duel("one", 50).as_bytes());
        (status == 503).then_some(searched)
    });
    let searched = searched.expect("the server searches");
    server.stop();
    let (status, text) = searched.join().expect("no panic");
    assert_eq!(status, 200, "{text}");
}

#[test]
fn hazards_that_move_leave_one_line_about_the_player() {
    let server = Server::start(&["greedy"]);
    let mut state = GameState::parse(duel("one", 500).as_bytes()).expect("a request");
    for x in 0..3 {
        state.turn += 1;
        state.board.hazards = vec![Coord { x, y: 0 }];
        let (status, text) = server.post("/move", &state);
        assert_eq!(status, 200, "{text}");
    }
    let log = server.stop();
    assert_eq!(log.matches("player chosen").count(), 1, "{log}");
}

#[test]
fn searches_beyond_the_limit_are_refused_and_one_snake_has_one_search() {
    for (snakes, second, expected) in [
        ("1", duel("another", 4_000), "too many snakes are searched"),
        ("2", duel("one", 50), "an earlier request of this snake"),
    ] {
        let server = Server::start(&["mcts{ms=3000}", "--snakes", snakes]);
        let (address, first) = (server.address, duel("one", 4_000));
        let refused = || {
            let first = first.clone();
            let searched = std::thread::spawn(move || post(address, "/move", first.as_bytes()));
            std::thread::sleep(Duration::from_millis(300));
            let (status, text) = post(address, "/move", second.as_bytes());
            let searched = searched.join().expect("no panic");
            (status == 503 && searched.0 == 200).then_some(text)
        };
        // On a busy machine the second request may be read before the first.
        let text = (0..5).find_map(|_| refused()).expect("the second request is refused");
        assert!(text.starts_with(expected), "{text}");
        let (status, text) = post(address, "/move", first.as_bytes());
        assert_eq!(status, 200, "no search is in progress: {text}");
        assert!(server.stop().contains("request refused"));
    }
}

#[test]
fn a_saved_match_knows_included_weights() {
    let folder = tempfile::tempdir().expect("a folder");
    let save = folder.path().join("match.save");
    let play = |games: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
        command.args(["match", TWO, "greedy", "--threads", "1", "--games", games, "--json"]);
        let text = ouro_testkit::process::run(command.arg("--save").arg(&save)).success();
        serde_json::from_str::<Value>(&text).expect("JSON")["games"].clone()
    };
    assert_eq!((play("2"), play("4")), (2.into(), 4.into()));
}

#[test]
fn a_wrong_command_line_is_one_line() {
    let refused = |arguments: &[&str], parts: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a repository");
        command.current_dir(repository).arg("serve").args(arguments);
        ouro_testkit::process::run(&mut command).assert_refused(64, parts);
    };
    refused(&["nobody"], &["player \"nobody\" is unknown; known are random, "]);
    refused(&["gredy"], &["did you mean greedy?", "snakgame; docs/players.md"]);
    refused(&["http{url=http://127.0.0.1:1}"], &["http{url=", "only `ouro match` asks a snake"]);
    refused(&["perfect"], &["perfect", "connect_four"]);
    refused(&["net{weights=included:best}"], &["included:best", "included:duel-minimax"]);
    refused(&["mcts{sims=0}"], &["sims", "1 to"]);
    refused(&["mcts{gumbel}"], &["sims or ms is missing"]);
    refused(&["--path", "/a/.."], &["/a/..", "a path is / or /NAME"]);
    refused(
        &["mcts{sims=8,weights=checkpoints/connect4.safetensors}"],
        &["connect_four", "name weights of battlesnake"],
    );
    refused(&["--color", "green"], &["green", "six hexadecimal digits"]);
    for address in ["here", "127.0.0.1", "localhost:8133", ":8000"] {
        refused(&["--listen", address], &[address, "--listen", "such as 127.0.0.1:8000"]);
    }
    refused(&["--margin", "1.5"], &["--margin", "it is a whole number 0 to 5000"]);
    refused(&["--path", "secret"], &["secret", "a path is / or /NAME"]);
    refused(&["--path", "/{snake}"], &["/{snake}", "a path is / or /NAME"]);
    refused(&["--snakes", "0"], &["0", "1 to 256"]);
    refused(&["minimax{depth=30}"], &["minimax{depth=30}", "give a smaller depth"]);
}
