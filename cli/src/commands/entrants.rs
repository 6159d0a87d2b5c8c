//! The weights in players' names, and the game for which they were trained.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{ContentHash, Engine};
use ouro_players::WITHOUT_NETWORK;
use ouro_players::registry::Options;
use ouro_proto::text::brief;

use super::weights;
use crate::failure::Failure;

/// Networks by the path of their weights file.
pub(super) type Engines = BTreeMap<String, Arc<Engine>>;

/// Reads every weights file in `names`. Also returns the game: `game`, the value of `--game`, or
/// else the game of the first weights.
///
/// Weights for another game are an error, and so is a missing game. Weights of the option `duel` must be
/// for the game's [duel](GameConfig::duel).
pub(super) fn load(
    names: &[String],
    game: Option<GameConfig>,
) -> Result<(GameConfig, Engines), Failure> {
    let mut engines = Engines::new();
    let mut game = game.map(|game| (game, "--game"));
    for path in names.iter().filter_map(|name| file_of(name, "weights")) {
        let (own, engine) = read(path)?;
        match &game {
            None => game = Some((own, path)),
            Some((game, whence)) if *game != own => {
                return Err(other_game(path, &own, whence, game));
            }
            Some(_) => {}
        }
        engines.insert(path.to_owned(), engine);
    }
    let Some((game, _)) = game else {
        return Err(Failure::usage("no weights say which game to play; give --game"));
    };
    for path in names.iter().filter_map(|name| file_of(name, "duel")) {
        let (own, engine) = read(path)?;
        // Without a duel, the player's refusal names the remedy.
        if let Some(duel) = game.duel().filter(|duel| *duel != own) {
            return Err(Failure::usage(format_args!(
                "{path} was trained for {}, the duel of this game is {}; name weights of that duel",
                json(&own),
                json(&duel)
            )));
        }
        engines.insert(path.to_owned(), engine);
    }
    Ok((game, engines))
}

/// Reads weights and the game that they were trained for, whose rules can be built.
fn read(path: &str) -> Result<(GameConfig, Arc<Engine>), Failure> {
    let weights = weights::read(Path::new(path))?;
    let game = &weights.meta().game;
    let refused = |error: &dyn Display| {
        let (game, error) = (brief(game), brief(&error.to_string()));
        Failure::data(format_args!("{path} was trained for {game}: {error}; name other weights"))
    };
    let game: GameConfig = serde_json::from_str(game).map_err(|error| refused(&error))?;
    game.visit(Build).map_err(|error| refused(&error))?;
    Ok((game, Arc::new(Engine::new(&weights))))
}

/// Checks that the rules of a game can be built.
struct Build;

impl GameVisitor for Build {
    type Output = ();

    fn visit<G: Game>(self, _game: G) {}
}

/// Content hashes of the networks' files, by path. A run that continues from a file compares them, so that
/// replaced weights are noticed.
pub(super) fn hashes(engines: &Engines) -> Result<BTreeMap<String, String>, Failure> {
    let hash = |path: &String| -> Result<_, Failure> {
        let bytes = weights::bytes(Path::new(path))?;
        Ok((path.clone(), ContentHash::of(&bytes).to_string()))
    };
    engines.keys().map(hash).collect()
}

/// Whether a name has weights of a network.
pub(super) fn has_weights(name: &str) -> bool {
    file_of(name, "weights").is_some()
}

/// Returns the file of an option, as in `name{weights=FILE,…}`, or `None` if the value is not a file. An
/// invalid name has none; the player's refusal says why.
fn file_of<'a>(player: &'a str, option: &'static str) -> Option<&'a str> {
    let weights = Options::parse(player).ok()?.text(option).ok()??;
    (!WITHOUT_NETWORK.contains(&weights)).then_some(weights)
}

/// Builds the error for weights that were trained for another game.
fn other_game(path: &str, own: &GameConfig, whence: &str, game: &GameConfig) -> Failure {
    Failure::usage(format_args!(
        "{path} was trained for {}, {whence} says {}; name weights of one game",
        json(own),
        json(game)
    ))
}

fn json(game: &GameConfig) -> String {
    serde_json::to_string(game).unwrap_or_default()
}
