//! What a leaf is worth and which actions look good there: the [`Evaluator`] trait.
//!
//! A search does not evaluate anything itself. It hands out leaves; whoever drives it gathers
//! the leaves of many trees into one batch, asks an evaluator once, and gives every tree its
//! answer back. So a network sees large batches however small each tree is.
//!
//! Contract: the answer for a leaf depends on that leaf alone (its state, its symmetry, its
//! own randomness), never on what shares the batch. Then neither does any search.

use std::fmt::Debug;

use ouro_game::{Game, PlayerSet, Rng, Symmetry};

mod cached;
mod rollout;
mod uniform;

pub use cached::{CacheStats, Cached, PureEvaluator};
pub use rollout::Rollout;
pub use uniform::Uniform;

/// A position to be evaluated. It belongs to the batch, so an evaluator may use it up.
#[derive(Clone, Debug)]
pub struct Leaf<G: Game> {
    /// The position, as the game stands; the symmetry is not yet applied.
    pub state: G::State,
    /// Who is to move there, at least one player.
    pub movers: PlayerSet,
    /// Look at the position under this symmetry, and map the policy back.
    pub symmetry: Symmetry,
    /// Randomness for this leaf alone.
    pub rng: Rng,
}

/// Judges batches of leaves.
pub trait Evaluator<G: Game>: Debug + Send {
    /// Pushes one evaluation per leaf to `out`, in the order of `leaves`.
    ///
    /// `out` is empty and set up for `game`. Values are expected returns or outcomes to come
    /// for every player, `[players]`; whichever the search was configured to maximise.
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates);
}

impl<G: Game, E: Evaluator<G> + ?Sized> Evaluator<G> for Box<E> {
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        (**self).evaluate(game, leaves, out);
    }
}

/// Answers for a batch, in buffers that are reused.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    players: usize,
    actions: usize,
    /// `[leaves, players]`.
    values: Vec<f32>,
    /// `[rows, actions]`; a leaf has one row per mover, or none for uniform priors.
    priors: Vec<f32>,
    /// First row of each leaf, or [`UNIFORM`].
    rows: Vec<u32>,
}

const UNIFORM: u32 = u32::MAX;

/// The answer for one leaf.
#[derive(Clone, Copy, Debug)]
pub struct Estimate<'a> {
    /// Value for each player, `[players]`.
    pub values: &'a [f32],
    /// Priors over the action space, `[movers, actions]`, lowest mover first; `None` for
    /// uniform ones. Each row is a softmax over the legal actions; searches renormalise.
    pub priors: Option<&'a [f32]>,
}

impl Estimates {
    /// Room that has not grown yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the answers and sets them up for a game's sizes.
    pub fn reset<G: Game>(&mut self, game: &G) {
        self.players = game.players();
        self.actions = game.action_count();
        self.values.clear();
        self.priors.clear();
        self.rows.clear();
    }

    /// Number of answers.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no answer yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends an answer with uniform priors and returns its values, `[players]`, all 0.
    #[inline]
    pub fn push_uniform(&mut self) -> &mut [f32] {
        self.rows.push(UNIFORM);
        self.push_values()
    }

    /// Appends an answer and returns its values, `[players]`, and its priors,
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

    /// The answer for leaf `index`, or `None` if there are fewer.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Estimate<'_>> {
        let &row = self.rows.get(index)?;
        let values = self.values.get(index * self.players..(index + 1) * self.players)?;
        let priors = (row != UNIFORM).then(|| {
            let next = self.rows[index + 1..].iter().find(|&&next| next != UNIFORM);
            let end = next.map_or(self.priors.len(), |&next| next as usize * self.actions);
            &self.priors[row as usize * self.actions..end]
        });
        Some(Estimate { values, priors })
    }

    #[inline]
    fn push_values(&mut self) -> &mut [f32] {
        let first = self.values.len();
        self.values.resize(first + self.players, 0.0);
        &mut self.values[first..]
    }
}
