//! Tables of hostile cases: which of them a test runs, and the report of what happened.
//!
//! A table has more cases than a developer has time for. A test runs a fixed part of them, spread
//! over the whole table, and all of them with `OURO_ATTACK=all`, as CI does.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The indices of the cases to run: every one with `OURO_ATTACK=all`, otherwise one in `one_in`.
pub fn cases(count: usize, one_in: usize) -> Vec<usize> {
    let all = std::env::var_os("OURO_ATTACK").is_some_and(|value| value == "all");
    (0..count).step_by(if all { 1 } else { one_in }).collect()
}

/// Runs `attack` on every case in two threads. Returns how often each result occurred.
///
/// Panics with all failures if there are any, so that one run shows every weak place.
pub fn run<T: Sync, R: Display>(
    cases: &[T],
    attack: impl Fn(&T) -> Result<R, String> + Sync,
) -> BTreeMap<String, usize> {
    let next = AtomicUsize::new(0);
    let (results, failures) = (Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            match attack(case) {
                Ok(result) => {
                    let mut results = results.lock().expect("no case panics while it counts");
                    *results.entry(result.to_string()).or_insert(0) += 1;
                }
                Err(failure) => {
                    failures.lock().expect("no case panics while it counts").push(failure);
                }
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let failures = failures.into_inner().expect("both threads have ended");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    results.into_inner().expect("both threads have ended")
}

/// Prints a line of the report if all cases run, as `cargo xtask attack` shows them.
pub fn report(text: impl Display) {
    if std::env::var_os("OURO_ATTACK").is_some() {
        crate::print_uncaptured(text);
    }
}
