//! The [`Evaluator`] trait: values and priors of leaves.
//!
//! A search evaluates nothing itself; it emits leaves. The [`Scheduler`](crate::Scheduler)
//! gathers the leaves of many trees into one batch, calls an evaluator once, and returns each
//! estimate to its tree. A network therefore gets large batches however small each tree is.
//!
//! Contract: the estimate of a leaf depends on that leaf alone (its state, its symmetry, its
//! generator), never on the rest of the batch. Search results then do not depend on it either.

use std::fmt::Debug;

use ouro_game::{Game, PlayerSet, Rng, Symmetry};

mod cached;
mod rollout;

pub use cached::{CacheStats, Cached, PureEvaluator};
pub use rollout::Rollout;

/// A position to be evaluated. It belongs to the batch, so an evaluator may modify it.
#[derive(Clone, Debug)]
pub struct Leaf<G: Game> {
    /// The position, before the symmetry is applied.
    pub state: G::State,
    /// The players to move, at least one.
    pub movers: PlayerSet,
    /// The symmetry to evaluate the position under; the policy is mapped back.
    pub symmetry: Symmetry,
    /// The generator of this leaf.
    pub rng: Rng,
}

/// Evaluates batches of leaves.
pub trait Evaluator<G: Game>: Debug + Send {
    /// Pushes one estimate per leaf to `out`, in the order of `leaves`.
    ///
    /// `out` is empty and set up for `game`. Values are the expected future returns or the
    /// expected outcome of every player, `[players]`, depending on the objective of the search.
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates);
}

impl<G: Game, E: Evaluator<G> + ?Sized> Evaluator<G> for Box<E> {
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        (**self).evaluate(game, leaves, out);
    }
}

/// Estimates of a batch of leaves, in reused buffers.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    players: usize,
    actions: usize,
    /// `[leaves, players]`.
    values: Vec<f32>,
    /// `[rows, actions]`; a leaf has one row per mover, or none for uniform priors.
    priors: Vec<f32>,
    /// First row of each leaf, or [`UNIFORM`] or [`EXACT`].
    rows: Vec<u32>,
}

/// In place of a row: uniform priors.
const UNIFORM: u32 = u32::MAX;
/// In place of a row: the values are exact.
const EXACT: u32 = u32::MAX - 1;

/// The estimate of one leaf.
#[derive(Clone, Copy, Debug)]
pub struct Estimate<'a> {
    /// Value of each player, `[players]`.
    pub values: &'a [f32],
    /// Priors over the action space, `[movers, actions]`, lowest mover first; `None` for uniform
    /// priors. Each row is a softmax over the legal actions; searches renormalise it.
    pub priors: Option<&'a [f32]>,
    /// Whether the values are those of best play. A search with the solver then treats the leaf as an
    /// end of the game. The root is the exception: it is searched, because a decision needs an action.
    pub is_exact: bool,
}

impl Estimates {
    /// Empty estimates without memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Clears the estimates and sets them up for a game's sizes.
    pub fn reset<G: Game>(&mut self, game: &G) {
        self.players = game.players();
        self.actions = game.action_count();
        self.values.clear();
        self.priors.clear();
        self.rows.clear();
    }

    /// Number of estimates.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no estimates.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends an estimate with uniform priors and returns its values, `[players]`, all 0.
    #[inline]
    pub fn push_uniform(&mut self) -> &mut [f32] {
        self.rows.push(UNIFORM);
        self.push_values()
    }

    /// Appends an estimate that is exact and returns its values, `[players]`, all 0.
    #[inline]
    pub fn push_exact(&mut self) -> &mut [f32] {
        self.rows.push(EXACT);
        self.push_values()
    }

    /// Appends an estimate and returns its values, `[players]`, and its priors,
    /// `[movers, actions]`, all 0.
    #[inline]
    pub fn push(&mut self, movers: PlayerSet) -> (&mut [f32], &mut [f32]) {
        let first = self.priors.len();
        self.rows.push((first / self.actions.max(1)) as u32);
        self.priors.resize(first + movers.len() * self.actions, 0.0);
        let values = self.values.len();
        self.values.resize(values + self.players, 0.0);
        (&mut self.values[values..], &mut self.priors[first..])
    }

    /// Appends the estimates of another batch of the same game.
    pub fn append(&mut self, other: &Self) {
        let first = (self.priors.len() / self.actions.max(1)) as u32;
        let moved = |&row: &u32| if row < EXACT { first + row } else { row };
        self.rows.extend(other.rows.iter().map(moved));
        self.values.extend(&other.values);
        self.priors.extend(&other.priors);
    }

    /// The estimate of leaf `index`; `None` if there are fewer.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Estimate<'_>> {
        let &row = self.rows.get(index)?;
        let values = self.values.get(index * self.players..(index + 1) * self.players)?;
        let priors = (row < EXACT).then(|| {
            let next = self.rows[index + 1..].iter().find(|&&next| next < EXACT);
            let end = next.map_or(self.priors.len(), |&next| next as usize * self.actions);
            &self.priors[row as usize * self.actions..end]
        });
        Some(Estimate { values, priors, is_exact: row == EXACT })
    }

    #[inline]
    fn push_values(&mut self) -> &mut [f32] {
        let first = self.values.len();
        self.values.resize(first + self.players, 0.0);
        &mut self.values[first..]
    }
}

/// Uniform priors and value 0 for all players.
///
/// With the solver, a search then finds what the rules alone prove. In benchmarks, the cost of the
/// search itself remains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uniform;

impl<G: Game> Evaluator<G> for Uniform {
    fn evaluate(&mut self, _game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        for _ in leaves {
            out.push_uniform();
        }
    }
}
