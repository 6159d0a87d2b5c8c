//! The strategies by name.

use ouro_game::snakgame::Strategy;

use crate::editorial::Editorial;
use crate::plan_repair::PlanRepair;
use crate::simple::{ChefLike, DirectionPriority, FewestFree, RandomExtension};

/// A strategy's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// [`RandomExtension`].
    Random,
    /// [`ChefLike`].
    Chef,
    /// [`DirectionPriority`].
    Priority,
    /// [`FewestFree`].
    FewestFree,
    /// [`Editorial`].
    Editorial,
    /// [`PlanRepair`].
    PlanRepair,
}

impl Named {
    /// All strategies, weakest first.
    pub const ALL: [Self; 6] = [
        Self::Random,
        Self::Chef,
        Self::Priority,
        Self::FewestFree,
        Self::Editorial,
        Self::PlanRepair,
    ];

    /// The name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Chef => "chef",
            Self::Priority => "priority",
            Self::FewestFree => "fewest-free",
            Self::Editorial => "editorial",
            Self::PlanRepair => "plan-repair",
        }
    }

    /// The strategy with a name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|named| named.name() == name)
    }

    /// A new player of the strategy. `seed` selects its random numbers.
    pub fn player(self, seed: u64) -> Box<dyn Strategy + Send> {
        match self {
            Self::Random => Box::new(RandomExtension::new(seed)),
            Self::Chef => Box::new(ChefLike::new(seed)),
            Self::Priority => Box::new(DirectionPriority::new(seed)),
            Self::FewestFree => Box::new(FewestFree::new(seed)),
            Self::Editorial => Box::new(Editorial::new(seed)),
            Self::PlanRepair => Box::new(PlanRepair::new(seed)),
        }
    }
}
