//! Paranoid search with alpha-beta (Sturtevant and Korf, "On pruning techniques for
//! multi-player games", AAAI 2000): all other players count as one opponent. Also best-reply search
//! in the form BRS+ (Esser, Gras, Winands, Schadd and Lanctot, "Improving Best-Reply Search", CG
//! 2013), which lets a single opponent reply in each turn.

use ouro_game::{Action, ActionMask, Game, Turn};

use super::chance::{ChanceOutcomes, next_turn};
use super::deepening::{IterativeSearch, PassResult, PrincipalVariations, deepen};
use super::first_look::first_look;
use super::frame::Frames;
use super::node_counter::{NodeCounter, OutOfTime};
use super::ordering::Ordering;
use super::query::{
    MinimaxResult, NotToMove, Query, Searcher, Step, UNDECIDED, check, decided, undecided,
};
use super::table::{Bound, Entry, Table, key};
use crate::heuristic::Heuristic;

/// Entries of the transposition table, as a power of two: 1.5 MiB.
const TABLE_BITS: u32 = 16;

/// Remaining turns from which on late actions are reduced.
const REDUCED_FROM: u32 = 3;

/// The searching player maximises its own value, all others minimise it. Fail-soft alpha-beta with
/// iterative deepening, a transposition table and move ordering.
///
/// The result equals that of [`Plain`](super::Plain), except with
/// [reductions](Paranoid::with_reductions) or [best replies](Paranoid::best_reply). The partial
/// result of an interrupted pass is usable, since each pass starts with the best action of the
/// previous one.
#[derive(Debug)]
pub struct Paranoid<G: Game> {
    frames: Frames<G>,
    variations: PrincipalVariations,
    ordering: Ordering,
    table: Table,
    mask: ActionMask,
    scores: Vec<f32>,
    roots: Vec<RootAction>,
    /// Whether at most one opponent replies in each turn.
    best_reply: bool,
    /// Whether late actions are searched less deeply at first.
    reduces: bool,
}

/// A root action.
#[derive(Clone, Copy, Debug)]
struct RootAction {
    action: Action,
    /// The action's value in this pass, or an upper bound.
    value: f32,
}

impl<G: Game> Default for Paranoid<G> {
    fn default() -> Self {
        Self::with_table_bits(TABLE_BITS)
    }
}

impl<G: Game> Paranoid<G> {
    /// A searcher with a table of 2^16 entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// A searcher with a table of `2^bits` entries of 24 bytes, 0 to 28 bits.
    pub fn with_table_bits(bits: u32) -> Self {
        Self {
            frames: Frames::default(),
            variations: PrincipalVariations::default(),
            ordering: Ordering::default(),
            table: Table::new(bits.min(28)),
            mask: ActionMask::default(),
            scores: Vec::new(),
            roots: Vec::new(),
            best_reply: false,
            reduces: false,
        }
    }

    /// A searcher that lets at most one opponent reply in each turn. The others play the action that
    /// move ordering tries first.
    ///
    /// With c candidates for each of n opponents, a choice has n(c − 1) + 1 replies instead of cⁿ, so
    /// the same time suffices for a deeper search. With a single opponent nothing changes. With more, the
    /// value depends on move ordering and is at least the paranoid one, so a win is not proven.
    pub fn best_reply() -> Self {
        Self { best_reply: true, ..Self::default() }
    }

    /// The same searcher with late move reductions (Hoki and Muramatsu 2012, "Efficiency of three
    /// forward-pruning techniques in shogi", Entertainment Computing 3).
    ///
    /// Below the root, with three or more turns left, every action but the first in move ordering is
    /// searched one turn less deeply. It is searched again to the full depth if it then seems better for
    /// its player than the actions before it. The value may differ from that of the full search. A value
    /// of a decided game is correct.
    pub fn with_reductions(self) -> Self {
        Self { reduces: true, ..self }
    }
}

