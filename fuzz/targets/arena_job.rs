//! Any bytes as a job of a worker, as its id, or as a worker's result are understood or refused in one
//! line. An accepted job reads back. The games of an accepted result are those of its text, legal to
//! the last ply.
//!
//! The first byte selects what the rest edits: a job or the honest result of a game. An input that
//! starts with a printable character is a text, in which PROGRAM stands for the version.
#![no_main]

mod json_edits;
mod random_play;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ouro_arena::store::StoredGame;
use ouro_arena::workers::testing::{Cluster, PROGRAM, read_id, read_job};
use ouro_arena::{MatchKey, PlayerId};
use ouro_game::{Game, GameConfig, GameVisitor, Turn};
use ouro_net::Generation;
use ouro_rating::ClusterShape;
use serde::Deserialize;
use serde_json::{Value, json};

/// Configurations with their seats.
const GAMES: [(&str, u32); 4] = [
    (r#"{"game":"tic_tac_toe"}"#, 2),
    (r#"{"game":"battlesnake","width":7,"height":7,"snakes":3}"#, 3),
    (r#"{"game":"snake","size":6}"#, 1),
    (r#"{"game":"connect_four"}"#, 2),
];

const SEED: u64 = 7;
const MAX_PLIES: usize = 24;

/// A match of which one result is read.
struct Match {
    game: GameConfig,
    key: MatchKey,
    shape: ClusterShape,
    result: Value,
}

/// The part of a result that a worker chooses.
#[derive(Deserialize)]
struct Games {
    games: Vec<StoredGame>,
}

impl Match {
    fn new(game: &str, seats: u32) -> Self {
        let game: GameConfig = serde_json::from_str(game).expect("it is a configuration");
        let key = MatchKey::gate(Generation(1), PlayerId::random());
        let (shape, mut games) = (ClusterShape { seats }, Vec::new());
        for first in 0..seats.max(2) {
            let seating = match seats {
                1 => vec![[&key.first, &key.second][first as usize].clone()],
                _ => (0..seats)
                    .map(|seat| if seat == first { &key.first } else { &key.second }.clone())
                    .collect(),
            };
            let play = Play { config: game.clone(), players: seating };
            games.push(game.visit(play).expect("it can be played"));
        }
        let result = json!({"number": 0, "cluster": 0, "games": games});
        let own = Self { game, key, shape, result };
        assert!(own.cluster().read(own.result.to_string().as_bytes()).is_ok(), "it is honest");
        own
    }

    fn cluster(&self) -> Cluster<'_> {
        let Self { game, key, shape, .. } = self;
        Cluster { game, key, shape: *shape, seed: SEED, max_plies: MAX_PLIES }
    }

    fn job(&self) -> Value {
        let network = json!({"network": {
            "player": "generation-1", "hash": "0".repeat(64), "size_bytes": 9
        }});
        json!({
            "head": {
                "form": 1, "program": PROGRAM, "number": 3, "key": self.key, "shape": self.shape,
                "game": self.game, "sides": [network, {"anchor": "random"}],
                "opening_plies": 2, "max_plies": MAX_PLIES
            },
            "cluster": 0, "seed": SEED
        })
    }

    fn read_job(&self, text: &[u8]) {
        match read_job(text, &self.game) {
            Ok(job) => {
                let again = read_job(job.as_bytes(), &self.game);
                assert_eq!(again.as_ref(), Ok(&job), "what was written reads back");
            }
            Err(error) => assert_eq!(error.lines().count(), 1, "{error}"),
        }
    }

    fn read_result(&self, text: &[u8]) {
        match self.cluster().read(text) {
            Ok((result, games)) => {
                let claimed: Games = serde_json::from_slice(text).expect("it was read");
                assert_eq!(games, claimed.games, "games are accepted as they were sent");
                assert_eq!(result.games.len() as u32, self.shape.games());
                for game in games {
                    assert_eq!(game.record.verify(), Ok(()));
                    assert!(game.record.plies.len() <= MAX_PLIES);
                }
            }
            Err(error) => assert_eq!(error.lines().count(), 1, "{error}"),
        }
    }
}

/// Plays a game of random legal actions.
struct Play {
    config: GameConfig,
    players: Vec<PlayerId>,
}

impl GameVisitor for Play {
    type Output = StoredGame;

    fn visit<G: Game>(self, game: G) -> StoredGame {
        let recorder = random_play::play(&game, SEED, MAX_PLIES);
        let state = recorder.state();
        let seats = 0..game.players();
        StoredGame {
            players: self.players,
            outcomes: seats.clone().map(|seat| game.outcome(state, seat)).collect(),
            scores: seats.map(|seat| game.score(state, seat)).collect(),
            truncated: game.turn(state) != Turn::Over,
            record: recorder.into_record(self.config),
        }
    }
}

fn matches() -> &'static [Match] {
    static MATCHES: OnceLock<Vec<Match>> = OnceLock::new();
    MATCHES.get_or_init(|| GAMES.into_iter().map(|(game, seats)| Match::new(game, seats)).collect())
}

fuzz_target!(|bytes: &[u8]| {
    let matches = matches();
    match bytes.split_first() {
        Some((&first, edits)) if first < b'\t' => {
            let own = &matches[usize::from(first / 2) % matches.len()];
            let is_job = first % 2 == 0;
            let mut document = if is_job { own.job() } else { own.result.clone() };
            json_edits::apply(&mut document, edits);
            let text = document.to_string();
            if is_job { own.read_job(text.as_bytes()) } else { own.read_result(text.as_bytes()) }
        }
        _ => {
            matches[0].read_result(bytes);
            let Ok(text) = std::str::from_utf8(bytes) else {
                return matches[0].read_job(bytes);
            };
            matches[0].read_job(text.replace("PROGRAM", PROGRAM).as_bytes());
            if let Some(id) = read_id(text) {
                assert_eq!(read_id(&id), Some(id), "what was written reads back");
            }
        }
    }
});
