//! Players without weights in seats of training games: as opponents of the newest weights, or in all
//! seats of a demonstration.
//!
//! They choose at once when their ply begins, one position at a time, so they should be fast.
//! Contract: who plays depends on the generator of the game and the newest generation alone, and a
//! choice on the position and the generator of the seat alone.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::{ActionMask, Game, Rng};
use ouro_net::Generation;
use ouro_players::registry::Options;
use ouro_players::{BuildContext, Choice, Clock, Player, Request, by_name};
use ouro_settings::{DemonstrationConfig, ScriptedConfig};

use super::error::WorkerError;
use super::index::ScriptedId;

/// The scripted players of a worker, and how often they play.
pub(super) struct Scripted<G: Game> {
    /// The opponents, then the demonstrators.
    players: Vec<Box<dyn Player<G>>>,
    /// Number of the opponents.
    opponents: usize,
    share: f64,
    demonstrations: DemonstrationConfig,
    choices: Vec<Choice>,
    viable: ActionMask,
}

/// Who plays the seats of a game with scripted players.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptedGame {
    /// One seat learns, which is `None`; opponents have the others.
    Opponents(Vec<Option<ScriptedId>>),
    /// Demonstrators have all seats.
    Demonstration(Vec<ScriptedId>),
}

impl<G: Game> Scripted<G> {
    /// Builds the players. Fails if one is unknown, does not play the game, needs weights or has a time
    /// limit.
    pub(super) fn new(
        game: &G,
        opponents: &ScriptedConfig,
        demonstrations: &DemonstrationConfig,
    ) -> Result<Self, WorkerError> {
        let mut players = build(game, "actor.scripted.players", &opponents.players)?;
        let count = players.len();
        let key = "actor.demonstrations.players";
        players.extend(build(game, key, &demonstrations.players)?);
        Ok(Self {
            players,
            opponents: count,
            share: opponents.share,
            demonstrations: demonstrations.clone(),
            choices: Vec::new(),
            viable: ActionMask::new(game.action_count()),
        })
    }

    /// Draws the players of a game. Returns `None` for a game between weights, and takes numbers of
    /// `rng` only for kinds of games that there are.
    pub(super) fn draw(
        &self,
        seats: usize,
        newest: Generation,
        rng: &mut Rng,
    ) -> Option<ScriptedGame> {
        let (opponents, demonstrators) =
            (self.opponents as u32, (self.players.len() - self.opponents) as u32);
        let shows = demonstrators > 0 && newest.0 < self.demonstrations.until_generation;
        if shows && is_drawn(self.demonstrations.share, rng) {
            let first = self.opponents;
            let mut player = || ScriptedId(first + rng.below(demonstrators) as usize);
            return Some(ScriptedGame::Demonstration((0..seats).map(|_| player()).collect()));
        }
        if opponents == 0 || !is_drawn(self.share, rng) {
            return None;
        }
        let learning = rng.below(seats as u32) as usize;
        let mut player = || ScriptedId(rng.below(opponents) as usize);
        let drawn = (0..seats).map(|seat| (seat != learning).then(&mut player));
        Some(ScriptedGame::Opponents(drawn.collect()))
    }

    /// The choice of a player in one position; `None` if it finds none.
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

    /// The move that a demonstrator makes after `chosen`: that action, or a random viable one.
    pub(super) fn demonstrate(
        &mut self,
        game: &G,
        state: &G::State,
        player: usize,
        chosen: Choice,
        rng: &mut Rng,
    ) -> Choice {
        game.viable(state, player, &mut self.viable);
        let count = self.viable.count().max(1);
        let random = self.demonstrations.random_moves;
        let drawn = is_drawn(random, rng).then(|| rng.below(count as u32) as usize);
        let action = drawn.and_then(|nth| self.viable.nth(nth)).unwrap_or(chosen.action);
        let by_chance = if self.viable.contains(action) { random / count as f64 } else { 0.0 };
        let by_choice = if action == chosen.action { 1.0 - random } else { 0.0 };
        Choice { action, probability: (by_chance + by_choice) as f32, ..chosen }
    }
}

fn is_drawn(share: f64, rng: &mut Rng) -> bool {
    share > 0.0 && rng.unit() < share
}

fn build<G: Game>(
    game: &G,
    key: &'static str,
    names: &[String],
) -> Result<Vec<Box<dyn Player<G>>>, WorkerError> {
    let mut context = BuildContext { game, engines: &mut |_| None, clock: Arc::new(Stopped) };
    let mut players = Vec::with_capacity(names.len());
    for name in names {
        let refused = |error| WorkerError::Scripted { key, error };
        if Options::parse(name).map_err(refused)?.has("ms") {
            return Err(WorkerError::Timed { key, player: name.clone() });
        }
        players.push(by_name(name, &mut context).map_err(refused)?);
    }
    Ok(players)
}

/// The clock of players that have no time limit.
#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}
