//! Games with given results, for tests.

use super::play::PlayedGame;
use super::schedule::{Planned, schedule};

/// The games of a match with four seats, in which the entrant at an index of `winners` comes first and
/// all others share the last place.
pub(super) fn four_seats(entrants: usize, winners: &[usize]) -> (Vec<Planned>, Vec<PlayedGame>) {
    let planned = schedule(1, winners.len(), entrants, 4).expect("whole rounds");
    let played = planned.iter().zip(winners).enumerate().map(|(game, (planned, winner))| {
        let winner = planned.seats.iter().position(|entrant| entrant == winner);
        let outcomes = (0..4).map(|seat| if Some(seat) == winner { 1.0 } else { -1.0 });
        finished(outcomes.collect(), game)
    });
    let played = played.collect();
    (planned, played)
}

/// A game with these outcomes by seat.
pub(super) fn finished(outcomes: Vec<f32>, game: usize) -> PlayedGame {
    let scores = vec![0.0; outcomes.len()];
    PlayedGame { outcomes, scores, plies: 1, truncated: false, fingerprint: game as u64 }
}
