//! The schedule of a match.
//!
//! A *lineup* is a choice of players. A *cluster* is one seed, played once per rotation of the
//! seats. Every player takes every seat, so all share the advantage of the start position.
//!
//! * Two or more seats, as many entrants: one lineup of all.
//! * More entrants than seats: every combination that fills the seats.
//! * Fewer entrants than seats: the last entrant takes the remaining seats.
//! * One seat: each entrant plays the same seeds; a cluster holds one game of each.

use ouro_players::pairs;

/// Maximum lineups of a match.
const MAX_LINEUPS: usize = 1_000;

/// Maximum games of a match.
pub(in crate::commands) const MAX_GAMES: usize = 10_000_000;

/// One game to play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct Planned {
    /// Number of the cluster. The games of a cluster share their seed and are not independent.
    pub(in crate::commands) cluster: usize,
    pub(in crate::commands) seed: u64,
    /// The entrant of each seat.
    pub(in crate::commands) seats: Vec<usize>,
}

/// Plans `games` games of every lineup, all on the same seeds. The error names the invalid value
/// and the remedy.
pub(in crate::commands) fn schedule(
    seed: u64,
    games: usize,
    entrants: usize,
    seats: usize,
) -> Result<Vec<Planned>, String> {
    let lineups = checked_lineups("--games", games, entrants, seats)?;
    let rounds = games / seats;
    let mut planned = Vec::with_capacity(games * lineups.len());
    for (index, lineup) in lineups.iter().enumerate() {
        // Single-player games are compared across lineups, other games within one.
        let first = if seats == 1 { 0 } else { index * rounds };
        planned.extend(pairs(seed, rounds, seats).into_iter().map(|game| Planned {
            cluster: first + game.pair,
            seed: game.seed,
            seats: game.seats.iter().map(|&place| lineup[place]).collect(),
        }));
    }
    Ok(planned)
}

/// The lineups of a match with `games` games of each. `option` is the option that sets `games`. The error
/// names the invalid value and the remedy.
pub(in crate::commands) fn checked_lineups(
    option: &str,
    games: usize,
    entrants: usize,
    seats: usize,
) -> Result<Vec<Vec<usize>>, String> {
    if games == 0 || !games.is_multiple_of(seats) {
        return Err(match seats {
            1 => format!("{option} is {games}; give 1 or more"),
            2 => format!(
                "{option} is {games}; give an even number of 2 or more, since games come in pairs"
            ),
            _ => format!(
                "{option} is {games}; give a multiple of {seats}, since a seed is played once per \
                 rotation of the {seats} seats"
            ),
        });
    }
    if entrants == 1 && seats > 1 {
        return Err(format!("one player for {seats} seats; name at least two"));
    }
    let lineups = lineups(entrants, seats);
    if lineups.len() > MAX_LINEUPS {
        return Err(format!(
            "{} lineups of {seats} out of {entrants} players; name fewer players, at most \
             {MAX_LINEUPS} lineups are played",
            lineups.len()
        ));
    }
    if games.checked_mul(lineups.len()).is_none_or(|all| all > MAX_GAMES) {
        return Err(format!(
            "{option} is {games} for each of {} lineups; give fewer, at most {MAX_GAMES} games are \
             played",
            lineups.len()
        ));
    }
    Ok(lineups)
}

/// Returns all lineups, as the [module](self) describes.
fn lineups(entrants: usize, seats: usize) -> Vec<Vec<usize>> {
    if entrants < seats {
        return vec![(0..seats).map(|seat| seat.min(entrants - 1)).collect()];
    }
    let mut lineups = vec![Vec::new()];
    for _ in 0..seats {
        lineups = lineups
            .into_iter()
            .flat_map(|lineup: Vec<usize>| {
                let next = lineup.last().map_or(0, |last| last + 1);
                (next..entrants).map(move |entrant| [&lineup[..], &[entrant]].concat())
            })
            // Bounds the memory; the caller refuses more than `MAX_LINEUPS`.
            .take(MAX_LINEUPS * MAX_LINEUPS)
            .collect();
    }
    lineups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_players_play_every_pairing_on_the_same_seeds() {
        let games = schedule(1, 4, 3, 2).expect("fits");
        let seats: Vec<_> = games.iter().map(|game| game.seats.clone()).collect();
        let expected = [[0, 1], [1, 0], [0, 1], [1, 0], [0, 2], [2, 0], [0, 2], [2, 0]];
        assert_eq!(seats[..8], expected.map(Vec::from));
        assert_eq!(seats.len(), 12);
        assert_eq!(games[0].seed, games[4].seed);
        assert_ne!(games[0].cluster, games[4].cluster);
        assert_eq!(games[0].cluster, games[1].cluster);
    }

    #[test]
    fn the_last_entrant_fills_the_seats_and_every_rotation_is_played() {
        let games = schedule(1, 4, 2, 4).expect("fits");
        let seats: Vec<_> = games.iter().map(|game| game.seats.clone()).collect();
        let expected = [[0, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1]];
        assert_eq!(seats, expected.map(Vec::from));
        assert!(games.iter().all(|game| game.cluster == 0));
    }

    #[test]
    fn games_played_alone_share_clusters_across_entrants() {
        let games = schedule(1, 3, 2, 1).expect("fits");
        let clusters: Vec<_> = games.iter().map(|game| (game.cluster, game.seats[0])).collect();
        assert_eq!(clusters, [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_remedy() {
        for (games, entrants, seats, part) in [
            (3, 2, 2, "even number"),
            (0, 2, 2, "even number"),
            (6, 2, 4, "multiple of 4"),
            (0, 1, 1, "1 or more"),
            (2, 1, 2, "at least two"),
            (4, 60, 4, "fewer players"),
            (usize::MAX - 1, 2, 2, "at most 10000000"),
        ] {
            let error = schedule(1, games, entrants, seats).expect_err("refused");
            assert!(error.contains(part), "{error}");
        }
    }
}
