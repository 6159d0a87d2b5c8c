//! Bytes are a valid weights file or are refused, within a bounded multiple of their length in
//! memory. Parsed weights serialise to equal weights and can be evaluated.
#![no_main]

mod meter;

use libfuzzer_sys::fuzz_target;
use ouro_net::{Engine, Scratch, Weights};

/// Constant part of the allowed memory, for the bookkeeping of a refusal.
const BASE: usize = 16 << 10;
/// Allowed memory per byte of the file. A header with many short names needs the most.
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
    let (mut logits, mut values) = (vec![0.0; spec.logits()], vec![0.0; spec.value_width()]);
    engine.evaluate(&mut Scratch::new(), &planes, &mut logits, &mut values);
});
