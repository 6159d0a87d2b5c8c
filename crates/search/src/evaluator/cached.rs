//! Caches the estimates of an evaluator.

use std::fmt::Debug;

use ouro_game::{Game, PlayerSet, Symmetry};

use super::{Estimate, Estimates, Evaluator, Leaf};

/// An [`Evaluator`] whose estimates depend on state, movers and symmetry alone, without random
/// numbers. Only such estimates can be cached.
pub trait PureEvaluator<G: Game>: Evaluator<G> {}

impl<G: Game> PureEvaluator<G> for super::Uniform {}

/// Returns cached estimates, and calls `E` for the remaining leaves in one smaller batch.
///
/// [`Game::digest`] maps a position to a slot; a newer position replaces an older one. A hit
/// requires equal state, movers and symmetry, so searches give the same results, bit for bit,
/// with and without the cache.
#[derive(Debug)]
pub struct Cached<G: Game, E> {
    inner: E,
    slots: Vec<Option<Slot<G>>>,
    stats: CacheStats,
    misses: Vec<Leaf<G>>,
    answers: Estimates,
    /// Per leaf of the batch: its slot, and its index among the misses if it is one.
    found: Vec<(usize, Option<usize>)>,
}

/// One cached estimate.
#[derive(Debug)]
struct Slot<G: Game> {
    state: G::State,
    movers: PlayerSet,
    symmetry: Symmetry,
    values: Vec<f32>,
    /// `[movers, actions]`, empty for uniform priors.
    priors: Vec<f32>,
    is_exact: bool,
}

/// Hits and misses of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Leaves found in the cache.
    pub hits: u64,
    /// Leaves that the inner evaluator evaluated.
    pub misses: u64,
}

impl<G: Game, E: PureEvaluator<G>> Cached<G, E> {
    /// A cache of `slots` positions in front of `inner`; without slots `inner` evaluates every leaf.
    pub fn new(inner: E, slots: usize) -> Self {
        let mut table = Vec::new();
        table.resize_with(slots, || None);
        Self {
            inner,
            slots: table,
            stats: CacheStats::default(),
            misses: Vec::new(),
            answers: Estimates::new(),
            found: Vec::new(),
        }
    }

    /// Estimated bytes of a full slot.
    pub fn slot_bytes(game: &G) -> usize {
        let players = game.players();
        let floats = players + players * game.action_count();
        let heap = game.state_bytes().saturating_sub(size_of::<G::State>());
        size_of::<Option<Slot<G>>>() + heap + floats * size_of::<f32>()
    }

    /// Hits and misses so far.
    pub fn stats(&self) -> CacheStats {
        self.stats
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Empties the cache, as after new weights.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = None);
    }

    /// Frees all slots for good. From now on the inner evaluator evaluates every leaf.
    pub fn free(&mut self) {
        self.slots = Vec::new();
        (self.misses, self.found) = (Vec::new(), Vec::new());
        self.answers = Estimates::new();
    }
}

impl<G: Game> Slot<G> {
    fn answers(&self, leaf: &Leaf<G>) -> bool {
        self.movers == leaf.movers && self.symmetry == leaf.symmetry && self.state == leaf.state
    }

    fn estimate(&self) -> Estimate<'_> {
        let priors = (!self.priors.is_empty()).then_some(&*self.priors);
        Estimate { values: &self.values, priors, is_exact: self.is_exact }
    }
}

/// Copies an estimate.
fn copy(out: &mut Estimates, movers: PlayerSet, estimate: Estimate<'_>) {
    match estimate.priors {
        _ if estimate.is_exact => out.push_exact().copy_from_slice(estimate.values),
        None => out.push_uniform().copy_from_slice(estimate.values),
        Some(priors) => {
            let (to_values, to_priors) = out.push(movers);
            to_values.copy_from_slice(estimate.values);
            to_priors.copy_from_slice(priors);
        }
    }
}

impl<G: Game, E: PureEvaluator<G>> Evaluator<G> for Cached<G, E> {
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        if self.slots.is_empty() {
            self.stats.misses += leaves.len() as u64;
            self.inner.evaluate(game, leaves, out);
            return;
        }
        self.found.clear();
        let mut missing = 0;
        for leaf in leaves.iter() {
            // The symmetry enters the key, so that images of one position do not share a slot.
            let key = game.digest(&leaf.state).wrapping_add(leaf.symmetry as u64);
            let index = (key % self.slots.len() as u64) as usize;
            let hit = self.slots[index].as_ref().is_some_and(|slot| slot.answers(leaf));
            self.found.push((index, (!hit).then_some(missing)));
            if !hit {
                match self.misses.get_mut(missing) {
                    Some(kept) => kept.clone_from(leaf),
                    None => self.misses.push(leaf.clone()),
                }
                missing += 1;
            }
        }
        self.stats.hits += (leaves.len() - missing) as u64;
        self.stats.misses += missing as u64;
        self.answers.reset(game);
        self.inner.evaluate(game, &mut self.misses[..missing], &mut self.answers);
        // Copies all results before it replaces slots, since a miss may replace a slot that
        // another leaf of this batch hits.
        for (leaf, &(index, miss)) in leaves.iter().zip(&self.found) {
            match (miss.and_then(|miss| self.answers.get(miss)), &self.slots[index]) {
                (Some(answer), _) => copy(out, leaf.movers, answer),
                (None, Some(slot)) => copy(out, leaf.movers, slot.estimate()),
                (None, None) => debug_assert!(false, "a leaf is a hit or has an answer"),
            }
        }
        for (leaf, &(index, miss)) in leaves.iter().zip(&self.found) {
            let Some(answer) = miss.and_then(|miss| self.answers.get(miss)) else { continue };
            let slot = self.slots[index].get_or_insert_with(|| Slot {
                state: leaf.state.clone(),
                movers: leaf.movers,
                symmetry: leaf.symmetry,
                values: Vec::new(),
                priors: Vec::new(),
                is_exact: false,
            });
            slot.state.clone_from(&leaf.state);
            (slot.movers, slot.symmetry) = (leaf.movers, leaf.symmetry);
            slot.is_exact = answer.is_exact;
            slot.values.clear();
            slot.values.extend_from_slice(answer.values);
            slot.priors.clear();
            slot.priors.extend_from_slice(answer.priors.unwrap_or(&[]));
        }
    }
}
