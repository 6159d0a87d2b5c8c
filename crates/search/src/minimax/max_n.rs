//! MaxN: every player maximises its own score (Luckhardt and Irani, "An algorithmic solution of
//! n-person games", AAAI 1986).

use ouro_game::{ActionMask, Game, PlayerSet, Turn};

use super::deepening::{Best, Passes, deepen};
use super::frame::{Frames, SEATS};
use super::line::Lines;
use super::meter::{Meter, OutOfTime};
use super::nature::{Outcomes, foresee};
use super::{Found, NotToMove, Query, Searcher, Step, check, decided, undecided};
use crate::Evaluation;

/// One value per seat.
type Values = [f32; SEATS];

/// The turn from the root after which each seat was out, on the path to a position.
#[derive(Clone, Copy)]
struct Fallen([Option<u32>; SEATS]);

impl Fallen {
    /// What is known after `turns`, when these seats live.
    fn then(&self, alive: PlayerSet, turns: u32) -> Self {
        let mut fallen = *self;
        for (seat, since) in fallen.0.iter_mut().enumerate() {
            if !alive.contains(seat) {
                since.get_or_insert(turns);
            }
        }
        fallen
    }

    /// The turns after which the outcome of a seat was decided in a game that is over after
    /// `turns`.
    fn decided_after(&self, seat: usize, turns: u32) -> u32 {
        self.0[seat].unwrap_or(turns)
    }
}

/// Backs up a vector with a score per player; each ply takes what is best for its mover.
///
/// There is no pruning: with scores that do not add up to a constant none is sound. Where
/// several actions are equally good for another player, the one that is worst for the searching
/// player is assumed. A position in which the searching player is out ends a line. Every seat
/// puts its own death off: one that is out is worth its outcome of the turn in which it fell,
/// however long the others play on.
#[derive(Debug)]
pub struct MaxN<G: Game> {
    frames: Frames<G>,
    lines: Lines,
    mask: ActionMask,
}

impl<G: Game> Default for MaxN<G> {
    fn default() -> Self {
        Self { frames: Frames::default(), lines: Lines::default(), mask: ActionMask::default() }
    }
}

impl<G: Game> MaxN<G> {
    /// A searcher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<G: Game> Searcher<G> for MaxN<G> {
    fn search<E: Evaluation<G>>(
        &mut self,
        query: Query<'_, G>,
        evaluation: &mut E,
    ) -> Result<Found, NotToMove> {
        check(&query)?;
        self.frames.place(query.game, 0, query.state);
        let meter = Meter::new(query.limits.deadline);
        let mut run = Run { query, evaluation, memory: self, meter, turns: 0 };
        let memory = &mut *run.memory;
        memory.frames.open(0, &run.query, run.evaluation, &mut memory.mask);
        let root = memory.frames.get(0);
        let actions: Vec<_> = root.range(0).map(|place| root.candidate(place)).collect();
        let first = if query.limits.deadline.is_some() { 1 } else { query.limits.turns };
        Ok(deepen(&mut run, &query, first, &actions))
    }
}

struct Run<'r, 'a, G: Game, E> {
    query: Query<'a, G>,
    evaluation: &'r mut E,
    memory: &'r mut MaxN<G>,
    meter: Meter<'a>,
    /// Depth of this pass.
    turns: u32,
}

impl<'a, G: Game, E: Evaluation<G>> Passes<'a> for Run<'_, 'a, G, E> {
    fn pass(&mut self, turns: u32) -> Result<Best, OutOfTime> {
        self.turns = turns;
        let Query { game, state, .. } = self.query;
        let fallen = Fallen([None; SEATS]).then(game.alive(state), 0);
        let values = self.ply(0, 0, 0, 0, &fallen)?;
        let line = self.memory.lines.get(0).to_vec();
        let root = self.memory.frames.get(0);
        let action = line.first().map_or(root.candidate(0), |step| step.action);
        let Query { game, player, .. } = self.query;
        let values = &values[..game.players().min(SEATS)];
        Ok(Best { action, value: values[player], values: Some(values.to_vec()), line })
    }

    /// A deeper look can change what others choose.
    fn is_proof(&self) -> bool {
        false
    }

    fn meter(&mut self) -> &mut Meter<'a> {
        &mut self.meter
    }
}

