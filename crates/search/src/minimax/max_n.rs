//! MaxN: every player maximises its own score (Luckhardt and Irani, "An algorithmic solution of
//! n-person games", AAAI 1986).

use ouro_game::{ActionMask, Game, PlayerSet, Turn};

use super::chance::{ChanceOutcomes, next_turn};
use super::deepening::{IterativeSearch, PassResult, PrincipalVariations, deepen};
use super::first_look::first_look;
use super::frame::{Frames, SEATS};
use super::node_counter::{NodeCounter, OutOfTime};
use super::query::{MinimaxResult, NotToMove, Query, Searcher, Step, check, decided, undecided};
use crate::heuristic::Heuristic;

/// One value per seat.
type Values = [f32; SEATS];

/// Per seat, the turn of its elimination on the path from the root.
#[derive(Clone, Copy)]
struct EliminationTurns([Option<u32>; SEATS]);

impl EliminationTurns {
    /// The eliminations after `turns`, given the seats alive.
    fn then(&self, alive: PlayerSet, turns: u32) -> Self {
        let mut eliminated = *self;
        for (seat, since) in eliminated.0.iter_mut().enumerate() {
            if !alive.contains(seat) {
                since.get_or_insert(turns);
            }
        }
        eliminated
    }

    /// The turns after which the outcome of a seat was decided in a game that is over after
    /// `turns`.
    fn decided_after(&self, seat: usize, turns: u32) -> u32 {
        self.0[seat].unwrap_or(turns)
    }
}

/// Backs up a vector with a value per player; each ply takes the vector that is best for its
/// mover.
///
/// There is no pruning, since none is sound for values without a constant sum. Of actions that are
/// equally good for another player, the one that is worst for the searching player is assumed. A
/// line ends when the searching player is eliminated. An eliminated seat has the value of its
/// outcome in the turn of its elimination, so every seat delays its own elimination.
#[derive(Debug)]
pub struct MaxN<G: Game> {
    frames: Frames<G>,
    variations: PrincipalVariations,
    mask: ActionMask,
}

impl<G: Game> Default for MaxN<G> {
    fn default() -> Self {
        Self {
            frames: Frames::default(),
            variations: PrincipalVariations::default(),
            mask: ActionMask::default(),
        }
    }
}

impl<G: Game> MaxN<G> {
    /// A searcher without allocated memory.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<G: Game> Searcher<G> for MaxN<G> {
    fn search<E: Heuristic<G>>(
        &mut self,
        query: Query<'_, G>,
        heuristic: &mut E,
    ) -> Result<MinimaxResult, NotToMove> {
        check(&query)?;
        self.frames.place(query.game, 0, query.state);
        let counter = NodeCounter::new(query.limits.deadline);
        let mut run = Run { query, heuristic, memory: self, counter, turns: 0 };
        let memory = &mut *run.memory;
        memory.frames.open(0, &run.query, run.heuristic, &mut memory.mask);
        let root = memory.frames.get(0);
        let actions: Vec<_> = root.range(0).map(|place| root.candidate(place)).collect();
        let first = if query.limits.deadline.is_some() { 1 } else { query.limits.turns };
        Ok(deepen(&mut run, &query, first, &actions))
    }
}

struct Run<'r, 'a, G: Game, E> {
    query: Query<'a, G>,
    heuristic: &'r mut E,
    memory: &'r mut MaxN<G>,
    counter: NodeCounter<'a>,
    /// Depth of this pass.
    turns: u32,
}

impl<'a, G: Game, E: Heuristic<G>> IterativeSearch<'a> for Run<'_, 'a, G, E> {
    fn pass(&mut self, turns: u32) -> Result<PassResult, OutOfTime> {
        self.turns = turns;
        let Query { game, state, .. } = self.query;
        let eliminated = EliminationTurns([None; SEATS]).then(game.alive(state), 0);
        let values = self.ply(0, 0, 0, 0, &eliminated)?;
        let line = self.memory.variations.get(0).to_vec();
        let root = self.memory.frames.get(0);
        let action = line.first().map_or(root.candidate(0), |step| step.action);
        let Query { game, player, .. } = self.query;
        let values = &values[..game.players().min(SEATS)];
        Ok(PassResult { action, value: values[player], values: Some(values.to_vec()), line })
    }

    fn interrupted(&mut self) -> Option<PassResult> {
        if self.turns > 1 {
            return None;
        }
        let frames = &mut self.memory.frames;
        first_look(&self.query, self.heuristic, frames, &mut self.counter, 0)
    }

