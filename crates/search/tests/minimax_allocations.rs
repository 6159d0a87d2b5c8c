//! A minimax search in its stride allocates nothing per node.
#![expect(unsafe_code, reason = "an allocator that counts is unsafe to write")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ouro_game::battlesnake::{Config, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::{Game, Rng};
use ouro_search::{
    AreaControl, Heuristic, Limits, MaxN, OutcomeOnly, Paranoid, Plain, Query, Searcher,
};

thread_local! {
    /// Allocations of this thread.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a count per thread.
struct Counting;

fn count() {
    // A thread that ends may allocate after its count is gone.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's contract is that of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc`, that is from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as for `dealloc`, and the size is the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Searches the same position twice; the allocations and nodes of the second search.
fn second_search<G: Game, E: Heuristic<G>>(
    game: &G,
    mut searcher: impl Searcher<G>,
    mut heuristic: E,
    turns: u32,
) -> (u64, u64) {
    let state = game.initial(&mut Rng::new(1, "game"));
    let query = Query { game, state: &state, player: 0, limits: Limits::turns(turns) };
    searcher.search(query, &mut heuristic).unwrap();
    let before = COUNT.get();
    let found = searcher.search(query, &mut heuristic).unwrap();
    (COUNT.get() - before, found.nodes)
}

#[test]
fn the_second_search_allocates_for_its_result_only() {
    let duel = Small::new(Config { snakes: 2, ..Config::default() }).unwrap();
    let four = Small::new(Config::default()).unwrap();
    let columns = ConnectFour::new(connect_four::Config::default()).unwrap();
    let area = AreaControl::default;
    for (allocations, nodes) in [
        second_search(&duel, Paranoid::new(), area(), 5),
        second_search(&duel, Plain::new(), area(), 4),
        second_search(&duel, MaxN::new(), area(), 4),
        second_search(&four, Paranoid::new(), area(), 2),
        second_search(&four, MaxN::new(), area(), 2),
        second_search(&columns, Paranoid::new(), OutcomeOnly, 8),
    ] {
        assert!(nodes > 1_000, "{nodes} nodes");
        // The list of root actions, and the variations that were best for a while.
        assert!(allocations < 40, "{allocations} allocations for {nodes} nodes");
    }
}
