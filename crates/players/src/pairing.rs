//! Plans paired games and counts distinct games.
//!
//! Playing the same seeds with seats exchanged cancels the advantage of start position and seat.
//! Two deterministic players repeat the same game, so evidence is counted in distinct games.

use std::collections::BTreeSet;

use ouro_game::GameRecord;
use ouro_game::Rng;
use ouro_game::digest::digest_serialized;

use crate::game_batch::FinishedGame;

/// One game of a pair, or of a round with as many games as there are seats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedGame {
    /// Index of the pair, from 0.
    pub pair: usize,
    /// Seed of the game, the same within a pair.
    pub seed: u64,
    /// Index of the contestant at each seat.
    pub seats: Vec<usize>,
}

/// Plans `count` pairs for `players` contestants.
///
/// Each seed is played once per rotation of the seats, so that every contestant holds every seat
/// once. For two contestants that is one game, and the same game with seats swapped.
pub fn pairs(seed: u64, count: usize, players: usize) -> Vec<PairedGame> {
    (0..count)
        .flat_map(|pair| {
            let seed = Rng::indexed(seed, "pair", pair as u64).bits();
            (0..players).map(move |turn| PairedGame {
                pair,
                seed,
                seats: (0..players).map(|seat| (seat + turn) % players).collect(),
            })
        })
        .collect()
}

/// The fingerprint of a game: a hash of its seating, joint actions and state digests.
///
/// Repetitions of a game have equal fingerprints, even with different seeds.
pub fn fingerprint<C>(record: &GameRecord<C>, players: &[usize]) -> u64 {
    digest_serialized(&(players, &record.plies, &record.digests))
}

/// Number of games that are not repetitions of each other.
pub fn distinct<'a, C: 'a>(games: impl IntoIterator<Item = &'a FinishedGame<C>>) -> usize {
    let seen: BTreeSet<u64> =
        games.into_iter().map(|game| fingerprint(&game.record, &game.players)).collect();
    seen.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_swaps_two_seats_on_one_seed() {
        let games = pairs(7, 3, 2);
        assert_eq!(games.len(), 6);
        for (index, pair) in games.chunks_exact(2).enumerate() {
            assert_eq!((pair[0].pair, pair[1].pair), (index, index));
            assert_eq!(pair[0].seed, pair[1].seed);
            assert_eq!((&pair[0].seats[..], &pair[1].seats[..]), (&[0, 1][..], &[1, 0][..]));
        }
        let seeds: BTreeSet<u64> = games.iter().map(|game| game.seed).collect();
        assert_eq!(seeds.len(), 3);
        assert_eq!(games, pairs(7, 3, 2));
        assert_ne!(games, pairs(8, 3, 2));
        // A longer match starts with the shorter one.
        assert_eq!(games[..], pairs(7, 5, 2)[..6]);
    }

    #[test]
    fn a_round_of_four_puts_everybody_at_every_seat_once() {
        let games = pairs(7, 1, 4);
        assert_eq!(games.len(), 4);
        for seat in 0..4 {
            let sat: BTreeSet<usize> = games.iter().map(|game| game.seats[seat]).collect();
            assert_eq!(sat.len(), 4);
        }
        assert!(pairs(7, 0, 4).is_empty());
    }
}
