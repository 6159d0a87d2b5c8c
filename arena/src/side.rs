//! The two sides of a match, and the players that choose their moves.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::Game;
use ouro_net::Engine;
use ouro_players::registry::BuildContext;
use ouro_players::{Choice, NameError, Player, Random, Request, by_name};

/// Name of the weights in the player name of a network, as in `net{weights=self}`.
pub(crate) const SELF: &str = "self";

/// One side of a match.
#[derive(Clone)]
pub(crate) enum Side {
    /// A player that never changes, by name.
    Anchor(Arc<str>),
    /// A network that plays as the named player.
    Network {
        /// Name of the player, in which [`SELF`] names its weights.
        player: Arc<str>,
        /// The network.
        engine: Arc<Engine>,
    },
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anchor(name) => f.debug_tuple("Anchor").field(name).finish(),
            Self::Network { player, .. } => f.debug_tuple("Network").field(player).finish(),
        }
    }
}

impl Side {
    /// Builds the player. `used` is called if the player uses the network.
    pub(crate) fn build<G: Game>(
        &self,
        game: &G,
        clock: &Arc<dyn ouro_players::Clock>,
        used: &dyn Fn(),
    ) -> Result<Box<dyn Player<G>>, NameError> {
        let (name, engine) = match self {
            Self::Anchor(name) => (name, None),
            Self::Network { player, engine } => (player, Some(engine)),
        };
        let mut engines = |weights: &str| {
            let engine = engine.filter(|_| weights == SELF)?;
            used();
            Some(Arc::clone(engine))
        };
        by_name(name, &mut BuildContext { game, engines: &mut engines, clock: Arc::clone(clock) })
    }
}

/// A player whose first plies are random.
///
/// The random moves draw from the generator of each seat, so all games of one seed have the same
/// opening, whatever the seating.
pub(crate) struct RandomOpening<G: Game> {
    inner: Box<dyn Player<G>>,
    random: Random,
    plies: u32,
}

impl<G: Game> RandomOpening<G> {
    pub(crate) fn new(inner: Box<dyn Player<G>>, plies: u32) -> Self {
        Self { inner, random: Random::new(), plies }
    }
}

impl<G: Game> Player<G> for RandomOpening<G> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn batches(&self) -> bool {
        self.inner.batches()
    }

    fn game_ended(&mut self, game: &G, number: u64, state: &G::State) {
        self.inner.game_ended(game, number, state);
    }

    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        let opening: Vec<bool> =
            requests.iter().map(|request| game.elapsed(request.state) < self.plies).collect();
        if !opening.contains(&true) {
            return self.inner.choose(game, requests, choices);
        }
        // Games of one batch are at different plies, so the requests are split and the choices
        // merged again.
        let (mut early, mut late) = (Vec::new(), Vec::new());
        for (Request { state, player, rng, game }, &opening) in requests.iter_mut().zip(&opening) {
            let request = Request { state: *state, player: *player, rng, game: *game };
            if opening { early.push(request) } else { late.push(request) }
        }
        let (mut random, mut own) = (Vec::new(), Vec::new());
        self.random.choose(game, &mut early, &mut random);
        if !late.is_empty() {
            self.inner.choose(game, &mut late, &mut own);
        }
        // `GameBatch` counts the choices, so it detects a player that returns too few.
        let (mut random, mut own) = (random.into_iter(), own.into_iter());
        choices.extend(
            opening.iter().filter_map(|&opening| if opening { random.next() } else { own.next() }),
        );
    }
}

/// The arena's clock for players.
#[derive(Debug)]
pub(crate) struct PlayersClock(pub(crate) Arc<dyn ouro_service::Clock>);

impl ouro_players::Clock for PlayersClock {
    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
}

/// A clock for players that are built but never play.
#[derive(Debug)]
pub(crate) struct StoppedClock;

impl StoppedClock {
    pub(crate) fn clock() -> Arc<dyn ouro_players::Clock> {
        Arc::new(Self)
    }
}

impl ouro_players::Clock for StoppedClock {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}
