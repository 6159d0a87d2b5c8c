//! Line charts as SVG, with bands of uncertainty.
//!
//! Colours and widths are classes of the stylesheet, so a chart follows light and dark mode.

use std::fmt::Write;
use std::ops::RangeInclusive;

use maud::{Markup, html};

/// Size of a chart in SVG units. On a phone, its letters are then as large as those of the page.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 230.0;
/// Margins for the labels of the axes and lines.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 34.0;
/// Height of a line of text.
const LETTERS: f64 = 11.0;

/// A chart of lines over a common horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chart<'a> {
    /// What the chart shows, for screen readers.
    pub(super) title: &'a str,
    /// Label of the horizontal axis.
    pub(super) across: &'a str,
    /// Label of the vertical axis.
    pub(super) up: &'a str,
    /// The lines.
    pub(super) curves: Vec<Curve>,
    /// Constant levels, with their names.
    pub(super) levels: Vec<(String, f64)>,
}

/// A line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Curve {
    /// Its name, which labels it among several lines.
    pub(super) name: String,
    /// Its points, from left to right.
    pub(super) points: Vec<(f64, f64)>,
    /// Lower and upper end of the band around each point; empty for a curve without a band.
    pub(super) band: Vec<(f64, f64)>,
    /// Whether the points are marked.
    pub(super) marked: bool,
}

/// Maps values to coordinates.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale that spans the values. If all values are equal, the scale adds a margin on both
    /// sides.
    fn over(values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if high - low < 1e-9 * (1.0 + high.abs()) {
            let margin = (0.1 * high.abs()).max(0.5);
            (low, high) = (low - margin, high + margin);
        }
        Self { low, high, from, to }
    }

    /// Extends both ends to round numbers.
    fn rounded(mut self) -> Self {
        let step = step(self.high - self.low);
        self.low = (self.low / step).floor() * step;
        self.high = (self.high / step).ceil() * step;
        self
    }

    fn at(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + share * (self.to - self.from)
    }

    /// The round numbers within the range.
    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let step = step(self.high - self.low);
        let range: RangeInclusive<i64> =
            (self.low / step - 1e-6).ceil() as i64..=(self.high / step + 1e-6).floor() as i64;
        range.map(move |tick| tick as f64 * step)
    }
}

/// The least number of 1, 2, 5 or 10 times a power of ten that divides a range into at most 7.5 parts.
fn step(range: f64) -> f64 {
    let power = 10_f64.powf((range / 5.0).log10().floor());
    [1.0, 2.0, 5.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| range / step <= 7.5)
        .unwrap_or(10.0 * power)
}

/// A number with as many digits as it needs.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 10_000.0 => format!("{:.0}k", value / 1_000.0),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 0.001 => {
            let text = if size < 1.0 { format!("{value:.4}") } else { format!("{value:.2}") };
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.0e}"),
    }
}

impl Chart<'_> {
    /// The chart as SVG.
    pub(super) fn draw(&self) -> Markup {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let bands = self.curves.iter().flat_map(|curve| &curve.band);
        let heights = points()
            .map(|point| point.1)
            .chain(bands.flat_map(|&(low, high)| [low, high]))
            .chain(self.levels.iter().map(|level| level.1));
        let x = Scale::over(points().map(|point| point.0), (LEFT, WIDTH - RIGHT));
        let y = Scale::over(heights, (HEIGHT - BOTTOM, TOP)).rounded();
        let (left, right, bottom) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM);
        html! {
            svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
                aria-label=(self.title) {
                @for tick in y.ticks() {
                    @let place = format!("{:.1}", y.at(tick));
                    path.grid d=(format!("M{left} {place}H{right}")) {}
                    text.tick x=(left - 5.0) y=(place) text-anchor="end"
                        dominant-baseline="middle" { (number(tick)) }
                }
                @for tick in x.ticks() {
                    @let place = format!("{:.1}", x.at(tick));
                    text.tick x=(place) y=(bottom + 14.0) text-anchor="middle" { (number(tick)) }
                }
                text.axis x=(right) y=(HEIGHT - 5.0) text-anchor="end" { (self.across) }
                text.axis x="2" y=(HEIGHT - 5.0) { (self.up) }
                @for (name, place, label) in self.labels(&y) {
                    path.level d=(format!("M{left} {place:.1}H{right}")) {}
                    text.name x=(right) y=(format!("{label:.1}")) text-anchor="end" { (name) }
                }
                @for (index, curve) in self.curves.iter().enumerate() {
                    g class=(format!("line{}", index % 6)) {
                        @if !curve.band.is_empty() { path.band d=(curve.area(&x, &y)) {} }
                        path.curve d=(curve.line(&x, &y)) {}
                        @if curve.marked {
                            @for point in &curve.points {
                                circle cx=(format!("{:.1}", x.at(point.0)))
                                    cy=(format!("{:.1}", y.at(point.1))) r="2" {}
                            }
                        }
                    }
                }
            }
            @if self.curves.len() > 1 {
                ul.legend { @for (index, curve) in self.curves.iter().enumerate() {
                    li class=(format!("line{}", index % 6)) { span.swatch {} (curve.name) }
                } }
            }
        }
    }
}

