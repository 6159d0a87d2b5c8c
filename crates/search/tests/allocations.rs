//! A search in its stride allocates nothing, and keeps no memory from one move to the next.
#![expect(unsafe_code, reason = "an allocator that counts is unsafe to write")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ouro_game::battlesnake::{self, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::{
    Action, Game, GameConfig, GameVisitor, Rng, Turn, catalog::GAMES, maze_dash, snakgame,
};
use ouro_search::mcts::{Simultaneous, Temperature};
use ouro_search::{Evaluator, Rollout, Scheduler, Search, SearchConfig, Uniform};

thread_local! {
    /// Allocations of this thread, and the bytes it holds.
    static COUNTS: Cell<(u64, i64)> = const { Cell::new((0, 0)) };
}

/// The system's allocator with a count per thread.
struct Counting;

fn count(allocations: u64, bytes: i64) {
    // A thread that ends may free memory after its counts are gone.
    let _ = COUNTS.try_with(|counts| {
        let (calls, held) = counts.get();
        counts.set((calls + allocations, held + bytes));
    });
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's contract is that of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: the pointer came from `alloc`, that is from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: as for `dealloc`, and the size is the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Searches the same position twice; the allocations of the second search.
fn allocations<G: Game, E: Evaluator<G>>(
    game: &G,
    config: SearchConfig,
    trees: usize,
    evaluator: &mut E,
) -> u64 {
    let mut rng = Rng::new(1, "game");
    let mut state = game.initial(&mut rng);
    game.settle(&mut state, &mut rng);
    let new = || Search::new(config.clone(), game).unwrap();
    let mut searches: Vec<_> = (0..trees).map(|_| new()).collect();
    let mut scheduler = Scheduler::new(trees);
    let mut before = 0;
    for _ in 0..2 {
        before = COUNTS.get().0;
        for (index, search) in searches.iter_mut().enumerate() {
            search.start(game, &state, Rng::indexed(2, "search", index as u64));
        }
        scheduler.run(game, &mut searches, evaluator);
    }
    COUNTS.get().0 - before
}

#[test]
fn a_search_whose_memory_has_grown_allocates_nothing() {
    let config = SearchConfig { simulations: 3_000, ..SearchConfig::default() };
    let four = ConnectFour::new(connect_four::Config::default()).unwrap();
    assert_eq!(allocations(&four, config.clone(), 1, &mut Rollout::new()), 0);
    assert_eq!(allocations(&four, config.clone(), 1, &mut Rollout::new().guided()), 0);
    assert_eq!(allocations(&four, config.clone(), 7, &mut Uniform), 0);
    for snakes in [2, 4] {
        let board = battlesnake::Config { snakes, ..battlesnake::Config::default() };
        let board = Small::new(board).unwrap();
        assert_eq!(allocations(&board, config.clone(), 3, &mut Rollout::new()), 0);
        assert_eq!(allocations(&board, config.clone(), 3, &mut Rollout::new().guided()), 0);
        let simultaneous = Simultaneous::RegretMatching { exploration: 0.5 };
        let matching = SearchConfig { simultaneous, leaves_in_flight: 4, ..config.clone() };
        assert_eq!(allocations(&board, matching, 3, &mut Uniform), 0);
    }
}

/// Bytes of a state of the game: counted, and as the game says.
struct StateBytes;

impl GameVisitor for StateBytes {
    type Output = [usize; 2];

    fn visit<G: Game>(self, game: G) -> [usize; 2] {
        const COPIES: usize = 16;
        let state = game.initial(&mut Rng::new(1, "game"));
        let mut copies = Vec::with_capacity(COPIES);
        let before = COUNTS.get().1;
        (0..COPIES).for_each(|_| copies.push(state.clone()));
        let heap = (COUNTS.get().1 - before) as usize / COPIES;
        [size_of::<G::State>() + heap, game.state_bytes()]
    }
}

#[test]
fn limits_of_memory_know_the_bytes_of_a_state() {
    let snakgame = snakgame::Config { rows: 250, columns: 250, ..snakgame::Config::default() };
    let maze = maze_dash::Config { width: 200, height: 200, ..maze_dash::Config::default() };
    let large = [GameConfig::Snakgame(snakgame), GameConfig::MazeDash(maze)];
    let games = GAMES.iter().map(|game| GameConfig::by_name(game.name).unwrap()).chain(large);
    for config in games {
        let [counted, said] = config.visit(StateBytes).unwrap();
        assert!(counted <= said && said <= counted + 64, "{}: {counted} {said}", config.name());
    }
}

/// Plays moves with kept trees, game after game; the bytes held after each tenth.
fn bytes_held<G: Game, E: Evaluator<G>>(
    game: &G,
    config: &SearchConfig,
    moves: u32,
    evaluator: &mut E,
) -> Vec<i64> {
    let mut search = Search::new(config.clone(), game).unwrap();
    let mut scheduler = Scheduler::new(1);
    let mut joint = vec![Action::default(); game.players()];
    let mut games = 0;
    let mut held = Vec::with_capacity(10);
    let mut chance = Rng::new(0, "game");
    let mut state = game.initial(&mut chance);
    game.settle(&mut state, &mut chance);
    search.start(game, &state, Rng::new(3, "search"));
    for ply in 1..=moves {
        scheduler.run(game, std::slice::from_mut(&mut search), evaluator);
        for seat in search.decide(game).seats {
            joint[seat.player] = seat.action;
        }
        game.advance(&mut state, &joint, &mut chance).unwrap();
        if game.turn(&state) == Turn::Over {
            games += 1;
            chance = Rng::indexed(0, "game", games);
            state = game.initial(&mut chance);
            game.settle(&mut state, &mut chance);
            search.start(game, &state, Rng::indexed(3, "search", games));
        } else {
            search.advance(game, &joint, &state);
        }
        if ply % (moves / 10) == 0 {
            held.push(COUNTS.get().1);
        }
    }
    held
}

#[test]
fn memory_is_flat_over_a_million_moves() {
    let config = SearchConfig {
        simulations: 4,
        temperature: Temperature::Constant { value: 1.0 },
        ..SearchConfig::default()
    };
    let four = ConnectFour::new(connect_four::Config::default()).unwrap();
    let held = bytes_held(&four, &config, 1_000_000, &mut Uniform);
    let (first, last) = (held[0], held[9]);
    assert!(last <= first + 4_096, "{held:?}");
    assert!(last < 1 << 20, "{held:?}");
}

#[test]
fn memory_is_flat_over_many_moves_of_a_game_with_chance() {
    let config = SearchConfig {
        simulations: 24,
        temperature: Temperature::Constant { value: 1.0 },
        ..SearchConfig::default()
    };
    let duel = battlesnake::Config { width: 7, height: 7, snakes: 2, ..Default::default() };
    let duel = Small::new(duel).unwrap();
    let held = bytes_held(&duel, &config, 40_000, &mut Uniform);
    let (second, last) = (held[1], held[9]);
    // The largest tree of all games is found early, if not in the very first ones.
    assert!(last <= second + second / 4, "{held:?}");
    assert!(last < 4 << 20, "{held:?}");
}
