//! Any bytes are a recording of official Battlesnake games that agrees with the engine, or are
//! refused with the line and the reason. A difference can be drawn.
//!
//! The first byte selects a recorded game, and the rest edits it. An input that starts with a
//! printable character is a recording itself.
#![no_main]

mod json_edits;

use std::fmt::Write;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ouro_game::battlesnake::conform::{ConformError, check};
use serde_json::Value;

/// Games of the official engine.
const GAMES: [&str; 5] = [
    include_str!("../seeds/recording/standard.jsonl"),
    include_str!("../seeds/recording/royale.jsonl"),
    include_str!("../seeds/recording/wrapped.jsonl"),
    include_str!("../seeds/recording/constrictor.jsonl"),
    include_str!("../seeds/recording/solo.jsonl"),
];

fn recorded() -> &'static [Value] {
    static RECORDED: OnceLock<Vec<Value>> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let parse = |text: &str| {
            assert_eq!(check("seed", text.as_bytes()).map(|counts| counts.games), Ok(1));
            let line = |line| serde_json::from_str::<Value>(line).expect("a line is JSON");
            Value::Array(text.lines().map(line).collect())
        };
        GAMES.into_iter().map(parse).collect()
    })
}

fuzz_target!(|bytes: &[u8]| {
    let games = recorded();
    let mut edited = String::new();
    let bytes = match bytes.split_first() {
        Some((&first, edits)) if first < b'\t' => {
            let mut game = games[usize::from(first) % games.len()].clone();
            json_edits::apply(&mut game, edits);
            for line in game.as_array().into_iter().flatten() {
                writeln!(edited, "{line}").expect("a string takes everything");
            }
            edited.as_bytes()
        }
        _ => bytes,
    };
    match check("file", bytes) {
        Ok(counts) => {
            let lines = bytes.split(|&byte| byte == b'\n').count() as u64;
            assert!(2 * counts.games + counts.turns <= lines, "{counts:?} in {lines} lines");
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.lines().count() == 1 && text.starts_with("file:"), "{text}");
            if let ConformError::Differs(difference) = error {
                assert!(!difference.to_string().is_empty());
            }
        }
    }
});
