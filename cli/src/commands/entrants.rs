//! The weights in players' names, and the game for which they were trained.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{ContentHash, Engine};
use ouro_players::WITHOUT_NETWORK;
use ouro_players::registry::{Options, check_known};
use ouro_proto::text::brief;
use serde_json::Value;

use super::weights;
use crate::failure::Failure;

/// Networks by the path of their weights file.
pub(super) type Engines = BTreeMap<String, Arc<Engine>>;

/// The player that is a snake elsewhere. Only `ouro match` has it.
pub(super) const ELSEWHERE: &str = "http";

/// The option that names the game.
const GAME: &str = "--game";

/// Reads every weights file in `names`. Also returns the game: `game`, the value of `--game`, or
/// else the game of the first weights.
///
/// An unknown player is an error, and so are weights for another game and a missing game. Weights of the
/// option `duel` must be for the game's [duel](GameConfig::duel).
pub(super) fn load(
    names: &[String],
    game: Option<GameConfig>,
) -> Result<(GameConfig, Engines), Failure> {
    for name in names {
        if Options::parse(name).is_ok_and(|options| options.player() == ELSEWHERE) {
            return Err(Failure::usage(format_args!(
                "{name}: only `ouro match` asks a snake elsewhere; name another player"
            )));
        }
        check_known(name, &[]).map_err(Failure::usage)?;
    }
    read_all(names, game)
}

/// Does the same for `ouro match`, which also takes a snake elsewhere.
pub(super) fn load_for_match(
    names: &[String],
    game: Option<GameConfig>,
) -> Result<(GameConfig, Engines), Failure> {
    names.iter().try_for_each(|name| check_known(name, &[ELSEWHERE])).map_err(Failure::usage)?;
    read_all(names, game)
}

fn read_all(names: &[String], game: Option<GameConfig>) -> Result<(GameConfig, Engines), Failure> {
    let mut engines = Engines::new();
    let mut game = game.map(|game| (game, GAME));
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
                "{path} was trained for another game than the duel of this game: {}; name weights of that duel",
                differences(&own, &duel)
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

/// Builds the error for weights that were trained for another game than that of `whence`.
fn other_game(path: &str, own: &GameConfig, whence: &str, game: &GameConfig) -> Failure {
    let remedy = if whence == GAME {
        "leave --game out or give the game of the weights"
    } else {
        "name weights of one game"
    };
    Failure::usage(format_args!(
        "{path} was trained for another game than {whence}: {}; {remedy}",
        differences(own, game)
    ))
}

/// The settings in which a game differs from the wanted one, with both values.
fn differences(own: &GameConfig, wanted: &GameConfig) -> String {
    if own.name() != wanted.name() {
        return format!("game {} instead of {}", own.name(), wanted.name());
    }
    let mut found = Vec::new();
    add_differences("", &json(own), &json(wanted), &mut found);
    found.join(", ")
}

/// Adds the differences below the setting `name`, which is empty for a whole game.
fn add_differences(name: &str, own: &Value, wanted: &Value, found: &mut Vec<String>) {
    if let (Value::Object(own), Value::Object(wanted)) = (own, wanted) {
        let keys: BTreeSet<&String> = own.keys().chain(wanted.keys()).collect();
        for key in keys {
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            let [own, wanted] = [own, wanted].map(|all| all.get(key).cloned().unwrap_or_default());
            add_differences(&name, &own, &wanted, found);
        }
    } else if own != wanted {
        let [own, wanted] = [own, wanted].map(|value| match value {
            Value::String(text) => brief(text),
            other => brief(&other.to_string()),
        });
        found.push(format!("{name} {own} instead of {wanted}"));
    }
}

/// A game as JSON. It is read from text, in which numbers have the digits that settings have.
fn json(game: &GameConfig) -> Value {
    let text = serde_json::to_string(game).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(json: &str) -> GameConfig {
        serde_json::from_str(json).expect("a game")
    }

    #[test]
    fn games_differ_in_the_settings_that_are_named() {
        let small = game(r#"{"game":"battlesnake","snakes":2,"width":7,"height":7,"draw":-0.9}"#);
        let large = game(r#"{"game":"battlesnake","snakes":2}"#);
        let expected = "draw -0.9 instead of 0.0, height 7 instead of 11, width 7 instead of 11";
        assert_eq!(differences(&small, &large), expected);
        let rewarded = game(r#"{"game":"snake","rewards":{"apple":0.1,"loss":-10,"win":10}}"#);
        let usual = game(r#"{"game":"snake"}"#);
        assert_eq!(differences(&rewarded, &usual), "rewards.apple 0.1 instead of 1.0");
        let other = game(r#"{"game":"tic_tac_toe"}"#);
        assert_eq!(differences(&other, &large), "game tic_tac_toe instead of battlesnake");
        assert_eq!(differences(&usual, &usual), "");
    }
}
