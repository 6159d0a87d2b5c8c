//! Players by name in seats of training games, such as `minimax`: as opponents of the newest weights, or
//! in all seats of a demonstration.
//!
//! They choose at once when their ply begins, one position at a time, so they should be fast. Players
//! with `weights=self` use the weights that were newest when their game began.
//!
//! Contract: who plays depends on the generator of the game and the newest generation alone, and a
//! choice on the position, the generator of the seat and these weights alone.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::{ActionMask, Game, Rng};
use ouro_net::{ContentHash, Engine};
use ouro_players::registry::Options;
use ouro_players::{
    BuildContext, Choice, Clock, Player, Request, by_name, check_search, smallest_network,
};
use ouro_settings::DemonstrationConfig;

use super::error::WorkerError;
use super::index::ScriptedId;
use super::settings::WorkerSettings;
use crate::roster::Entry;

/// Name of the newest weights in the name of a player.
const SELF: &str = "self";

/// The scripted players of a worker, and how often they play.
pub(super) struct Scripted<G: Game> {
    /// Names of the opponents, then of the demonstrators, each with the key of its setting.
    names: Vec<(&'static str, String)>,
    /// Number of the opponents.
    opponents: usize,
    share: f64,
    demonstrations: DemonstrationConfig,
    casts: Vec<Option<Cast<G>>>,
    choices: Vec<Choice>,
    viable: ActionMask,
}

/// All scripted players with one set of weights.
struct Cast<G: Game> {
    hash: ContentHash,
    players: Vec<Box<dyn Player<G>>>,
    /// Number of seats of running games.
    held: usize,
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
    /// Checks the players. Fails if one is unknown, does not play the game, searches too long for it, or
    /// has a time limit, a cache or weights other than `self`.
    pub(super) fn new(game: &G, settings: &WorkerSettings) -> Result<Self, WorkerError> {
        let WorkerSettings { scripted: opponents, demonstrations, net, .. } = settings;
        let named = |key, names: &[String]| -> Vec<_> {
            names.iter().map(|name| (key, name.clone())).collect()
        };
        let mut names = named("actor.scripted.players", &opponents.players);
        names.extend(named("actor.demonstrations.players", &demonstrations.players));
        let engine = smallest_network(game, net.as_ref())?;
        for (key, name) in &names {
            let refused = |error| WorkerError::Scripted { key, error };
            let options = Options::parse(name).map_err(refused)?;
            if options.has("ms") {
                return Err(WorkerError::Timed { key, player: name.clone() });
            }
            if options.has("cache") {
                return Err(WorkerError::Caching { key, player: name.clone() });
            }
            build(game, key, name, &engine)?;
            let network = |weights: &str| net.as_ref().filter(|_| weights == SELF).cloned();
            check_search(game, name, &network).map_err(refused)?;
        }
        Ok(Self {
            names,
            opponents: opponents.players.len(),
            share: opponents.share,
            demonstrations: demonstrations.clone(),
            casts: Vec::new(),
            choices: Vec::new(),
            viable: ActionMask::new(game.action_count()),
        })
    }

    /// Draws the players of a game and takes their seats. Returns `None` for a game between weights,
    /// and takes numbers of `rng` only for kinds of games that there are.
    pub(super) fn draw(
        &mut self,
        game: &G,
        newest: &Entry,
        rng: &mut Rng,
    ) -> Result<Option<ScriptedGame>, WorkerError> {
        let seats = game.players();
        let (first, all) = (self.opponents, self.names.len());
        let DemonstrationConfig { share, until_generation, .. } = self.demonstrations;
        let shows = first < all && until_generation.is_none_or(|until| newest.generation.0 < until);
        if shows && is_drawn(share, rng) {
            let cast = self.cast(game, newest)?;
            self.hold(cast, seats);
            let count = (all - first) as u32;
            let drawn =
                (0..seats).map(|_| ScriptedId { cast, player: first + rng.below(count) as usize });
            return Ok(Some(ScriptedGame::Demonstration(drawn.collect())));
        }
        if first == 0 || !is_drawn(self.share, rng) {
            return Ok(None);
        }
        let cast = self.cast(game, newest)?;
        self.hold(cast, seats - 1);
        let learning = rng.below(seats as u32) as usize;
        let mut player = || ScriptedId { cast, player: rng.below(first as u32) as usize };
        let drawn = (0..seats).map(|seat| (seat != learning).then(&mut player));
        Ok(Some(ScriptedGame::Opponents(drawn.collect())))
    }

    /// Index of the players with these weights. Builds them if they are missing, and then drops those
    /// that no game uses.
    fn cast(&mut self, game: &G, newest: &Entry) -> Result<usize, WorkerError> {
        let known = |cast: &Option<Cast<G>>| cast.as_ref().is_some_and(|it| it.hash == newest.hash);
        if let Some(at) = self.casts.iter().position(known) {
            return Ok(at);
        }
        for cast in &mut self.casts {
            cast.take_if(|cast| cast.held == 0);
        }
        let build = |(key, name): &(&'static str, String)| build(game, key, name, &newest.engine);
        let players = self.names.iter().map(build).collect::<Result<_, _>>()?;
        let cast = Some(Cast { hash: newest.hash, players, held: 0 });
        match self.casts.iter().position(Option::is_none) {
            Some(at) => {
                self.casts[at] = cast;
                Ok(at)
            }
            None => {
                self.casts.push(cast);
                Ok(self.casts.len() - 1)
            }
        }
    }

    fn hold(&mut self, cast: usize, seats: usize) {
        if let Some(Some(cast)) = self.casts.get_mut(cast) {
            cast.held += seats;
        }
    }

    /// Releases the seat of a player.
    pub(super) fn release(&mut self, id: ScriptedId) {
        if let Some(Some(cast)) = self.casts.get_mut(id.cast) {
            cast.held = cast.held.saturating_sub(1);
        }
    }

    /// The choice of a player in one position, with its estimate of the outcome if it has one; `None`
    /// if it finds no choice.
    pub(super) fn choose(
        &mut self,
        id: ScriptedId,
        game: &G,
        request: Request<'_, G>,
    ) -> Option<(Choice, Option<f32>)> {
        let cast = self.casts.get_mut(id.cast)?.as_mut()?;
        self.choices.clear();
        let player = cast.players.get_mut(id.player)?;
        player.choose(game, &mut [request], &mut self.choices);
        Some((*self.choices.first()?, player.last_value()))
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
        Choice { action, probability: (by_chance + by_choice) as f32 }
    }
}

fn is_drawn(share: f64, rng: &mut Rng) -> bool {
    share > 0.0 && rng.unit() < share
}

fn build<G: Game>(
    game: &G,
    key: &'static str,
    name: &str,
    engine: &Arc<Engine>,
) -> Result<Box<dyn Player<G>>, WorkerError> {
    let mut engines = |weights: &str| (weights == SELF).then(|| Arc::clone(engine));
    let mut context = BuildContext { game, engines: &mut engines, clock: Arc::new(Stopped) };
    by_name(name, &mut context).map_err(|error| WorkerError::Scripted { key, error })
}

/// The clock of players that have no time limit.
#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}
