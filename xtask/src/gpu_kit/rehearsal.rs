//! Runs a kit of the test programs on a software adapter, with a backend that crashes and one that
//! hangs, and checks that the report tells all of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::build;
use super::manifest::{Backend, Manifest, Variant};
use crate::shell::{self, cargo, say};

/// A rehearsal that takes longer hides how long the kit takes.
const LONGEST_SECONDS: f64 = 180.0;

/// Builds the test programs, makes a kit of them, runs its script and checks the report.
pub(crate) fn run() -> Result<()> {
    // The same command as that of the tests, so that nothing is built twice.
    shell::run(cargo(&["test", "--quiet", "--workspace", "--no-run"]))?;
    let folder = std::env::temp_dir().join(format!("ouro-gpu-kit-{}", std::process::id()));
    let (kit, out) = (folder.join("kit"), folder.join("out"));
    assemble(&kit, &shell::target().join("debug"))?;
    let printed = Command::new(kit.join("run.sh"))
        .arg(&out)
        // Beside a build the parts are slow, so their shares of the time are large. Only the
        // training uses its time up.
        .args(["--minutes", "4", "--train-minutes", "0.3", "--rehearse"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start run.sh")?;
    ensure!(printed.status.success(), "run.sh ended with {}", printed.status);
    let report: Value = serde_json::from_slice(&printed.stdout).context("the report is no JSON")?;
    let written = fs::read_to_string(out.join("report.json"))?;
    ensure!(report == serde_json::from_str::<Value>(&written)?, "two reports differ");
    let problems = problems(&report);
    if !problems.is_empty() {
        bail!("{}\nthe report is in {}", problems.join("\n"), out.display());
    }
    say(&format!(
        "rehearsed in {:.0} s; every part is in the report",
        report["seconds"].as_f64().unwrap_or_default()
    ));
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Makes a kit of the programs in `binaries`, and of two that fail.
fn assemble(kit: &Path, binaries: &Path) -> Result<()> {
    fs::create_dir_all(kit.join("bin"))?;
    fs::create_dir_all(kit.join("lib"))?;
    for (from, to) in [
        (binaries.join("ouro"), Variant::Plain.program()),
        (binaries.join("examples/bench_selfplay"), "bin/bench_selfplay".to_owned()),
        // Not the running program: the build before may have replaced it.
        (binaries.join("xtask"), "bin/kit".to_owned()),
    ] {
        ensure!(from.exists(), "{} is missing", from.display());
        symlink(&from, kit.join(&to)).with_context(|| format!("cannot write {to}"))?;
    }
    build::copy_scripts(kit)?;
    let mut backends = Variant::Plain.backends();
    for (name, script) in
        [("crashes", "echo '{\"finding\":\"device\"}'; kill -SEGV $$"), ("hangs", "sleep 600")]
    {
        let program = format!("bin/{name}.sh");
        let path = kit.join(&program);
        fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        let (name, note, limit) = (name.to_owned(), "planted".to_owned(), Some(2.0));
        backends.push(Backend { name, note, program, environment: Vec::new(), limit });
    }
    let commit = build::commit()?;
    Manifest { commit, profile: "dev".to_owned(), backends }.write(kit)
}

/// What is wrong with the report of a rehearsal.
fn problems(report: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let parts = report["parts"].as_array().cloned().unwrap_or_default();
    let mut check = |name: &str, outcomes: &[&str], findings: &[(&str, &str)]| {
        let found: Vec<&Value> = parts.iter().filter(|part| part["part"] == name).collect();
        let [part] = found[..] else {
            problems.push(format!("{name} has {} entries", found.len()));
            return;
        };
        let outcome = part["outcome"].as_str().unwrap_or_default();
        if !outcomes.contains(&outcome) {
            let errors = part["errors"].as_str().unwrap_or_default();
            problems.push(format!("{name}: {outcome}, expected {outcomes:?}\n{errors}"));
            return;
        }
        let all = part["findings"].as_array().cloned().unwrap_or_default();
        for (key, value) in findings {
            if !all.iter().any(|one| one[*key] == *value || *value == "any" && !one[*key].is_null())
            {
                problems.push(format!("{name} has no finding with {key} {value}"));
            }
        }
    };
    let steps = [
        ("finding", "device"),
        ("finding", "parity"),
        ("finding", "steps"),
        ("busy_ms_per_step", "any"),
    ];
    check("backend wgpu", &["ok"], &steps);
    check("backend crashes", &["signal 11 (SIGSEGV)"], &[("finding", "device")]);
    check("backend hangs", &["timeout"], &[]);
    check("self-play", &["ok"], &[("positions_per_second", "any")]);
    // 77: PyTorch is not installed.
    check("torch", &["ok", "exit 77"], &[]);
    check("train", &["ok"], &[("event", "start"), ("event", "progress"), ("event", "end")]);
    let parity = parts.iter().filter_map(|part| part["findings"].as_array()).flatten();
    if parity.filter(|one| one["finding"] == "parity").any(|one| one["agrees"] != true) {
        problems.push("the adapter disagrees with the CPU".to_owned());
    }
    match report["seconds"].as_f64() {
        Some(seconds) if seconds < LONGEST_SECONDS => {}
        seconds => problems.push(format!("it took {seconds:?} s of {LONGEST_SECONDS}")),
    }
    if !report["machine"]["cores"].is_u64() {
        problems.push("the machine is not described".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> Value {
        let part = |name: &str, outcome: &str, findings: Value| json!({ "part": name, "outcome": outcome, "findings": findings });
        json!({
            "machine": { "cores": 2 },
            "seconds": 30.0,
            "parts": [
                part("backend wgpu", "ok", json!([
                    { "finding": "device" },
                    { "finding": "parity", "agrees": true },
                    { "finding": "steps", "busy_ms_per_step": 1.5 },
                ])),
                part("backend crashes", "signal 11 (SIGSEGV)", json!([{ "finding": "device" }])),
                part("backend hangs", "timeout", json!([])),
                part("self-play", "ok", json!([{ "positions_per_second": 9.0 }])),
                part("torch", "exit 77", json!([])),
                part("train", "ok", json!([
                    { "event": "start" }, { "event": "progress" }, { "event": "end" },
                ])),
            ],
        })
    }

    #[test]
    fn a_complete_report_has_no_problems() {
        assert_eq!(problems(&report()), Vec::<String>::new());
    }

    #[test]
    fn every_gap_in_a_report_is_named() {
        type Damage = fn(&mut Value);
        let cases: [(Damage, &str); 6] = [
            (|report| report["parts"][1]["outcome"] = "ok".into(), "backend crashes: ok"),
            (
                |report| report["parts"][0]["findings"][2]["busy_ms_per_step"] = Value::Null,
                "no finding with busy",
            ),
            (|report| report["parts"][0]["findings"][1]["agrees"] = false.into(), "disagrees"),
            (
                |report| drop(report["parts"].as_array_mut().unwrap().remove(5)),
                "train has 0 entries",
            ),
            (|report| report["seconds"] = 300.0.into(), "it took"),
            (|report| report["parts"][5]["findings"] = json!([]), "no finding with event progress"),
        ];
        for (damage, part) in cases {
            let mut report = report();
            damage(&mut report);
            let problems = problems(&report).join("\n");
            assert!(problems.contains(part), "{part:?} is missing in {problems}");
        }
    }
}