impl<G: Game> Searcher<G> for Paranoid<G> {
    fn search<E: Heuristic<G>>(
        &mut self,
        query: Query<'_, G>,
        heuristic: &mut E,
    ) -> Result<MinimaxResult, NotToMove> {
        check(&query)?;
        let Query { game, state, .. } = query;
        self.frames.place(game, 0, state);
        self.scores.resize(game.players(), 0.0);
        self.ordering.start_search(game.players(), game.action_count());
        self.table.start_search();
        let counter = NodeCounter::new(query.limits.deadline);
        let rivals = game.alive(state).len().saturating_sub(1);
        let mut run =
            Run { query, heuristic, memory: self, counter, rivals, turns: 0, tried: 0, best: None };
        let memory = &mut *run.memory;
        memory.frames.open(0, &run.query, run.heuristic, &mut memory.mask);
        let root = memory.frames.get(0);
        let actions: Vec<_> = root.range(0).map(|position| root.candidate(position)).collect();
        run.memory.roots.clear();
        run.memory.roots.extend(actions.iter().map(|&action| RootAction { action, value: 0.0 }));
        Ok(deepen(&mut run, &query, 1, &actions))
    }
}

struct Run<'r, 'a, G: Game, E> {
    query: Query<'a, G>,
    heuristic: &'r mut E,
    memory: &'r mut Paranoid<G>,
    counter: NodeCounter<'a>,
    /// Number of other players alive at the root.
    rivals: usize,
    /// Depth of this pass.
    turns: u32,
    /// Number of root actions searched in this pass.
    tried: usize,
    /// The best of these actions.
    best: Option<PassResult>,
}

/// The alpha-beta window: values up to `alpha` and from `beta` on need only a bound.
#[derive(Clone, Copy)]
struct Window {
    alpha: f32,
    beta: f32,
}

impl Window {
    const FULL: Self = Self { alpha: f32::NEG_INFINITY, beta: f32::INFINITY };
}

/// The position of a node in the tree.
#[derive(Clone, Copy)]
struct NodePosition {
    /// Index of its frame.
    level: usize,
    /// Turns from the root.
    turns: u32,
    /// Turns from the root at which positions below are evaluated.
    horizon: u32,
    /// Plies from the root.
    ply: usize,
    /// Key of the position in the tables.
    key: u64,
    /// Whether an opponent has already chosen a reply in this turn.
    replied: bool,
}

impl<'a, G: Game, E: Heuristic<G>> IterativeSearch<'a> for Run<'_, 'a, G, E> {
    fn pass(&mut self, turns: u32) -> Result<PassResult, OutOfTime> {
        (self.turns, self.tried, self.best) = (turns, 0, None);
        let key = key(self.query.game.digest(self.query.state), 0);
        let root = NodePosition { level: 0, turns: 0, horizon: turns, ply: 0, key, replied: false };
        for index in 0..self.memory.roots.len() {
            self.counter.node()?;
            let action = self.memory.roots[index].action;
            let alpha = match &self.best {
                None => f32::NEG_INFINITY,
                // The lowest of equal actions is best, whatever the order of search.
                Some(best) if action < best.action => best.value.next_down(),
                Some(best) => best.value,
            };
            self.memory.variations.clear(0);
            self.memory.frames.get_mut(0).joint[self.query.player] = action;
            let window = Window { alpha, ..Window::FULL };
            let value = self.ply(NodePosition { ply: 1, ..root }, 1, window, None)?.value;
            self.memory.roots[index].value = value;
            self.tried += 1;
            if self.best.is_none() || value > alpha {
                self.memory.variations.improve(0, Step { player: self.query.player, action });
                let line = self.memory.variations.get(0).to_vec();
                self.best = Some(PassResult { action, value, values: None, line });
            }
        }
        // `check` has made sure that there is a root action, so there is a best one.
        let best = self.best.take().ok_or(OutOfTime)?;
        // The next pass searches the best action first, then the others by value.
        let rank = |root: &RootAction| (root.action != best.action, root.value);
        self.memory.roots.sort_by(|left, right| {
            let (left, right) = (rank(left), rank(right));
            left.0.cmp(&right.0).then(right.1.total_cmp(&left.1))
        });
        Ok(best)
    }

