//! The events of a run and their two formats.
//!
//! Without a terminal each event is one line of JSON. The key `event` names the event, and these
//! structs define the other keys; `docs/events.md` has an example of each. On a terminal most
//! events are a line above the panel.

use std::fmt;

use ouro_net::Generation;
use ouro_rating::{Estimate, GateReport, Rating, RatingTable};
use serde::{Deserialize, Serialize, Serializer};

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event {
    /// The first event: folder, device, addresses and state of the run.
    Start(Start),
    /// The state of the run, every few seconds.
    Progress(Progress),
    /// A candidate joined the pool.
    Promotion(Decision),
    /// A candidate lost its match and did not join the pool.
    Rejection(Decision),
    /// A candidate was rejected without a match.
    Dropped {
        /// The candidate.
        generation: Generation,
        /// The reason.
        reason: String,
    },
    /// Candidates were rejected without a match, because a newer generation overtook them.
    Overtaken {
        /// The oldest of them.
        first: Generation,
        /// The newest of them.
        last: Generation,
        /// How many they are.
        count: usize,
        /// The generation that overtook them.
        by: Generation,
    },
    /// The learner or the arena waits for an operator, for example because the disk is full. A
    /// changed reason is a new event.
    Pause {
        /// The reason.
        reason: String,
    },
    /// The pause is over: neither the learner nor the arena waits.
    Resumed,
    /// The run stops and finishes its work in progress.
    Draining,
    /// The last event.
    End(End),
}

/// The first event: folder, device, addresses and state of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Start {
    /// Whether the run is new; if not, it resumes.
    pub(super) new: bool,
    /// The folder of the run.
    pub(super) run: String,
    /// Name of the game.
    pub(super) game: String,
    /// The device that the learner trains on.
    pub(super) device: String,
    /// Address of the arena.
    pub(super) arena: String,
    /// Address of the learner.
    pub(super) learner: String,
    /// URL of the web page; `None` if the page is off.
    pub(super) page: Option<String>,
    /// URL of the metrics; `None` if they are off.
    pub(super) metrics: Option<String>,
    /// Newest generation made.
    pub(super) generation: Generation,
    /// Optimiser steps taken.
    pub(super) step: u64,
    /// Games learned from.
    pub(super) games: u64,
    /// Optimiser steps between two generations.
    pub(super) generation_steps: u64,
    /// Positions that the learner needs before the first step.
    pub(super) min_positions: u64,
}

/// The state of a run, every few seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// Seconds since this start.
    pub(super) seconds: f64,
    /// Newest generation made.
    pub(super) generation: Generation,
    /// Optimiser steps taken.
    pub(super) step: u64,
    /// Games learned from.
    pub(super) games: u64,
    /// Positions learned from.
    pub(super) positions: u64,
    /// Games learned from, per second since the last progress event.
    pub(super) games_per_second: f64,
    /// Moves played, per second since the last progress event.
    pub(super) moves_per_second: f64,
    /// Total loss per position, of the last step whose loss was read; `None` before the first of this
    /// start.
    pub(super) loss: Option<f64>,
    /// Part of the loss from the policy.
    pub(super) policy_loss: Option<f64>,
    /// Part of the loss from the value.
    pub(super) value_loss: Option<f64>,
    /// Entropy of the policy, in nats.
    pub(super) entropy: Option<f64>,
    /// Mean return of recent games.
    pub(super) mean_return: f64,
    /// Positions in the replay window.
    pub(super) window_positions: u64,
    /// Capacity of the replay window, in positions.
    pub(super) window_capacity: u64,
    /// Mean age of the positions in the last batch, in generations.
    pub(super) staleness: f64,
    /// Checkpoints in the pool.
    pub(super) pool: usize,
    /// The checkpoint with the highest rating.
    pub(super) best: Option<Rated>,
    /// The current gate match, if any.
    pub(super) gate: Option<Match>,
}

/// A player and its rating.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rated {
    /// The player.
    pub(super) player: String,
    /// Elo above `random`.
    pub(super) elo: f64,
    /// Lower end of the 95 % interval.
    pub(super) elo_low: f64,
    /// Upper end of the 95 % interval.
    pub(super) elo_high: f64,
    /// Games behind the rating.
    pub(super) games: u32,
    /// Share of points, 0 to 1; a draw is half a point.
    pub(super) score: f64,
    /// Elo difference to the champion, with its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to_champion: Option<Estimate>,
}

/// The state or the result of a gate match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Match {
    /// The candidate.
    pub(super) candidate: String,
    /// The champion, which the candidate has to beat.
    pub(super) champion: String,
    /// Games counted so far.
    pub(super) games: u32,
    /// Maximum games of the match.
    pub(super) max_games: u32,
    /// Games won by the candidate; above two seats, comparisons with one opponent in one game.
    pub(super) wins: u32,
    /// Games or comparisons drawn.
    pub(super) draws: u32,
    /// Games or comparisons lost by the candidate.
    pub(super) losses: u32,
    /// Share of points of the candidate, 0 to 1.
    pub(super) score: f64,
    /// Lower end of the 95 % interval.
    pub(super) score_low: f64,
    /// Upper end of the 95 % interval.
    pub(super) score_high: f64,
    /// The share of points that a promotion must exceed.
    pub(super) threshold: f64,
}

