//! Any lines of a program are a game of SNAKGAME that the referee scores, or lose with one line of
//! reason.
//!
//! The first byte selects the board, the second Chef's numbers; the lines follow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ouro_game::snakgame::{Referee, Reply, generate};

fuzz_target!(|bytes: &[u8]| {
    let [board, seed, lines @ ..] = bytes else { return };
    let (rows, columns) = (10 + u16::from(board % 4), 10 + u16::from(board / 4 % 4));
    let board = generate(rows, columns, u64::from(*board)).expect("the size is in range");
    let opening = Referee::new(board.clone(), 0).opening();
    assert_eq!(opening.lines().count(), 1 + board.blocked_count() as usize);
    let mut referee = Referee::new(board, u64::from(*seed));
    let mut is_over = false;
    for line in lines.split(|&byte| byte == b'\n') {
        let (moves, score) = (referee.moves().len(), referee.result().score);
        let reply = referee.line(line);
        match &reply {
            Reply::Answer(answer) => {
                assert!(!is_over, "an answer after the end");
                assert_eq!(answer.lines().count(), 1, "{answer}");
                assert_eq!(referee.moves().len(), moves + 1, "the move was played");
            }
            Reply::Over(_) => is_over = true,
            Reply::Lost(loss) => {
                assert_eq!(loss.to_string().lines().count(), 1, "{loss}");
                assert_eq!(referee.result().score, 0, "a loss loses everything");
                assert_eq!(referee.loss(), Some(loss));
                is_over = true;
            }
        }
        if referee.loss().is_none() {
            assert!(referee.result().score >= score, "scores never fall");
        }
    }
});
