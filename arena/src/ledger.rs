//! What the arena keeps at hand of its matches, so that ratings and lists need no reading.

use std::collections::{BTreeMap, BTreeSet};

use ouro_proto::Checkpoint;
use ouro_rating::ratings::{ListedPlayer, PairResults};

use crate::player_id::{MatchKey, PlayerId};
use crate::store::{GameKey, MatchInfo, MatchSums, Played, Promotion};

/// Newest clusters of a match for ratings whose games are kept: it may go on for a whole run.
const KEPT_CLUSTERS: u32 = 64;

/// Clusters beyond twice those that count after which two players are taken to repeat themselves.
const REPEATING: u32 = 16;

/// Every match and what its games add up to.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    matches: BTreeMap<u32, (MatchInfo, MatchSums)>,
    numbers: BTreeMap<MatchKey, u32>,
}

impl Ledger {
    pub(crate) fn new(rows: Vec<(MatchInfo, MatchSums)>) -> Self {
        let mut ledger = Self::default();
        for (info, sums) in rows {
            ledger.open(info, sums);
        }
        ledger
    }

    fn open(&mut self, info: MatchInfo, sums: MatchSums) {
        self.numbers.insert(info.key.clone(), info.number);
        self.matches.insert(info.number, (info, sums));
    }

    /// Takes in a match that has begun, unless it is known.
    pub(crate) fn opened(&mut self, info: &MatchInfo) {
        if !self.matches.contains_key(&info.number) {
            self.open(info.clone(), MatchSums::default());
        }
    }

    /// Takes in new clusters.
    pub(crate) fn played(&mut self, number: u32, clusters: &[Played]) {
        if let Some((_, sums)) = self.matches.get_mut(&number) {
            clusters.iter().for_each(|played| sums.add(played));
        }
    }

    /// Every match, by number.
    pub(crate) fn matches(&self) -> impl DoubleEndedIterator<Item = &(MatchInfo, MatchSums)> {
        self.matches.values()
    }

    /// A match.
    pub(crate) fn get(&self, number: u32) -> Option<&(MatchInfo, MatchSums)> {
        self.matches.get(&number)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.matches.len()
    }

    /// Whether two players can be expected to play games for their ratings that they have not
    /// played before.
    pub(crate) fn is_fresh(&self, a: &PlayerId, b: &PlayerId) -> bool {
        let number = self.numbers.get(&MatchKey::rating(a.clone(), b.clone()));
        let sums = number.and_then(|number| self.matches.get(number));
        sums.is_none_or(|(_, sums)| sums.clusters < 2 * sums.counted + REPEATING)
    }

    /// Clusters of a match that are there.
    pub(crate) fn clusters(&self, key: &MatchKey) -> u32 {
        let number = self.numbers.get(key);
        let sums = number.and_then(|number| self.matches.get(number));
        sums.map_or(0, |(_, sums)| sums.clusters)
    }

    /// All games that count, for ratings.
    pub(crate) fn evidence(&self) -> Vec<PairResults> {
        self.matches
            .values()
            .map(|(info, sums)| PairResults {
                player: info.key.first.to_string(),
                opponent: info.key.second.to_string(),
                rankings: sums.rankings.iter().map(|(key, &count)| (key.clone(), count)).collect(),
            })
            .collect()
    }

    /// Which games are kept: those of promotions, and of the last `matches` matches, of matches
    /// for ratings the newest only.
    pub(crate) fn keeps(
        &self,
        promotions: &[Promotion],
        matches: u32,
    ) -> impl Fn(GameKey) -> bool + use<> {
        let promoted = promotions
            .iter()
            .map(|one| MatchKey::gate(one.generation, one.beat.clone()))
            .filter_map(|key| self.numbers.get(&key).copied());
        let promoted: BTreeSet<u32> = promoted.collect();
        let last =
            self.matches.iter().rev().take(matches as usize).map(|(number, (info, sums))| {
                let first = match info.rule {
                    Some(_) => 0,
                    None => sums.clusters.saturating_sub(KEPT_CLUSTERS),
                };
                (*number, first)
            });
        let last: BTreeMap<u32, u32> = last.collect();
        move |key| {
            promoted.contains(&key.number)
                || last.get(&key.number).is_some_and(|&first| key.cluster >= first)
        }
    }
}

/// Everybody who is to have a rating: anchors, and checkpoints with their parents.
pub(crate) fn lineage<'a>(
    anchors: impl Iterator<Item = &'a str>,
    checkpoints: &[Checkpoint],
) -> Vec<ListedPlayer> {
    let anchors = anchors.map(|name| ListedPlayer { player: name.to_owned(), parent: None });
    let checkpoints = checkpoints.iter().map(|row| ListedPlayer {
        player: row.generation.to_string(),
        parent: row.parent.map(|parent| parent.to_string()),
    });
    anchors.chain(checkpoints).collect()
}

#[cfg(test)]
mod tests {
    use ouro_net::Generation;

    use super::*;
    use ouro_rating::{ClusterResult, ClusterShape, GateConfig, Score};

    fn info(number: u32, key: MatchKey) -> MatchInfo {
        let rule = (key.kind == crate::MatchKind::Gate).then(GateConfig::default);
        let (shape, player) = (ClusterShape { seats: 2 }, String::new());
        MatchInfo { number, key, shape, rule, player, opened_at: 0.0 }
    }

    fn clusters(count: u32, counts: bool) -> Vec<Played> {
        let result = |cluster| ClusterResult { cluster, games: Vec::new() };
        (0..count).map(|cluster| Played { result: result(cluster), counts }).collect()
    }

    fn generation(number: u32) -> PlayerId {
        Generation(number).into()
    }

    #[test]
    fn games_of_promotions_stay_and_others_go_with_their_match() {
        let mut ledger = Ledger::default();
        ledger.opened(&info(0, MatchKey::gate(Generation(0), PlayerId::random())));
        ledger.opened(&info(1, MatchKey::gate(Generation(1), generation(0))));
        ledger.opened(&info(2, MatchKey::rating(generation(1), PlayerId::random())));
        ledger.played(2, &clusters(100, true));
        let promotion = Promotion {
            generation: Generation(0),
            beat: PlayerId::random(),
            score: Score::default(),
            promoted_at: 0.0,
        };
        let keeps = ledger.keeps(&[promotion], 1);
        let kept = |number, cluster| keeps(GameKey { number, cluster, game: 0 });
        assert!(kept(0, 0) && !kept(1, 0));
        // Of a match that may go on for a whole run, the newest games.
        assert!(kept(2, 99) && kept(2, 36) && !kept(2, 35));
    }

    #[test]
    fn players_that_repeat_their_games_are_not_paired_again() {
        let mut ledger = Ledger::default();
        let (a, b) = (generation(1), PlayerId::random());
        assert!(ledger.is_fresh(&a, &b));
        ledger.opened(&info(0, MatchKey::rating(a.clone(), b.clone())));
        ledger.played(0, &clusters(5, true));
        ledger.played(0, &clusters(20, false));
        assert!(ledger.is_fresh(&b, &a));
        ledger.played(0, &clusters(1, false));
        assert!(!ledger.is_fresh(&b, &a));
    }
}
