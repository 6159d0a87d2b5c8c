//! Maze Dash: the generator, the formats of boards and solutions, and the checker.

use ouro_game::maze_dash::{Board, Direction, Solution, SolutionError, Trail, generate};

/// Sides and numbers of obstacles of arXiv 2005.14156, table I.
const TABLE: [(usize, usize); 7] =
    [(5, 4), (6, 10), (10, 32), (15, 66), (20, 133), (30, 378), (50, 776)];

#[test]
fn boards_of_the_paper_have_its_counts_and_a_path_that_solves_them() {
    for (side, obstacles) in TABLE {
        for seed in 0..5 {
            let (board, path) = generate(side, side, obstacles, seed)
                .unwrap_or_else(|error| panic!("{side}: {error}"));
            assert_eq!((board.width(), board.height(), board.obstacles()), (side, side, obstacles));
            let solution = Solution::from_path(&board, &path);
            assert_eq!(solution.check(&board).expect("the path is a solution"), path);
            let decisions = solution.decisions(&board).expect("it solves the board");
            assert_eq!(decisions.check(&board).expect("decisions suffice"), path);
            assert!(decisions.moves.len() < solution.moves.len());
        }
    }
}
