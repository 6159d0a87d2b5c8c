//! The conversation between a referee and a program, within a time limit.
//!
//! One thread moves the lines, and blocks where the program does. Another ends the game when the
//! program has used up its time. A line therefore passes no thread but its own, and a program that
//! neither reads nor writes cannot block the judge.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ouro_game::snakgame::{Referee, Reply};

use super::program::{Exit, Pipes, Program};

/// A game in progress, as both threads see it.
struct Game {
    referee: Referee,
    limit: Duration,
    /// Time that the program took for its earlier turns.
    used: Duration,
    /// The begin of the program's turn; `None` between turns.
    since: Option<Instant>,
    /// Whether the time is up.
    is_late: bool,
}

impl Game {
    /// Time that the program has left.
    fn left(&self) -> Duration {
        let current = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.limit.saturating_sub(self.used + current)
    }

    fn stop_clock(&mut self) {
        self.used += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    /// Ends the game if the time is up; returns whether it is.
    fn check_time(&mut self) -> bool {
        if !self.is_late && self.left().is_zero() {
            self.stop_clock();
            self.referee.silence();
            self.is_late = true;
        }
        self.is_late
    }

    /// Ends the program's turn with a line. `None` if the game is over.
    fn take(&mut self, line: &[u8]) -> Option<Reply> {
        if self.check_time() {
            return None;
        }
        self.stop_clock();
        let reply = self.referee.line(line);
        Some(reply).filter(|reply| !matches!(reply, Reply::Lost(_)))
    }
}

/// Plays until the program has ended or lost. Returns the referee and the time that the program took.
///
/// The time of a turn begins before the answer to the last one is written.
pub(super) fn hold(
    referee: Referee,
    mut program: Program,
    pipes: Pipes,
    limit: Duration,
) -> (Referee, Duration) {
    let game = Game { referee, limit, used: Duration::ZERO, since: None, is_late: false };
    let game = Arc::new(Mutex::new(game));
    let (closed, ended) = channel();
    let shared = Arc::clone(&game);
    thread::spawn(move || move_lines(&shared, pipes, &closed));
    loop {
        let left = lock(&game).left();
        match ended.recv_timeout(left) {
            Ok(()) => {
                let Exit { how, failed } = program.exit();
                lock(&game).referee.ended(how, failed);
                break;
            }
            Err(RecvTimeoutError::Timeout) if !lock(&game).check_time() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    let game = lock(&game);
    (game.referee.clone(), game.used)
}

/// Moves lines until the game is over. Reports to `closed` if the program has closed its output.
fn move_lines(game: &Mutex<Game>, mut pipes: Pipes, closed: &Sender<()>) {
    let mut text = lock(game).referee.opening();
    let mut is_last = false;
    loop {
        lock(game).since = Some(Instant::now());
        pipes.send(&text);
        if is_last {
            pipes.close();
        }
        let Some(line) = pipes.line() else {
            lock(game).stop_clock();
            // The receiver is gone once the time is up.
            let _ = closed.send(());
            return;
        };
        match lock(game).take(&line) {
            Some(Reply::Answer(answer)) => text = answer + "\n",
            Some(Reply::Over(answer)) => {
                text = answer.map_or_else(String::new, |answer| answer + "\n");
                is_last = true;
            }
            Some(Reply::Lost(_)) | None => return,
        }
    }
}

/// Locks the game. A thread that panicked left it as it was between two turns.
fn lock(game: &Mutex<Game>) -> MutexGuard<'_, Game> {
    game.lock().unwrap_or_else(PoisonError::into_inner)
}
