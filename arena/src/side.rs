//! The two sides of a match, and the players that choose their moves.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::Game;
use ouro_net::Engine;
use ouro_players::registry::BuildContext;
use ouro_players::{NameError, Player, by_name};

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