impl Chart<'_> {
    /// For each level: its name, the height of its line and the height of its name. The name is
    /// above the line and above the names of lower levels, so that names do not overlap.
    fn labels(&self, y: &Scale) -> Vec<(&str, f64, f64)> {
        let mut levels: Vec<_> =
            self.levels.iter().map(|(name, level)| (&**name, y.at(*level))).collect();
        levels.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut ceiling = f64::INFINITY;
        let mut labels = Vec::new();
        for (name, place) in levels {
            let label = ceiling.min(place - 3.0);
            labels.push((name, place, label));
            ceiling = label - LETTERS;
        }
        labels
    }
}

impl Curve {
    fn line(&self, x: &Scale, y: &Scale) -> String {
        trace(self.points.iter().map(|&(at, value)| (x.at(at), y.at(value))), 'M')
    }

    /// The path along the upper ends, then back along the lower ends.
    fn area(&self, x: &Scale, y: &Scale) -> String {
        let ends = || self.points.iter().zip(&self.band);
        let upper = ends().map(|(point, band)| (x.at(point.0), y.at(band.1)));
        let lower = ends().rev().map(|(point, band)| (x.at(point.0), y.at(band.0)));
        format!("{}{}Z", trace(upper, 'M'), trace(lower, 'L'))
    }
}

fn trace(points: impl Iterator<Item = (f64, f64)>, first: char) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.enumerate() {
        let command = if index == 0 { first } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(path, "{command}{x:.1} {y:.1}");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers_that_hold_all_values() {
        for (values, ends) in [
            (vec![-13.0, 480.0], (-100.0, 500.0)),
            (vec![0.013, 0.021], (0.012, 0.022)),
            (vec![7.0], (6.2, 7.8)),
            (vec![], (0.0, 1.0)),
            (vec![f64::NEG_INFINITY, 3.0, 4.0], (3.0, 4.0)),
        ] {
            let scale = Scale::over(values.iter().copied(), (0.0, 1.0)).rounded();
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(
                close(scale.low, ends.0) && close(scale.high, ends.1),
                "{values:?}: {} {}",
                scale.low,
                scale.high
            );
            assert!((3..=9).contains(&scale.ticks().count()));
        }
    }

    #[test]
    fn a_band_runs_forth_along_its_upper_and_back_along_its_lower_ends() {
        let scale = |low, high| Scale { low, high, from: 0.0, to: 10.0 };
        let points = vec![(0.0, 1.0), (1.0, 2.0)];
        let curve = Curve { points, band: vec![(0.0, 2.0), (1.0, 4.0)], ..Curve::default() };
        let area = curve.area(&scale(0.0, 1.0), &scale(0.0, 4.0));
        assert_eq!(area, "M0.0 5.0L10.0 10.0L10.0 2.5L0.0 0.0Z");
    }

    #[test]
    fn names_of_levels_do_not_lie_upon_each_other() {
        let level = |name: &str, at| (name.to_owned(), at);
        let levels = vec![level("greedy", 50.0), level("random", 0.0), level("minimax", 51.0)];
        let chart = Chart { title: "", across: "", up: "", curves: Vec::new(), levels };
        let y = Scale { low: 0.0, high: 100.0, from: 100.0, to: 0.0 };
        let expected = [("random", 100.0, 97.0), ("greedy", 50.0, 47.0), ("minimax", 49.0, 36.0)];
        assert_eq!(chart.labels(&y), expected);
    }

    #[test]
    fn names_are_escaped() {
        let levels = vec![("<b>".to_owned(), 1.0)];
        let chart = Chart { title: "\"", across: "", up: "", curves: Vec::new(), levels };
        let svg = chart.draw().into_string();
        assert!(svg.contains("&lt;b&gt;") && svg.contains("aria-label=\"&quot;\""), "{svg}");
    }

    #[test]
    fn numbers_are_as_long_as_they_need_to_be() {
        let texts = [0.0, 12_345.0, -250.0, 2.50, 0.021, 0.0002].map(number);
        assert_eq!(texts, ["0", "12k", "-250", "2.5", "0.021", "2e-4"]);
    }
}
