//! Any text is a board of Maze Dash, in one of its formats, or is refused in one line. A board survives
//! every format. A solution of it is checked, and on small boards search finds one exactly if
//! backtracking and tree search do.
//!
//! A zero byte separates the board from a solution.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ouro_game::maze_dash::{Board, Solution};
use ouro_maze::{Answer, Limits, Method};

/// Largest number of cells of a board that is solved.
const SOLVED: usize = 25;

/// Whether a solution exists. A path that is found obeys the rules.
fn is_solvable(board: &Board, method: Method) -> bool {
    let limits = Limits { threads: 1, seed: 1 };
    match method.solve(board, limits, &|_| true).answer {
        Answer::Path(path) => {
            let solution = Solution::from_path(board, &path);
            assert_eq!(solution.check(board).as_ref(), Ok(&path), "the path is a solution");
            true
        }
        Answer::NoSolution => false,
        Answer::Stopped => panic!("no limit was set"),
    }
}

fuzz_target!(|text: &str| {
    let (board, solution) = text.split_once('\0').unwrap_or((text, ""));
    let board: Board = match board.parse() {
        Ok(board) => board,
        Err(error) => {
            let error = error.to_string();
            assert_eq!(error.lines().count(), 1, "{error}");
            return;
        }
    };
    for written in [board.to_string(), board.to_line(), board.to_json()] {
        assert_eq!(written.parse().as_ref(), Ok(&board), "{written}");
    }
    match solution.parse::<Solution>() {
        Ok(solution) => {
            let checked = solution.check(&board);
            assert_eq!(checked.is_ok(), solution.decisions(&board).is_ok());
            if let Ok(path) = checked {
                assert_eq!(path.len(), board.cells(), "every free cell is visited");
            }
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
    if board.width() * board.height() <= SOLVED {
        let solvable = is_solvable(&board, Method::Search);
        for method in [Method::Backtracking, Method::Mcts] {
            assert_eq!(solvable, is_solvable(&board, method), "{method:?}: {board}");
        }
    }
});
