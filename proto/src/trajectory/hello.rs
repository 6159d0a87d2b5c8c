//! The first message of a push: the actor and the configuration of its games.

use std::fmt;
use std::sync::Arc;

use ouro_game::GameConfig;
use ouro_net::{RunId, RunIdError};

use crate::learner::v1 as wire;
use crate::text::brief;

/// Longest game configuration on the wire, in bytes of JSON.
pub const MAX_CONFIG_BYTES: usize = 1 << 16;

/// Longest actor name, in bytes.
pub const MAX_ACTOR_NAME: usize = 64;

/// One epoch of one actor: its numbering of games from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorId {
    /// Name, unique in the run: 1 to 64 letters, digits, `.`, `_` or `-`.
    pub name: String,
    /// Number of the epoch. The learner issues ascending numbers.
    pub epoch: u64,
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.epoch)
    }
}

/// The first message of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Hello {
    /// Name of the actor, unique in the run: 1 to 64 letters, digits, `.`, `_` or `-`.
    pub actor: String,
    /// The epoch that the actor resumes; `None` for a new one.
    pub epoch: Option<u64>,
    /// Highest sequence number of that epoch that the actor knows to be acknowledged.
    pub answered: u64,
    /// Configuration of the game for all trajectories that follow.
    pub config: Arc<GameConfig>,
    /// Record format version of the trajectories.
    pub version: u32,
    /// Run whose pool the actor follows; `None` while the actor does not know it.
    pub run: Option<RunId>,
}

/// Error in a hello.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// The actor's name is empty, too long or has forbidden characters.
    #[error(
        "actor is {got:?}; a name has 1 to {MAX_ACTOR_NAME} letters, digits, dots, underscores or dashes"
    )]
    ActorName {
        /// The name, at most its first 64 characters.
        got: String,
    },
    /// The configuration is too long.
    #[error("config_json has {got} bytes; at most {MAX_CONFIG_BYTES} are read")]
    ConfigSize {
        /// Bytes in the message.
        got: usize,
    },
    /// The configuration is not one of a known game.
    #[error("config_json is not a game configuration: {0}")]
    Config(String),
    /// The run is malformed.
    #[error(transparent)]
    Run(#[from] RunIdError),
}

impl TryFrom<wire::Hello> for Hello {
    type Error = HelloError;

    fn try_from(hello: wire::Hello) -> Result<Self, HelloError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let actor = hello.actor;
        if actor.is_empty() || actor.len() > MAX_ACTOR_NAME || !actor.bytes().all(plain) {
            let got = actor.chars().take(MAX_ACTOR_NAME).collect();
            return Err(HelloError::ActorName { got });
        }
        if hello.config_json.len() > MAX_CONFIG_BYTES {
            return Err(HelloError::ConfigSize { got: hello.config_json.len() });
        }
        let config: GameConfig = serde_json::from_str(&hello.config_json)
            .map_err(|error| HelloError::Config(brief(&error.to_string())))?;
        let wire::Hello { epoch, answered, version, run, .. } = hello;
        let run = if run.is_empty() { None } else { Some(run.parse()?) };
        Ok(Self { actor, epoch, answered, config: Arc::new(config), version, run })
    }
}

impl From<Hello> for wire::Hello {
    fn from(hello: Hello) -> Self {
        let config_json = serde_json::to_string(hello.config.as_ref())
            .expect("a game configuration serialises: it is plain data");
        let run = hello.run.map(String::from).unwrap_or_default();
        let Hello { actor, epoch, answered, version, .. } = hello;
        Self { actor, epoch, config_json, version, answered, run }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let config = GameConfig::by_name("tic_tac_toe").expect("it is in the box");
        let (actor, config) = ("actor-0.local".to_owned(), Arc::new(config));
        Hello { actor, epoch: Some(3), answered: 7, config, version: 1, run: None }
    }

    #[test]
    fn a_hello_comes_back_from_the_wire_as_it_went() {
        for run in [None, Some(RunId::of(b"a run"))] {
            let hello = Hello { run, ..hello() };
            assert_eq!(Hello::try_from(wire::Hello::from(hello.clone())), Ok(hello));
        }
    }

    #[test]
    fn what_is_no_name_or_no_game_is_refused_by_field() {
        type Spoil = fn(&mut wire::Hello);
        let cases: [(Spoil, &str); 9] = [
            (|m| m.actor.clear(), "actor"),
            (|m| m.actor = "two words".to_owned(), "actor"),
            (|m| m.actor = "é".to_owned(), "actor"),
            (|m| m.actor = "a".repeat(65), "actor"),
            (|m| m.config_json = "{}".to_owned(), "config_json"),
            (|m| m.config_json = r#"{"game":"chess"}"#.to_owned(), "config_json"),
            (|m| m.config_json = " ".repeat(MAX_CONFIG_BYTES + 1), "config_json"),
            (|m| m.config_json = format!(r#"{{"game":"{}\n"}}"#, "x".repeat(9_999)), "config_json"),
            (|m| m.run = "another\n".repeat(999), "run"),
        ];
        for (spoil, field) in cases {
            let mut message = hello().into();
            spoil(&mut message);
            let error = Hello::try_from(message).expect_err(field).to_string();
            assert!(error.starts_with(field), "{error}");
            assert!(error.lines().count() == 1 && error.len() < 1_000, "{error}");
        }
    }
}
