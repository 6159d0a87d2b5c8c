//! Players without weights in seats of training games.
//!
//! They choose at once when their ply begins, one position at a time, so they should be fast.
//! Contract: a choice depends on the position and the generator of the seat alone.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::{Game, Rng};
use ouro_players::registry::Options;
use ouro_players::{BuildContext, Choice, Clock, Player, Request, by_name};
use ouro_settings::ScriptedConfig;

use super::error::WorkerError;
use super::index::ScriptedId;

/// The scripted players of a worker, and how often they play.
pub(super) struct Scripted<G: Game> {
    players: Vec<Box<dyn Player<G>>>,
    share: f64,
    choices: Vec<Choice>,
}

impl<G: Game> Scripted<G> {
    /// Builds the players. Fails if one is unknown, does not play the game, needs weights or has a time
    /// limit.
    pub(super) fn new(game: &G, config: &ScriptedConfig) -> Result<Self, WorkerError> {
        let mut context = BuildContext { game, engines: &mut |_| None, clock: Arc::new(Stopped) };
        let mut players = Vec::with_capacity(config.players.len());
        for name in &config.players {
            if Options::parse(name)?.has("ms") {
                return Err(WorkerError::Timed(name.clone()));
            }
            players.push(by_name(name, &mut context)?);
        }
        Ok(Self { players, share: config.share, choices: Vec::new() })
    }

    /// Draws the players of a game: `None` for the seat that learns, which is drawn as well. Returns
    /// `None` for a game without scripted players, and then takes a number of `rng` only if there are
    /// any.
    pub(super) fn draw(&self, seats: usize, rng: &mut Rng) -> Option<Vec<Option<ScriptedId>>> {
        if self.players.is_empty() || self.share <= 0.0 || rng.unit() >= self.share {
            return None;
        }
        let learning = rng.below(seats as u32) as usize;
        let mut player = || ScriptedId(rng.below(self.players.len() as u32) as usize);
        Some((0..seats).map(|seat| (seat != learning).then(&mut player)).collect())
    }

    /// The move of a player in one position; `None` if it finds none.
    pub(super) fn choose(
        &mut self,
        id: ScriptedId,
        game: &G,
        request: Request<'_, G>,
    ) -> Option<Choice> {
        self.choices.clear();
        self.players.get_mut(id.0)?.choose(game, &mut [request], &mut self.choices);
        self.choices.first().copied()
    }
}

/// The clock of players that have no time limit.
#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}