impl<G: Game, E: Evaluation<G>> Run<'_, '_, G, E> {
    /// Values of the resolved position at `level`, `turns` from the root.
    fn visit(
        &mut self,
        level: usize,
        turns: u32,
        ply: usize,
        fallen: &Fallen,
    ) -> Result<Values, OutOfTime> {
        let Query { game, player, .. } = self.query;
        self.memory.lines.clear(ply);
        let turn = foresee(game, self.evaluation, &mut self.memory.frames, level);
        let state = &self.memory.frames.get(level).state;
        let alive = game.alive(state);
        let fallen = &fallen.then(alive, turns);
        match turn {
            Turn::Chance => self.nature(level, turns, ply, fallen),
            Turn::Over => Ok(std::array::from_fn(|seat| {
                decided(outcome(game, state, seat), fallen.decided_after(seat, turns))
            })),
            Turn::Move(_) if turns >= self.turns || !alive.contains(player) => {
                // Nothing more can happen to a player who is out.
                self.meter.horizon |= alive.contains(player);
                Ok(self.horizon(level, turns, fallen))
            }
            Turn::Move(_) => {
                self.memory.frames.open(level, &self.query, self.evaluation, &mut self.memory.mask);
                self.ply(level, turns, 0, ply, fallen)
            }
        }
    }

    /// Values of an unfinished position: outcomes of those who are out, scores of the others.
    fn horizon(&mut self, level: usize, turns: u32, fallen: &Fallen) -> Values {
        let game = self.query.game;
        let state = &self.memory.frames.get(level).state;
        let alive = game.alive(state);
        let mut values = [0.0; SEATS];
        self.meter.evaluated += 1;
        self.evaluation.evaluate(game, state, &mut values[..game.players().min(SEATS)]);
        for (seat, value) in values.iter_mut().enumerate() {
            *value = if alive.contains(seat) {
                undecided(*value)
            } else {
                decided(outcome(game, state, seat), fallen.decided_after(seat, turns))
            };
        }
        values
    }

    fn nature(
        &mut self,
        level: usize,
        turns: u32,
        ply: usize,
        fallen: &Fallen,
    ) -> Result<Values, OutOfTime> {
        let game = self.query.game;
        let mut outcomes = Outcomes::new(game, &self.memory.frames.get(level).state);
        let (mut sums, mut total) = ([0.0; SEATS], 0.0);
        while let Some(weight) = outcomes.advance(game, &mut self.memory.frames, level) {
            self.meter.node()?;
            let values = self.visit(level + 1, turns, ply, fallen)?;
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight * f64::from(value);
            }
            total += weight;
        }
        self.memory.lines.clear(ply);
        Ok(sums.map(|sum| (sum / total) as f32))
    }

    /// Values before the mover at `index` of the turn at `level` has chosen.
    fn ply(
        &mut self,
        level: usize,
        turns: u32,
        index: usize,
        ply: usize,
        fallen: &Fallen,
    ) -> Result<Values, OutOfTime> {
        let frame = self.memory.frames.get(level);
        if index == frame.movers() {
            self.memory.frames.resolve(self.query.game, level);
            return self.visit(level + 1, turns + 1, ply, fallen);
        }
        let (mover, range) = (frame.mover(index), frame.range(index));
        self.memory.lines.clear(ply);
        let player = self.query.player;
        let mut best: Option<Values> = None;
        for place in range {
            self.meter.node()?;
            let frame = self.memory.frames.get_mut(level);
            let action = frame.candidate(place);
            frame.joint[mover] = action;
            let values = self.ply(level, turns, index + 1, ply + 1, fallen)?;
            let better = best.is_none_or(|best| {
                values[mover] > best[mover]
                    || values[mover] == best[mover] && values[player] < best[player]
            });
            if better {
                best = Some(values);
                self.memory.lines.improve(ply, Step { player: mover, action });
            }
        }
        Ok(best.unwrap_or([0.0; SEATS]))
    }
}

/// Outcome of a seat; 0 for a place without a player.
fn outcome<G: Game>(game: &G, state: &G::State, seat: usize) -> f32 {
    if seat < game.players() { game.outcome(state, seat) } else { 0.0 }
}
