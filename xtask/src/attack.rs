//! Runs every case of the hostile tests and prints their reports.
//!
//! `cargo test` runs a part of each table. This command runs the tables whole: settings, damaged
//! files, floods, signals. `docs/reliability.md` shows the figures.

use anyhow::{Context, Result, ensure};

use crate::flaky::{Totals, totals};
use crate::shell::{self, cargo, say};

/// The tests with tables of hostile cases, each a module of the test program `hostile` of `ouro-cli`.
const TABLES: [&str; 4] = ["settings", "files", "signals", "floods"];

/// Runs the tables with these names, or all without any.
pub(crate) fn run(names: &[&str]) -> Result<()> {
    for name in names {
        ensure!(TABLES.contains(name), "{name:?} is unknown; known are {}", TABLES.join(", "));
    }
    let chosen = TABLES.iter().filter(|table| names.is_empty() || names.contains(table));
    let mut sum = 0;
    for table in chosen {
        // One table at a time: each uses two threads, and reports must not mix.
        let mut test = cargo(&["test", "--quiet", "--workspace", "--test", "hostile", "--"]);
        test.arg(format!("{table}::")).env("OURO_ATTACK", "all");
        let printed = shell::run_and_read(test);
        let printed = printed.with_context(|| format!("a case of the hostile {table} failed"))?;
        let Totals { passed, ignored, .. } = totals(&printed);
        // A name that no test has any more would pass.
        ensure!(passed > 0, "no test is named {table}::; correct TABLES");
        ensure!(ignored == 0, "{ignored} tests of the hostile {table} are ignored");
        sum += passed;
    }
    say(&format!("attack: {sum} tests passed"));
    Ok(())
}
