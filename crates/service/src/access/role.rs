//! What the holder of a token is in the run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What the holder of a token is in the run. Each service states which roles may call a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Plays games: follows the pool, fetches weights, pushes games.
    Actor,
    /// Trains: publishes weights.
    Learner,
    /// Plays matches for the arena: fetches weights.
    Worker,
    /// Asks for ratings, matches and status, and sees the web page.
    Reader,
    /// May call everything.
    Admin,
}

/// A text that names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no role; give actor, learner, worker, reader or admin")]
pub struct UnknownRole(String);

impl Role {
    /// All roles.
    pub const ALL: [Self; 5] =
        [Self::Actor, Self::Learner, Self::Worker, Self::Reader, Self::Admin];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Learner => "learner",
            Self::Worker => "worker",
            Self::Reader => "reader",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| UnknownRole(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_read_back_from_its_name_and_nothing_else_is_one() {
        for role in Role::ALL {
            assert_eq!(role.to_string().parse(), Ok(role));
            let json = serde_plain(role);
            assert_eq!(json, role.name(), "files and the command line agree");
        }
        let error = "Admin".parse::<Role>().unwrap_err().to_string();
        assert!(error.starts_with("\"Admin\" is no role; give actor"), "{error}");
    }

    /// The name that serde gives the role.
    fn serde_plain(role: Role) -> String {
        #[derive(Serialize)]
        struct Holder {
            role: Role,
        }
        let text = toml::to_string(&Holder { role }).unwrap();
        text.trim_start_matches("role = \"").trim_end_matches("\"\n").to_owned()
    }
}
