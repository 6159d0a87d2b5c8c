//! Any text is a game record that replays to its end, or is refused in one line, in a bounded multiple
//! of its length and of its board in memory. What is accepted can be written and read back.
//!
//! The first byte selects a recorded game, and the rest edits it. An input that starts with a
//! printable character is a record itself. Each record is also replayed without its digests, which
//! would stop most replays at the first changed ply.
#![no_main]

mod json_edits;
mod meter;
mod random_play;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ouro_game::record::{Replay, ReplayError};
use ouro_game::{Game, GameConfig, GameRecord, GameVisitor};
use serde_json::Value;

/// Configurations of the recorded games.
const GAMES: [&str; 8] = [
    r#"{"game":"tic_tac_toe"}"#,
    r#"{"game":"connect_four"}"#,
    r#"{"game":"snake","size":6}"#,
    r#"{"game":"battlesnake","width":7,"height":7,"snakes":2}"#,
    r#"{"game":"battlesnake","map":"royale","shrink_every_n_turns":2}"#,
    r#"{"game":"battlesnake","ruleset":"wrapped_constrictor","width":19,"height":19,"snakes":8}"#,
    r#"{"game":"maze_dash","width":6,"height":5,"obstacles":7,"start":"free"}"#,
    r#"{"game":"snakgame","mode":"official","exit":true}"#,
];

/// Most plies of a recorded game.
const PLIES: usize = 12;

/// Most cells of a generated board of Maze Dash. Rules allow 40,000 cells, which take seconds and
/// megabytes to generate, and libFuzzer would take that for a hang. Such records are not replayed.
const MOST_GENERATED: u32 = 2_500;

/// Constant part of the allowed memory: the rules and states of the largest game with a board of a
/// bounded size, and the generator of [`MOST_GENERATED`] cells.
const BASE: usize = 512 << 10;
/// Allowed memory per cell of a board of SNAKGAME, of which there may be 360,000: two states of three
/// bits each, and a drawing of one byte, whose buffer doubles when it is full.
const PER_CELL: usize = 4;
/// Allowed memory per byte of the text. A number of two bytes takes 32 bytes while serde looks for
/// the name of the game.
const PER_BYTE: usize = 128;

/// Plays random legal actions and records them.
struct Play {
    config: GameConfig,
}

impl GameVisitor for Play {
    type Output = GameRecord;

    fn visit<G: Game>(self, game: G) -> GameRecord {
        random_play::play(&game, 7, PLIES).into_record(self.config)
    }
}

/// Replays the plies of a record without its digests.
struct Unverified<'a> {
    record: &'a GameRecord,
}

impl GameVisitor for Unverified<'_> {
    type Output = Result<(), ReplayError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let mut replay = Replay::of_plies(&game, self.record.seed, &self.record.plies);
        while replay.advance()? {}
        let state = replay.state();
        for player in 0..game.players() {
            assert!(game.outcome(state, player).abs() <= 1.0);
            assert!(!game.score(state, player).is_nan());
        }
        assert!(game.render(state).ends_with('\n'));
        Ok(())
    }
}

fn recorded() -> &'static [Value] {
    static RECORDED: OnceLock<Vec<Value>> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let play = |text| {
            let config: GameConfig = serde_json::from_str(text).expect("it is a configuration");
            let record = config.visit(Play { config: config.clone() }).expect("it can be played");
            assert_eq!(record.verify(), Ok(()), "{text}");
            serde_json::to_value(record).expect("records serialise")
        };
        GAMES.into_iter().map(play).collect()
    })
}

fn assert_line(error: &ReplayError) {
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
}

/// Whether a game begins with the generation of a board of more than [`MOST_GENERATED`] cells.
fn is_slow(config: &GameConfig) -> bool {
    let GameConfig::MazeDash(config) = config else { return false };
    config.board.is_none() && u32::from(config.width) * u32::from(config.height) > MOST_GENERATED
}

/// Allowed memory of a text, and of the record in it whose rules can be built.
fn allowed(text: &str, record: Option<&GameRecord>) -> usize {
    let cells = match record.map(|record| &record.config) {
        Some(GameConfig::Snakgame(config)) => config.cells(),
        _ => 0,
    };
    BASE + PER_BYTE * text.len() + PER_CELL * cells
}

/// Reads and replays a record. Returns it if its rules can be built.
fn read(text: &str) -> Option<GameRecord> {
    let record: GameRecord =
        GameRecord::from_json(text).map_err(|error| assert_line(&error)).ok()?;
    if is_slow(&record.config) {
        return None;
    }
    let verified = record.verify();
    if let Err(error) = &verified {
        assert_line(error);
    }
    match record.config.visit(Unverified { record: &record }) {
        Ok(Err(error)) => {
            assert_line(&error);
            assert!(verified.is_err(), "digests do not make an illegal game legal");
        }
        Ok(Ok(())) => {}
        Err(_) => return None,
    }
    Some(record)
}

fuzz_target!(|bytes: &[u8]| {
    let games = recorded();
    let edited;
    let text = match bytes.split_first() {
        Some((&first, edits)) if first < b'\t' => {
            let mut record = games[usize::from(first) % games.len()].clone();
            json_edits::apply(&mut record, edits);
            edited = record.to_string();
            &edited
        }
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => return,
        },
    };
    let (read, peak) = meter::measure(|| read(text));
    let allowed = allowed(text, read.as_ref());
    assert!(peak <= allowed, "{} bytes took {peak} of memory, {allowed} allowed", text.len());
    if let Some(record) = read {
        let written = serde_json::to_string(&record).expect("records serialise");
        assert_eq!(GameRecord::from_json(&written), Ok(record), "what was written reads back");
    }
});
