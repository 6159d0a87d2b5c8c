//! Any bytes are an episode or are refused; either way they cost a bounded multiple of their
//! length in memory, and what is read is written back byte for byte.
#![no_main]

mod meter;

use libfuzzer_sys::fuzz_target;
use ouro_replay::Episode;

/// What bytes may cost besides a multiple of their length.
const BASE: usize = 4 << 10;
/// Bytes of memory per byte. A ply of one move takes six bytes, and in memory three lists.
const PER_BYTE: usize = 32;

fuzz_target!(|bytes: &[u8]| {
    let (read, peak) = meter::measure(|| Episode::decode(bytes));
    let allowed = BASE + PER_BYTE * bytes.len();
    assert!(peak <= allowed, "{} bytes took {peak} of memory, {allowed} allowed", bytes.len());
    if let Ok(episode) = read {
        assert_eq!(episode.encode().as_deref(), Ok(bytes), "an episode has one form");
    }
});
