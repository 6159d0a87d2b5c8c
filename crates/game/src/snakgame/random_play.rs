//! Random play: rollouts and the policy that guides them.
//!
//! Neither rollout starts a snake while the current one can be extended, and neither exits, even
//! where the rules allow it: hardly any such move is good, and on an open board nearly all legal
//! actions are of that kind. A turn then costs a few look-ups instead of a mask of all cells.

use super::cell_set::Words;
use super::chance::draw;
use super::rules::{EXTENSIONS, Meaning, Phase, Snakgame};
use super::side::Side;
use super::state::State;
use crate::rng::Rng;

/// Weights of an extension by the empty neighbours of its target: few are best, since such a cell
/// is soon lost, but none is a dead end. This is Warnsdorff's rule for knight's tours (1823).
const EXTENSION_WEIGHTS: [u32; 5] = [1, 32, 8, 2, 2];

/// How random play weighs the moves that it considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Uniform,
    Guided,
}

impl<W: Words> Snakgame<W> {
    /// Plays until the game is over or `limit` turns of players have been played. Chef's do not count.
    pub(super) fn play_at_random(
        &self,
        state: &mut State<W>,
        limit: u32,
        policy: Policy,
        rng: &mut Rng,
    ) {
        self.play_chef(state, rng);
        for _ in 0..limit {
            let Phase::Move(side) = self.phase(state) else { return };
            let meaning = random_move(state, side, policy, rng);
            self.make(state, side, meaning);
            self.play_chef(state, rng);
        }
    }

    /// Resolves Chef's turn, if it is due.
    pub(super) fn play_chef(&self, state: &mut State<W>, rng: &mut Rng) {
        if self.phase(state) == Phase::Chef {
            let outcome = draw(state, rng);
            let applied = self.resolve(state, outcome);
            debug_assert!(applied.is_ok(), "a drawn outcome applies");
        }
    }

    /// Writes the weights of the guided policy for a player, 0 if the player is not to move.
    pub(super) fn write_weights(&self, state: &State<W>, player: usize, weights: &mut [u32]) {
        weights.fill(0);
        let side = match self.phase(state) {
            Phase::Move(side) if side as usize == player => side,
            _ => return,
        };
        let extensions = state.extensions(side);
        if extensions == 0 {
            for index in state.empty.iter() {
                weights[index] = start_weight(state, index);
            }
            return;
        }
        let cells = self.config.cells();
        for extension in 0..EXTENSIONS {
            weights[cells + extension] = extension_weight(state, side, extensions, extension);
        }
    }
}

/// Weight of a possible extension; 0 if it is not possible.
fn extension_weight<W: Words>(
    state: &State<W>,
    side: Side,
    extensions: u8,
    extension: usize,
) -> u32 {
    let target = state.target(side, extension).filter(|_| extensions >> extension & 1 == 1);
    target.map_or(0, |target| EXTENSION_WEIGHTS[state.empty_neighbours(target) as usize])
}

/// Weight of a new snake: open cells are better.
fn start_weight<W: Words>(state: &State<W>, index: usize) -> u32 {
    1 + state.empty_neighbours(state.cell(index))
}

/// A move drawn in proportion to the policy's weights, with one draw.
fn random_move<W: Words>(state: &State<W>, side: Side, policy: Policy, rng: &mut Rng) -> Meaning {
    let extensions = state.extensions(side);
    let weight = |extension| match policy {
        Policy::Uniform => u32::from(extensions >> extension & 1),
        Policy::Guided => extension_weight(state, side, extensions, extension),
    };
    if extensions != 0 {
        let weights: [u32; EXTENSIONS] = std::array::from_fn(weight);
        return Meaning::Extend(crate::rollout::draw(&weights, rng).index());
    }
    let index = match policy {
        Policy::Uniform => state.empty.nth(rng.below(state.empty_count())),
        Policy::Guided => {
            let total = state.empty.iter().map(|index| start_weight(state, index)).sum();
            let mut drawn = rng.below(total);
            state.empty.iter().find(|&index| {
                let weight = start_weight(state, index);
                let found = drawn < weight;
                drawn = drawn.saturating_sub(weight);
                found
            })
        }
    };
    Meaning::New(state.cell(index.unwrap_or_default()))
}
