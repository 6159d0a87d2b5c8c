//! Players by name, as configs and command lines write them.
//!
//! `random`, or `net{weights=…}` with `temperature=…` or `argmax`: `net{weights=champion}`,
//! `net{weights=runs/7/12.safetensors,temperature=0.5}`. What a weights name means is the
//! caller's business: it hands in a function from names to engines.

use std::sync::Arc;

use ouro_game::Game;
use ouro_net::Engine;

use crate::{FitError, NetPlayer, Player, Random, Selection};

/// Every form that [`by_name`] knows.
pub const KNOWN: &[&str] =
    &["random", "net{weights=NAME}", "net{weights=NAME,temperature=T}", "net{weights=NAME,argmax}"];

/// Why a name gives no player.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NameError {
    /// No player is called that.
    #[error("player {name:?} is unknown; known are {}", KNOWN.join(", "))]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// The part in braces is not understood.
    #[error("player {name:?}: {problem}; known are {}", KNOWN.join(", "))]
    Option {
        /// The name that was given.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// The caller knows no weights of that name.
    #[error("player {name:?}: no weights are called {weights:?}")]
    Weights {
        /// The name that was given.
        name: String,
        /// The weights it asks for.
        weights: String,
    },
    /// The weights are not for this game.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// Builds the player called `name` for `game`; `engines` turns a weights name into an engine.
pub fn by_name<G: Game>(
    name: &str,
    game: &G,
    engines: &mut dyn FnMut(&str) -> Option<Arc<Engine>>,
) -> Result<Box<dyn Player<G>>, NameError> {
    if name == Random::NAME {
        return Ok(Box::new(Random::new()));
    }
    let options = name.strip_prefix("net{").and_then(|rest| rest.strip_suffix('}'));
    let Some(options) = options else {
        return Err(NameError::Unknown { name: name.to_owned() });
    };
    let (weights, selection) = net_options(options)
        .map_err(|problem| NameError::Option { name: name.to_owned(), problem })?;
    let Some(engine) = engines(weights) else {
        return Err(NameError::Weights { name: name.to_owned(), weights: weights.to_owned() });
    };
    Ok(Box::new(NetPlayer::new(name, engine, selection, game)?))
}

/// Weights and selection from `weights=…,temperature=…`, each at most once.
fn net_options(options: &str) -> Result<(&str, Selection), String> {
    let (mut weights, mut selection) = (None, None);
    for option in options.split(',') {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let repeated = match key {
            "weights" if value.is_empty() => return Err("weights needs a name".to_owned()),
            "weights" => weights.replace(value).is_some(),
            "temperature" => {
                let temperature =
                    value.parse().map_err(|_| format!("temperature {value:?} is not a number"))?;
                selection.replace(Selection::Sample { temperature }).is_some()
            }
            "argmax" if value.is_empty() => selection.replace(Selection::Argmax).is_some(),
            _ => return Err(format!("option {option:?} is unknown")),
        };
        if repeated {
            return Err(format!("option {option:?} repeats or contradicts an earlier one"));
        }
    }
    let weights = weights.ok_or("weights=NAME is missing")?;
    Ok((weights, selection.unwrap_or(Selection::Sample { temperature: 1.0 })))
}
