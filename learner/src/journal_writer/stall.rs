//! Why the journal writer accepts no commands, and the pause that it suggests to actors.
//!
//! Flow control stops actors in any case: a stream that is not read fills up. During a pause their
//! games stay with the actor instead of in the buffers between. The pause is a hint. Each
//! acknowledgement replaces the pause of the one before, and zero ends it.

use std::time::Duration;

use ouro_replay::Policy;

use super::MAX_COMMANDS;

/// The pause while training is behind. Short, since the time that training needs is unknown: the
/// commands that wait last longer than this at anything below 640 games a second.
const CATCH_UP: Duration = Duration::from_millis(50);

/// Waiting commands from which a pause is suggested: half of the queue, so that training finds
/// games when it makes room.
const PLENTY: usize = MAX_COMMANDS / 2;

/// Why no command is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stall {
    /// Training is behind: the replay has no room for the next game at its ratio.
    ReplayFull,
    /// The disk is full.
    DiskFull,
}

/// The pause to suggest while so many commands wait.
pub(super) fn pause(stall: Option<Stall>, waiting: usize) -> Duration {
    match stall {
        // Nothing is accepted before the next attempt to write, which suggests a pause again.
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
        // On a full disk the queue does not matter.
        assert_eq!([0, MAX_COMMANDS].map(|waiting| ms(Some(Stall::DiskFull), waiting)), [1_000; 2]);
    }
}
