//! Tree search with blocked nodes, the paper's best method (arXiv 2005.14156, section III).
//!
//! The tree of [`ouro_search`] grows from the first decision. A leaf has the value of one roll-out:
//! the share of its cells that random play visits. Ends that are no solutions are blocked. So are
//! leaves that the tests of the search refute, and nodes whose children are all blocked; if the root
//! is, no solution exists. A roll-out that visits every cell ends the search.

use std::fmt;

use ouro_game::maze_dash::{Board, Config, Direction, State, Trail};
use ouro_game::{Action, ActionMask, Game, Rng, Turn};
use ouro_search::mcts::{MAX_SIMULATIONS, ValueScale, node_bytes};
use ouro_search::{Estimates, Evaluator, Leaf, Scheduler, SearchConfig};

use crate::puzzle::Puzzle;
use crate::search::{RolledOut, Search};
use crate::solve::{Answer, Progress, Solved, WATCH_EVERY};

/// Memory of a tree in bytes, at most. A larger tree is dropped and grows anew.
const TREE_BYTES: usize = 256 << 20;
/// Weight of the prior against the value, with values scaled to their range in the tree.
const EXPLORATION: f32 = 0.2;
/// Probability that a decision of a roll-out is ordered at random.
const NOISE: f64 = 0.3;

/// Searches until a roll-out solves `board`, the root is blocked, or `watch` returns false.
///
/// A board whose sides exceed those of a game stops at once.
pub(crate) fn solve(board: &Board, seed: u64, watch: &(dyn Fn(Progress) -> bool + Sync)) -> Solved {
    let progress = Progress { nodes: 0, round: 1, starts: 1 };
    let config = Config { board: Some(board.to_line()), ..Config::default() };
    let Ok(puzzle) = Puzzle::new(config) else { return progress.with(Answer::Stopped) };
    let mut rng = Rng::new(seed, "maze dash tree");
    let mut walk = Walk::new(board, &puzzle, &mut rng);
    if puzzle.turn(&walk.state) == Turn::Over {
        // All slides were forced.
        return progress.with(walk.path(&[]).map_or(Answer::NoSolution, Answer::Path));
    }
    // An advance keeps a tree of at most half of the limit.
    let bytes = node_bytes(&puzzle);
    let most = TREE_BYTES / bytes;
    let config = SearchConfig {
        simulations: MAX_SIMULATIONS,
        exploration: EXPLORATION,
        value_scale: ValueScale::Running,
        max_nodes: 2 * most as u32,
        ..SearchConfig::default()
    };
    let Ok(mut tree) = ouro_search::Search::new(config, &puzzle) else {
        return progress.with(Answer::Stopped);
    };
    let search = Search::new(board, rng.fork());
    let mut roll_outs = RollOuts { search, progress, watch, is_stopped: false, solved: None };
    let mut scheduler = Scheduler::new(1);
    tree.start(&puzzle, &walk.state, rng.fork());
    while roll_outs.solved.is_none() {
        scheduler.step(&puzzle, std::slice::from_mut(&mut tree), &mut roll_outs);
        roll_outs.progress.nodes = roll_outs.search.nodes();
        if tree.is_done() {
            let decision = tree.decide(&puzzle);
            let is_won = decision.values.iter().all(|&value| value >= 1.0);
            match decision.proven {
                true if is_won => break,
                true => return roll_outs.progress.with(Answer::NoSolution),
                false => {}
            }
        }
        if roll_outs.is_stopped || !watch(roll_outs.progress) {
            return roll_outs.progress.with(Answer::Stopped);
        }
        if tree.is_done() || tree.nodes() > most {
            roll_outs.progress.round += 1;
            tree.start(&puzzle, &walk.state, rng.fork());
        }
    }
    let progress = roll_outs.progress;
    let (leaf, rest) = roll_outs.solved.unzip();
    while leaf.as_ref() != Some(&walk.state) && puzzle.turn(&walk.state) != Turn::Over {
        let decision = tree.decide(&puzzle);
        let Some(seat) = decision.seats.first().filter(|_| decision.proven) else { break };
        walk.play(&puzzle, seat.action);
        tree.advance(&puzzle, &[seat.action], &walk.state);
    }
    let path = walk.path(rest.as_deref().unwrap_or_default());
    debug_assert!(path.is_some(), "a proven line leads to the solved leaf");
    progress.with(path.map_or(Answer::Stopped, Answer::Path))
}

