//! The state of a match at the gate, in numbers and in words.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Reason, Ruling, Verdict};
use crate::cluster::ClusterShape;
use crate::interval::Estimate;
use crate::score::Score;

/// The state of a match, running or decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateReport {
    /// Size of a cluster.
    pub shape: ClusterShape,
    /// Share of points that a candidate must exceed.
    pub threshold: f64,
    /// Most games that count.
    pub max_games: u32,
    /// Games that count.
    pub games: u32,
    /// Games that do not count, because a game of their cluster repeats an earlier one.
    pub duplicates: u32,
    /// The candidate's score against each opponent in each game that counts.
    pub score: Score,
    /// The candidate's share of points.
    pub share: f64,
    /// Lower end of the 95 % interval of the share, by clusters.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Mean difference of scores with its 95 % interval; `None` while no two clusters differ.
    pub margin: Option<Estimate>,
    /// The sequential test; `None` if the rule does not use it.
    pub sprt: Option<SprtReport>,
    /// The ruling, once the match is decided.
    pub ruling: Option<Ruling>,
}

/// The state of the sequential test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SprtReport {
    /// Log-likelihood ratio.
    pub ratio: f64,
    /// At or below it the test rejects.
    pub lower: f64,
    /// At or above it the test promotes.
    pub upper: f64,
    /// Share of points under the hypothesis that leads to rejection.
    pub low: f64,
    /// Share of points under the hypothesis that leads to promotion.
    pub high: f64,
    /// Half points of a cluster, and the number of clusters that took them.
    pub clusters: Vec<(u32, u32)>,
}

impl GateReport {
    /// The report in a few sentences; `candidate` played `champion`.
    pub fn explain(&self, candidate: &str, champion: &str) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, candidate, champion);
        text
    }

    fn write(&self, text: &mut String, candidate: &str, champion: &str) -> std::fmt::Result {
        let percent = |share: f64| 100.0 * share;
        if self.games == 0 {
            write!(text, "{candidate} against {champion}: no game counts yet.")?;
        } else {
            let clusters = self.games / self.shape.games();
            write!(
                text,
                "{candidate} took {:.1} % of the points against {champion} over {} games ({clusters} \
                 {}): {}; 95 % interval {:.1} to {:.1} %.",
                percent(self.share),
                self.games,
                self.shape.noun(clusters),
                self.shape.in_words(self.score),
                percent(self.low),
                percent(self.high),
            )?;
        }
        if let Some(Estimate { value, low, high }) = self.margin
            && self.shape.seats < 2
        {
            write!(text, " Its score is higher by {value:.2} ({low:.2} to {high:.2}).")?;
        }
        if self.duplicates > 0 {
            write!(
                text,
                " {} more games do not count: they repeat earlier ones.",
                self.duplicates
            )?;
        }
        let threshold = percent(self.threshold);
        let test = self.sprt.as_ref().map(|sprt| {
            format!(
                "log-likelihood ratio {:.2}, bounds {:.2} and {:.2}",
                sprt.ratio, sprt.lower, sprt.upper
            )
        });
        match (self.ruling, test) {
            (None, Some(test)) => write!(
                text,
                " Undecided: promotion takes more than {threshold:.1} % of at most {} games; {test}.",
                self.max_games
            ),
            (None, None) => write!(
                text,
                " Undecided: promotion takes more than {threshold:.1} % of {} games.",
                self.max_games
            ),
            (Some(Ruling { verdict, reason }), test) => {
                let (verdict, side) = match verdict {
                    Verdict::Promote => ("Promoted", "more"),
                    Verdict::Reject => ("Rejected", "no more"),
                };
                write!(text, " {verdict}: ")?;
                match reason {
                    Reason::AllPlayed => write!(
                        text,
                        "all {} games were played, and it took {side} than {threshold:.1} %.",
                        self.max_games
                    ),
                    Reason::Certain => write!(
                        text,
                        "whatever the result of the remaining games, it takes {side} than \
                         {threshold:.1} % of {}.",
                        self.max_games
                    ),
                    Reason::Sequential => write!(
                        text,
                        "the sequential test is sure enough that it takes {side} than \
                         {threshold:.1} % ({}).",
                        test.unwrap_or_default()
                    ),
                    Reason::TooFewDistinct => write!(
                        text,
                        "the players repeat their games, and too few were distinct to show more \
                         than {threshold:.1} %."
                    ),
                }
            }
        }
    }
}
