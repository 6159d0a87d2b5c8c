//! The engine under test, driven through a recorded game.
//!
//! Chance outcomes come from the recording and must be outcomes that the engine offers.

use crate::action::Action;
use crate::battlesnake::Small;
use crate::battlesnake::config::Config;
use crate::battlesnake::dead_bodies::DeadBodies;
use crate::battlesnake::position::{Point, Position};
use crate::battlesnake::rules::Battlesnake;
use crate::battlesnake::state::{Cell, Pending, State};
use crate::error::ConfigError;
use crate::game::{Game, Turn};
use crate::rng::Rng;

/// An engine during a recorded game, independent of its size class.
pub(super) trait Engine {
    /// Name of the size class in messages.
    fn name(&self) -> &'static str;

    /// The current position.
    fn position(&self) -> Position;

    /// Whether the game-over condition holds.
    fn is_over(&self) -> bool;

    /// Plays the moves by seat, the default move for `None`, then shrinks `side`.
    fn play(&mut self, moves: &[Option<u8>], side: Option<u8>) -> Result<(), String>;

    /// Places new food.
    fn spawn(&mut self, food: &[Point]) -> Result<(), String>;
}

/// One engine for each size class that the configuration fits, at its start position.
pub(super) fn engines(config: &Config) -> Result<Vec<Box<dyn Engine>>, ConfigError> {
    let mut engines: Vec<Box<dyn Engine>> = Vec::with_capacity(2);
    if Small::fits(config) {
        engines.push(Box::new(SizedEngine::<u8, 2, 8>::new("small boards", config)?));
    }
    engines.push(Box::new(SizedEngine::<u16, 10, 16>::new("large boards", config)?));
    Ok(engines)
}

struct SizedEngine<C: Cell, const W: usize, const S: usize> {
    name: &'static str,
    game: Battlesnake<C, W, S>,
    state: State<C, W, S>,
    dead_bodies: DeadBodies,
}

impl<C: Cell, const W: usize, const S: usize> SizedEngine<C, W, S> {
    fn new(name: &'static str, config: &Config) -> Result<Self, ConfigError> {
        let game = Battlesnake::new(config.clone())?;
        // A game with a start position draws nothing.
        let state = game.initial(&mut Rng::new(0, "conform"));
        let dead_bodies = match &config.start {
            Some(start) => DeadBodies::from_position(start),
            None => DeadBodies::new(config.snakes.into()),
        };
        Ok(Self { name, game, state, dead_bodies })
    }

    fn chance(&mut self, outcome: u32) -> Result<(), String> {
        self.game.apply_chance(&mut self.state, outcome).map_err(|error| error.to_string())
    }
}

impl<C: Cell, const W: usize, const S: usize> Engine for SizedEngine<C, W, S> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn position(&self) -> Position {
        self.game.position(&self.state, &self.dead_bodies)
    }

    fn is_over(&self) -> bool {
        self.game.is_decided(&self.state)
    }

    fn play(&mut self, moves: &[Option<u8>], side: Option<u8>) -> Result<(), String> {
        let mut directions = [0; S];
        let mut actions = vec![Action::default(); moves.len()];
        for (seat, step) in moves.iter().enumerate() {
            let step = step.unwrap_or_else(|| self.game.default_move(&self.state, seat));
            directions[seat] = step;
            actions[seat] = Action(step.into());
        }
        // The same turn through the public `step`, which keeps no dead bodies.
        let mut plain = self.state;
        self.game.step(&mut plain, &actions).map_err(|error| error.to_string())?;
        self.game.step_moves(&mut self.state, &directions, &mut self.dead_bodies);
        if plain != self.state {
            return Err("the step with an observer gives another state than without one".to_owned());
        }
        match (self.state.pending, side) {
            (Pending::Shrink, Some(side)) => self.chance(side.into()),
            (Pending::Shrink, None) => {
                Err("the engine shrinks a side, the recording does not".into())
            }
            (_, Some(side)) => {
                Err(format!("the recording shrinks side {side}, the engine does not"))
            }
            (_, None) => Ok(()),
        }
    }

    fn spawn(&mut self, food: &[Point]) -> Result<(), String> {
        for &point in food {
            if self.game.turn(&self.state) != Turn::Chance {
                return Err(format!("the engine places no food on {point}"));
            }
            let legal = self.game.legal_food(&self.state);
            let cell = self.game.geometry().cell(point).filter(|&cell| legal.contains(cell));
            let cell = cell.ok_or_else(|| format!("the engine may not place food on {point}"))?;
            let nth = legal.iter().take_while(|&other| other < cell).count() as u32;
            let none = u32::from(self.state.pending == Pending::Roll);
            self.chance(nth + none)?;
        }
        match self.state.pending {
            Pending::Roll => self.chance(0),
            Pending::Nothing => Ok(()),
            pending => Err(format!("the engine expects another chance outcome: {pending:?}")),
        }
    }
}
