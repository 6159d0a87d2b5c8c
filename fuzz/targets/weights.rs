//! Any bytes are weights or are refused; either way they cost little more memory than they are
//! long, and what is read writes itself back and can be evaluated.
#![no_main]

mod meter;

use libfuzzer_sys::fuzz_target;
use ouro_net::{Engine, Scratch, Weights};

/// What a file may cost besides a multiple of its length: the bookkeeping of a refusal.
const BASE: usize = 16 << 10;
/// Bytes of memory per byte of the file. A header of many short names costs the most.
const PER_BYTE: usize = 32;

fuzz_target!(|bytes: &[u8]| {
    let (read, peak) = meter::measure(|| Weights::from_safetensors(bytes));
    let allowed = BASE + PER_BYTE * bytes.len();
    assert!(peak <= allowed, "{} bytes took {peak} of memory, {allowed} allowed", bytes.len());
    let Ok(weights) = read else { return };

    let written = weights.to_safetensors();
    let again = Weights::from_safetensors(&written);
    assert_eq!(again.as_ref(), Ok(&weights), "what was written reads back");

    let (spec, engine) = (weights.spec(), Engine::new(&weights));
    let planes = vec![0.5; spec.planes.len()];
    let (mut logits, mut values) = (vec![0.0; spec.actions], [0.0]);
    engine.evaluate(&mut Scratch::new(), &planes, &mut logits, &mut values);
});
