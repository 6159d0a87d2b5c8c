//! The rules of one configured game: tables, settings and their checks.

use std::fmt::Display;

use super::config::{Config, Ruleset, config_error};
use super::dead_bodies::DeadBodies;
use super::geometry::Geometry;
use super::hazards::{self, Hazards};
use super::placement::Placement;
use super::position::{MAX_SIDE, MAX_SNAKES, MIN_SIDE, Position};
use super::state::{Cell, Pending, State};
use crate::error::ConfigError;
use crate::grid::Bits;

/// Battlesnake on boards of at most `64 * W` cells, indexed by `C`, with at most `S` snakes.
///
/// [`Small`](super::Small) and [`Large`](super::Large) are the two size classes in use. Both run
/// the same code.
#[derive(Clone, Debug)]
pub struct Battlesnake<C: Cell, const W: usize, const S: usize> {
    pub(super) config: Config,
    pub(super) geometry: Geometry<W>,
    pub(super) hazards: Hazards<W>,
    pub(super) placement: Placement,
    pub(super) start: Option<State<C, W, S>>,
    pub(super) solo: bool,
    pub(super) constrictor: bool,
    pub(super) royale: bool,
}

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    /// Whether the configuration's board and snakes, and the food of its start, fit this class.
    pub fn fits(config: &Config) -> bool {
        let room = (64 * W).checked_sub(cells(config));
        let food = config.start.as_ref().map_or(0, Position::repeated_food);
        room.is_some_and(|room| food <= room) && usize::from(config.snakes) <= S
    }

    /// Checks a configuration and computes its tables.
    pub(super) fn build(config: Config) -> Result<Self, ConfigError> {
        check_ranges(&config)?;
        // Too much food in the start is refused by `check_start`.
        if cells(&config) > 64 * W || usize::from(config.snakes) > S {
            let value =
                format!("{} x {} with {} snakes", config.width, config.height, config.snakes);
            let remedy = format!("this class of board holds {} cells and {S} snakes", 64 * W);
            return Err(config_error("width", &value, remedy));
        }
        let wrapped = config.ruleset.is_wrapped();
        let start = config.start.as_ref().map(|start| check_start(&config, start)).transpose()?;
        let placement = Placement::new(&config)?;
        let geometry = Geometry::new(config.width, config.height, wrapped);
        let listed = config.start.as_ref().map_or(&[][..], |start| &start.hazards);
        Ok(Self {
            hazards: Hazards::new(&geometry, listed),
            geometry,
            placement,
            start,
            solo: config.solo || config.ruleset == Ruleset::Solo,
            constrictor: config.ruleset.is_constrictor(),
            royale: config.is_royale(),
            config,
        })
    }

    /// The board's tables.
    pub fn geometry(&self) -> &Geometry<W> {
        &self.geometry
    }

    /// Whether the game-over condition holds: at most one snake is alive, or none in solo.
    #[inline]
    pub fn is_decided(&self, state: &State<C, W, S>) -> bool {
        if self.solo { state.alive == 0 } else { state.alive & state.alive.wrapping_sub(1) == 0 }
    }

    /// How many hazards lie on a cell.
    pub fn hazards_on(&self, state: &State<C, W, S>, cell: usize) -> u16 {
        if state.closing {
            u16::from(hazards::is_outside(&self.geometry, state.shrunk, cell))
        } else {
            self.hazards.stack(cell)
        }
    }

    /// Health that a move onto a cell without food costs; below 1 where hazards heal.
    pub fn move_cost(&self, state: &State<C, W, S>, cell: usize) -> i32 {
        let hazards = i32::from(self.hazards_on(state, cell));
        1 + hazards * i32::from(self.config.hazard_damage_per_turn)
    }

    /// Packs a position on this board.
    pub fn state(&self, position: &Position) -> Result<State<C, W, S>, ConfigError> {
        check_start(&self.config, position)
    }

    /// The whole position, with hazards in the engine's order and the bodies in `dead_bodies`.
    pub fn position(&self, state: &State<C, W, S>, dead_bodies: &DeadBodies) -> Position {
        let mut position = state.bare_position();
        position.hazards = if state.closing {
            hazards::outside(&self.geometry, state.shrunk)
        } else {
            self.hazards.listed().to_vec()
        };
        for (snake, body) in position.snakes.iter_mut().zip(dead_bodies.bodies()) {
            if snake.death.is_some() {
                snake.body.clone_from(body);
            }
        }
        position
    }

    /// The next cell towards the head from the body cell at `cell`.
    #[inline]
    pub fn towards_head(&self, state: &State<C, W, S>, cell: usize) -> usize {
        self.geometry.torus(cell, state.direction(cell))
    }

    /// Resolves pending chance with no event: no food appears, no side shrinks.
    ///
    /// Searches that do not enumerate chance outcomes make this assumption.
    #[inline]
    pub fn settle_idle(&self, state: &mut State<C, W, S>) {
        state.pending = Pending::Nothing;
    }

    /// Cells with a hazard.
    #[inline]
    pub fn hazard_cells(&self, state: &State<C, W, S>) -> Bits<W> {
        if state.closing {
            hazards::outside_cells(&self.geometry, state.shrunk)
        } else {
            self.hazards.cells()
        }
    }
}

