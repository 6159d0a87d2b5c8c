//! Minimax without pruning: the slow, simple reference for the other searches.

use ouro_game::{ActionMask, Game, Turn};

use super::chance::{ChanceOutcomes, next_turn};
use super::deepening::{IterativeSearch, PassResult, PrincipalVariations, deepen};
use super::first_look::first_look;
use super::frame::Frames;
use super::node_counter::{NodeCounter, OutOfTime};
use super::query::{MinimaxResult, NotToMove, Query, Searcher, Step, check, decided, undecided};
use crate::heuristic::Heuristic;

/// Visits every position up to the horizon. The searching player maximises its own value, all
/// others minimise it.
#[derive(Debug)]
pub struct Plain<G: Game> {
    frames: Frames<G>,
    variations: PrincipalVariations,
    mask: ActionMask,
    scores: Vec<f32>,
}

impl<G: Game> Default for Plain<G> {
    fn default() -> Self {
        Self {
            frames: Frames::default(),
            variations: PrincipalVariations::default(),
            mask: ActionMask::default(),
            scores: Vec::new(),
        }
    }
}

impl<G: Game> Plain<G> {
    /// A searcher without allocated memory.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<G: Game> Searcher<G> for Plain<G> {
    fn search<E: Heuristic<G>>(
        &mut self,
        query: Query<'_, G>,
        heuristic: &mut E,
    ) -> Result<MinimaxResult, NotToMove> {
        check(&query)?;
        self.frames.place(query.game, 0, query.state);
        self.scores.resize(query.game.players(), 0.0);
        let counter = NodeCounter::new(query.limits.deadline);
        let mut run = Run { query, heuristic, memory: self, counter, turns: 0 };
        let memory = &mut *run.memory;
        memory.frames.open(0, &run.query, run.heuristic, &mut memory.mask);
        let root = memory.frames.get(0);
        let actions: Vec<_> = root.range(0).map(|place| root.candidate(place)).collect();
        // Without a deadline, one pass at full depth is enough.
        let first = if query.limits.deadline.is_some() { 1 } else { query.limits.turns };
        Ok(deepen(&mut run, &query, first, &actions))
    }
}

struct Run<'r, 'a, G: Game, E> {
    query: Query<'a, G>,
    heuristic: &'r mut E,
    memory: &'r mut Plain<G>,
    counter: NodeCounter<'a>,
    /// Depth of this pass.
    turns: u32,
}

impl<'a, G: Game, E: Heuristic<G>> IterativeSearch<'a> for Run<'_, 'a, G, E> {
    fn pass(&mut self, turns: u32) -> Result<PassResult, OutOfTime> {
        self.turns = turns;
        let value = self.ply(0, 0, 0, 0)?;
        let line = self.memory.variations.get(0).to_vec();
        let root = self.memory.frames.get(0);
        let action = line.first().map_or(root.candidate(0), |step| step.action);
        Ok(PassResult { action, value, values: None, line })
    }

    fn interrupted(&mut self) -> Option<PassResult> {
        if self.turns > 1 {
            return None;
        }
        let frames = &mut self.memory.frames;
        first_look(&self.query, self.heuristic, frames, &mut self.counter, 0)
    }

    fn is_proof(&self) -> bool {
        !self.counter.averaged
    }

    fn counter(&mut self) -> &mut NodeCounter<'a> {
        &mut self.counter
    }
}

impl<G: Game, E: Heuristic<G>> Run<'_, '_, G, E> {
    /// Value of the resolved position at `level`, `turns` from the root.
    fn visit(&mut self, level: usize, turns: u32, ply: usize) -> Result<f32, OutOfTime> {
        let Query { game, player, .. } = self.query;
        self.memory.variations.clear(ply);
        let turn = next_turn(game, self.heuristic, &mut self.memory.frames, level);
        let state = &self.memory.frames.get(level).state;
        match turn {
            Turn::Chance => self.chance_node(level, turns, ply),
            Turn::Move(_) if game.alive(state).contains(player) => {
                if turns >= self.turns {
                    self.counter.horizon = true;
                    self.counter.evaluation(self.heuristic.cost(1));
                    let scores = &mut self.memory.scores;
                    let score = self.heuristic.evaluate_player(game, state, player, scores);
                    return Ok(undecided(score));
                }
                self.memory.frames.open(level, &self.query, self.heuristic, &mut self.memory.mask);
                self.ply(level, turns, 0, ply)
            }
            Turn::Over | Turn::Move(_) => Ok(decided(game.outcome(state, player), turns)),
        }
    }

    fn chance_node(&mut self, level: usize, turns: u32, ply: usize) -> Result<f32, OutOfTime> {
        let game = self.query.game;
        self.counter.averaged = true;
        let mut outcomes = ChanceOutcomes::new(game, &self.memory.frames.get(level).state);
        let (mut sum, mut total) = (0.0, 0.0);
        while let Some(weight) = outcomes.advance(game, &mut self.memory.frames, level) {
            self.counter.node()?;
            sum += weight * f64::from(self.visit(level + 1, turns, ply)?);
            total += weight;
        }
        self.memory.variations.clear(ply);
        Ok((sum / total) as f32)
    }

    /// Value before the mover at `index` of the turn at `level` has chosen.
    fn ply(
        &mut self,
        level: usize,
        turns: u32,
        index: usize,
        ply: usize,
    ) -> Result<f32, OutOfTime> {
        let frame = self.memory.frames.get(level);
        if index == frame.movers() {
            self.memory.frames.resolve(self.query.game, level);
            return self.visit(level + 1, turns + 1, ply);
        }
        let (mover, range) = (frame.mover(index), frame.range(index));
        self.memory.variations.clear(ply);
        let own = mover == self.query.player;
        let mut best = if own { f32::NEG_INFINITY } else { f32::INFINITY };
        for place in range {
            self.counter.node()?;
            let frame = self.memory.frames.get_mut(level);
            let action = frame.candidate(place);
            frame.joint[mover] = action;
            let value = self.ply(level, turns, index + 1, ply + 1)?;
            let is_better = if own { value > best } else { value < best };
            if is_better {
                best = value;
                self.memory.variations.improve(ply, Step { player: mover, action });
            }
        }
        Ok(best)
    }
}
