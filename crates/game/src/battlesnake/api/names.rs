//! Names of rulesets and maps on the wire.

use crate::battlesnake::config::{Map, Ruleset};

/// Every ruleset with its name.
const RULESETS: [(&str, Ruleset); 6] = [
    ("standard", Ruleset::Standard),
    ("solo", Ruleset::Solo),
    ("royale", Ruleset::Royale),
    ("wrapped", Ruleset::Wrapped),
    ("constrictor", Ruleset::Constrictor),
    ("wrapped_constrictor", Ruleset::WrappedConstrictor),
];

impl Ruleset {
    /// The ruleset of a name; an unknown name means `standard`, as in the engine.
    pub fn from_name(name: &str) -> Self {
        RULESETS.iter().find(|entry| entry.0 == name).map_or(Self::Standard, |entry| entry.1)
    }

    /// The official name.
    pub fn name(self) -> &'static str {
        RULESETS.iter().find(|entry| entry.1 == self).map_or("standard", |entry| entry.0)
    }
}

impl Map {
    /// The map of a name. An unknown map counts as `standard`: food appears as there, and hazards
    /// on the board stay.
    pub fn from_name(name: &str) -> Self {
        match name {
            "empty" => Self::Empty,
            "royale" => Self::Royale,
            _ => Self::Standard,
        }
    }

    /// The official name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Empty => "empty",
            Self::Royale => "royale",
        }
    }
}
