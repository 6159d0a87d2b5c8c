//! An in-memory index of all matches, so that ratings and lists do not read the store.

use std::collections::{BTreeMap, BTreeSet};

use ouro_proto::Checkpoint;
use ouro_rating::ratings::{ListedPlayer, PairResults, Stopping};

use super::rows::{GameKey, MatchInfo, MatchSums, Promotion, StoredCluster};
use crate::player_id::{MatchKey, MatchKind, PlayerId};

/// Number of newest clusters of a rating match whose games are kept. A rating match may last a
/// whole run.
const KEPT_CLUSTERS: u32 = 64;

/// Two players are assumed to repeat their games if their match has this many clusters more than
/// twice those that count.
const REPEATING: u32 = 16;

/// All matches, with the sums of their games.
#[derive(Debug, Default)]
pub(crate) struct MatchIndex {
    matches: BTreeMap<u32, (MatchInfo, MatchSums)>,
    numbers: BTreeMap<MatchKey, u32>,
}

impl MatchIndex {
    pub(crate) fn new(rows: Vec<(MatchInfo, MatchSums)>) -> Self {
        let mut index = Self::default();
        for (info, sums) in rows {
            index.open(info, sums);
        }
        index
    }

    fn open(&mut self, info: MatchInfo, sums: MatchSums) {
        self.numbers.insert(info.key.clone(), info.number);
        self.matches.insert(info.number, (info, sums));
    }

    /// Adds an open match, unless it is known.
    pub(crate) fn add_match(&mut self, info: &MatchInfo) {
        if !self.matches.contains_key(&info.number) {
            self.open(info.clone(), MatchSums::default());
        }
    }

    /// Adds new clusters of a match.
    pub(crate) fn add_clusters(&mut self, number: u32, clusters: &[StoredCluster]) {
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

    /// Number of matches.
    pub(crate) fn len(&self) -> usize {
        self.matches.len()
    }

    /// Whether more rating games between two players are likely to be distinct from earlier ones.
    pub(crate) fn has_distinct_games(&self, a: &PlayerId, b: &PlayerId) -> bool {
        let number = self.numbers.get(&MatchKey::rating(a.clone(), b.clone()));
        let sums = number.and_then(|number| self.matches.get(number));
        sums.is_none_or(|(_, sums)| sums.clusters < 2 * sums.counted + REPEATING)
    }

    /// Number of stored clusters of a match.
    pub(crate) fn clusters(&self, key: &MatchKey) -> u32 {
        let number = self.numbers.get(key);
        let sums = number.and_then(|number| self.matches.get(number));
        sums.map_or(0, |(_, sums)| sums.clusters)
    }

    /// All games that count, in the form that the ratings take. Matches at the gate end by their
    /// results.
    pub(crate) fn pair_results(&self) -> Vec<PairResults> {
        self.matches
            .values()
            .map(|(info, sums)| PairResults {
                player: info.key.first.to_string(),
                opponent: info.key.second.to_string(),
                rankings: sums.rankings.iter().map(|(key, &count)| (key.clone(), count)).collect(),
                stopping: match info.key.kind {
                    MatchKind::Gate => Stopping::ByResults,
                    MatchKind::Rating => Stopping::Fixed,
                },
            })
            .collect()
    }

    /// A predicate for the games to keep: the games of promotions and of the last `matches`
    /// matches. Of a rating match only the newest games are kept.
    pub(crate) fn kept_games(
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

/// All players that have a strength before their first game: anchors, and checkpoints with their
/// parents.
pub(crate) fn listed_players<'a>(
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
        let rule = (key.kind == MatchKind::Gate).then(GateConfig::default);
        let (shape, player) = (ClusterShape { seats: 2 }, String::new());
        MatchInfo { number, key, shape, rule, player, opened_at: 0.0 }
    }

    fn clusters(count: u32, counts: bool) -> Vec<StoredCluster> {
        let result = |cluster| ClusterResult { cluster, games: Vec::new() };
        (0..count).map(|cluster| StoredCluster { result: result(cluster), counts }).collect()
    }

    fn generation(number: u32) -> PlayerId {
        Generation(number).into()
    }

    #[test]
    fn games_of_promotions_are_kept_longer_than_those_of_other_matches() {
        let mut index = MatchIndex::default();
        index.add_match(&info(0, MatchKey::gate(Generation(0), PlayerId::random())));
        index.add_match(&info(1, MatchKey::gate(Generation(1), generation(0))));
        index.add_match(&info(2, MatchKey::rating(generation(1), PlayerId::random())));
        index.add_clusters(2, &clusters(100, true));
        let promotion = Promotion {
            generation: Generation(0),
            beat: PlayerId::random(),
            score: Score::default(),
            promoted_at: 0.0,
        };
        let keeps = index.kept_games(&[promotion], 1);
        let kept = |number, cluster| keeps(GameKey { number, cluster, game: 0 });
        assert!(kept(0, 0) && !kept(1, 0));
        // Of a rating match only the newest games are kept.
        assert!(kept(2, 99) && kept(2, 36) && !kept(2, 35));
    }

    #[test]
    fn players_that_repeat_their_games_are_not_paired_again() {
        let mut index = MatchIndex::default();
        let (a, b) = (generation(1), PlayerId::random());
        assert!(index.has_distinct_games(&a, &b));
        index.add_match(&info(0, MatchKey::rating(a.clone(), b.clone())));
        index.add_clusters(0, &clusters(5, true));
        index.add_clusters(0, &clusters(20, false));
        assert!(index.has_distinct_games(&b, &a));
        index.add_clusters(0, &clusters(1, false));
        assert!(!index.has_distinct_games(&b, &a));
    }
}