    fn interrupted(&mut self) -> Option<PassResult> {
        let best = self.best.take();
        if best.as_ref().is_some_and(|best| best.value >= -UNDECIDED) {
            return best;
        }
        // All searched actions lose, or none has been searched.
        if self.turns == 1 {
            // The first pass tries the candidates in order.
            let frames = &mut self.memory.frames;
            let looked =
                first_look(&self.query, self.heuristic, frames, &mut self.counter, self.tried);
            let known = best.as_ref().map_or(f32::NEG_INFINITY, |best| best.value);
            return looked.filter(|looked| looked.value > known).or(best);
        }
        let best = best?;
        match self.memory.roots.get(self.tried) {
            // The next action may not lose, unless the previous pass has shown that it loses; later
            // actions had no higher values in that pass.
            Some(next) if next.value >= -UNDECIDED => {
                let line = vec![Step { player: self.query.player, action: next.action }];
                Some(PassResult { action: next.action, value: next.value, values: None, line })
            }
            _ => Some(best),
        }
    }

    fn is_proof(&self) -> bool {
        !self.counter.averaged && self.all_reply()
    }

    fn is_forced(&self) -> bool {
        // After a pass, the best action is the first and the second best the second.
        let others_lose = self.memory.roots.get(1).is_some_and(|root| root.value < -UNDECIDED);
        others_lose && self.is_proof()
    }

    fn counter(&mut self) -> &mut NodeCounter<'a> {
        &mut self.counter
    }
}

/// The result of a ply.
struct PlyResult {
    value: f32,
    /// The best action, or the action of the cut-off.
    action: Action,
}

impl<G: Game, E: Heuristic<G>> Run<'_, '_, G, E> {
    /// Whether every opponent replies in every turn.
    fn all_reply(&self) -> bool {
        !self.memory.best_reply || self.rivals <= 1
    }

    /// Value of the resolved state at `position`.
    fn visit(&mut self, position: NodePosition, window: Window) -> Result<f32, OutOfTime> {
        let Query { game, player, .. } = self.query;
        self.memory.variations.clear(position.ply);
        let turn = next_turn(game, self.heuristic, &mut self.memory.frames, position.level);
        let state = &self.memory.frames.get(position.level).state;
        match turn {
            Turn::Chance => self.chance_node(position),
            Turn::Move(_) if game.alive(state).contains(player) => {
                if position.turns >= position.horizon {
                    self.counter.horizon = true;
                    self.counter.evaluation(self.heuristic.cost(1));
                    let scores = &mut self.memory.scores;
                    let score = self.heuristic.evaluate_player(game, state, player, scores);
                    return Ok(undecided(score));
                }
                let key = key(game.digest(state), position.turns);
                self.search_with_table(NodePosition { key, ..position }, window)
            }
            Turn::Over | Turn::Move(_) => Ok(decided(game.outcome(state, player), position.turns)),
        }
    }

    /// Value of a state by table look-up, or by search with the result stored in the table.
    fn search_with_table(
        &mut self,
        position: NodePosition,
        mut window: Window,
    ) -> Result<f32, OutOfTime> {
        let key = position.key;
        let known = self.memory.table.get(key);
        let holds = |entry: &Entry| {
            u32::from(entry.horizon) == position.horizon || entry.is_decided() && self.is_proof()
        };
        if let Some(entry) = known.filter(holds) {
            self.counter.horizon |= entry.is_cut_off && !entry.is_decided();
            match entry.bound {
                Bound::Exact => return Ok(entry.value),
                Bound::Lower if entry.value >= window.beta => return Ok(entry.value),
                Bound::Upper if entry.value <= window.alpha => return Ok(entry.value),
                Bound::Lower => window.alpha = window.alpha.max(entry.value.next_down()),
                Bound::Upper => window.beta = window.beta.min(entry.value.next_up()),
            }
        }
        let was_cut_off = std::mem::take(&mut self.counter.horizon);
        self.memory.frames.open(position.level, &self.query, self.heuristic, &mut self.memory.mask);
        let reply = self.ply(position, 0, window, known.map(|entry| entry.action))?;
        let bound = if reply.value <= window.alpha {
            Bound::Upper
        } else if reply.value >= window.beta {
            Bound::Lower
        } else {
            Bound::Exact
        };
        let PlyResult { value, action } = reply;
        let is_cut_off = self.counter.horizon;
        self.memory.table.put(key, action, (value, bound), position.horizon, is_cut_off);
        self.counter.horizon |= was_cut_off;
        Ok(value)
    }

