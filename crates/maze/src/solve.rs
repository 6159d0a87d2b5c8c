//! The whole solver: restarts, free starts and threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use ouro_game::Rng;
use ouro_game::maze_dash::Board;

use crate::search::{End, Search};

/// Nodes of the first round at a given start, and of the first at free starts.
const FIRST_LIMIT: (u64, u64) = (60_000, 256);
/// Growth of the limit from round to round, at a given start and at free starts.
const GROWTH: (u64, u64) = (2, 16);
/// Nodes between two calls of the watch.
pub(crate) const WATCH_EVERY: u64 = 64;
/// Probability that a decision is ordered at random, after the first round.
const NOISE: f64 = 0.02;

/// Limits and resources of [`solve`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads, at least 1. They share free starts; from a given start each makes other random choices.
    pub threads: usize,
    /// Seed of the random choices.
    pub seed: u64,
}

/// What a search has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Decisions tried.
    pub nodes: u64,
    /// The current round, from 1.
    pub round: u32,
    /// Starts that have not been refuted.
    pub starts: usize,
}

/// The answer about a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A path that visits every free cell, cell by cell.
    Path(Vec<usize>),
    /// No path exists: all have been tried.
    NoSolution,
    /// The watch ended the search.
    Stopped,
}

/// An answer and what it took.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The answer.
    pub answer: Answer,
    /// The search at its end.
    pub progress: Progress,
}

impl Progress {
    /// The result of a search that ends here.
    pub(crate) fn with(self, answer: Answer) -> Solved {
        Solved { answer, progress: self }
    }
}

/// Solves `board` from its start, or from any free cell if it gives none.
///
/// `watch` is called from all threads, before each start and every few nodes; the search ends when it
/// returns false. With one thread the same board and seed give the same answer.
pub fn solve(board: &Board, limits: Limits, watch: &(dyn Fn(Progress) -> bool + Sync)) -> Solved {
    if has_surplus(board) {
        return Progress { nodes: 0, round: 1, starts: 0 }.with(Answer::NoSolution);
    }
    let given = board.start();
    let mut starts: Vec<usize> = match given {
        Some(start) => vec![start],
        None => (0..board.width() * board.height()).filter(|&cell| board.is_free(cell)).collect(),
    };
    Rng::new(limits.seed, "maze dash starts").shuffle(&mut starts);
    let choose = |(one, many): (u64, u64)| if given.is_some() { one } else { many };
    let mut limit = choose(FIRST_LIMIT);
    let threads = match given {
        Some(_) => limits.threads.max(1),
        None => limits.threads.clamp(1, starts.len().max(1)),
    };
    let copies = if given.is_some() { threads } else { 1 };
    let mut searches: Vec<Search> = (0..threads as u64)
        .map(|thread| Search::new(board, Rng::indexed(limits.seed, "maze dash search", thread)))
        .collect();
    let nodes = AtomicU64::new(0);
    for round in 1.. {
        let shared = Round {
            starts: &starts,
            copies,
            limit,
            noise: if round == 1 { 0.0 } else { NOISE },
            number: round,
            next: AtomicUsize::new(0),
            nodes: &nodes,
            stop: AtomicBool::new(false),
            result: Mutex::default(),
        };
        std::thread::scope(|scope| {
            let (first, others) = searches.split_at_mut(1);
            for search in others {
                scope.spawn(|| shared.work(search, watch));
            }
            shared.work(&mut first[0], watch);
        });
        let stopped = shared.stop.load(Ordering::Relaxed);
        let Ok(result) = shared.result.into_inner() else { break };
        let answer = match result.path {
            Some(path) => Some(Answer::Path(path)),
            None if result.refuted == starts.len() => Some(Answer::NoSolution),
            None if stopped => Some(Answer::Stopped),
            None => None,
        };
        let starts_left = starts.len() - result.refuted;
        if let Some(answer) = answer {
            let nodes = nodes.load(Ordering::Relaxed);
            return Solved { answer, progress: Progress { nodes, round, starts: starts_left } };
        }
        if given.is_none() {
            starts = result.open;
        }
        limit = limit.saturating_mul(choose(GROWTH));
    }
    let nodes = nodes.load(Ordering::Relaxed);
    Solved { answer: Answer::Stopped, progress: Progress { nodes, round: 0, starts: starts.len() } }
}

/// Whether one colour of a chessboard has so many more free cells that no start has a path: the colours
/// alternate along a path. One test of the board replaces one of each start.
fn has_surplus(board: &Board) -> bool {
    let (width, height) = (board.width(), board.height());
    let free = (0..width * height).filter(|&cell| board.is_free(cell));
    let light = |cell: usize| (cell / width + cell % width).is_multiple_of(2);
    free.map(|cell| if light(cell) { 1_i64 } else { -1 }).sum::<i64>().unsigned_abs() > 1
}

/// One pass over all starts that are left.
struct Round<'a> {
    starts: &'a [usize],
    /// Searches from each start.
    copies: usize,
    limit: u64,
    noise: f64,
    number: u32,
    next: AtomicUsize,
    nodes: &'a AtomicU64,
    stop: AtomicBool,
    result: Mutex<RoundResult>,
}

#[derive(Default)]
struct RoundResult {
    path: Option<Vec<usize>>,
    /// Number of starts that were refuted.
    refuted: usize,
    /// Starts whose search reached its limit.
    open: Vec<usize>,
}

impl Round<'_> {
    /// Searches from one start after the other until none is left.
    fn work(&self, search: &mut Search, watch: &(dyn Fn(Progress) -> bool + Sync)) {
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&start) = self.starts.get(number / self.copies) else { return };
            // A start that is refuted at once has no node at which the search asks.
            if self.is_stopped(self.nodes.load(Ordering::Relaxed), watch) {
                return;
            }
            let mut seen = search.nodes();
            let end = search.run(start, self.limit, self.noise, |nodes| {
                if nodes - seen < WATCH_EVERY {
                    return false;
                }
                let total = self.nodes.fetch_add(nodes - seen, Ordering::Relaxed) + nodes - seen;
                seen = nodes;
                self.is_stopped(total, watch)
            });
            self.nodes.fetch_add(search.nodes() - seen, Ordering::Relaxed);
            let Ok(mut result) = self.result.lock() else { return };
            match end {
                End::Solved => {
                    result.path = Some(search.path());
                    self.stop.store(true, Ordering::Relaxed);
                }
                End::Refuted if self.copies > 1 => {
                    result.refuted = 1;
                    self.stop.store(true, Ordering::Relaxed);
                }
                End::Refuted => result.refuted += 1,
                End::Limit => result.open.push(start),
            }
        }
    }

    /// Reports `nodes` to the watch, and returns whether the search has ended, here or in another thread.
    fn is_stopped(&self, nodes: u64, watch: &(dyn Fn(Progress) -> bool + Sync)) -> bool {
        if !watch(Progress { nodes, round: self.number, starts: self.starts.len() }) {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.stop.load(Ordering::Relaxed)
    }
}
