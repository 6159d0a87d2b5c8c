//! What keeps settings from being used, found before anything is opened or written.
//!
//! Every part checks its own settings; a [`Problem`] says which key it is in the file of the
//! run. What no part can see alone, that playing and training mean the same, is checked here.

use std::fmt;

use ouro_actor::ActorError;
use ouro_arena::ArenaConfig;
use ouro_arena::config::ConfigError as MatchError;
use ouro_arena::store::Run;
use ouro_learner::config::{AlgorithmConfig, CheckpointConfig, Config};
use ouro_players::OpponentSharesError;
use ouro_rating::GateConfigError;
use ouro_search::mcts::{Objective, SearchConfigError};

use super::Settings;

/// A setting that does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The key, or the innermost table that holds what is wrong.
    pub(crate) key: String,
    /// The key, its value and the remedy, after a semicolon.
    text: String,
}

impl Problem {
    fn new(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self { key: key.into(), text: text.into() }
    }

    fn of_value(key: String, value: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        let text = format!("{key} is {value}; {remedy}");
        Self { key, text }
    }

    /// What would be accepted.
    pub(crate) fn remedy(&self) -> &str {
        self.text.split_once("; ").map_or(self.text.as_str(), |(_, remedy)| remedy)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Settings {
    /// The first thing that is wrong, if anything is.
    pub(crate) fn problem(&self) -> Option<Problem> {
        self.of_learner().or_else(|| self.of_actor()).or_else(|| self.of_arena()).or_else(|| {
            let AlgorithmConfig::AlphaZero(_) = self.train.algorithm else {
                return self.of_policy_play();
            };
            self.of_searched_play()
        })
    }

    fn of_learner(&self) -> Option<Problem> {
        let config = Config {
            seed: self.seed,
            game: self.game.clone(),
            net: self.net.clone(),
            train: self.train.clone(),
            replay: self.replay.clone(),
            intake: self.intake.clone(),
            checkpoint: CheckpointConfig {
                every_steps: self.generation_steps,
                ..CheckpointConfig::default()
            },
            ..Config::default()
        };
        let error = config.validate().err()?;
        // The one key that is called otherwise in a run.
        let key = match error.field.as_str() {
            "checkpoint.every_steps" => "generation_steps".to_owned(),
            _ => error.field,
        };
        Some(Problem::of_value(key, error.value, error.remedy))
    }

    fn of_actor(&self) -> Option<Problem> {
        let error = self.actor.validate().err()?;
        Some(match error {
            ActorError::Config { field, value, remedy } => {
                Problem::of_value(format!("actor.{field}"), value, remedy)
            }
            ActorError::Opponents(OpponentSharesError::OutOfRange { field, value }) => {
                let remedy = "a share is finite and not below 0";
                Problem::of_value(format!("actor.opponents.{field}"), value, remedy)
            }
            ActorError::Opponents(error) => {
                Problem::new("actor.opponents", format!("actor.opponents: {error}"))
            }
            ActorError::Search(SearchConfigError::Range { field, value, expected }) => {
                let remedy = format_args!("it must be {expected}");
                Problem::of_value(format!("actor.search.{field}"), value, remedy)
            }
            ActorError::Search(SearchConfigError::Conflict { first, second }) => Problem::new(
                format!("actor.search.{first}"),
                format!(
                    "actor.search.{first} does not go with actor.search.{second}; \
                     switch one of them off"
                ),
            ),
            error => Problem::new("actor", error.to_string()),
        })
    }

    fn of_arena(&self) -> Option<Problem> {
        let run = Run { game: self.game.clone(), seed: self.seed };
        let config = ArenaConfig { matches: self.arena.clone(), ..ArenaConfig::new(run, "") };
        let error = config.validate().err()?;
        let key = match &error {
            MatchError::Value { key, .. } | MatchError::Player { key, .. } => key,
            MatchError::Weightless(_) => "player",
            MatchError::Gate(GateConfigError::Games { .. }) => "gate.games",
            MatchError::Gate(GateConfigError::Threshold(_)) => "gate.threshold",
            MatchError::Gate(GateConfigError::Errors { field: "alpha", .. }) => "gate.sprt.alpha",
            MatchError::Gate(GateConfigError::Errors { .. }) => "gate.sprt.beta",
            MatchError::Gate(
                GateConfigError::Hypotheses { .. } | GateConfigError::Outside { .. },
            ) => "gate.sprt",
            MatchError::Game(error) => {
                return Some(Problem::of_value(
                    format!("game.{}", error.field),
                    &error.value,
                    &error.remedy,
                ));
            }
        };
        Some(Problem::new(format!("arena.{key}"), error.to_string()))
    }

    fn of_policy_play(&self) -> Option<Problem> {
        let text = "actor.search is set, but REINFORCE learns from moves drawn from the policy \
                    itself; start from preset = \"reinforce-duel\", or choose \
                    train.algorithm.kind = \"alphazero\"";
        self.actor.search.is_some().then(|| Problem::new("actor.search", text))
    }

    fn of_searched_play(&self) -> Option<Problem> {
        let Some(search) = &self.actor.search else {
            let text = "actor.search is missing, but AlphaZero learns what a search found; write \
                        [actor.search] with the number of simulations, or choose \
                        train.algorithm.kind = \"reinforce\"";
            return Some(Problem::new("actor.search", text));
        };
        if search.discount.to_bits() != self.train.gamma.to_bits() {
            let text = format!(
                "actor.search.discount is {} and train.gamma {}; write the same number for both",
                search.discount, self.train.gamma
            );
            return Some(Problem::new("actor.search.discount", text));
        }
        (search.objective != Objective::Outcome).then(|| {
            let text = "actor.search.objective is \"returns\", but AlphaZero learns outcomes \
                        here; write \"outcome\"";
            Problem::new("actor.search.objective", text)
        })
    }
}
