//! Measures a learner under the load of many actors, beside hostile peers and without them.
//!
//! `cargo test` runs a short version of the test. This command runs it whole, and prints its
//! tables. `docs/benchmarks.md` shows the figures.

use anyhow::{Context, Result, ensure};

use crate::shell::{self, cargo};

/// Options of the test, each with a number.
const OPTIONS: [&str; 4] = ["actors", "rate", "seconds", "rounds"];

/// Runs with options such as `actors=200`.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let is_number = value.parse::<f64>().is_ok_and(|number| number > 0.0);
        let known = OPTIONS.join("=N, ");
        ensure!(OPTIONS.contains(&key) && is_number, "{word:?} is unknown; known are {known}=N");
    }
    let mut test = cargo(&["test", "--quiet", "--workspace", "--test", "load"]);
    test.env("OURO_LOAD", words.join(" "));
    shell::run(test).context("the load is not carried")
}
