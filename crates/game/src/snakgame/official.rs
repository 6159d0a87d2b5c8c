//! The official game: a strategy against Chef.

use super::board::Board;
use super::chef::Chef;
use super::moves::Move;
use super::position::{MoveError, Position};
use super::side::Side;

/// A way to play the first side.
///
/// A strategy may keep plans between moves. It sees the position before each of its moves, and each
/// move of Chef right after it was made.
pub trait Strategy {
    /// The move in `position`, in which the first side is to move and the game is not over.
    fn choose(&mut self, position: &Position) -> Move;

    /// Tells which move led to `position`. Called for moves of Chef.
    fn observe(&mut self, _position: &Position, _opponent: Move) {}
}

/// A game against Chef, advanced by the moves of the first side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfficialGame {
    position: Position,
    chef: Chef,
    turns: u32,
    frozen_turns: u32,
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfficialResult {
    /// Score of the first side.
    pub score: u64,
    /// Score that Chef would have; it does not count.
    pub chef_score: u64,
    /// Snakes of the first side.
    pub snakes: u32,
    /// Turns of the first side.
    pub turns: u32,
    /// Turns of Chef that were frozen.
    pub frozen_turns: u32,
}

impl OfficialGame {
    /// A new game. `seed` selects Chef's random numbers.
    pub fn new(board: Board, seed: u64) -> Self {
        let position = Position::new(board);
        Self { position, chef: Chef::new(seed), turns: 0, frozen_turns: 0 }
    }

    /// The position. The first side is to move unless the game is over.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Plays a move of the first side and Chef's answer, which is returned.
    ///
    /// After the move that fills the board Chef answers `Exit`. An `Exit` of the first side has no
    /// answer.
    pub fn advance(&mut self, action: Move) -> Result<Option<Move>, MoveError> {
        self.position.play(action)?;
        self.turns += u32::from(action != Move::Exit);
        if action == Move::Exit {
            return Ok(None);
        }
        let answer = self.chef.choose(&self.position);
        if answer != Move::Exit {
            self.position.play(answer)?;
        }
        self.frozen_turns += u32::from(matches!(answer, Move::Freeze(_)));
        Ok(Some(answer))
    }

    /// The result so far; final if the position is over.
    pub fn result(&self) -> OfficialResult {
        OfficialResult {
            score: self.position.score(Side::First),
            chef_score: self.position.score(Side::Second),
            snakes: self.position.snakes(Side::First).count(),
            turns: self.turns,
            frozen_turns: self.frozen_turns,
        }
    }
}

/// Plays a whole game of `strategy` against Chef.
///
/// The error is that of the first illegal move of the strategy, which loses everything.
pub fn play_official(
    board: Board,
    seed: u64,
    strategy: &mut dyn Strategy,
) -> Result<OfficialResult, MoveError> {
    let mut game = OfficialGame::new(board, seed);
    while !game.position.is_over() {
        let action = strategy.choose(&game.position);
        if let Some(answer) = game.advance(action)? {
            strategy.observe(&game.position, answer);
        }
    }
    Ok(game.result())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snakgame::{Cell, generate};

    /// Extends to the first empty neighbour and otherwise starts on the first empty cell.
    #[derive(Default)]
    struct First {
        answers: u32,
    }

    impl Strategy for First {
        fn choose(&mut self, position: &Position) -> Move {
            assert_eq!(position.to_move(), Side::First);
            let board = position.board();
            let fresh = board.cell(board.empty_indices()[0] as usize);
            position.extensions().next().unwrap_or(Move::New(fresh))
        }

        fn observe(&mut self, _position: &Position, _opponent: Move) {
            self.answers += 1;
        }
    }

    #[test]
    fn a_game_fills_the_board_and_the_same_seed_repeats_it() {
        for side in [10, 31, 80] {
            let board = generate(side, side, 5).unwrap();
            let free = board.empty_count();
            let mut strategy = First::default();
            let result = play_official(board.clone(), 9, &mut strategy).unwrap();
            assert_eq!(strategy.answers, result.turns);
            // Chef's last answer is Exit if the first side fills the board.
            let chef_cells = free - result.turns;
            assert!(result.turns - result.frozen_turns - chef_cells <= 1, "{result:?}");
            assert!(result.score > 0 && result.chef_score > 0);
            assert_eq!(play_official(board, 9, &mut First::default()).unwrap(), result);
        }
    }

    #[test]
    fn an_illegal_move_is_an_error_and_an_exit_ends_the_game() {
        let mut game = OfficialGame::new(generate(10, 10, 1).unwrap(), 1);
        let cell = Cell::new(0, 0);
        assert_eq!(game.advance(Move::New(cell)), Err(MoveError::NotEmpty(cell)));
        assert_eq!(game.advance(Move::Exit), Ok(None));
        assert!(game.position().is_over());
        assert_eq!(game.result().score, 0);
        assert_eq!(game.advance(Move::Exit), Err(MoveError::Over));
    }
}
