//! The strategy that repairs and inflates its plan instead of computing it anew.
//!
//! A planned path is kept ahead of each end of the snake ([`Plan`]), and the end with the longer path
//! advances. At the start both paths [`sweep`] the board side by side. When the opponent takes a cell
//! of the plan, the plan is joined again near that cell ([`Repair`]), and cells that this leaves
//! unplanned are brought back by detours ([`inflate`]). A part that cannot be joined becomes a
//! fragment, which is attached to either path where they touch ([`Attach`]), or takes the place of the
//! rest of a path ([`Splice`]). Only if fragments stay out of reach is a path computed anew
//! ([`LongWalk`]). An end that the opponent may soon shut in moves first, towards the open part of the
//! board ([`Escape`]).

use ouro_game::Rng;
use ouro_game::snakgame::{Move, Position, Side, Strategy};

use crate::attach::Attach;
use crate::escape::Escape;
use crate::field::{Field, NONE};
use crate::inflate::{inflate, is_open};
use crate::plan::{LISTS, Plan, UNPLANNED};
use crate::repair::{Repair, dissolve};
use crate::splice::Splice;
use crate::sweep::sweep;
use crate::walk::LongWalk;

/// Empty cells for each turn between two extensions of a plan's far end.
const CELLS_PER_TURN: u32 = 1_500;

/// A list is computed anew when it has shrunk by this factor.
const SHRINK: usize = 4;

/// Fragments of fewer cells are not attached.
const LEAST_ATTACHED: usize = 60;
/// Turns after an attachment that failed.
const ATTACH_PAUSE: u32 = 100;
/// A loss of one cell in so many is large.
const LARGE_LOSS: usize = 30;
/// Planned cells for each turn between two attachments.
const CELLS_PER_ATTACHMENT: u32 = 200;
/// Fewest turns between two computations that give up the fragments.
const RENEW_PAUSE: u32 = 100;
/// Cells that attachments may touch in a game. Splices replace them afterwards.
const MOST_WORK: u64 = 20_000_000;
/// Fragments are spliced if they hold one cell for so many of the lists.
const LEAST_SPLICED: usize = 4;
/// Most splices at once.
const MOST_SPLICES: usize = 8;
/// Planned cells for each turn between two attempts to splice.
const CELLS_PER_SPLICE: u32 = 1_000;

/// Plans on a board of known size.
struct Planner {
    plan: Plan,
    repair: Repair,
    attach: Attach,
    escape: Escape,
    splice: Splice,
    /// Cells whose surroundings may allow a detour.
    queue: Vec<u32>,
}

impl Planner {
    fn new(cells: usize) -> Self {
        Self {
            plan: Plan::new(cells),
            repair: Repair::new(cells),
            attach: Attach::new(cells),
            escape: Escape::new(cells),
            splice: Splice::new(cells),
            queue: Vec::new(),
        }
    }
}

/// The strategy of this crate.
pub struct PlanRepair {
    rng: Rng,
    walk: LongWalk,
    planner: Option<Planner>,
    path: Vec<u32>,
    /// The only cell of a new snake. The second list starts when the snake has a second cell.
    single: Option<u32>,
    turn: u32,
    attach_at: u32,
    splice_at: u32,
    renewed_at: u32,
    computed: [usize; 2],
    computed_at: [u32; 2],
}

