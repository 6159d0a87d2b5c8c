//! The conversation between a referee and a program, within a time limit.
//!
//! One thread moves the lines, and blocks where the program does. Another ends the game when the
//! program has used up its time. A line therefore passes no thread but its own, and a program that
//! neither reads nor writes cannot block the judge. After the game, the program has [`END_LIMIT`] to
//! end, which is no part of its time.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ouro_game::snakgame::{Referee, Reply};

use super::program::{END_LIMIT, Exit, Pipes, Program};

/// A game in progress, as both threads see it.
struct Game {
    referee: Referee,
    limit: Duration,
    /// Time that the program took for its earlier turns.
    used: Duration,
    /// The begin of the program's turn; `None` between turns and after the game.
    since: Option<Instant>,
    /// The end of the game, once it is over without a loss.
    over: Option<Instant>,
    /// Whether the time is up.
    is_late: bool,
}

/// What the thread that moves the lines reports.
enum Event {
    /// The game is over, and the program should end.
    Over,
    /// The program has closed its output.
    Closed,
}

impl Game {
    /// Time that the program has left: for its moves, or to end after the game.
    fn left(&self) -> Duration {
        if self.over.is_some() {
            return self.left_to_end();
        }
        let current = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.limit.saturating_sub(self.used + current)
    }

    /// Time for a program that has closed its output to end.
    fn left_to_end(&self) -> Duration {
        self.over.map_or(END_LIMIT, |over| END_LIMIT.saturating_sub(over.elapsed()))
    }

    fn stop_clock(&mut self) {
        self.used += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    /// Ends the game if the time is up; returns whether it is. A game that is over keeps its result.
    fn check_time(&mut self) -> bool {
        if !self.is_late && self.left().is_zero() {
            self.stop_clock();
            if self.over.is_none() {
                self.referee.silence();
            }
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
        if matches!(reply, Reply::Over(_)) {
            // More lines after the end give the program no more time.
            self.over.get_or_insert_with(Instant::now);
        }
        Some(reply).filter(|reply| !matches!(reply, Reply::Lost(_)))
    }

    /// Takes the exit status of a program that has closed its output; `None` if the program runs on.
    fn end(&mut self, exit: Option<Exit>) {
        let Exit { how, failed } = match exit {
            Some(exit) => exit,
            None if self.over.is_some() => return,
            None => Exit { how: "its output is closed, but it runs on".to_owned(), failed: true },
        };
        self.referee.ended(how, failed);
    }
}

/// Plays until the program has ended or lost, or runs on for [`END_LIMIT`] after the game. Returns the
/// referee and the time that the program took for its moves.
///
/// The time of a turn begins before the answer to the last one is written.
pub(super) fn hold(
    referee: Referee,
    mut program: Program,
    pipes: Pipes,
    limit: Duration,
) -> (Referee, Duration) {
    let used = Duration::ZERO;
    let game = Game { referee, limit, used, since: None, over: None, is_late: false };
    let game = Arc::new(Mutex::new(game));
    let (events, reports) = channel();
    let shared = Arc::clone(&game);
    thread::spawn(move || move_lines(&shared, pipes, &events));
    loop {
        let left = lock(&game).left();
        match reports.recv_timeout(left) {
            // The next wait is the one for the end of the program.
            Ok(Event::Over) => {}
            Ok(Event::Closed) => {
                let left = lock(&game).left_to_end();
                let exit = program.exit(left);
                lock(&game).end(exit);
                break;
            }
            Err(RecvTimeoutError::Timeout) if !lock(&game).check_time() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    let game = lock(&game);
    (game.referee.clone(), game.used)
}

/// Moves lines until the program has closed its output or lost. Reports the end of the game and that of
/// the output. A loss drops the sender without a report.
fn move_lines(game: &Mutex<Game>, mut pipes: Pipes, events: &Sender<Event>) {
    let mut text = lock(game).referee.opening();
    let mut is_last = false;
    loop {
        if !is_last {
            lock(game).since = Some(Instant::now());
        }
        pipes.send(&text);
        if is_last {
            pipes.close();
        }
        let Some(line) = pipes.line() else {
            lock(game).stop_clock();
            // The receiver is gone once the time is up.
            let _ = events.send(Event::Closed);
            return;
        };
        match lock(game).take(&line) {
            Some(Reply::Answer(answer)) => text = answer + "\n",
            Some(Reply::Over(answer)) => {
                text = answer.map_or_else(String::new, |answer| answer + "\n");
                is_last = true;
                let _ = events.send(Event::Over);
            }
            Some(Reply::Lost(_)) | None => return,
        }
    }
}

/// Locks the game. A thread that panicked left it as it was between two turns.
fn lock(game: &Mutex<Game>) -> MutexGuard<'_, Game> {
    game.lock().unwrap_or_else(PoisonError::into_inner)
}