/// The decision about a candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Decision {
    /// Seconds since this start.
    pub(super) seconds: f64,
    /// The candidate.
    pub(super) generation: Generation,
    /// The gate match.
    #[serde(flatten)]
    pub(super) played: Match,
    /// Checkpoints in the pool after the decision.
    pub(super) pool: usize,
    /// The decision in words.
    pub(super) explanation: String,
}

/// The last event.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct End {
    /// All players, strongest first.
    #[serde(serialize_with = "rated")]
    pub(super) ratings: RatingTable,
    /// The champion; `None` before the first promotion, and if all promoted weights are lost.
    pub(super) champion: Option<Champion>,
    /// The command that resumes the run.
    pub(super) resume: String,
}

/// The champion of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Champion {
    /// Its generation.
    pub(super) generation: Generation,
    /// The file of its weights, or their object in an object store.
    pub(super) weights: String,
}

fn rated<S: Serializer>(table: &RatingTable, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(table.ratings.iter().map(Rated::from))
}

impl From<&Rating> for Rated {
    fn from(rating: &Rating) -> Self {
        let &Rating { ref player, elo, elo_low, elo_high, games, score, to_champion } = rating;
        Self { player: player.clone(), elo, elo_low, elo_high, games, score, to_champion }
    }
}

impl Match {
    /// Converts the gate's report.
    pub(super) fn new(candidate: String, champion: String, report: &GateReport) -> Self {
        Self {
            candidate,
            champion,
            games: report.games,
            max_games: report.max_games,
            wins: report.score.wins,
            draws: report.score.draws,
            losses: report.score.losses,
            score: report.share,
            score_low: report.low,
            score_high: report.high,
            threshold: report.threshold,
        }
    }
}

/// The line above the panel; empty for events that appear only in the panel.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(start) => {
                let verb = if start.new { "new run of" } else { "resuming the run of" };
                write!(
                    f,
                    "{verb} {} in {}, from generation {}, step {}, {} games\ndevice {}; arena {}, \
                     learner {}",
                    start.game,
                    start.run,
                    start.generation.0,
                    start.step,
                    start.games,
                    start.device,
                    start.arena,
                    start.learner,
                )
            }
            Self::Progress(_) => Ok(()),
            Self::Promotion(decision) => {
                write!(f, "{}  PROMOTED {}", Clock(decision.seconds), decision.explanation)
            }
            Self::Rejection(decision) => {
                write!(f, "{}  rejected {}", Clock(decision.seconds), decision.explanation)
            }
            Self::Dropped { generation, reason } => {
                write!(f, "dropped {generation}: {reason}")
            }
            Self::Overtaken { first, last, count, by } => match count {
                1 => write!(f, "dropped {first}: overtaken by {by}"),
                _ => write!(f, "dropped {count} candidates, {first} to {last}: overtaken by {by}"),
            },
            Self::Pause { reason } => write!(f, "PAUSED: {reason}"),
            Self::Resumed => f.write_str("the run resumes"),
            Self::Draining => f.write_str("draining; Ctrl-C again stops at once"),
            Self::End(End { ratings, champion, resume }) => {
                write!(f, "{}", Table(ratings))?;
                match champion {
                    Some(Champion { generation, weights }) => {
                        writeln!(f, "champion {generation}: {weights}")?;
                    }
                    None => f.write_str("no champion\n")?,
                }
                write!(f, "resume with: {resume}")
            }
        }
    }
}

/// Displays seconds as hours, minutes and seconds.
pub(super) struct Clock(pub(super) f64);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The cast saturates, and NaN becomes 0.
        let seconds = self.0 as u64;
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

/// Rows of the rating table that are printed at the end.
const TABLE_ROWS: usize = 12;

/// Displays the strongest players as a table.
struct Table<'a>(&'a RatingTable);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = &self.0.ratings;
        f.write_str("player                Elo   95 % interval      to champion  games  score\n")?;
        for row in rows.iter().take(TABLE_ROWS) {
            let interval = format!("{:+.0} to {:+.0}", row.elo_low, row.elo_high);
            let to_champion = match row.to_champion {
                Some(Estimate { value, low, high }) if low < high => {
                    format!("{value:+.0} ± {:.0}", (high - low) / 2.0)
                }
                _ => "–".to_owned(),
            };
            writeln!(
                f,
                "{:<18} {:>+6.0}  {:>15}  {:>14}  {:>5}  {:>4.0} %",
                row.player,
                row.elo,
                interval,
                to_champion,
                row.games,
                100.0 * row.score
            )?;
        }
        match rows.len().saturating_sub(TABLE_ROWS) {
            0 => Ok(()),
            more => writeln!(f, "and {more} more; ask the arena's GetRatings for all"),
        }
    }
}

#[cfg(test)]
mod tests;