impl PlanRepair {
    /// The strategy with its own random numbers.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed, "snakgame-repair"),
            walk: LongWalk::default(),
            planner: None,
            path: Vec::new(),
            single: None,
            turn: 0,
            attach_at: 0,
            splice_at: 0,
            renewed_at: 0,
            computed: [0; 2],
            computed_at: [0; 2],
        }
    }

    /// Starts a snake whose ends sweep the board side by side.
    fn first_snake(&mut self, field: Field<'_>, position: &Position) -> Move {
        let Some(paths) = sweep(position.board()) else { return self.new_snake(field, position) };
        let mut planner = Planner::new(field.len());
        let Planner { plan, repair, queue, .. } = &mut planner;
        for (list, path) in (0..).zip(&paths) {
            plan.start(list, path[0]);
            for &cell in &path[1..] {
                plan.push(list, cell);
            }
        }
        // Blocked cells break the plan as cells of the opponent do.
        for &cell in paths.iter().flatten() {
            if !field.is_empty(cell) && plan.owner(cell) != UNPLANNED {
                repair.mend(field, plan, cell, queue);
                inflate(field, plan, queue);
            }
        }
        queue.extend(position.board().empty_indices());
        inflate(field, plan, queue);
        self.single = Some(paths[0][0]);
        self.computed = [plan.len(0), plan.len(1)];
        self.computed_at = [self.turn; 2];
        self.planner = Some(planner);
        field.new_snake(paths[0][0])
    }

    /// Plans from the ends of a snake that the strategy has not led so far.
    fn take_over(&mut self, field: Field<'_>, [first, second]: [u32; 2]) {
        let plan = &mut self.planner.insert(Planner::new(field.len())).plan;
        plan.start(0, first);
        if first == second {
            self.single = Some(first);
        } else {
            plan.start(1, second);
        }
        self.recompute(field, 0);
        self.recompute(field, 1);
    }

    /// Starts a snake in the middle of the longest of several trial paths.
    fn new_snake(&mut self, field: Field<'_>, position: &Position) -> Move {
        let best = self.walk.longest_trial(field, position.board(), &mut self.rng);
        let Some(&cell) = best.get(best.len() / 2) else { return Move::Exit };
        let (before, after) = best.split_at(best.len() / 2);
        let planner = self.planner.get_or_insert_with(|| Planner::new(field.len()));
        let plan = &mut planner.plan;
        (1..LISTS as u8).for_each(|list| plan.clear(list));
        plan.start(0, cell);
        for &cell in before.iter().rev() {
            plan.push(0, cell);
        }
        // The snake has one cell, so the second list has no head of its own yet. Its first cell
        // stands in for the head until the snake has moved there.
        if let Some((&first, rest)) = after[1..].split_first() {
            plan.start(1, first);
            for &cell in rest {
                plan.push(1, cell);
            }
        }
        planner.queue.extend(best.iter().flat_map(|&cell| field.neighbours(cell)));
        inflate(field, plan, &mut planner.queue);
        self.single = Some(cell);
        self.computed = [plan.len(0), plan.len(1)];
        self.computed_at = [self.turn; 2];
        field.new_snake(cell)
    }

    /// Computes the list of one end anew and keeps it if it is longer.
    fn recompute(&mut self, field: Field<'_>, list: u8) {
        let Some(planner) = &mut self.planner else { return };
        let plan = &mut planner.plan;
        let head = plan.head(list);
        if head == NONE {
            return;
        }
        let direction = self.rng.below(4) as u8;
        let is_free = |cell| {
            let owner = plan.owner(cell);
            (owner == UNPLANNED || owner == list) && field.is_empty(cell)
        };
        self.walk.find(field, head, direction, is_free, &mut self.path);
        if self.path.len() > plan.len(list) {
            plan.cut(head, NONE, &mut planner.queue);
            for &cell in &self.path {
                plan.push(list, cell);
                planner.queue.extend(field.neighbours(cell));
            }
            inflate(field, plan, &mut planner.queue);
        }
        self.computed[usize::from(list)] = plan.len(list);
        self.computed_at[usize::from(list)] = self.turn;
    }

    /// Extends the tail of a list through unplanned cells.
    fn extend_tail(&mut self, field: Field<'_>, list: u8) {
        let Some(planner) = &mut self.planner else { return };
        let plan = &mut planner.plan;
        let tail = plan.tail(list);
        if tail == NONE || !field.neighbours(tail).iter().any(|&near| is_open(field, plan, near)) {
            return;
        }
        self.walk.find(field, tail, 0, |cell| is_open(field, plan, cell), &mut self.path);
        for &cell in &self.path {
            plan.push(list, cell);
            planner.queue.extend(field.neighbours(cell));
        }
        inflate(field, plan, &mut planner.queue);
        let list = usize::from(list);
        self.computed[list] = self.computed[list].max(plan.len(list as u8));
    }

    /// Attaches the longest fragment to a list.
    fn attach(&mut self, field: Field<'_>) {
        let Some(planner) = &mut self.planner else { return };
        let Planner { plan, attach, queue, .. } = planner;
        if plan.work() > MOST_WORK {
            self.splice(field);
            return;
        }
        if (2..LISTS as u8).all(|list| plan.len(list) < LEAST_ATTACHED) {
            return;
        }
        let joined = plan
            .shorter_first()
            .into_iter()
            .any(|list| plan.head(list) != NONE && attach.attach(field, plan, list, queue));
        // A failure is tried again later, a success at once, since other fragments may touch now.
        let pause = ATTACH_PAUSE.max((plan.len(0) + plan.len(1)) as u32 / CELLS_PER_ATTACHMENT);
        self.attach_at = self.turn + if joined { 1 } else { pause };
        inflate(field, plan, queue);
        for list in 0..2 {
            self.computed[list] = self.computed[list].max(plan.len(list as u8));
        }
    }

    /// Leads the lists along fragments, which takes less work than to attach them.
    fn splice(&mut self, field: Field<'_>) {
        let Some(planner) = &mut self.planner else { return };
        let Planner { plan, splice, queue, .. } = planner;
        let (fragments, reached) = (plan.fragment_cells(), plan.len(0) + plan.len(1));
        if fragments * LEAST_SPLICED < reached || self.turn < self.splice_at {
            return;
        }
        self.splice_at = self.turn + (fragments + reached) as u32 / CELLS_PER_SPLICE;
        splice.run(field, plan, MOST_SPLICES, queue);
        inflate(field, plan, queue);
    }

    /// Computes one list anew through all cells but those of the other list, if the fragments that no
    /// list reaches hold most of the plan.
    fn renew(&mut self, field: Field<'_>) {
        let Some(planner) = &mut self.planner else { return };
        let Planner { plan, queue, .. } = planner;
        let total = plan.fragment_cells();
        let reached = plan.len(0) + plan.len(1);
        if total * 2 < reached
            || self.turn < self.renewed_at + RENEW_PAUSE.max(total as u32 / CELLS_PER_ATTACHMENT)
        {
            return;
        }
        self.renewed_at = self.turn;
        let direction = self.rng.below(4) as u8;
        let (mut best, mut path) = (None, Vec::new());
        let mut most = reached + reached / 10;
        for list in 0..2 {
            let head = plan.head(list);
            if head == NONE {
                continue;
            }
            let is_free = |cell| plan.owner(cell) != 1 - list && field.is_empty(cell);
            self.walk.find(field, head, direction, is_free, &mut self.path);
            let length = self.path.len() + plan.len(1 - list);
            if length > most {
                (best, most) = (Some(list), length);
                std::mem::swap(&mut path, &mut self.path);
            }
        }
        let Some(list) = best else { return };
        for fragment in 2..LISTS as u8 {
            dissolve(plan, fragment, queue);
        }
        plan.cut(plan.head(list), NONE, queue);
        for &cell in &path {
            plan.push(list, cell);
        }
        inflate(field, plan, queue);
        self.computed[usize::from(list)] = plan.len(list);
    }

    /// Gives up all fragments.
    fn dissolve(&mut self, field: Field<'_>) {
        let Some(planner) = &mut self.planner else { return };
        for list in 2..LISTS as u8 {
            dissolve(&mut planner.plan, list, &mut planner.queue);
        }
        inflate(field, &mut planner.plan, &mut planner.queue);
    }

    fn lengths(&self) -> [usize; 2] {
        self.planner.as_ref().map_or([0; 2], |planner| [planner.plan.len(0), planner.plan.len(1)])
    }

    /// The step of an end that the opponent may soon shut in, if there is one.
    fn flee(&mut self, field: Field<'_>, position: &Position) -> Option<Move> {
        if self.single.is_some() {
            return None;
        }
        let Planner { plan, repair, escape, queue, .. } = self.planner.as_mut()?;
        let opponent = position.snakes(Side::Second).current()?.ends;
        let opponent = opponent.map(|end| position.board().index(end) as u32);
        let ends = (0..2).filter(|&list| plan.head(list) != NONE);
        let dangers =
            ends.filter_map(|list| Some((escape.danger(field, plan.head(list), opponent)?, list)));
        let (danger, list) = dangers.min()?;
        let head = plan.head(list);
        // No detours in this turn, since they could lie before the step.
        repair.divert(field, plan, list, danger.step, queue);
        plan.advance(list).map(|next| field.extension(head, next))
    }

    /// The planned move of the end with the longer plan.
    fn advance(&mut self, field: Field<'_>) -> Option<Move> {
        let [first, second] = self.lengths();
        let plan = &mut self.planner.as_mut()?.plan;
        if let Some(cell) = self.single.take() {
            if plan.head(1) != NONE {
                return Some(field.extension(cell, plan.head(1)));
            }
            let next = plan.advance(0)?;
            plan.start(1, cell);
            return Some(field.extension(cell, next));
        }
        let list = u8::from(second > first);
        let head = plan.head(list);
        plan.advance(list).map(|next| field.extension(head, next))
    }
}

