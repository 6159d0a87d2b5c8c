//! The rules: which moves are legal and what they change.

use super::board::{Board, Content};
use super::cell::Cell;
use super::moves::Move;
use super::side::{Side, Snakes, snake_score};

/// A board, the snakes of both sides and whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    board: Board,
    snakes: [Snakes; 2],
    to_move: Side,
    has_exited: bool,
}

/// A move that the rules do not allow. The position is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// The game has ended.
    #[error("the game is over; no move is legal")]
    Over,
    /// The target is not empty or not on the board.
    #[error("cell ({0}) is not empty; choose an empty cell of the board")]
    NotEmpty(Cell),
    /// The side has no snake yet.
    #[error("there is no snake to extend; start one with NEW")]
    NoSnake,
    /// The move does not start at an end of the current snake.
    #[error("cell ({0}) is no end of the current snake; move from one of its ends")]
    NoEnd(Cell),
    /// The target is not next to the end.
    #[error("cell ({to}) is not next to ({from}); move by one cell up, down, left or right")]
    NotNext {
        /// The end.
        from: Cell,
        /// The target.
        to: Cell,
    },
    /// Only the second side can freeze, for at least one turn.
    #[error("FREEZE {0} is not legal; only Chef freezes, for 1 turn or more")]
    Freeze(u8),
}

impl Position {
    /// The start of a game on `board`. The first side moves.
    pub fn new(board: Board) -> Self {
        let snakes = [Snakes::default(), Snakes::default()];
        Self { board, snakes, to_move: Side::First, has_exited: false }
    }

    /// A position from its parts, which the caller has checked.
    pub(super) fn from_parts(
        board: Board,
        snakes: [Snakes; 2],
        to_move: Side,
        has_exited: bool,
    ) -> Self {
        Self { board, snakes, to_move, has_exited }
    }

    /// The board.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// The snakes of a side.
    pub fn snakes(&self, side: Side) -> &Snakes {
        &self.snakes[side as usize]
    }

    /// The side whose turn it is.
    pub fn to_move(&self) -> Side {
        self.to_move
    }

    /// Score of a side so far.
    pub fn score(&self, side: Side) -> u64 {
        self.snakes(side).score()
    }

    /// Whether no cell is empty or a side has exited.
    pub fn is_over(&self) -> bool {
        self.has_exited || self.board.empty_count() == 0
    }

    /// The moves that extend the current snake of the side to move, at most six.
    ///
    /// A target next to both ends appears once, from the first end. The order is that of the ends,
    /// then up, left, right, down.
    pub fn extensions(&self) -> impl Iterator<Item = Move> {
        let ends = self.snakes(self.to_move).current().map(|snake| snake.ends);
        let [head, tail] =
            ends.map_or([None; 2], |[head, tail]| [Some(head), (tail != head).then_some(tail)]);
        let near = move |from: Option<Cell>| {
            let cells = from.into_iter().flat_map(|from| self.board.empty_neighbours(from));
            cells.filter_map(move |to| Some((from?, to)))
        };
        let second =
            near(tail).filter(move |&(_, to)| !head.is_some_and(|head| head.is_neighbour(to)));
        near(head).chain(second).map(|(from, to)| Move::Extend { from, to })
    }

    /// Makes a move of the side to move.
    pub fn play(&mut self, action: Move) -> Result<(), MoveError> {
        if self.is_over() {
            return Err(MoveError::Over);
        }
        let side = self.to_move;
        let snakes = &mut self.snakes[side as usize];
        match action {
            Move::New(cell) => {
                if self.board.content(cell) != Content::Empty {
                    return Err(MoveError::NotEmpty(cell));
                }
                snakes.start(cell);
                self.board.occupy(cell, side);
            }
            Move::Extend { from, to } => {
                let snake = snakes.current().ok_or(MoveError::NoSnake)?;
                let grown = snake.extended(from, to).ok_or(MoveError::NoEnd(from))?;
                if self.board.content(to) != Content::Empty {
                    return Err(MoveError::NotEmpty(to));
                }
                if !from.is_neighbour(to) {
                    return Err(MoveError::NotNext { from, to });
                }
                snakes.replace(grown);
                self.board.occupy(to, side);
            }
            Move::Exit => self.has_exited = true,
            Move::Freeze(turns) => {
                if side == Side::First || turns == 0 {
                    return Err(MoveError::Freeze(turns));
                }
            }
        }
        self.to_move = side.other();
        Ok(())
    }
}