    /// Value of a chance node. Its outcomes are searched with the full window, since bounds of
    /// outcomes do not give the average.
    fn chance_node(&mut self, position: NodePosition) -> Result<f32, OutOfTime> {
        let game = self.query.game;
        let below = NodePosition { level: position.level + 1, ..position };
        self.counter.averaged = true;
        let mut outcomes = ChanceOutcomes::new(game, &self.memory.frames.get(position.level).state);
        let (mut sum, mut total) = (0.0, 0.0);
        while let Some(weight) = outcomes.advance(game, &mut self.memory.frames, position.level) {
            self.counter.node()?;
            sum += weight * f64::from(self.visit(below, Window::FULL)?);
            total += weight;
        }
        self.memory.variations.clear(position.ply);
        Ok((sum / total) as f32)
    }

    /// Value before the mover at `index` of the turn at `position` has chosen.
    fn ply(
        &mut self,
        position: NodePosition,
        index: usize,
        mut window: Window,
        remembered: Option<Action>,
    ) -> Result<PlyResult, OutOfTime> {
        let NodePosition { level, turns, horizon, ply, key, replied } = position;
        let frame = self.memory.frames.get(level);
        if index == frame.movers() {
            self.memory.frames.resolve(self.query.game, level);
            let below =
                NodePosition { level: level + 1, turns: turns + 1, replied: false, ..position };
            let value = self.visit(below, window)?;
            return Ok(PlyResult { value, action: Action::default() });
        }
        let mover = frame.mover(index);
        self.memory.variations.clear(ply);
        let own = mover == self.query.player;
        let worst = if own { f32::NEG_INFINITY } else { f32::INFINITY };
        let queue = self.memory.ordering.push(frame, level, index, key, remembered);
        let mut best = PlyResult { value: worst, action: Action::default() };
        for queued in queue.clone() {
            let is_late = queued > queue.start;
            let replies = !own && self.memory.best_reply && is_late;
            if replies && replied {
                break;
            }
            self.counter.node()?;
            let action = self.memory.ordering.action(queued);
            self.memory.frames.get_mut(level).joint[mover] = action;
            let below = NodePosition { ply: ply + 1, replied: replied || replies, ..position };
            let mut known = None;
            if self.memory.reduces && is_late && horizon - turns >= REDUCED_FROM {
                let short = NodePosition { horizon: horizon - 1, ..below };
                let value = self.ply(short, index + 1, window, None)?.value;
                let fails = if own { value <= window.alpha } else { value >= window.beta };
                known = fails.then_some(value);
            }
            let value = match known {
                Some(value) => value,
                None => self.ply(below, index + 1, window, None)?.value,
            };
            let is_better = if own { value > best.value } else { value < best.value };
            if is_better {
                best = PlyResult { value, action };
                if window.alpha < value && value < window.beta {
                    self.memory.variations.improve(ply, Step { player: mover, action });
                }
                if own {
                    window.alpha = window.alpha.max(value);
                } else {
                    window.beta = window.beta.min(value);
                }
                if window.alpha >= window.beta {
                    let frame = self.memory.frames.get(level);
                    self.memory.ordering.cut(frame, level, index, action, horizon - turns);
                    break;
                }
            }
        }
        let Paranoid { frames, ordering, .. } = &mut *self.memory;
        ordering.pop(queue.start);
        // A reply of the last turn is found by a single evaluation, so it is not worth storing.
        if turns + 1 < horizon {
            ordering.remember(frames.get(level), index, key, best.action);
        }
        Ok(best)
    }
}
