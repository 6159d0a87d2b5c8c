//! The report as text.

use std::fmt::Write as _;

use serde_json::Value;

use super::report::{Entry, Report};

impl Report {
    /// A few tables.
    pub(crate) fn summary(&self) -> String {
        let mut text = String::new();
        let word = |key: &str| self.machine[key].as_str().unwrap_or("unknown").to_owned();
        line(
            &mut text,
            &format!("{}, {} cores, {}", word("cpu"), self.machine["cores"], word("system")),
        );
        if let Some(gpu) = self.machine["nvidia_smi"].as_str() {
            line(&mut text, &format!("nvidia-smi: {gpu}"));
        }
        if let Some(missing) = self.machine["missing"].as_str() {
            line(&mut text, &format!("missing: {missing}"));
        }
        for entry in &self.entries {
            let Entry { part, note, outcome, seconds, .. } = entry;
            line(&mut text, &format!("\n{part} ({note}): {outcome}, {seconds:.0} s"));
            for finding in &entry.findings {
                if let Some(said) = said(finding) {
                    line(&mut text, &format!("  {said}"));
                }
            }
            if let Some(last) = entry.errors.as_deref().and_then(|errors| errors.lines().last()) {
                line(&mut text, &format!("  error output ends with: {last}"));
            }
        }
        line(&mut text, &format!("\n{:.0} s of {:.0}", self.seconds, self.budget.as_secs_f64()));
        text
    }
}

fn line(text: &mut String, said: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{said}");
}

/// A finding in words; `None` if it is only for the JSON.
fn said(finding: &Value) -> Option<String> {
    let number = |key: &str| finding[key].as_f64().unwrap_or(f64::NAN);
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    if let Some(threads) = finding["threads"].as_u64() {
        return Some(format!(
            "{threads:>3} threads  {:>9.0} positions/s  {:>7.1} games/s",
            number("positions_per_second"),
            number("games_per_second")
        ));
    }
    match finding["event"].as_str() {
        Some("progress") => {
            let elo = finding["best_elo"].as_f64();
            let elo = elo.map_or_else(String::new, |elo| format!("  best Elo {elo:.0}"));
            // Before the first steps there is no loss.
            let loss = finding["loss"].as_f64().filter(|loss| *loss > 0.0);
            let loss = loss.map_or_else(String::new, |loss| format!("  loss {loss:.3}"));
            return Some(format!(
                "{:>5.0} s  generation {:>3}  step {:>6}  {:>6} games{loss}{elo}",
                number("seconds"),
                number("generation"),
                number("step"),
                number("games")
            ));
        }
        Some("start") => return Some(format!("on {}", word(&finding["device"]))),
        Some(_) => return None,
        None => {}
    }
    match finding["finding"].as_str()? {
        "device" => {
            let adapter = &finding["adapter"];
            let driver =
                format!("{} {}", word(&adapter["driver"]), word(&adapter["driver_version"]));
            let features = finding["features"].as_array().into_iter().flatten().map(word);
            let features: Vec<String> = features.collect();
            Some(format!(
                "{}, {driver}, built with [{}]",
                word(&finding["name"]),
                features.join(", ")
            ))
        }
        "parity" => {
            let relative = |key: &str| finding[key]["relative"].as_f64().unwrap_or(f64::NAN);
            let verdict = if finding["agrees"] == true { "agrees" } else { "DISAGREES" };
            Some(format!(
                "{:<14}{verdict} with the CPU: outputs {:.1e}, loss {:.1e}, gradients {:.1e}",
                word(&finding["network"]),
                relative("outputs"),
                number("loss_relative"),
                relative("gradients")
            ))
        }
        "steps" => {
            let mode =
                finding["mode"].as_str().map_or_else(String::new, |mode| format!("  {mode}"));
            let between = finding["between_kernels"].as_f64();
            let between = between.map_or_else(String::new, |share| {
                format!("  {:>3.0} % between kernels", 100.0 * share)
            });
            Some(format!(
                "{:<14}{:>5}  {:>9.0} samples/s  {:>9.2} ms/step{between}{mode}",
                word(&finding["network"]),
                number("batch"),
                number("samples_per_second"),
                finding["ms_per_step"]["median"].as_f64().unwrap_or(f64::NAN)
            ))
        }
        "torch" => Some(format!("{} {}", word(&finding["version"]), word(&finding["device"]))),
        "failed" => Some(format!(
            "{:<14}{:>5}  {}  failed: {}",
            word(&finding["network"]),
            number("batch"),
            word(&finding["mode"]),
            word(&finding["error"])
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_summary_shows_what_failed_and_what_was_measured() {
        let entry = |outcome: &str, findings: Vec<Value>, errors: Option<&str>| Entry {
            part: "backend wgpu".into(),
            note: "WGSL".into(),
            outcome: outcome.into(),
            limit: Duration::from_secs(9),
            seconds: 4.2,
            findings,
            errors: errors.map(str::to_owned),
        };
        let steps = json!({
            "finding": "steps", "network": "small", "batch": 256, "samples_per_second": 51_200.0,
            "ms_per_step": { "median": 5.0 }, "between_kernels": 0.25,
        });
        let report = Report {
            kit: Value::Null,
            machine: json!({ "cores": 2 }),
            budget: Duration::from_secs(480),
            entries: vec![
                entry("ok", vec![steps], None),
                entry("signal 11 (SIGSEGV)", vec![], Some("first\nlast words")),
            ],
            seconds: 12.0,
        };
        let summary = report.summary();
        for part in [
            "small           256      51200 samples/s       5.00 ms/step   25 % between kernels",
            "backend wgpu (WGSL): signal 11 (SIGSEGV), 4 s",
            "error output ends with: last words",
            "12 s of 480",
        ] {
            assert!(summary.contains(part), "{part:?} is missing in\n{summary}");
        }
        assert_eq!(report.json()["parts"][1]["errors"], "first\nlast words");
    }
}
