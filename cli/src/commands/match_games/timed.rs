//! Timing of the moves of a player.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use ouro_game::Game;
use ouro_players::{Choice, Clock, Player, Request};

use crate::clock::WallClock;

/// Longest recorded move in nanoseconds (one hour); longer moves count as this.
const LONGEST: u64 = 3_600_000_000_000;

/// Histogram of nanoseconds per move, with three significant digits.
pub(super) type Times = Histogram<u64>;

/// An empty histogram.
pub(super) fn times() -> Times {
    Times::new_with_bounds(1, LONGEST, 3).expect("three digits are within bounds")
}

/// The clock of the moves of one thread. It stands still while a player does work that is no part of a
/// move.
#[derive(Debug, Default)]
pub(in crate::commands) struct MoveClock {
    wall: WallClock,
    /// Nanoseconds of that work.
    excluded: AtomicU64,
}

impl MoveClock {
    /// Does work that is no part of a move.
    pub(super) fn exclude<T>(&self, work: impl FnOnce() -> T) -> T {
        let started = self.wall.monotonic();
        let done = work();
        let took = self.wall.monotonic().saturating_sub(started);
        self.excluded.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        done
    }
}

impl Clock for MoveClock {
    fn monotonic(&self) -> Duration {
        let excluded = Duration::from_nanos(self.excluded.load(Ordering::Relaxed));
        self.wall.monotonic().saturating_sub(excluded)
    }
}

/// Times every move of a player.
///
/// A player that does not batch chooses one move at a time. With a player that batches, each move
/// counts an equal share of the time of its batch.
pub(super) struct Timed<G: Game> {
    player: Box<dyn Player<G>>,
    clock: Arc<dyn Clock>,
    times: Arc<Mutex<Times>>,
}

impl<G: Game> Timed<G> {
    pub(super) fn new(
        player: Box<dyn Player<G>>,
        clock: Arc<dyn Clock>,
        times: Arc<Mutex<Times>>,
    ) -> Self {
        Self { player, clock, times }
    }

    fn timed(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        let count = requests.len() as u64;
        let started = self.clock.monotonic();
        self.player.choose(game, requests, choices);
        let took = self.clock.monotonic().saturating_sub(started);
        let each = took.as_nanos() as u64 / count.max(1);
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.saturating_record_n(each.max(1), count);
    }
}

impl<G: Game> Player<G> for Timed<G> {
    fn name(&self) -> &str {
        self.player.name()
    }

    fn batches(&self) -> bool {
        self.player.batches()
    }

    fn game_ended(&mut self, game: &G, number: u64, state: &G::State) {
        self.player.game_ended(game, number, state);
    }

    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        if self.player.batches() {
            return self.timed(game, requests, choices);
        }
        for request in requests.chunks_mut(1) {
            self.timed(game, request, choices);
        }
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::tic_tac_toe::TicTacToe;
    use ouro_game::{Action, Rng};

    use super::*;

    /// Advances by 400 ms on every second call.
    #[derive(Debug, Default)]
    struct Stepping(Mutex<u32>);

    impl Clock for Stepping {
        fn monotonic(&self) -> Duration {
            let mut looks = self.0.lock().expect("no panic");
            *looks += 1;
            Duration::from_millis(400) * (*looks / 2)
        }
    }

    /// Plays the first cell.
    struct First {
        batches: bool,
    }

    impl Player<TicTacToe> for First {
        fn name(&self) -> &str {
            "first"
        }

        fn batches(&self) -> bool {
            self.batches
        }

        fn choose(
            &mut self,
            _: &TicTacToe,
            requests: &mut [Request<'_, TicTacToe>],
            choices: &mut Vec<Choice>,
        ) {
            choices.extend(requests.iter().map(|_| Choice { action: Action(0), probability: 1.0 }));
        }
    }

    #[test]
    fn excluded_work_takes_no_time() {
        let (clock, pause) = (MoveClock::default(), Duration::from_millis(5));
        assert_eq!(clock.exclude(|| 7), 7);
        // In this order, what passes between two looks can only widen the difference.
        let (wall, before) = (clock.wall.monotonic(), clock.monotonic());
        clock.exclude(|| std::thread::sleep(pause));
        let counted = clock.monotonic() - before;
        let passed = clock.wall.monotonic() - wall;
        assert!(passed >= pause && counted <= passed - pause, "{counted:?} of {passed:?}");
    }

    #[test]
    fn moves_are_timed_alone_or_as_their_share_of_a_batch() {
        for (batches, expected) in [(false, 400.0), (true, 100.0)] {
            let game = TicTacToe::default();
            let state = game.initial(&mut Rng::new(1, "test"));
            let mut rngs: Vec<Rng> = (0..4).map(|_| Rng::new(1, "test")).collect();
            let mut requests: Vec<_> = rngs
                .iter_mut()
                .map(|rng| Request { state: &state, player: 0, rng, game: None })
                .collect();
            let kept = Arc::new(Mutex::new(times()));
            let clock = Arc::new(Stepping::default());
            let mut timed = Timed::new(Box::new(First { batches }), clock, Arc::clone(&kept));
            let mut choices = Vec::new();
            timed.choose(&game, &mut requests, &mut choices);
            assert_eq!(choices.len(), 4);
            let kept = kept.lock().expect("no panic");
            let median = kept.value_at_quantile(0.5) as f64 / 1e6;
            assert_eq!(kept.len(), 4);
            assert!((median / expected - 1.0).abs() < 1e-3, "{median} ms, expected {expected}");
        }
    }
}