impl Strategy for PlanRepair {
    fn choose(&mut self, position: &Position) -> Move {
        let field = Field::new(position.board());
        self.turn += 1;
        let Some(snake) = position.snakes(Side::First).current() else {
            return self.first_snake(field, position);
        };
        if self.planner.is_none() {
            let ends = snake.ends.map(|end| position.board().index(end) as u32);
            self.take_over(field, ends);
        }
        let pause = 8.max(position.board().empty_count() / CELLS_PER_TURN);
        if self.turn.is_multiple_of(pause) {
            self.renew(field);
            self.extend_tail(field, 0);
            self.extend_tail(field, 1);
        }
        if let Some(step) = self.flee(field, position) {
            return step;
        }
        if self.turn >= self.attach_at {
            self.attach(field);
        }
        for list in 0..2 {
            let place = usize::from(list);
            let is_short = self.lengths()[place] * SHRINK <= self.computed[place];
            if is_short && self.turn >= self.computed_at[place] + pause {
                self.recompute(field, list);
            }
        }
        if self.lengths() == [0, 0] {
            // The snake would die, so no pause applies.
            self.attach(field);
        }
        if self.lengths() == [0, 0] {
            self.dissolve(field);
            self.recompute(field, 0);
            self.recompute(field, 1);
        }
        self.advance(field).unwrap_or_else(|| self.new_snake(field, position))
    }

    fn observe(&mut self, position: &Position, opponent: Move) {
        let (Move::New(cell) | Move::Extend { to: cell, .. }) = opponent else { return };
        let Some(planner) = &mut self.planner else { return };
        let field = Field::new(position.board());
        let cell = position.board().index(cell) as u32;
        let Planner { plan, repair, queue, .. } = planner;
        if plan.owner(cell) == UNPLANNED {
            return;
        }
        if self.single.is_some() && plan.head(1) == cell {
            plan.clear(1);
            return;
        }
        let length = plan.len(0) + plan.len(1);
        repair.mend(field, plan, cell, queue);
        inflate(field, plan, queue);
        // A large loss is worth an attempt at once.
        if (plan.len(0) + plan.len(1)) * LARGE_LOSS < length * (LARGE_LOSS - 1) {
            self.attach(field);
        }
    }
}
