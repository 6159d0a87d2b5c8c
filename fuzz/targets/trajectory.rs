//! Any bytes are a trajectory or are refused; either way they cost a bounded multiple of their
//! length in memory, and what is read is written back byte for byte.
#![no_main]

mod meter;

use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, OnceLock};

use ouro_game::GameConfig;
use ouro_replay::Trajectory;

/// What bytes may cost besides a multiple of their length.
const BASE: usize = 4 << 10;
/// Bytes of memory per byte. A ply of one move takes six bytes, and in memory a list of one entry.
const PER_BYTE: usize = 32;

/// The configuration, of which the bytes know nothing.
fn config() -> &'static Arc<GameConfig> {
    static CONFIG: OnceLock<Arc<GameConfig>> = OnceLock::new();
    CONFIG.get_or_init(|| Arc::new(GameConfig::by_name("tic_tac_toe").expect("it is in the box")))
}

fuzz_target!(|bytes: &[u8]| {
    let (read, peak) = meter::measure(|| Trajectory::decode(bytes, config()));
    let allowed = BASE + PER_BYTE * bytes.len();
    assert!(peak <= allowed, "{} bytes took {peak} of memory, {allowed} allowed", bytes.len());
    if let Ok(trajectory) = read {
        assert_eq!(trajectory.encode().as_deref(), Ok(bytes), "a trajectory has one form");
    }
});
