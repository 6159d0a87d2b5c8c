//! Remembers what an evaluator said.

use std::fmt::Debug;

use ouro_game::{Game, PlayerSet, Symmetry};

use super::{Estimates, Evaluator, Leaf};

/// An [`Evaluator`] whose answer is a function of state, movers and symmetry alone: it draws
/// no random numbers. Only such answers may be kept.
pub trait PureEvaluator<G: Game>: Evaluator<G> {}

impl<G: Game> PureEvaluator<G> for super::Uniform {}

/// Answers from a table where it can, and asks `E` for the rest in one smaller batch.
///
/// One slot per position, found by [`Game::digest`]; a newer position takes the slot of an
/// older one. A hit needs the very same state, movers and symmetry, so with or without the
/// table a search does the same, bit for bit.
#[derive(Debug)]
pub struct Cached<G: Game, E> {
    inner: E,
    slots: Vec<Option<Slot<G>>>,
    stats: CacheStats,
    misses: Vec<Leaf<G>>,
    answers: Estimates,
    /// Per leaf of the batch: its slot, and its place among the misses if it is one.
    found: Vec<(usize, Option<usize>)>,
}

/// One remembered answer.
#[derive(Debug)]
struct Slot<G: Game> {
    state: G::State,
    movers: PlayerSet,
    symmetry: Symmetry,
    values: Vec<f32>,
    /// `[movers, actions]`, empty for uniform priors.
    priors: Vec<f32>,
}

/// How often the table helped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Leaves answered from the table.
    pub hits: u64,
    /// Leaves the inner evaluator was asked about.
    pub misses: u64,
}

impl<G: Game, E: PureEvaluator<G>> Cached<G, E> {
    /// A table of `slots` positions, at least 1, in front of `inner`.
    pub fn new(inner: E, slots: usize) -> Self {
        let mut table = Vec::new();
        table.resize_with(slots.max(1), || None);
        Self {
            inner,
            slots: table,
            stats: CacheStats::default(),
            misses: Vec::new(),
            answers: Estimates::new(),
            found: Vec::new(),
        }
    }

    /// Bytes that a slot takes once it is full, as far as they can be foreseen: what a state
    /// holds elsewhere is not counted.
    pub fn slot_bytes(game: &G) -> usize {
        let players = game.players();
        let floats = players + players * game.action_count();
        size_of::<Option<Slot<G>>>() + floats * size_of::<f32>()
    }

    /// Hits and misses so far.
    pub fn stats(&self) -> CacheStats {
        self.stats
    }

    /// Forgets everything, as after new weights.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = None);
    }
}

impl<G: Game> Slot<G> {
    fn answers(&self, leaf: &Leaf<G>) -> bool {
        self.movers == leaf.movers && self.symmetry == leaf.symmetry && self.state == leaf.state
    }
}

/// Copies an answer, `priors` empty for uniform ones.
fn copy(out: &mut Estimates, movers: PlayerSet, values: &[f32], priors: &[f32]) {
    if priors.is_empty() {
        out.push_uniform().copy_from_slice(values);
    } else {
        let (to_values, to_priors) = out.push(movers);
        to_values.copy_from_slice(values);
        to_priors.copy_from_slice(priors);
    }
}

impl<G: Game, E: PureEvaluator<G>> Evaluator<G> for Cached<G, E> {
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        self.found.clear();
        let mut missing = 0;
        for leaf in leaves.iter() {
            // The symmetries of one position go to slots of their own.
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
        // Answer first, replace later: a slot that is hit may also be about to be taken.
        for (leaf, &(index, miss)) in leaves.iter().zip(&self.found) {
            match (miss.and_then(|miss| self.answers.get(miss)), &self.slots[index]) {
                (Some(answer), _) => {
                    copy(out, leaf.movers, answer.values, answer.priors.unwrap_or(&[]));
                }
                (None, Some(slot)) => copy(out, leaf.movers, &slot.values, &slot.priors),
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
            });
            slot.state.clone_from(&leaf.state);
            (slot.movers, slot.symmetry) = (leaf.movers, leaf.symmetry);
            slot.values.clear();
            slot.values.extend_from_slice(answer.values);
            slot.priors.clear();
            slot.priors.extend_from_slice(answer.priors.unwrap_or(&[]));
        }
    }
}
