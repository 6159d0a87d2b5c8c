//! The rows of a store.

use std::collections::BTreeMap;

use ouro_game::GameConfig;
use ouro_game::record::GameRecord;
use ouro_net::{Generation, RunId};
use ouro_proto::Checkpoint;
use ouro_rating::gate::Verdict;
use ouro_rating::{
    ClusterResult, ClusterShape, Estimate, GateConfig, GateReport, Mean, Ranking, Score,
};
use serde::{Deserialize, Serialize};

use crate::player_id::{MatchKey, PlayerId};

/// The game and seed of a run. A store belongs to one run, so they never change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The game of all matches.
    pub game: GameConfig,
    /// Seed of all games.
    pub seed: u64,
}

/// The properties of a match, which are fixed when it is opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchInfo {
    /// Number of the match, from 0, in the order of opening.
    pub number: u32,
    /// The players and the purpose.
    pub key: MatchKey,
    /// Size of a cluster.
    pub shape: ClusterShape,
    /// The promotion rule; `None` for a rating match.
    pub rule: Option<GateConfig>,
    /// Name of the player that networks play as, such as `net{weights=self}`.
    pub player: String,
    /// Unix time of the opening, in seconds.
    pub opened_at: f64,
}

/// The stored results of one cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredCluster {
    /// The results.
    pub result: ClusterResult,
    /// Whether all games are distinct from earlier games of the match.
    pub counts: bool,
}

/// The sums of a match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchSums {
    /// Clusters played.
    pub clusters: u32,
    /// Clusters that count.
    pub counted: u32,
    /// Games that count.
    pub games: u32,
    /// Number of games that count, by ranking.
    #[serde(with = "pairs")]
    pub rankings: BTreeMap<Ranking, u32>,
    /// Share of points of each cluster that counts.
    pub shares: Mean,
}

impl MatchSums {
    /// Adds a cluster.
    pub fn add(&mut self, played: &StoredCluster) {
        self.clusters += 1;
        if played.counts {
            self.counted += 1;
            self.games += played.result.games.len() as u32;
            for game in &played.result.games {
                *self.rankings.entry(game.ranking.clone()).or_default() += 1;
            }
            self.shares.add(played.result.score().share());
        }
    }

    /// The score of the first player against each opponent in each game that counts.
    pub fn score(&self) -> Score {
        self.rankings.iter().map(|(ranking, &count)| ranking.score().times(count)).sum()
    }

    /// Share of points with its 95 % interval, computed from clusters.
    pub fn share(&self) -> Estimate {
        let value = self.score().share();
        // A game against several opponents is one trial, as at the gate.
        let Estimate { low, high, .. } = self.shares.share(self.games);
        Estimate { value, low: low.min(value), high: high.max(value) }
    }
}

/// A map as a list of pairs, because JSON keys are strings.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use ouro_rating::Ranking;

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<Ranking, u32>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        map.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Ranking, u32>, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

/// The key of one game. In games for one player, game 0 of a cluster is the first player's and
/// game 1 the second player's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameKey {
    /// Number of the match.
    pub number: u32,
    /// Cluster, from 0.
    pub cluster: u32,
    /// Game in the cluster, from 0: the seat of the first player.
    pub game: u32,
}

/// A game that can be replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredGame {
    /// Rules, seed and joint actions.
    pub record: GameRecord<GameConfig>,
    /// The player of each seat.
    pub players: Vec<PlayerId>,
    /// Result of each seat, 1 win to −1 loss.
    pub outcomes: Vec<f32>,
    /// Score of each seat in the game's own unit.
    pub scores: Vec<f32>,
    /// Whether it was truncated at the ply limit.
    pub truncated: bool,
}

/// The decision about a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The candidate.
    pub generation: Generation,
    /// Unix time, in seconds.
    pub decided_at: f64,
    /// The decision in words.
    pub explanation: String,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome for a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The gate reached a ruling.
    Ruled {
        /// Number of the match.
        number: u32,
        /// The opponent.
        champion: PlayerId,
        /// The final state of the match.
        report: Box<GateReport>,
    },
    /// The candidate was dropped without a verdict.
    Dropped {
        /// Why, in one line.
        reason: String,
        /// The newer generation that overtook it while it waited, if that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overtaken_by: Option<Generation>,
    },
}

impl Decision {
    /// Whether the candidate was dropped because a newer generation overtook it.
    pub fn is_overtaken(&self) -> bool {
        matches!(self.outcome, Outcome::Dropped { overtaken_by: Some(_), .. })
    }

    /// The promotion, if the candidate was promoted.
    pub fn promotion(&self) -> Option<Promotion> {
        let Outcome::Ruled { champion, report, .. } = &self.outcome else { return None };
        let ruling = report.ruling?;
        (ruling.verdict == Verdict::Promote).then(|| Promotion {
            generation: self.generation,
            beat: champion.clone(),
            score: report.score,
            promoted_at: self.decided_at,
        })
    }
}

/// A candidate that passed the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// The new champion.
    pub generation: Generation,
    /// The champion it beat.
    pub beat: PlayerId,
    /// Its score over the games that counted.
    pub score: Score,
    /// Unix time, in seconds.
    pub promoted_at: f64,
}

/// The start of a run, always entry 0 of its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStarted {
    /// Version of the form of all entries.
    pub version: u32,
    /// Identifies the run. The learner refuses an arena of another run.
    pub id: RunId,
    /// The game and the seed.
    pub run: Run,
}

/// One entry of the log. All tables of a store follow from the log (see
/// [`replay`](crate::store::replay())).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEntry {
    /// The run started.
    RunStarted(RunStarted),
    /// A checkpoint arrived.
    CheckpointPublished(Checkpoint),
    /// A match started.
    MatchStarted(MatchInfo),
    /// Games of a match ended.
    GamesPlayed {
        /// Number of the match.
        number: u32,
        /// Its new clusters.
        clusters: Vec<StoredCluster>,
    },
    /// A candidate was decided.
    CandidateDecided(Decision),
    /// The weights of a member of the pool cannot be read, so it no longer plays.
    CheckpointSetAside {
        /// The member.
        generation: Generation,
        /// The problem with its weights.
        reason: String,
        /// Unix time, in seconds.
        at: f64,
    },
    /// The weights of a member that was set aside can be read again.
    CheckpointRestored {
        /// The member.
        generation: Generation,
        /// Unix time, in seconds.
        at: f64,
    },
    /// The entry with this number was damaged, and `ouro repair` replaced it. Later entries that
    /// refer to it are skipped.
    Lost {
        /// The damage.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use ouro_rating::GameResult;

    use super::*;

    #[test]
    fn the_interval_of_a_match_counts_each_game_once_however_many_opponents_it_has() {
        let mut sums = MatchSums::default();
        for cluster in 0..2_u32 {
            let won = |number| GameResult {
                ranking: Ranking::new(1.0, &[-1.0; 3]),
                margin: 0.0,
                fingerprint: 4 * u64::from(cluster) + number,
            };
            let result = ClusterResult { cluster, games: (0..4).map(won).collect() };
            sums.add(&StoredCluster { result, counts: true });
        }
        let Estimate { value, low, high } = sums.share();
        let eight_won = Score { wins: 8, ..Score::default() };
        assert_eq!((value, (low, high)), (1.0, eight_won.interval()));
    }
}
