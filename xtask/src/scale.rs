//! What each part of a run can carry, computed from measured costs and checked by a simulation.
//!
//! [`costs`] has the measured costs, [`limits`] the formulas. [`simulation`] plays a run of many
//! actors in virtual time, and [`scenarios`] compares its saturation points with the formulas.
//! `docs/scale.md` shows the tables, which a test keeps up to date.

mod costs;
mod limits;
mod scenarios;
mod simulation;
mod table;

use std::fmt::Write as _;
use std::io::Write;

use anyhow::{Result, ensure};

use self::costs::Costs;
use self::scenarios::SCENARIOS;

/// Prints the tables for costs such as `ingest_us=2`; with `--simulate`, also the scenarios.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let (flags, values): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with("--"));
    ensure!(flags.iter().all(|flag| *flag == "--simulate"), "known is only --simulate");
    let costs = Costs::parse(&values)?;
    let mut text =
        format!("{}\n{}\n{}", table::costs(&costs), table::limits(&costs), table::hops(&costs));
    let mut failures = Vec::new();
    if !flags.is_empty() {
        let (rows, failed) = simulated();
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{rows}");
        failures = failed;
    }
    // A closed pipe is ignored, as by the other commands.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ensure!(failures.is_empty(), "formula and simulation disagree: {}", failures.join(", "));
    Ok(())
}

/// The table of all scenarios, and the names of those that fail.
fn simulated() -> (String, Vec<&'static str>) {
    let mut text =
        "| scenario, 1,000 actors | what | formula | simulation | difference, % | tolerance, % |\n\
                    |---|---|---|---|---|---|\n"
            .to_owned();
    let mut failures = Vec::new();
    for scenario in &SCENARIOS {
        let compared = scenario.compare();
        let difference: f64 = 100.0 * (compared.simulated / compared.formula - 1.0);
        if difference.abs() > 100.0 * scenario.tolerance {
            failures.push(scenario.name);
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {difference:+.1} | {:.0} |",
            scenario.name,
            scenario.what,
            table::number(compared.formula),
            table::number(compared.simulated),
            100.0 * scenario.tolerance,
        );
    }
    (text, failures)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::shell::root;

    /// The faster device of the second tables in the documentation.
    const FAST_DEVICE: [&str; 2] = ["training_samples_per_second=1000000", "generation_steps=2000"];

    #[test]
    fn a_thousand_simulated_actors_saturate_where_the_formulas_say() {
        let (rows, failures) = simulated();
        assert!(failures.is_empty(), "{failures:?}\n{rows}");
    }

    #[test]
    fn the_tables_in_the_documentation_are_up_to_date() {
        let page = fs::read_to_string(root().join("docs/scale.md")).unwrap();
        let costs = Costs::default();
        let fast = Costs::parse(&FAST_DEVICE).unwrap();
        let tables = [
            table::costs(&costs),
            table::limits(&costs),
            table::hops(&costs),
            table::limits(&fast),
            table::hops(&fast),
            simulated().0,
        ];
        for table in tables {
            assert!(page.contains(&table), "run cargo xtask scale --simulate; missing:\n{table}");
        }
    }

    #[test]
    fn costs_are_replaced_by_name() {
        let costs = Costs::parse(&["ingest_us=2", "batch=1024"]).unwrap();
        assert_eq!((costs.ingest_us, costs.batch), (2.0, 1_024.0));
        assert_eq!(costs.sync_ms, Costs::default().sync_ms);
        for wrong in ["ingest_us", "ingest_us=x", "ingest_us=0", "ingest_us=-1", "speed=1"] {
            assert!(Costs::parse(&[wrong]).is_err(), "{wrong}");
        }
    }
}
