//! Self-play does not use more memory after many games than after a few.
#![expect(unsafe_code, reason = "an allocator that counts is unsafe to write")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use ouro_actor::{Entry, Member, Roster, Worker, WorkerSettings};
use ouro_game::battlesnake::{self, Small};
use ouro_game::{Game, GameConfig};
use ouro_net::{Architecture, ContentHash, Engine, Generation, NetSpec, Weights, WeightsMeta};
use ouro_players::OpponentShares;
use ouro_settings::{Swap, exploring};

thread_local! {
    /// Bytes allocated by this thread.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator with a count per thread.
struct Counting;

fn count(bytes: i64) {
    // A thread that ends may free memory after its count is gone.
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's guarantees are those that the system's allocator requires.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the pointer came from `alloc`, that is from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as for `dealloc`, and the size is the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn entry(game: &Small, generation: u32) -> Entry {
    let architecture = Architecture::Conv { channels: 2, layers: 1, hidden: 4 };
    let spec = NetSpec { planes: game.planes(), actions: game.action_count(), architecture };
    let weights = Weights::initialize(spec, WeightsMeta::default(), generation.into()).unwrap();
    let hash = ContentHash::of(&generation.to_le_bytes());
    Entry { hash, generation: Generation(generation), engine: Arc::new(Engine::new(&weights)) }
}

#[test]
fn memory_is_flat_over_many_games_with_kept_trees_and_changing_weights() {
    let config = battlesnake::Config { width: 7, height: 7, snakes: 2, ..Default::default() };
    let game = Small::new(config.clone()).unwrap();
    let settings = WorkerSettings {
        games: 16,
        batch: 64,
        shares: OpponentShares { self_play: 0.5, prioritised: 0.3, uniform: 0.2 },
        scripted: Default::default(),
        demonstrations: Default::default(),
        net: None,
        cohort: 4,
        search: Some(exploring(16, 30)),
        epsilon: 0.0,
        opening_plies: 2,
        swap: Swap::Moves,
        max_plies: 80,
        tree_bytes: 64 << 20,
        fresh_trees: false,
        remembered: 1_000,
        seed: 1,
        index: 0,
    };
    let config = Arc::new(GameConfig::Battlesnake(config));
    let member = |generation| Member { entry: entry(&game, generation), newest_wins: None };
    let pool = (0..4).map(member).collect();
    let mut roster = Roster { revision: None, newest: entry(&game, 9), pool };
    let mut worker = Worker::new(game.clone(), config, settings).unwrap();
    let mut held = Vec::with_capacity(10);
    let before = HELD.get();
    for tenth in 0..10 {
        // Weights change; their number stays the same.
        roster.newest = entry(&game, 10 + tenth);
        for _ in 0..2_000 {
            worker.tick(&roster).unwrap();
        }
        held.push(HELD.get() - before);
    }
    assert!(worker.stats().games > 500, "{:?}", worker.stats());
    // The largest trees occur in early games, though not always in the very first ones.
    let (third, last) = (held[2], held[9]);
    assert!(last <= third + third / 4, "{held:?}");
    assert!(last < 16 << 20, "{held:?}");
}