/// Values leaves by roll-outs.
struct RollOuts<'a> {
    search: Search,
    progress: Progress,
    watch: &'a (dyn Fn(Progress) -> bool + Sync),
    /// Whether the watch has ended the search within a roll-out.
    is_stopped: bool,
    /// The first leaf from which a roll-out has visited every cell, and the cells from its head on.
    solved: Option<(State, Vec<usize>)>,
}

// The watch has no form to print.
impl fmt::Debug for RollOuts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RollOuts").field("search", &self.search).finish_non_exhaustive()
    }
}

impl Evaluator<Puzzle> for RollOuts<'_> {
    fn evaluate(&mut self, _game: &Puzzle, leaves: &mut [Leaf<Puzzle>], out: &mut Estimates) {
        for Leaf { state, .. } in leaves {
            let rolled_out = self.search.roll_out(state, NOISE, |nodes| {
                self.progress.nodes = nodes;
                let is_asked = nodes.is_multiple_of(WATCH_EVERY);
                self.is_stopped |= is_asked && !(self.watch)(self.progress);
                self.is_stopped
            });
            match rolled_out {
                RolledOut::Solved(path) => {
                    out.push_exact().fill(1.0);
                    self.solved.get_or_insert_with(|| (state.clone(), path));
                }
                RolledOut::Refuted => out.push_exact().fill(-1.0),
                RolledOut::Stuck(share) => out.push_uniform().fill(share),
            }
        }
    }
}

/// The position at the end of a path, and the path.
struct Walk<'a> {
    board: &'a Board,
    state: State,
    /// The path; `None` before the start is chosen.
    trail: Option<Trail<'a>>,
}

impl<'a> Walk<'a> {
    /// The path to the first decision.
    fn new(board: &'a Board, puzzle: &Puzzle, rng: &mut Rng) -> Self {
        let state = puzzle.initial(rng);
        let trail = board.start().and_then(|start| Trail::new(board, start));
        let mut walk = Self { board, state, trail };
        let mut legal = ActionMask::default();
        puzzle.legal(&walk.state, 0, &mut legal);
        match legal.nth(0) {
            // A tree has no simulations for the only action.
            Some(only) if legal.count() == 1 => walk.play(puzzle, only),
            _ => {}
        }
        walk
    }

    /// Plays a legal action and the forced slides after it.
    fn play(&mut self, puzzle: &Puzzle, action: Action) {
        let stepped = puzzle.step(&mut self.state, &[action]);
        debug_assert!(stepped.is_ok(), "the tree's action is legal: {stepped:?}");
        match (&mut self.trail, Direction::ALL.get(action.index())) {
            (Some(trail), Some(&direction)) => {
                trail.slide(direction);
            }
            (trail, _) => {
                *trail = self.state.head().and_then(|start| Trail::new(self.board, start));
            }
        }
        self.play_forced(puzzle);
    }

    fn play_forced(&mut self, puzzle: &Puzzle) {
        let Some(trail) = &mut self.trail else { return };
        trail.slide_while_forced(|direction| {
            let stepped = puzzle.step(&mut self.state, &[Action(direction as u32)]);
            debug_assert!(stepped.is_ok(), "a forced slide is legal: {stepped:?}");
        });
    }

    /// The path, continued by the cells of `rest` after its first; `None` if cells are left.
    fn path(&self, rest: &[usize]) -> Option<Vec<usize>> {
        let mut path = self.trail.as_ref()?.path().to_vec();
        path.extend(rest.iter().skip(1));
        (path.len() == self.board.cells()).then_some(path)
    }
}
