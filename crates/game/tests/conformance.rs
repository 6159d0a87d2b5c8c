//! The engine repeats every turn of the recorded games, and its random draws obey the rules.

use std::fs::File;
use std::io::{BufReader, Read};

use flate2::bufread::GzDecoder;
use ouro_game::battlesnake::conform::{ConformError, Counts, check};

const FILES: [&str; 6] =
    ["constrictor", "royale", "solo", "standard", "wrapped", "wrapped_constrictor"];

fn recording(name: &str) -> String {
    let path = format!("tests/data/battlesnake/{name}.jsonl.gz");
    let file = File::open(&path).expect("the recordings are part of the crate");
    let mut text = String::new();
    GzDecoder::new(BufReader::new(file)).read_to_string(&mut text).expect("they are whole");
    text
}

#[test]
fn every_recorded_turn_is_repeated_exactly() {
    let mut counts = Counts::default();
    for name in FILES {
        match check(name, recording(name).as_bytes()) {
            Ok(checked) => counts += checked,
            Err(ConformError::Differs(difference)) => panic!("{difference}"),
            Err(damaged) => panic!("{damaged}"),
        }
    }
    assert_eq!(counts, Counts { games: 306, turns: 7_462, placements: 102 });
}
