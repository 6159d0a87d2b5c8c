//! Whole games of every strategy against Chef.

use ouro_game::snakgame::{Board, OfficialResult, generate, play_official};
use ouro_snakgame::Named;

fn play(named: Named, board: Board, seed: u64) -> OfficialResult {
    let result = play_official(board, seed, named.player(seed).as_mut());
    result.unwrap_or_else(|error| panic!("{} plays an illegal move: {error}", named.name()))
}

#[test]
fn every_strategy_fills_boards_of_all_shapes_with_legal_moves_and_repeats_itself() {
    for named in Named::ALL {
        assert_eq!(Named::find(named.name()), Some(named));
        for (rows, columns, seeds) in [(10, 10, 60), (10, 47, 20), (61, 13, 20), (90, 90, 4)] {
            for seed in 0..seeds {
                let board = generate(rows, columns, seed).unwrap();
                let result = play(named, board.clone(), seed);
                assert!(result.turns + 1 >= board.empty_count() / 2);
                assert_eq!(result, play(named, board, seed), "{} {rows}x{columns}", named.name());
            }
        }
    }
}

#[test]
fn boards_of_few_cells_and_without_empty_cells_end_the_game() {
    for named in Named::ALL {
        for (rows, columns) in [(1, 1), (1, 2), (1, 9), (2, 2), (3, 1)] {
            play(named, Board::new(rows, columns, []).unwrap(), 1);
        }
        let full = Board::new(1, 1, [ouro_game::snakgame::Cell::new(1, 1)]).unwrap();
        assert_eq!(play(named, full, 1).turns, 0);
    }
}

#[test]
fn the_strategies_rank_as_in_the_table() {
    let total = |named| -> u64 {
        (0..6).map(|seed| play(named, generate(120, 120, seed).unwrap(), seed).score).sum()
    };
    let [random, fewest, editorial, repair] =
        [Named::Random, Named::FewestFree, Named::Editorial, Named::PlanRepair].map(total);
    assert!(random < fewest && fewest < editorial && editorial < repair);
}
