//! Sets of players.

/// A set of up to 16 players, one bit each, player 0 lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PlayerSet(pub u16);

impl PlayerSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// Players `0..count`, at most 16.
    pub const fn first(count: usize) -> Self {
        if count >= 16 { Self(u16::MAX) } else { Self((1 << count) - 1) }
    }

    /// The set of one player.
    pub const fn one(player: usize) -> Self {
        if player < 16 { Self(1 << player) } else { Self(0) }
    }

    /// Whether the player is in the set.
    pub const fn contains(self, player: usize) -> bool {
        player < 16 && self.0 >> player & 1 == 1
    }

    /// Number of players in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The players in the set, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..16).filter(move |&player| self.contains(player))
    }
}
