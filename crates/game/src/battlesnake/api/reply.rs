//! Replies of a server.

use serde::{Deserialize, Serialize};

use super::error::{ApiError, from_json};
use super::wire::{Customizations, or_default};
use crate::action::Action;
use crate::grid::DIRECTIONS;

/// Longest shout, in characters.
pub const MAX_SHOUT_CHARS: usize = 256;

/// Reply to `/move`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// `up`, `down`, `left` or `right`.
    #[serde(rename = "move")]
    pub direction: String,
    /// A message shown to spectators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shout: Option<String>,
}

impl Reply {
    /// The reply for an action.
    pub fn new(action: Action) -> Self {
        let direction = DIRECTIONS.get(action.index()).copied().unwrap_or(DIRECTIONS[0]);
        Self { direction: direction.to_owned(), shout: None }
    }

    /// Reads a reply as the engine does: unknown fields are ignored, letter case matters.
    pub fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        let reply: Self = from_json(bytes)?;
        reply.action()?;
        let chars = reply.shout.as_deref().unwrap_or_default().chars().count();
        if chars > MAX_SHOUT_CHARS {
            return Err(ApiError::Shout { chars, limit: MAX_SHOUT_CHARS });
        }
        Ok(reply)
    }

    /// The action that the reply names.
    pub fn action(&self) -> Result<Action, ApiError> {
        let index = DIRECTIONS.iter().position(|&name| name == self.direction);
        index
            .map(|index| Action(index as u32))
            .ok_or_else(|| ApiError::Move { given: self.direction.chars().take(32).collect() })
    }

    /// The action of a reply as a game host reads it: only the move counts.
    pub fn read_action(bytes: &[u8]) -> Result<Action, ApiError> {
        from_json::<Self>(bytes)?.action()
    }

    /// The action that a game host plays for any reply: the action in the reply, or `previous`
    /// (`up` if there is none) if the reply has no known move or cannot be read.
    pub fn action_or_previous(bytes: &[u8], previous: Option<Action>) -> Action {
        Self::read_action(bytes).unwrap_or(previous.unwrap_or_default())
    }
}

/// Reply to `GET /`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// Always `1`.
    pub apiversion: String,
    /// Author of the server.
    #[serde(default, deserialize_with = "or_default")]
    pub author: String,
    /// Looks: `color`, `head` and `tail`.
    #[serde(flatten)]
    pub customizations: Customizations,
    /// Version of the server.
    #[serde(default, deserialize_with = "or_default")]
    pub version: String,
}

impl Info {
    /// Reads the reply of another server.
    pub fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        from_json(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direction_is_written_and_read_back_as_the_same_action() {
        for index in 0..4 {
            let json = serde_json::to_vec(&Reply::new(Action(index))).expect("replies serialise");
            let reply = Reply::parse(&json).expect("own replies are valid");
            assert_eq!(reply.action(), Ok(Action(index)));
        }
        assert_eq!(Reply::new(Action(2)).direction, "left");
    }

    #[test]
    fn an_answer_that_names_no_move_repeats_the_previous_one() {
        for bad in [&b"{\"move\":\"UP\"}"[..], b"{\"move\":7}", b"{}", b"", b"\xff"] {
            assert_eq!(Reply::action_or_previous(bad, Some(Action(3))), Action(3));
            assert_eq!(Reply::action_or_previous(bad, None), Action(0));
        }
        assert_eq!(Reply::action_or_previous(b"{\"move\":\"down\"}", None), Action(1));
    }

    #[test]
    fn server_info_needs_only_the_api_version() {
        let info = Info::parse(b"{\"apiversion\":\"1\",\"color\":\"#00ff00\"}").expect("complete");
        assert_eq!(info.customizations.color, "#00ff00");
        assert!(Info::parse(b"{\"apiversion\":\"1\",\"author\":null}").is_ok());
        let error = Info::parse(b"{}").expect_err("apiversion is missing");
        assert!(error.to_string().contains("apiversion"), "{error}");
    }
}
