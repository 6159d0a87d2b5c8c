//! All methods agree with an enumeration of all paths, and every path passes the checker.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use ouro_game::Rng;
use ouro_game::maze_dash::{Board, Direction, Solution, generate};
use ouro_maze::{Answer, Limits, Method, Progress, Solved, solve};

const ONE_THREAD: Limits = Limits { threads: 1, seed: 1 };

/// A random board of at most 5x5: the largest connected part of random free cells.
fn small_board(rng: &mut Rng) -> Board {
    loop {
        let (width, height) = (1 + rng.below(5) as usize, 1 + rng.below(5) as usize);
        let density = 0.5 * rng.unit();
        let mut free: Vec<bool> = (0..width * height).map(|_| rng.unit() >= density).collect();
        keep_part(&mut free, width, rng.below(25) as usize % (width * height));
        let start = rng.below(25) as usize % (width * height);
        let start = (rng.below(2) == 0 && free[start]).then_some(start);
        if let Ok(board) = Board::new(width, height, free, start) {
            return board;
        }
    }
}

/// Makes all cells obstacles that cannot be reached from `root`.
fn keep_part(free: &mut [bool], width: usize, root: usize) {
    let mut reached = vec![false; free.len()];
    let mut queue = vec![root];
    while let Some(cell) = queue.pop() {
        if !free[cell] || std::mem::replace(&mut reached[cell], true) {
            continue;
        }
        let (x, size) = (cell % width, free.len());
        let sides = [
            (x > 0).then(|| cell - 1),
            (x + 1 < width).then(|| cell + 1),
            cell.checked_sub(width),
            (cell + width < size).then(|| cell + width),
        ];
        queue.extend(sides.into_iter().flatten());
    }
    free.copy_from_slice(&reached);
}

/// Whether any path over single steps covers the board. It shares no code with the methods.
fn brute_force(board: &Board) -> bool {
    fn extend(
        board: &Board,
        visited: &mut Vec<bool>,
        cell: usize,
        came: Option<Direction>,
        count: usize,
    ) -> bool {
        if count == board.cells() {
            return true;
        }
        let enter = |way, visited: &[bool]| {
            board.neighbour(cell, way).filter(|&next| board.is_free(next) && !visited[next])
        };
        let straight = came.filter(|&way| enter(way, visited).is_some());
        Direction::ALL.into_iter().any(|way| {
            let Some(next) =
                enter(way, visited).filter(|_| straight.is_none_or(|only| only == way))
            else {
                return false;
            };
            visited[next] = true;
            let found = extend(board, visited, next, Some(way), count + 1);
            visited[next] = false;
            found
        })
    }
    (0..board.width() * board.height())
        .filter(|&cell| board.is_free(cell) && board.start().is_none_or(|start| start == cell))
        .any(|cell| {
            let mut visited = vec![false; board.width() * board.height()];
            visited[cell] = true;
            extend(board, &mut visited, cell, None, 1)
        })
}

/// Whether the answer is a path; it must pass the checker.
fn is_solved(board: &Board, method: Method) -> bool {
    match method.solve(board, ONE_THREAD, &|_| true).answer {
        Answer::Path(path) => {
            let checked = Solution::from_path(board, &path).check(board);
            assert_eq!(checked.as_ref(), Ok(&path), "{method:?}\n{board}");
            true
        }
        Answer::NoSolution => false,
        Answer::Stopped => panic!("{method:?} stopped on\n{board}"),
    }
}

#[test]
fn all_methods_agree_with_brute_force_on_ten_thousand_small_boards() {
    let mut rng = Rng::new(17, "small boards");
    let mut counts: HashMap<(bool, bool), u32> = HashMap::new();
    for _ in 0..10_000 {
        let board = small_board(&mut rng);
        let truth = brute_force(&board);
        for method in Method::ALL {
            assert_eq!(is_solved(&board, method), truth, "{method:?} on\n{board}");
        }
        *counts.entry((board.start().is_some(), truth)).or_default() += 1;
    }
    // Solvable and unsolvable boards with and without a start, each in numbers.
    assert_eq!(counts.len(), 4, "{counts:?}");
    assert!(counts.values().all(|&count| count > 500), "{counts:?}");
}

#[test]
fn methods_agree_on_boards_beyond_brute_force() {
    let mut rng = Rng::new(18, "larger boards");
    let mut solved = 0;
    for seed in 0..60 {
        let (board, _) = generate(8, 8, 18, seed).expect("8x8 with 18 obstacles is within reach");
        let start = (0..64).filter(|&cell| board.is_free(cell)).nth(rng.below(46) as usize);
        for board in [board.with_start(start), board.with_start(None)] {
            let board = board.expect("the start is a free cell of a valid board");
            let truth = is_solved(&board, Method::Sat);
            for method in [Method::Search, Method::Mcts] {
                assert_eq!(is_solved(&board, method), truth, "{method:?}\n{board}");
            }
            solved += u32::from(truth);
        }
    }
    assert!(solved > 60 && solved < 120, "{solved}");
}

#[test]
fn one_thread_gives_the_same_answer_each_time() {
    for seed in 0..3 {
        let (board, _) = generate(14, 14, 60, seed).expect("14x14 with 60 obstacles is in reach");
        let board = board.with_start(None).expect("no start is valid");
        for method in [Method::Search, Method::Sat, Method::Mcts] {
            let run = || method.solve(&board, ONE_THREAD, &|_| true);
            let (first, second) = (run(), run());
            assert_eq!(first.answer, second.answer, "{method:?}");
            assert_eq!(first.progress, second.progress, "{method:?}");
        }
    }
}

