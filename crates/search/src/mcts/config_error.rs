//! Errors and validation of a [`SearchConfig`].

use super::config::{
    ChanceWidth, FirstPlay, MAX_SIMULATIONS, SearchConfig, Simultaneous, ValueScale,
};

/// An invalid setting.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SearchConfigError {
    /// A number outside its range.
    #[error("search config: {field} is {value}; it must be {expected}")]
    Range {
        /// Path of the field.
        field: &'static str,
        /// The value that was given.
        value: f64,
        /// The accepted values.
        expected: &'static str,
    },
    /// Two settings that exclude each other.
    #[error("search config: {first} does not go with {second}; switch one of them off")]
    Conflict {
        /// One field.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A game whose joint actions do not fit a 64-bit number.
    #[error(
        "search config: {game} has {players} players with {actions} actions each; \
         joint actions must fit 64 bits"
    )]
    JointActions {
        /// The game's name.
        game: &'static str,
        /// Its seats.
        players: usize,
        /// Its action space.
        actions: usize,
    },
}

impl SearchConfig {
    /// Checks every field against its range, and the fields that exclude each other.
    pub fn validate(&self) -> Result<(), SearchConfigError> {
        let count = |field, value: u32, max: u32, expected| {
            check(field, f64::from(value), value >= 1 && value <= max, expected)
        };
        let real = |field, value: f32, holds: bool, expected| {
            check(field, f64::from(value), value.is_finite() && holds, expected)
        };
        let share =
            |field, value: f32| real(field, value, (0.0..=1.0).contains(&value), "between 0 and 1");
        count("simulations", self.simulations, MAX_SIMULATIONS, "1 to 2^28")?;
        real("draw", self.draw, (-1.0..=1.0).contains(&self.draw), "between -1 and 1")?;
        real("exploration", self.exploration, self.exploration >= 0.0, "finite, at least 0")?;
        if let Some(base) = self.exploration_base {
            real("exploration_base", base, base >= 1.0, "finite, at least 1")?;
        }
        match self.first_play {
            FirstPlay::Parent => {}
            FirstPlay::ParentReduced { reduction } => {
                real("first_play.reduction", reduction, reduction >= 0.0, "finite, at least 0")?;
            }
            FirstPlay::Constant { value } => real("first_play.value", value, true, "finite")?,
        }
        if let Simultaneous::RegretMatching { exploration } = self.simultaneous {
            let holds = exploration > 0.0 && exploration <= 1.0;
            real("simultaneous.exploration", exploration, holds, "above 0 and at most 1")?;
            if self.gumbel.is_some() {
                let (first, second) = ("gumbel", "simultaneous.regret_matching");
                return Err(SearchConfigError::Conflict { first, second });
            }
        }
        share("tremble", self.tremble)?;
        let matching = matches!(self.simultaneous, Simultaneous::RegretMatching { .. });
        let others =
            [("simultaneous.regret_matching", matching), ("gumbel", self.gumbel.is_some())];
        let other = others.into_iter().find(|&(_, set)| set && self.tremble > 0.0);
        if let Some((second, _)) = other {
            return Err(SearchConfigError::Conflict { first: "tremble", second });
        }
        let holds = self.discount > 0.0 && self.discount <= 1.0;
        real("discount", self.discount, holds, "above 0 and at most 1")?;
        if let ValueScale::Bounds { low, high } = self.value_scale {
            real("value_scale.low", low, true, "finite")?;
            real("value_scale.high", high, high > low, "finite and above low")?;
        }
        let ChanceWidth { enumerate, sample, ignore: _ } = self.chance;
        count("chance.enumerate", enumerate, 1 << 20, "1 to 2^20")?;
        count("chance.sample", sample, 1 << 20, "1 to 2^20")?;
        if let Some(noise) = self.noise {
            real("noise.total", noise.total, noise.total > 0.0, "finite and above 0")?;
            share("noise.share", noise.share)?;
        }
        if let Some(factor) = self.forced_playouts {
            real("forced_playouts", factor, factor >= 0.0, "finite, at least 0")?;
        }
        if let Some(fast) = self.fast {
            let holds = fast.full_share > 0.0 && fast.full_share <= 1.0;
            real("fast.full_share", fast.full_share, holds, "above 0 and at most 1")?;
            count("fast.simulations", fast.simulations, MAX_SIMULATIONS, "1 to 2^28")?;
        }
        if let Some(gumbel) = self.gumbel {
            count("gumbel.considered", gumbel.considered, 1 << 16, "1 to 2^16")?;
            let (offset, scale) = (gumbel.visit_offset, gumbel.scale);
            real("gumbel.visit_offset", offset, offset >= 0.0, "finite, at least 0")?;
            real("gumbel.scale", scale, scale >= 0.0, "finite, at least 0")?;
            let conflicts = [
                ("noise", self.noise.is_some()),
                ("forced_playouts", self.forced_playouts.is_some()),
            ];
            for (second, set) in conflicts {
                if set {
                    return Err(SearchConfigError::Conflict { first: "gumbel", second });
                }
            }
        }
        self.temperature.validate()?;
        count("leaves_in_flight", self.leaves_in_flight, 4_096, "1 to 4096")?;
        real("virtual_value", self.virtual_value, true, "finite")?;
        let holds = (16..1 << 31).contains(&self.max_nodes);
        check("max_nodes", f64::from(self.max_nodes), holds, "16 to 2^31 - 1")
    }
}

pub(super) fn check(
    field: &'static str,
    value: f64,
    holds: bool,
    expected: &'static str,
) -> Result<(), SearchConfigError> {
    if holds { Ok(()) } else { Err(SearchConfigError::Range { field, value, expected }) }
}

/// Refuses games whose joint actions, up to `actions` to the power of `players`, do not fit a
/// 64-bit number.
pub(super) fn check_joint_actions(
    game: &'static str,
    players: usize,
    actions: usize,
) -> Result<(), SearchConfigError> {
    if players as f64 * (actions.max(1) as f64).log2() > 63.0 {
        return Err(SearchConfigError::JointActions { game, players, actions });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_whose_joint_actions_cannot_be_numbered_is_refused() {
        for (players, actions) in [(1, 1 << 30), (2, 65_536), (4, 4_672), (16, 15), (16, 1)] {
            assert_eq!(check_joint_actions("game", players, actions), Ok(()));
        }
        let error = check_joint_actions("game", 16, 20).expect_err("20^16 is above 2^63");
        assert_eq!(
            error.to_string(),
            "search config: game has 16 players with 20 actions each; \
             joint actions must fit 64 bits"
        );
    }
}