    /// A deeper search can change the choices of others, so no value is final.
    fn is_proof(&self) -> bool {
        false
    }

    fn counter(&mut self) -> &mut NodeCounter<'a> {
        &mut self.counter
    }
}

impl<G: Game, E: Heuristic<G>> Run<'_, '_, G, E> {
    /// Values of the resolved position at `level`, `turns` from the root.
    fn visit(
        &mut self,
        level: usize,
        turns: u32,
        ply: usize,
        eliminated: &EliminationTurns,
    ) -> Result<Values, OutOfTime> {
        let Query { game, player, .. } = self.query;
        self.memory.variations.clear(ply);
        let turn = next_turn(game, self.heuristic, &mut self.memory.frames, level);
        let state = &self.memory.frames.get(level).state;
        let alive = game.alive(state);
        let eliminated = &eliminated.then(alive, turns);
        match turn {
            Turn::Chance => self.chance_node(level, turns, ply, eliminated),
            Turn::Over => Ok(std::array::from_fn(|seat| {
                decided(outcome(game, state, seat), eliminated.decided_after(seat, turns))
            })),
            Turn::Move(_) if turns >= self.turns || !alive.contains(player) => {
                // The value of an eliminated player is final, so it is not cut off.
                self.counter.horizon |= alive.contains(player);
                Ok(self.horizon(level, turns, eliminated))
            }
            Turn::Move(_) => {
                self.memory.frames.open(level, &self.query, self.heuristic, &mut self.memory.mask);
                self.ply(level, turns, 0, ply, eliminated)
            }
        }
    }

    /// Values of an unfinished position: outcomes of eliminated players, scores of the others.
    fn horizon(&mut self, level: usize, turns: u32, eliminated: &EliminationTurns) -> Values {
        let game = self.query.game;
        let state = &self.memory.frames.get(level).state;
        let alive = game.alive(state);
        let mut values = [0.0; SEATS];
        self.counter.evaluation(self.heuristic.cost(alive.len() as u32));
        self.heuristic.evaluate(game, state, &mut values[..game.players().min(SEATS)]);
        for (seat, value) in values.iter_mut().enumerate() {
            *value = if alive.contains(seat) {
                undecided(*value)
            } else {
                decided(outcome(game, state, seat), eliminated.decided_after(seat, turns))
            };
        }
        values
    }

    fn chance_node(
        &mut self,
        level: usize,
        turns: u32,
        ply: usize,
        eliminated: &EliminationTurns,
    ) -> Result<Values, OutOfTime> {
        let game = self.query.game;
        let mut outcomes = ChanceOutcomes::new(game, &self.memory.frames.get(level).state);
        let (mut sums, mut total) = ([0.0; SEATS], 0.0);
        while let Some(weight) = outcomes.advance(game, &mut self.memory.frames, level) {
            self.counter.node()?;
            let values = self.visit(level + 1, turns, ply, eliminated)?;
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight * f64::from(value);
            }
            total += weight;
        }
        self.memory.variations.clear(ply);
        Ok(sums.map(|sum| (sum / total) as f32))
    }

    /// Values before the mover at `index` of the turn at `level` has chosen.
    fn ply(
        &mut self,
        level: usize,
        turns: u32,
        index: usize,
        ply: usize,
        eliminated: &EliminationTurns,
    ) -> Result<Values, OutOfTime> {
        let frame = self.memory.frames.get(level);
        if index == frame.movers() {
            self.memory.frames.resolve(self.query.game, level);
            return self.visit(level + 1, turns + 1, ply, eliminated);
        }
        let (mover, range) = (frame.mover(index), frame.range(index));
        self.memory.variations.clear(ply);
        let player = self.query.player;
        let mut best: Option<Values> = None;
        for place in range {
            self.counter.node()?;
            let frame = self.memory.frames.get_mut(level);
            let action = frame.candidate(place);
            frame.joint[mover] = action;
            let values = self.ply(level, turns, index + 1, ply + 1, eliminated)?;
            let better = best.is_none_or(|best| {
                values[mover] > best[mover]
                    || values[mover] == best[mover] && values[player] < best[player]
            });
            if better {
                best = Some(values);
                self.memory.variations.improve(ply, Step { player: mover, action });
            }
        }
        Ok(best.unwrap_or([0.0; SEATS]))
    }
}

/// Outcome of a seat; 0 for an index without a player.
fn outcome<G: Game>(game: &G, state: &G::State, seat: usize) -> f32 {
    if seat < game.players() { game.outcome(state, seat) } else { 0.0 }
}
