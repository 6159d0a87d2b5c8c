//! Why the journal writer accepts no games, and the pause that it suggests to actors.
//!
//! Flow control stops actors in any case, because a stream that is not read fills up. With a
//! pause, games stay with the actor instead of in buffers. The pause is a hint. Each
//! acknowledgement replaces the previous pause, and zero ends it.

use std::time::Duration;

use ouro_replay::Policy;

use super::MAX_COMMANDS;

/// The pause while training is behind. Short, because the time that training needs is unknown.
/// [`PLENTY`] queued games last longer than this pause at rates below 640 games per second.
const CATCH_UP: Duration = Duration::from_millis(50);

/// Number of queued commands from which a pause is suggested. Half of the queue, so that games are
/// available as soon as training makes room.
const PLENTY: usize = MAX_COMMANDS / 2;

/// Why no game is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stall {
    /// Training is behind: the replay has no room for the next game at its ratio.
    ReplayFull,
    /// The disk is full.
    DiskFull,
}

/// The pause to suggest while `waiting` commands are queued.
pub(super) fn pause(stall: Option<Stall>, waiting: usize) -> Duration {
    match stall {
        // No game is accepted before the next attempt to write, which renews the pause.
        Some(Stall::DiskFull) => Policy::default().pause,
        Some(Stall::ReplayFull) if waiting >= PLENTY => CATCH_UP,
        Some(Stall::ReplayFull) | None => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_suggested_only_while_no_game_is_accepted_and_enough_wait() {
        let ms = |stall, waiting| pause(stall, waiting).as_millis();
        assert_eq!([0, PLENTY, MAX_COMMANDS].map(|waiting| ms(None, waiting)), [0; 3]);
        let behind = [0, PLENTY - 1, PLENTY, MAX_COMMANDS]
            .map(|waiting| ms(Some(Stall::ReplayFull), waiting));
        assert_eq!(behind, [0, 0, 50, 50]);
        // On a full disk the pause does not depend on the queue.
        assert_eq!([0, MAX_COMMANDS].map(|waiting| ms(Some(Stall::DiskFull), waiting)), [1_000; 2]);
    }
}
