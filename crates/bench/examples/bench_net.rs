//! Times the CPU engine, alone or in comparison with another engine.
//!
//! - `bench_net [SECONDS]` times every case and batch size and prints one JSON document. Each
//!   figure is the median of rounds that take `SECONDS` in total, 1 by default.
//! - `bench_net write DIR` writes the weights of every case as `DIR/NAME.safetensors`.
//! - `bench_net serve` executes one command per line of standard input. Another program can thus
//!   alternate measurements of both engines. `load FILE BATCH` comes first. `time CALLS` answers
//!   in nanoseconds. `evaluate FILE` writes planes, logits and values as little-endian f32, in
//!   this order.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use ouro_bench::{BATCHES, EngineBench, network_cases};
use ouro_net::Weights;
use ouro_net::synthetic::random_weights;

type Failure = Box<dyn std::error::Error>;

/// Rounds per figure, which is their median.
const ROUNDS: usize = 15;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => all(1.0),
        ["write", folder] => write(Path::new(folder)),
        ["serve"] => serve(),
        [seconds] => all(seconds.parse()?),
        _ => Err("usage: bench_net [SECONDS | write DIR | serve]".into()),
    }
}

fn clock() -> impl FnMut() -> Duration {
    let start = Instant::now();
    move || start.elapsed()
}

fn all(seconds: f64) -> Result<(), Failure> {
    let least = Duration::try_from_secs_f64(seconds)? / ROUNDS as u32;
    let mut results = Vec::new();
    for case in network_cases() {
        let weights = random_weights(&case.spec, 1)?;
        for batch in BATCHES {
            let mut bench = EngineBench::new(&weights, batch);
            let figure = bench.microseconds(ROUNDS, least, &mut clock());
            results.push(serde_json::json!({
                "network": case.name,
                "batch": batch,
                "microseconds_per_position": figure,
                "instruction_set": bench.engine().instruction_set(),
            }));
        }
    }
    let text = serde_json::to_string_pretty(&serde_json::json!({ "results": results }))?;
    Ok(writeln!(io::stdout(), "{text}")?)
}

fn write(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    for case in network_cases() {
        let file = folder.join(format!("{}.safetensors", case.name));
        fs::write(file, random_weights(&case.spec, 1)?.to_safetensors())?;
    }
    Ok(())
}

fn serve() -> Result<(), Failure> {
    let mut bench: Option<EngineBench> = None;
    let mut now = clock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let loaded: Result<&mut EngineBench, _> =
            bench.as_mut().ok_or("no network is loaded; send load FILE BATCH");
        let answer = match words[..] {
            ["load", file, batch] => {
                let weights = Weights::from_safetensors(&fs::read(file)?)?;
                bench = Some(EngineBench::new(&weights, batch.parse()?));
                "ok".to_owned()
            }
            ["time", calls] => loaded?.time(calls.parse()?, &mut now).as_nanos().to_string(),
            ["evaluate", file] => {
                let (planes, logits, values) = loaded?.evaluate();
                let all = [planes, logits, values].concat();
                let bytes: Vec<u8> = all.iter().flat_map(|value| value.to_le_bytes()).collect();
                fs::write(file, bytes)?;
                "ok".to_owned()
            }
            _ => return Err(format!("command {line:?} is unknown").into()),
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
