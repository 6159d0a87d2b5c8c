//! Why the ledger takes nothing in, and for how long actors had better send nothing then.
//!
//! They wait in any case: a stream that is not read fills up, and so does its actor. A pause lets
//! their games stay at home meanwhile instead of in the buffers between. It is a hint, worth
//! nothing that training could miss; each acknowledgement says it anew, and one that says zero
//! ends what an earlier one asked for.

use std::time::Duration;

use ouro_replay::Policy;

use super::ORDERS;

/// A pause for training to catch up in. Short, since nobody knows when it will have: what waits
/// when it is asked for lasts longer at anything below 640 games a second.
const CATCH_UP: Duration = Duration::from_millis(50);

/// Orders that must wait before anybody is asked to send none: half of what the ledger holds, so
/// that training finds games when it makes room.
const PLENTY: usize = ORDERS / 2;

/// Why nothing is taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Training is behind: a game has come for which there is no room in the replay at its ratio.
    Behind,
    /// The disk is full.
    DiskFull,
}

/// For how long nothing should be sent while so many orders are `waiting`.
pub(super) fn pause(hold: Option<Hold>, waiting: usize) -> Duration {
    match hold {
        // Nothing can be taken in before the next attempt to write, which says it anew.
        Some(Hold::DiskFull) => Policy::default().pause,
        Some(Hold::Behind) if waiting >= PLENTY => CATCH_UP,
        Some(Hold::Behind) | None => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_asked_for_only_while_nothing_is_taken_in_and_enough_waits() {
        let ms = |hold, waiting| pause(hold, waiting).as_millis();
        assert_eq!([0, PLENTY, ORDERS].map(|waiting| ms(None, waiting)), [0; 3]);
        let behind = [0, PLENTY - 1, PLENTY, ORDERS].map(|waiting| ms(Some(Hold::Behind), waiting));
        assert_eq!(behind, [0, 0, 50, 50]);
        // However little waits: it waits for the disk.
        assert_eq!([0, ORDERS].map(|waiting| ms(Some(Hold::DiskFull), waiting)), [1_000; 2]);
    }
}
