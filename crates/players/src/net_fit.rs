//! Whether a network fits a game.

use std::sync::Arc;

use ouro_game::{Game, PlaneShape};
use ouro_net::{Architecture, Engine, NetSpec, SpecError, ValueRange, Weights, WeightsMeta};

use crate::selection::SelectionError;

/// Reason why a network cannot play a game.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The shape of the network's input differs from that of the game's observations.
    #[error(
        "net {net} reads planes {net_planes:?}, {game} writes {game_planes:?}; \
         use weights trained for this board"
    )]
    Planes {
        /// The player's name.
        net: String,
        /// Planes that the network reads.
        net_planes: PlaneShape,
        /// The game's name.
        game: &'static str,
        /// Planes that the game writes.
        game_planes: PlaneShape,
    },
    /// The network's action space differs from the game's.
    #[error(
        "net {net} has {net_actions} actions, {game} has {game_actions}; \
         use weights trained for this game"
    )]
    Actions {
        /// The player's name.
        net: String,
        /// Actions of the network.
        net_actions: usize,
        /// The game's name.
        game: &'static str,
        /// Actions of the game.
        game_actions: usize,
    },
    /// The network has a policy for one other player, and the game has more or none.
    #[error(
        "net {net} has policies of two players, {game} has {players}; \
         use weights trained without net.opponent_policy"
    )]
    Players {
        /// The player's name.
        net: String,
        /// The game's name.
        game: &'static str,
        /// Players of the game.
        players: usize,
    },
    /// The network's value is a return, where outcomes are compared.
    #[error(
        "net {net} estimates returns, but minimax and maxn compare its value with outcomes; \
         use weights trained with net.value = \"tanh\" or \"outcome\""
    )]
    Returns {
        /// The player's name.
        net: String,
    },
    /// The game has no duel whose network could evaluate its end.
    #[error(
        "player {net} names a network for duels, but {game} has no duel with these settings; leave duel out"
    )]
    NoDuel {
        /// The player's name.
        net: String,
        /// The game's name.
        game: &'static str,
    },
    /// The network for duels does not read their features.
    #[error(
        "the network for duels of {net} reads planes {net_planes:?}, a duel of {game} has {features} \
         features; use weights trained in duels with observation = \"features\""
    )]
    Features {
        /// The player's name.
        net: String,
        /// Planes that the network reads.
        net_planes: PlaneShape,
        /// The game's name.
        game: &'static str,
        /// Number of features of a duel.
        features: usize,
    },
    /// No network reads the positions of the game.
    #[error("no network plays {game} with these settings: {error}; choose a smaller board")]
    NoNetwork {
        /// The game's name.
        game: &'static str,
        /// The size that is out of range.
        error: SpecError,
    },
    /// The selection is out of range.
    #[error(transparent)]
    Selection(#[from] SelectionError),
}

/// The smallest network with the inputs, actions and range of values of `spec`, to check the names of
/// players before there are weights. Without a spec it reads the planes of `game` and estimates outcomes.
///
/// # Errors
///
/// No network is that large, as for a board with a side above 64.
pub fn smallest_network<G: Game>(
    game: &G,
    spec: Option<&NetSpec>,
) -> Result<Arc<Engine>, FitError> {
    let (planes, actions, value) = match spec {
        Some(spec) => (spec.planes, spec.actions, spec.architecture.value_range()),
        None => (game.planes(), game.action_count(), ValueRange::Tanh),
    };
    let architecture = Architecture::Mlp { layers: 1, hidden: 1, value };
    let spec = NetSpec { planes, actions, architecture };
    match Weights::initialize(spec, WeightsMeta::default(), 0) {
        Ok(weights) => Ok(Arc::new(Engine::new(&weights))),
        Err(error) => Err(FitError::NoNetwork { game: G::NAME, error }),
    }
}

/// Checks that the input shape, the number of actions and the policies of a network match a game.
pub(crate) fn fits<G: Game>(name: &str, engine: &Engine, game: &G) -> Result<(), FitError> {
    let spec = engine.spec();
    if !game.accepts(spec.planes) {
        return Err(FitError::Planes {
            net: name.to_owned(),
            net_planes: spec.planes,
            game: G::NAME,
            game_planes: game.planes(),
        });
    }
    if spec.actions != game.action_count() {
        return Err(FitError::Actions {
            net: name.to_owned(),
            net_actions: spec.actions,
            game: G::NAME,
            game_actions: game.action_count(),
        });
    }
    if spec.architecture.has_opponent_policy() && game.players() != 2 {
        let (net, players) = (name.to_owned(), game.players());
        return Err(FitError::Players { net, game: G::NAME, players });
    }
    Ok(())
}

/// Checks that a network estimates outcomes.
pub(crate) fn estimates_outcomes(name: &str, engine: &Engine) -> Result<(), FitError> {
    match engine.spec().architecture.value_range() {
        ValueRange::Unbounded => Err(FitError::Returns { net: name.to_owned() }),
        ValueRange::Tanh | ValueRange::Outcome => Ok(()),
    }
}

/// The rules of the [duel](Game::duel) of a game, after checking that a network reads the features of
/// that duel and has its actions.
pub(crate) fn duel_rules<G: Game>(name: &str, engine: &Engine, game: &G) -> Result<G, FitError> {
    let rules = G::duel(game.config()).and_then(|config| G::new(config).ok());
    let features = rules.as_ref().and_then(G::features);
    let (Some(rules), Some(features)) = (rules, features) else {
        return Err(FitError::NoDuel { net: name.to_owned(), game: G::NAME });
    };
    let planes = engine.spec().planes;
    if planes != features {
        let (net, game) = (name.to_owned(), G::NAME);
        return Err(FitError::Features { net, net_planes: planes, game, features: features.len() });
    }
    fits(name, engine, &rules)?;
    Ok(rules)
}