/// An odd square without two border cells of the smaller colour. A path has at most one cell more of
/// one colour than of the other, so none covers the board.
fn hopeless(side: usize) -> Board {
    let mut free = vec![true; side * side];
    free[1] = false;
    free[3] = false;
    Board::new(side, side, free, None).expect("the board is connected")
}

#[test]
fn a_watch_that_returns_false_stops_every_method() {
    for method in Method::ALL {
        let calls = AtomicU64::new(0);
        let Solved { answer, progress } =
            method.solve(&hopeless(41), ONE_THREAD, &|_| calls.fetch_add(1, Ordering::Relaxed) < 2);
        // A refutation within two calls of the watch is right as well.
        if answer != Answer::NoSolution {
            assert_eq!(answer, Answer::Stopped, "{method:?}");
            assert!(calls.load(Ordering::Relaxed) >= 3, "{method:?} {progress:?}");
        }
    }
}

#[test]
fn tree_search_asks_the_watch_within_roll_outs() {
    // A path over this board has hundreds of decisions, and a roll-out tries as many.
    let (board, _) = generate(100, 100, 3_100, 1).expect("31 % of obstacles are in reach");
    let [asked, longest] = [const { AtomicU64::new(0) }; 2];
    let watch = |progress: Progress| {
        let before = asked.swap(progress.nodes, Ordering::Relaxed);
        longest.fetch_max(progress.nodes - before, Ordering::Relaxed);
        progress.nodes < 2_000
    };
    let solved = Method::Mcts.solve(&board, ONE_THREAD, &watch);
    assert!(solved.progress.nodes > 64, "{:?}", solved.progress);
    assert!(longest.into_inner() <= 64, "{:?}", solved.progress);
}

/// Three corridors that meet in one cell. They have three ends and a path has two, so the tests refute
/// every start before its first decision. The colours fit.
fn three_ends(arm: usize) -> Board {
    let (width, height) = (2 * arm + 1, arm + 1);
    let free = (0..width * height).map(|cell| cell < width || cell % width == arm).collect();
    Board::new(width, height, free, None).expect("the board is connected")
}

#[test]
fn the_watch_is_asked_before_each_start_though_all_are_refuted_at_once() {
    let board = three_ends(20);
    let calls = AtomicU64::new(0);
    let until = |last: u64| {
        calls.store(0, Ordering::Relaxed);
        solve(&board, ONE_THREAD, &|_| calls.fetch_add(1, Ordering::Relaxed) < last)
    };
    let Solved { answer, progress } = until(u64::MAX);
    assert_eq!((answer, progress.nodes, progress.starts), (Answer::NoSolution, 0, 0));
    assert_eq!(calls.load(Ordering::Relaxed), 61, "once for each start");
    let Solved { answer, progress } = until(7);
    assert_eq!((answer, progress.starts), (Answer::Stopped, 61 - 7));
    assert_eq!(calls.load(Ordering::Relaxed), 8);
}

#[test]
fn colours_that_do_not_fit_refute_all_starts_together() {
    let solved = solve(&hopeless(201), ONE_THREAD, &|_| panic!("no start is searched"));
    assert_eq!(solved.answer, Answer::NoSolution);
    assert_eq!((solved.progress.nodes, solved.progress.round, solved.progress.starts), (0, 1, 0));
}

#[test]
fn threads_find_a_path_and_a_refutation_too() {
    let limits = Limits { threads: 4, seed: 3 };
    let (board, _) = generate(15, 15, 66, 5).expect("15x15 with 66 obstacles is within reach");
    let start = board.start();
    for (start, other) in [(None, None), (start, Some(12))] {
        let board = board.with_start(start).expect("the start is a free cell of a valid board");
        let Answer::Path(path) = solve(&board, limits, &|_| true).answer else {
            panic!("the board has a solution");
        };
        assert!(Solution::from_path(&board, &path).check(&board).is_ok());
        let hopeless = hopeless(5).with_start(other).expect("the middle of the board is free");
        assert_eq!(solve(&hopeless, limits, &|_| true).answer, Answer::NoSolution);
    }
}

#[test]
fn tree_search_solves_the_boards_of_the_paper_and_stops_at_once_on_larger_ones() {
    for seed in 0..3 {
        let (board, _) = generate(30, 30, 378, seed).expect("30x30 with 378 obstacles is in reach");
        assert!(is_solved(&board, Method::Mcts), "\n{board}");
    }
    let free = vec![true; Method::Mcts.max_side() + 1];
    let long = Board::new(free.len(), 1, free, Some(0)).expect("a corridor is connected");
    let solved = Method::Mcts.solve(&long, ONE_THREAD, &|_| true);
    assert_eq!(solved.answer, Answer::Stopped);
    assert!(is_solved(&long, Method::Search));
}

#[test]
fn large_boards_take_few_decisions() {
    for seed in 0..3 {
        let (board, _) = generate(100, 100, 3_100, seed).expect("31 % of obstacles are in reach");
        let Solved { answer, progress } = solve(&board, ONE_THREAD, &|_| true);
        assert!(matches!(answer, Answer::Path(_)), "\n{board}");
        assert!(progress.nodes < 2_000, "{progress:?}");
    }
}

#[test]
fn methods_are_found_by_their_names() {
    for method in Method::ALL {
        assert_eq!(Method::from_name(method.name()), Some(method));
    }
    assert_eq!(Method::from_name("magic"), None);
}
