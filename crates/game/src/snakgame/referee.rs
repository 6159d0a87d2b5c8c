//! The judge of the official game, fed with the lines of a program.
//!
//! The referee sends the board, answers each line with Chef's, and decides how the game ended. It does
//! no I/O and knows no clock: its caller moves the lines and reports silence and the end of the
//! program. A program that breaks a rule loses everything, so its score is 0.

use std::fmt::Write;

use super::board::{Board, Content};
use super::moves::{Move, ParseMoveError};
use super::official::{OfficialGame, OfficialResult};
use super::position::MoveError;

/// Longest accepted line in bytes, without its end.
pub const MAX_LINE: usize = 100;

/// A judged game in progress.
#[derive(Clone, Debug)]
pub struct Referee {
    game: OfficialGame,
    moves: Vec<Move>,
    loss: Option<Loss>,
}

/// What a program does next, after it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The program must move. The line is Chef's answer, without a line end.
    Answer(String),
    /// The game is over, and the program must not move again. The line, if any, is still sent.
    Over(Option<String>),
    /// The program has lost everything.
    Lost(Loss),
}

/// Why a program has lost everything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// A move that the rules do not allow.
    #[error("turn {turn}: illegal move {line:?}: {error}")]
    IllegalMove {
        /// Turn of the program, from 1.
        turn: u32,
        /// The move.
        line: String,
        /// The broken rule.
        error: MoveError,
    },
    /// A line that is no move.
    #[error("turn {turn}: {error}")]
    Garbage {
        /// Turn of the program, from 1.
        turn: u32,
        /// What was written.
        error: ParseMoveError,
    },
    /// No line came in time.
    #[error("turn {turn}: no move within the time limit")]
    Silence {
        /// Turn of the program, from 1.
        turn: u32,
    },
    /// The program ended before the game, or failed.
    #[error("turn {turn}: the program ended: {how}")]
    Crash {
        /// Turn of the program, from 1.
        turn: u32,
        /// Its exit status.
        how: String,
    },
}

impl Loss {
    /// The kind in one word: `illegal_move`, `garbage`, `silence` or `crash`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::IllegalMove { .. } => "illegal_move",
            Self::Garbage { .. } => "garbage",
            Self::Silence { .. } => "silence",
            Self::Crash { .. } => "crash",
        }
    }
}

impl Referee {
    /// A game on `board`. `seed` selects Chef's random numbers.
    pub fn new(board: Board, seed: u64) -> Self {
        Self { game: OfficialGame::new(board, seed), moves: Vec::new(), loss: None }
    }

    /// The game so far.
    pub fn game(&self) -> &OfficialGame {
        &self.game
    }

