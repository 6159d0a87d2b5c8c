//! Time series on the page that other parts of the process supply, such as losses or games per
//! second.
//!
//! A process with a learner gets the [`Gauges`] from its [`Arena`](crate::Arena) and adds values.
//! When a line reaches [`MOST_POINTS`], pairs of neighbouring points are replaced by their means. A
//! line therefore spans the whole run in bounded memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Maximum number of points of a line: more than a chart has horizontal units.
pub const MOST_POINTS: usize = 512;
/// Maximum number of lines of all charts together; values of further lines are dropped.
pub const MOST_LINES: usize = 64;

/// The identity of a value: chart, line and unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge<'a> {
    /// The chart, such as `loss`.
    pub chart: &'a str,
    /// The line in the chart, such as `policy`.
    pub line: &'a str,
    /// The unit, such as `nats` or `games/s`; the unit of a chart is that of its first line.
    pub unit: &'a str,
}

/// Named time series. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    charts: Arc<Mutex<Vec<Chart>>>,
    changed: watch::Sender<()>,
}

/// Lines with one unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chart {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) lines: Vec<Line>,
}

/// Values of one gauge.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    /// Points as (seconds of training, value).
    pub(super) points: Vec<(f64, f64)>,
    /// The last value, without averaging.
    pub(super) last: f64,
    /// Values per point.
    stride: u32,
    /// Sums of times and values of the unfinished point, and the number of its values.
    unfinished: (f64, f64, u32),
}

impl Gauges {
    /// Adds a value `seconds` into the run. Values that are not finite are dropped.
    pub fn add(&self, gauge: Gauge<'_>, seconds: f64, value: f64) {
        if !seconds.is_finite() || !value.is_finite() {
            return;
        }
        let mut charts = self.held();
        let lines: usize = charts.iter().map(|chart| chart.lines.len()).sum();
        let known = charts.iter().position(|chart| chart.name == gauge.chart);
        let line = known.and_then(|chart| {
            let line = charts[chart].lines.iter().position(|line| line.name == gauge.line)?;
            Some((chart, line))
        });
        if let Some((chart, line)) = line {
            charts[chart].lines[line].add(seconds, value);
        } else if lines < MOST_LINES {
            let mut line = Line::new(gauge.line);
            line.add(seconds, value);
            match known {
                Some(chart) => charts[chart].lines.push(line),
                None => {
                    let (name, unit) = (gauge.chart.to_owned(), gauge.unit.to_owned());
                    charts.push(Chart { name, unit, lines: vec![line] });
                }
            }
        }
        drop(charts);
        self.changed.send_replace(());
    }

    /// All charts, in the order of their first values.
    pub(super) fn charts(&self) -> Vec<Chart> {
        self.held().clone()
    }

    /// Subscribes to notifications of changes.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn held(&self) -> MutexGuard<'_, Vec<Chart>> {
        self.charts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            points: Vec::new(),
            last: 0.0,
            stride: 1,
            unfinished: (0.0, 0.0, 0),
        }
    }

    fn add(&mut self, seconds: f64, value: f64) {
        self.last = value;
        let (times, values, count) = self.unfinished;
        let (times, values, count) = (times + seconds, values + value, count + 1);
        if count < self.stride {
            self.unfinished = (times, values, count);
            return;
        }
        self.unfinished = (0.0, 0.0, 0);
        self.points.push((times / f64::from(count), values / f64::from(count)));
        if self.points.len() == MOST_POINTS {
            let halved = self.points.chunks(2).map(|pair| {
                let sum = pair.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
                (sum.0 / pair.len() as f64, sum.1 / pair.len() as f64)
            });
            self.points = halved.collect();
            self.stride = self.stride.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSS: Gauge<'_> = Gauge { chart: "loss", line: "policy", unit: "nats" };

    #[test]
    fn a_long_line_spans_the_whole_run_in_few_points() {
        let gauges = Gauges::default();
        for step in 0..10_000 {
            gauges.add(LOSS, f64::from(step), f64::from(step));
        }
        let line = &gauges.charts()[0].lines[0];
        assert!((MOST_POINTS / 2..=MOST_POINTS).contains(&line.points.len()));
        assert!(line.points[0].0 < 40.0 && line.points.last().unwrap().0 > 9_900.0);
        // The mean of neighbouring points of a straight line lies on the line.
        assert!(line.points.iter().all(|(seconds, value)| seconds == value));
        assert_eq!(line.last, 9_999.0);
    }

    #[test]
    fn lines_share_a_chart_and_values_that_are_not_finite_are_dropped() {
        let gauges = Gauges::default();
        gauges.add(LOSS, 0.0, 1.0);
        gauges.add(Gauge { line: "value", ..LOSS }, 0.0, 2.0);
        gauges.add(LOSS, 1.0, f64::NAN);
        let charts = gauges.charts();
        assert_eq!((charts.len(), charts[0].lines.len()), (1, 2));
        assert_eq!(charts[0].lines[0].points, [(0.0, 1.0)]);
    }

    #[test]
    fn the_number_of_lines_is_bounded() {
        let gauges = Gauges::default();
        for line in 0..2 * MOST_LINES {
            gauges.add(Gauge { line: &line.to_string(), ..LOSS }, 0.0, 1.0);
        }
        assert_eq!(gauges.charts()[0].lines.len(), MOST_LINES);
    }
}
