//! A player with a stopwatch.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hdrhistogram::Histogram;
use ouro_game::Game;
use ouro_players::{Choice, Player, Request};

/// Nanoseconds per move, to three digits.
pub(super) type Times = Histogram<u64>;

/// No times yet.
pub(super) fn times() -> Times {
    Times::new(3).expect("three digits are within bounds")
}

/// Times every move of a player. One that gains nothing from batches is asked for one move at
/// a time; for the others a move costs its share of the batch.
pub(super) struct Timed<G: Game> {
    player: Box<dyn Player<G>>,
    times: Arc<Mutex<Times>>,
}

impl<G: Game> Timed<G> {
    pub(super) fn new(player: Box<dyn Player<G>>, times: Arc<Mutex<Times>>) -> Self {
        Self { player, times }
    }

    fn timed(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        let count = requests.len() as u64;
        let started = Instant::now();
        self.player.choose(game, requests, choices);
        let each = started.elapsed().as_nanos() as u64 / count.max(1);
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

    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        if self.player.batches() {
            return self.timed(game, requests, choices);
        }
        for request in requests.chunks_mut(1) {
            self.timed(game, request, choices);
        }
    }
}