/// Score of one snake that holds the first side's share of `free` cells against Chef.
///
/// Chef is frozen in 4.85 % of his turns, so the first side takes `1 / (2 − 0.0485)` of the cells.
/// Strategies on boards of different sizes are compared by their share of this bound.
pub fn one_snake_bound(free: u32) -> u64 {
    snake_score((f64::from(free) / (2.0 - 0.0485)).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(rows: u16, columns: u16) -> Position {
        Position::new(Board::new(rows, columns, []).unwrap())
    }

    fn play(position: &mut Position, lines: &[&str]) {
        for line in lines {
            position.play(line.parse().unwrap()).unwrap();
        }
    }

    #[test]
    fn the_examples_of_the_statement_score_1_10_and_3() {
        // One snake of two cells: 1 · ⌊√2⌋.
        let mut game = position(2, 2);
        play(&mut game, &["NEW 1 1", "NEW 2 2", "MOVE 1 1 1 2", "MOVE 2 2 2 1"]);
        assert!(game.is_over());
        assert_eq!(game.score(Side::First), 1);
        // One snake of six cells: 5 · ⌊√6⌋.
        let mut game = position(3, 4);
        play(&mut game, &["NEW 1 2", "NEW 3 1", "MOVE 1 2 1 1", "FREEZE 2", "MOVE 1 2 1 3"]);
        play(&mut game, &["FREEZE 1", "MOVE 1 3 1 4", "NEW 3 2", "MOVE 1 4 2 4", "NEW 3 3"]);
        play(&mut game, &["MOVE 2 4 2 3", "NEW 3 4", "EXIT"]);
        assert_eq!(game.score(Side::First), 10);
        // Snakes of three and two cells: 2 · ⌊√3⌋ + 1 · ⌊√2⌋.
        let mut game = position(2, 5);
        play(&mut game, &["NEW 1 1", "NEW 2 1", "MOVE 1 1 1 2", "MOVE 2 1 2 2", "MOVE 1 2 1 3"]);
        play(&mut game, &["MOVE 2 2 2 3", "NEW 2 5", "MOVE 2 3 2 4", "MOVE 2 5 1 5", "NEW 1 4"]);
        assert!(game.is_over());
        assert_eq!(game.score(Side::First), 3);
        assert_eq!(game.snakes(Side::First).count(), 2);
    }

    #[test]
    fn illegal_moves_are_named_and_change_nothing() {
        let mut game = Position::new(Board::new(10, 10, [Cell::new(4, 5)]).unwrap());
        let refuse = |game: &mut Position, line: &str, expected: MoveError| {
            let before = game.clone();
            assert_eq!(game.play(line.parse().unwrap()), Err(expected), "{line}");
            assert_eq!(*game, before);
        };
        refuse(&mut game, "MOVE 1 1 1 2", MoveError::NoSnake);
        refuse(&mut game, "NEW 4 5", MoveError::NotEmpty(Cell::new(4, 5)));
        refuse(&mut game, "NEW 0 5", MoveError::NotEmpty(Cell::new(0, 5)));
        refuse(&mut game, "NEW 11 5", MoveError::NotEmpty(Cell::new(11, 5)));
        refuse(&mut game, "FREEZE 3", MoveError::Freeze(3));
        play(&mut game, &["NEW 4 4", "FREEZE 1", "MOVE 4 4 4 3", "NEW 9 9", "MOVE 4 4 5 4"]);
        refuse(&mut game, "FREEZE 0", MoveError::Freeze(0));
        refuse(&mut game, "MOVE 4 3 4 2", MoveError::NoEnd(Cell::new(4, 3)));
        play(&mut game, &["NEW 9 8"]);
        refuse(&mut game, "MOVE 4 4 3 4", MoveError::NoEnd(Cell::new(4, 4)));
        refuse(&mut game, "MOVE 5 4 4 4", MoveError::NotEmpty(Cell::new(4, 4)));
        let (from, to) = (Cell::new(5, 4), Cell::new(6, 5));
        refuse(&mut game, "MOVE 5 4 6 5", MoveError::NotNext { from, to });
        play(&mut game, &["EXIT"]);
        refuse(&mut game, "NEW 1 1", MoveError::Over);
    }

    #[test]
    fn a_cell_next_to_both_ends_is_one_extension() {
        let mut game = position(3, 3);
        play(&mut game, &["NEW 1 1", "FREEZE 1", "MOVE 1 1 1 2", "FREEZE 1", "MOVE 1 2 2 2"]);
        game.play("FREEZE 1".parse().unwrap()).unwrap();
        let lines: Vec<String> = game.extensions().map(|action| action.to_string()).collect();
        // (2, 1) is next to the ends (1, 1) and (2, 2).
        assert_eq!(lines.iter().filter(|line| line.ends_with("2 1")).count(), 1, "{lines:?}");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn the_bound_is_the_one_that_the_figures_of_the_literature_imply() {
        let bound = one_snake_bound(60_000);
        assert!((5_300_000..5_450_000).contains(&bound), "{bound}");
    }
}
