//! The categories of a game by outcome and by length.

use ouro_replay::Seat;

/// Categories of the outcome of a game with one seat.
const SHARES: f32 = 8.0;

/// The seat with the best outcome, or the number of seats if several share it. With one seat, the
/// outcome from −1 to 1 in eighths of that range.
pub(super) fn outcome_category(seats: &[Seat]) -> usize {
    if let [seat] = seats {
        // The cast saturates, and NaN becomes 0.
        return ((seat.outcome.clamp(-1.0, 1.0) + 1.0) / 2.0 * SHARES).round() as usize;
    }
    let best = seats.iter().map(|seat| seat.outcome).fold(f32::NEG_INFINITY, f32::max);
    let mut winners = seats.iter().enumerate().filter(|(_, seat)| seat.outcome == best);
    match (winners.next(), winners.next()) {
        (Some((seat, _)), None) => seat,
        _ => seats.len(),
    }
}

/// The number of plies up to 15, and quarters of octaves beyond. At most 65 categories for the
/// longest game.
pub(super) fn length_category(plies: u32) -> usize {
    if plies < 16 {
        return plies as usize;
    }
    let octave = plies.ilog2() as usize;
    let quarter = (plies >> (octave - 2)) & 3;
    16 + 4 * (octave - 4) + quarter as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_follow_the_winner_and_the_length() {
        let seats = |outcomes: &[f32]| -> Vec<Seat> {
            let seat = |&outcome| Seat { generation: None, learns: true, outcome };
            outcomes.iter().map(seat).collect()
        };
        let outcome = |outcomes: &[f32]| outcome_category(&seats(outcomes));
        assert_eq!((outcome(&[1.0, -1.0]), outcome(&[-1.0, 1.0])), (0, 1));
        assert_eq!((outcome(&[0.0, 0.0]), outcome(&[0.3, -1.0, 0.3, -1.0])), (2, 4));
        assert_eq!((outcome(&[-1.0]), outcome(&[0.0]), outcome(&[1.0])), (0, 4, 8));
        assert_eq!(outcome(&[f32::NAN]), 0);
        let lengths = [0, 1, 15, 16, 19, 20, 31, 32, 65_536].map(length_category);
        assert_eq!(lengths, [0, 1, 15, 16, 16, 17, 19, 20, 64]);
        let mut last = 0;
        for plies in 0..=65_536 {
            let category = length_category(plies);
            assert!(category == last || category == last + 1, "{plies}");
            last = category;
        }
    }
}