impl Ruleset {
    /// Whether opposite edges are joined.
    pub fn is_wrapped(self) -> bool {
        matches!(self, Self::Wrapped | Self::WrappedConstrictor)
    }

    /// Whether every snake grows every turn.
    pub fn is_constrictor(self) -> bool {
        matches!(self, Self::Constrictor | Self::WrappedConstrictor)
    }
}

/// Cells of the board.
fn cells(config: &Config) -> usize {
    usize::from(config.width) * usize::from(config.height)
}

fn check_ranges(config: &Config) -> Result<(), ConfigError> {
    for (field, side) in [("width", config.width), ("height", config.height)] {
        if !(MIN_SIDE..=MAX_SIDE).contains(&side) {
            return Err(config_error(
                field,
                &side,
                format!("boards are {MIN_SIDE} to {MAX_SIDE} wide and high"),
            ));
        }
    }
    if config.snakes == 0 || usize::from(config.snakes) > MAX_SNAKES {
        return Err(config_error(
            "snakes",
            &config.snakes,
            format!("a game has 1 to {MAX_SNAKES}"),
        ));
    }
    let alone = config.snakes == 1 && !config.solo && config.ruleset != Ruleset::Solo;
    if alone && config.start.is_none() {
        return Err(config_error(
            "snakes",
            &1,
            "one snake alone has already won; set `solo` or add another",
        ));
    }
    if config.food_spawn_chance > 100 {
        return Err(config_error(
            "food_spawn_chance",
            &config.food_spawn_chance,
            "it is 0 to 100 percent",
        ));
    }
    if !(-100..=100).contains(&config.hazard_damage_per_turn) {
        return Err(config_error(
            "hazard_damage_per_turn",
            &config.hazard_damage_per_turn,
            "it is -100 to 100",
        ));
    }
    if config.is_royale() && config.shrink_every_n_turns == 0 {
        return Err(config_error("shrink_every_n_turns", &0, "it is at least 1 in royale games"));
    }
    let rewards = config.rewards;
    for (field, reward) in [
        ("rewards.death", rewards.death),
        ("rewards.turn", rewards.turn),
        ("rewards.food", rewards.food),
        ("rewards.win", rewards.win),
    ] {
        if !reward.is_finite() || reward.abs() > 1e6 {
            return Err(config_error(field, &reward, "it is -1000000 to 1000000"));
        }
    }
    if !(-1.0..=1.0).contains(&config.draw) {
        return Err(config_error("draw", &config.draw, "it is -1 to 1"));
    }
    Ok(())
}

fn check_start<C: Cell, const W: usize, const S: usize>(
    config: &Config,
    start: &Position,
) -> Result<State<C, W, S>, ConfigError> {
    for (field, got, expected) in [
        ("start.width", usize::from(start.width), config.width),
        ("start.height", usize::from(start.height), config.height),
        ("start.snakes", start.snakes.len(), config.snakes),
    ] {
        if got != usize::from(expected) {
            return Err(config_error(field, &got, format!("the configuration says {expected}")));
        }
    }
    let invalid = |error: &dyn Display| config_error("start", &"invalid", error.to_string());
    start.validate(config.ruleset.is_wrapped()).map_err(|error| invalid(&error))?;
    State::from_position(start).map_err(|error| invalid(&error))
}
