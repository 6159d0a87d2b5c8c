//! Throughput: acknowledged games per second, before and after a fault.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Time over which a rate is measured.
const WINDOW: Duration = Duration::from_secs(2);
/// Rates from which the normal one is taken.
const KEPT: usize = 30;
/// What a line of a send log has if its game was acknowledged and accepted.
const ACKNOWLEDGED: &str = "\"acked\":true";

/// Counts the acknowledged games of each actor.
#[derive(Debug)]
pub(crate) struct Meter {
    logs: Vec<SendLog>,
    /// Times with the number of games until then.
    samples: VecDeque<(Instant, u64)>,
    /// Rates of undisturbed seconds, oldest first.
    normal: VecDeque<f64>,
    /// When the last of them was taken.
    taken: Instant,
}

/// The send log of an actor.
#[derive(Debug)]
struct SendLog {
    path: PathBuf,
    read: u64,
    /// The start of a line whose end is not written yet.
    rest: String,
    games: u64,
}

impl SendLog {
    /// Reads what the actor has written since.
    fn read(&mut self) -> Result<()> {
        let Ok(mut file) = File::open(&self.path) else { return Ok(()) };
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        self.read += file.read_to_end(&mut bytes).context("a send log")? as u64;
        self.rest.push_str(&String::from_utf8_lossy(&bytes));
        let end = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let whole: String = self.rest.drain(..end).collect();
        self.games += whole.lines().filter(|line| line.contains(ACKNOWLEDGED)).count() as u64;
        Ok(())
    }
}

impl Meter {
    /// A meter of the actors with these send logs.
    pub(crate) fn new(logs: Vec<PathBuf>) -> Self {
        let log = |path| SendLog { path, read: 0, rest: String::new(), games: 0 };
        let logs = logs.into_iter().map(log).collect();
        let (samples, normal) = (VecDeque::new(), VecDeque::new());
        Self { logs, samples, normal, taken: Instant::now() }
    }

    /// Takes a sample. `is_calm`: no fault is active and none has to be recovered from.
    pub(crate) fn sample(&mut self, is_calm: bool) -> Result<()> {
        self.logs.iter_mut().try_for_each(SendLog::read)?;
        let now = Instant::now();
        self.samples.push_back((now, self.total()));
        while self.samples.get(1).is_some_and(|(time, _)| now - *time >= WINDOW) {
            self.samples.pop_front();
        }
        if !is_calm {
            self.taken = now;
        } else if now - self.taken >= WINDOW {
            self.taken = now;
            self.normal.push_back(self.rate());
            if self.normal.len() > KEPT {
                self.normal.pop_front();
            }
        }
        Ok(())
    }

    /// Games of all actors.
    pub(crate) fn total(&self) -> u64 {
        self.logs.iter().map(|log| log.games).sum()
    }

    /// Games of each actor.
    pub(crate) fn games(&self) -> Vec<u64> {
        self.logs.iter().map(|log| log.games).collect()
    }

    /// Games per second over the last seconds.
    pub(crate) fn rate(&self) -> f64 {
        let (Some((start, before)), Some((end, after))) =
            (self.samples.front(), self.samples.back())
        else {
            return 0.0;
        };
        let seconds = (*end - *start).as_secs_f64();
        if seconds > 0.0 { (after - before) as f64 / seconds } else { 0.0 }
    }

    /// The median of the undisturbed rates; `None` before the first.
    pub(crate) fn normal(&self) -> Option<f64> {
        let rates: Vec<f64> = self.normal.iter().copied().collect();
        median(&rates)
    }

    /// Number of undisturbed rates so far, at most [`KEPT`].
    pub(crate) fn calm_samples(&self) -> usize {
        self.normal.len()
    }
}

/// The median; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn acknowledged_games_are_counted_once_their_line_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.log");
        let mut meter = Meter::new(vec![path.clone(), folder.path().join("none")]);
        meter.sample(true).unwrap();
        let mut file = File::create(&path).unwrap();
        file.write_all(b"{\"acked\":false}\n{\"acked\":true}\n{\"acked\":tr").unwrap();
        meter.sample(true).unwrap();
        assert_eq!(meter.games(), [1, 0]);
        file.write_all(b"ue}\n").unwrap();
        meter.sample(true).unwrap();
        assert_eq!((meter.games(), meter.total()), (vec![2, 0], 2));
        assert!(meter.rate() > 0.0);
    }

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