    /// The legal moves of the program so far.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The lines that start the protocol: `n m K`, then the K blocked cells, row by row.
    pub fn opening(&self) -> String {
        let board = self.game.position().board();
        let mut text = format!("{} {} {}\n", board.rows(), board.columns(), board.blocked_count());
        for cell in board.cells().filter(|&cell| board.content(cell) == Content::Blocked) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{cell}");
        }
        text
    }

    /// Takes a line of the program, without its end.
    pub fn line(&mut self, line: &[u8]) -> Reply {
        if let Some(loss) = &self.loss {
            return Reply::Lost(loss.clone());
        }
        let turn = self.turn();
        let shown = || String::from_utf8_lossy(&line[..line.len().min(MAX_LINE)]).into_owned();
        let parsed = match std::str::from_utf8(line) {
            Ok(text) if text.len() <= MAX_LINE => text.parse::<Move>(),
            _ => Err(ParseMoveError::new(&shown())),
        };
        let action = match parsed {
            Ok(action) => action,
            Err(error) => return self.lose(Loss::Garbage { turn, error }),
        };
        let is_exit = action == Move::Exit;
        match self.game.advance(action) {
            // To leave a game that is over breaks no rule.
            Err(MoveError::Over) if is_exit => Reply::Over(None),
            Err(error) => self.lose(Loss::IllegalMove { turn, line: shown(), error }),
            Ok(answer) => {
                self.moves.push(action);
                let answer = answer.map(|answer| answer.to_string());
                match answer {
                    Some(answer) if !self.game.position().is_over() => Reply::Answer(answer),
                    answer => Reply::Over(answer),
                }
            }
        }
    }

    /// Takes the report that no line came in time.
    pub fn silence(&mut self) -> Reply {
        let turn = self.turn();
        self.lose(Loss::Silence { turn })
    }

    /// Takes the report that the program ended. Without a fault, that is no loss after the game.
    ///
    /// `how` describes the exit status; `failed` says whether it is one of a failure.
    pub fn ended(&mut self, how: String, failed: bool) -> Reply {
        if self.game.position().is_over() && !failed && self.loss.is_none() {
            return Reply::Over(None);
        }
        let turn = self.turn();
        self.lose(Loss::Crash { turn, how })
    }

    /// The result. The score is 0 after a [loss](Self::loss).
    pub fn result(&self) -> OfficialResult {
        let result = self.game.result();
        if self.loss.is_some() { OfficialResult { score: 0, ..result } } else { result }
    }

    /// Why the program lost everything; `None` if it did not.
    pub fn loss(&self) -> Option<&Loss> {
        self.loss.as_ref()
    }

    fn turn(&self) -> u32 {
        self.game.result().turns + 1
    }

    /// The first loss counts.
    fn lose(&mut self, loss: Loss) -> Reply {
        Reply::Lost(self.loss.get_or_insert(loss).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snakgame::{Cell, Side, generate};

    fn referee() -> Referee {
        Referee::new(Board::new(2, 2, [Cell::new(1, 1)]).unwrap(), 3)
    }

    #[test]
    fn the_opening_names_the_sides_and_the_blocked_cells() {
        assert_eq!(referee().opening(), "2 2 1\n1 1\n");
        let board = generate(20, 30, 5).unwrap();
        let blocked = board.blocked_count();
        let opening = Referee::new(board, 1).opening();
        assert!(opening.starts_with(&format!("20 30 {blocked}\n")));
        assert_eq!(opening.lines().count(), 1 + blocked as usize);
    }

    #[test]
    fn a_game_ends_when_the_board_is_full_or_the_program_exits() {
        let mut game = referee();
        let Reply::Answer(answer) = game.line(b"NEW 2 2") else { panic!("Chef answers") };
        assert!(answer.parse::<Move>().is_ok());
        let rest = game.game().position().board().empty_indices().to_vec();
        let cell = game.game().position().board().cell(rest[0] as usize);
        let reply = game.line(format!("NEW {cell}\r").as_bytes());
        assert_eq!(reply, Reply::Over(Some("EXIT".into())));
        assert_eq!(game.line(b"EXIT"), Reply::Over(None));
        assert_eq!(game.ended("exit code 0".into(), false), Reply::Over(None));
        let mut left = referee();
        assert_eq!(left.line(b"EXIT"), Reply::Over(None));
        assert_eq!((left.result().score, left.loss()), (0, None));
    }

    #[test]
    fn every_fault_has_its_kind_and_costs_the_whole_score() {
        type Fault<'a> = (&'a str, &'a dyn Fn(&mut Referee) -> Reply);
        let board = || Board::new(4, 4, []).unwrap();
        let start = || {
            let mut game = Referee::new(board(), 4);
            assert!(matches!(game.line(b"NEW 1 1"), Reply::Answer(_)));
            game
        };
        let long = [b'9'; 1_000];
        let faults: [Fault<'_>; 7] = [
            ("illegal_move", &|game| game.line(b"NEW 1 1")),
            ("illegal_move", &|game| game.line(b"FREEZE 1")),
            ("garbage", &|game| game.line(b"hello")),
            ("garbage", &|game| game.line(&[0xff, 0xfe])),
            ("garbage", &|game| game.line(&[b"EXIT".as_slice(), &[b' '; MAX_LINE]].concat())),
            ("silence", &Referee::silence),
            ("crash", &|game| game.ended("exit code 1".into(), true)),
        ];
        for (kind, fault) in faults {
            let mut game = start();
            let Reply::Lost(loss) = fault(&mut game) else { panic!("{kind}") };
            assert_eq!(loss.kind(), kind);
            assert!(loss.to_string().starts_with("turn 2: "), "{loss}");
            assert_eq!((game.result().score, game.loss()), (0, Some(&loss)));
            // The first fault counts.
            assert_eq!(game.line(&long), Reply::Lost(loss));
        }
        let mut early = start();
        let Reply::Lost(loss) = early.ended("exit code 0".into(), false) else { panic!("ended") };
        assert_eq!(loss.kind(), "crash");
    }

    #[test]
    fn a_move_after_the_end_is_illegal() {
        let mut game = Referee::new(Board::new(1, 1, []).unwrap(), 1);
        assert_eq!(game.line(b"NEW 1 1"), Reply::Over(Some("EXIT".into())));
        let Reply::Lost(loss) = game.line(b"NEW 1 1") else { panic!("illegal") };
        assert_eq!(loss.kind(), "illegal_move");
        assert_eq!(game.game().position().score(Side::First), 0);
    }
}
