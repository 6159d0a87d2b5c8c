//! The weights in players' names, and the game for which they were trained.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ouro_game::GameConfig;
use ouro_net::Engine;
use ouro_players::WITHOUT_NETWORK;

use super::weights;
use crate::failure::Failure;

/// Networks by the path of their weights file.
pub(super) type Engines = BTreeMap<String, Arc<Engine>>;

/// Reads every weights file in `names`. Also returns the game: `game`, the value of `--game`, or
/// else the game of the first weights.
///
/// Weights for another game are an error, and so is a missing game.
pub(super) fn load(
    names: &[String],
    game: Option<GameConfig>,
) -> Result<(GameConfig, Engines), Failure> {
    let mut engines = Engines::new();
    let mut game = game.map(|game| (game, "--game"));
    for name in names {
        let Some(path) = weights_of(name) else { continue };
        let weights = weights::read(Path::new(path))?;
        let own = serde_json::from_str(&weights.meta().game)
            .map_err(|error| Failure::data(format_args!("{path}: its game: {error}")))?;
        match &game {
            None => game = Some((own, path)),
            Some((game, whence)) if *game != own => {
                return Err(other_game(path, &own, whence, game));
            }
            Some(_) => {}
        }
        engines.insert(path.to_owned(), Arc::new(Engine::new(&weights)));
    }
    match game {
        Some((game, _)) => Ok((game, engines)),
        None => Err(Failure::usage("no weights say which game to play; give --game")),
    }
}

/// Returns the file in `name{weights=FILE,…}`, or `None` if the value is not a file.
fn weights_of(player: &str) -> Option<&str> {
    let (_, options) = player.strip_suffix('}')?.split_once('{')?;
    let weights = options.split(',').find_map(|option| option.strip_prefix("weights="))?;
    (!WITHOUT_NETWORK.contains(&weights)).then_some(weights)
}

/// Builds the error for weights that were trained for another game.
fn other_game(path: &str, own: &GameConfig, whence: &str, game: &GameConfig) -> Failure {
    let json = |game| serde_json::to_string(game).unwrap_or_default();
    Failure::usage(format_args!(
        "{path} was trained for {}, {whence} says {}; name weights of one game",
        json(own),
        json(game)
    ))
}
