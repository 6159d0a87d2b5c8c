//! Opening book: the best first moves of Connect Four on the standard board.
//!
//! The centre is the only winning first move (Allen and Allis, 1988). This project's solver
//! computed the replies: `cargo run --release -p ouro-game --example connect_four_openings`,
//! twenty minutes of one core.

use ouro_game::connect_four::{Config, ConnectFour, State};
use ouro_game::{Action, Game, Rng, Symmetry};

/// Columns played so far, from 0, and the best next columns, for one of each pair of mirror
/// images.
const OPENINGS: [(&[u32], &[u32]); 9] = [
    (&[], &[3]),
    (&[0], &[1, 3]),
    (&[1], &[2]),
    (&[2], &[2, 3, 4, 5]),
    (&[3], &[3]),
    (&[3, 0], &[3]),
    (&[3, 1], &[1, 5]),
    (&[3, 2], &[5]),
    (&[3, 3], &[3]),
];

/// The best moves of a position in the book, ascending.
pub(super) fn best_moves(game: &ConnectFour, state: &State) -> Option<Vec<Action>> {
    if *game.config() != Config::default() || state.plies() > 2 {
        return None;
    }
    OPENINGS.iter().find_map(|(line, best)| {
        let position = after(game, line);
        [Symmetry::Identity, Symmetry::FlipX].into_iter().find_map(|symmetry| {
            let image = |&column: &u32| game.transform_action(Action(column), symmetry);
            let mut images: Vec<Action> = best.iter().map(image).collect();
            images.sort_unstable();
            (game.transform(&position, symmetry) == *state).then_some(images)
        })
    })
}

/// The position after a line of columns.
fn after(game: &ConnectFour, line: &[u32]) -> State {
    let mut state = game.initial(&mut Rng::new(0, "opening"));
    for &column in line {
        let stepped = game.step(&mut state, &[Action(column); 2]);
        debug_assert!(stepped.is_ok(), "openings are legal");
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standard() -> ConnectFour {
        ConnectFour::new(Config::default()).expect("in range")
    }

    fn columns(line: &[u32]) -> Option<Vec<u32>> {
        let game = standard();
        let best = best_moves(&game, &after(&game, line));
        best.map(|best| best.iter().map(|action| action.0).collect())
    }

    #[test]
    fn the_book_holds_every_position_of_perfect_play_up_to_two_stones() {
        assert_eq!(columns(&[]), Some(vec![3]));
        for column in 0..7 {
            assert!(columns(&[column]).is_some(), "{column}");
            assert!(columns(&[3, column]).is_some(), "3, {column}");
            assert_eq!(columns(&[2, column]), None, "2 is not a perfect first move");
        }
        assert_eq!(columns(&[3, 3, 3]), None);
    }

    #[test]
    fn mirror_images_have_mirrored_moves() {
        assert_eq!(columns(&[3, 1]), Some(vec![1, 5]));
        assert_eq!(columns(&[3, 5]), Some(vec![1, 5]));
        assert_eq!(columns(&[0]), Some(vec![1, 3]));
        assert_eq!(columns(&[6]), Some(vec![3, 5]));
        assert_eq!(columns(&[3, 2]), Some(vec![5]));
        assert_eq!(columns(&[3, 4]), Some(vec![1]));
    }

    #[test]
    fn the_book_has_no_other_boards() {
        let game = ConnectFour::new(Config { width: 7, height: 7 }).expect("in range");
        assert_eq!(best_moves(&game, &after(&game, &[])), None);
    }
}
