//! Series that every process has: what it is, whether it drains, and what it uses.

use std::fmt;
use std::fs;

use tokio_util::sync::CancellationToken;

use super::source::{Readings, Source};
use crate::identity::identity;

crate::series! {
    /// The series of every process.
    pub const SERIES = [
        BUILD: Info "ouro_build_info" ["version", "service", "game", "run"]
            "Version of the program, its service (`learner`, `arena`, `actor` or `train`), and the game and the identifier of the run, which is empty until it is known; always 1.";
        DRAINING: Gauge "ouro_draining" []
            "1 while the process drains after a stop signal, else 0.";
        CPU: Counter "process_cpu_seconds_total" []
            "Processor time of all threads, in seconds (Linux only).";
        MEMORY: Gauge "process_resident_memory_bytes" []
            "Resident memory (Linux only).";
        FILES: Gauge "process_open_fds" []
            "Open file descriptors, connections included (Linux only).";
        MAX_FILES: Gauge "process_max_fds" []
            "Limit of open file descriptors (Linux only).";
        START: Gauge "process_start_time_seconds" []
            "Unix time of the start of the process (Linux only).";
    ];
}

/// Ticks per second of times in `/proc`: 100 on every architecture of Linux (`USER_HZ`).
const TICKS: f64 = 100.0;

/// The unit of sizes in `/proc/self/status`, which writes it `kB`.
const KIBIBYTE: u64 = 1 << 10;

/// Reads the series of the process.
#[derive(Debug)]
pub struct ProcessSource {
    stop: CancellationToken,
}

impl ProcessSource {
    /// A source of a process that drains once `stop` is cancelled.
    pub fn new(stop: CancellationToken) -> Self {
        Self { stop }
    }
}

impl Source for ProcessSource {
    fn read(&self, readings: &mut Readings<'_>) -> fmt::Result {
        let identity = identity();
        let [service, game, run] = [identity.service(), identity.game(), identity.run()];
        let version = env!("CARGO_PKG_VERSION");
        readings.info(&BUILD, [version, service, game, run])?;
        readings.one(&DRAINING, self.stop.is_cancelled())?;
        let text = |name: &str| fs::read_to_string(format!("/proc/{name}")).unwrap_or_default();
        let (stat, status) = (text("self/stat"), text("self/status"));
        readings.maybe(&CPU, cpu_seconds(&stat))?;
        readings.maybe(&MEMORY, resident_bytes(&status))?;
        let files = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
        readings.maybe(&FILES, files)?;
        readings.maybe(&MAX_FILES, max_files(&text("self/limits")))?;
        readings.maybe(&START, start_seconds(&stat, &text("stat")))
    }
}

/// A field of `/proc/self/stat` by its number in proc(5). Fields are counted after the name of the
/// program, which may contain spaces and parentheses.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS)
}

fn start_seconds(stat: &str, system: &str) -> Option<f64> {
    let boot = system.lines().find_map(|line| line.strip_prefix("btime "))?;
    Some(boot.trim().parse::<f64>().ok()? + field(stat, 22)? / TICKS)
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * KIBIBYTE)
}

/// The soft limit; `None` if there is none.
fn max_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_proc_are_read_whatever_the_program_is_called() {
        let stat = "42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 50 13 14 15 16 17 18 2000 20 21";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(start_seconds(stat, "cpu 1 2\nbtime 1000\n"), Some(1_020.0));
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t    12 kB\n"), Some(12 << 10));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  4096  files\n";
        assert_eq!(max_files(limits), Some(1_024));
        assert_eq!((cpu_seconds(""), resident_bytes(""), max_files("")), (None, None, None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_used_memory_time_and_files() {
        let text = |name: &str| fs::read_to_string(format!("/proc/{name}")).unwrap();
        assert!(resident_bytes(&text("self/status")).is_some_and(|bytes| bytes > 1 << 20));
        assert!(cpu_seconds(&text("self/stat")).is_some());
        let start = start_seconds(&text("self/stat"), &text("stat")).unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        // The boot time is rounded to a second.
        assert!((start - 2.0..start + 3_600.0).contains(&now.as_secs_f64()), "{start} {now:?}");
    }
}
