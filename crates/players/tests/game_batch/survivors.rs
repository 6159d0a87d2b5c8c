//! A small game with simultaneous moves, eliminations and chance, for tests of batches.

use ouro_game::{
    Action, ActionMask, Chance, ConfigError, Game, PlaneShape, PlayerSet, Rng, StepError, Turn,
};
use serde::{Deserialize, Serialize};

/// In each turn every living player picks one of three doors. Players that pick the trap are out.
/// The trap of the first turn is door 0, later ones are drawn. Last one alive wins.
#[derive(Clone, Debug)]
pub(crate) struct Survivors {
    players: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    alive: u16,
    trap: u32,
    turn: u32,
    drawing: bool,
}

impl Survivors {
    pub(crate) fn new(players: usize) -> Self {
        Self { players }
    }
}

impl Game for Survivors {
    type Config = usize;
    type State = State;

    const NAME: &'static str = "survivors";

    fn new(players: usize) -> Result<Self, ConfigError> {
        Ok(Self { players })
    }

    fn config(&self) -> &usize {
        &self.players
    }

    fn players(&self) -> usize {
        self.players
    }

    fn action_count(&self) -> usize {
        3
    }

    fn initial(&self, _: &mut Rng) -> State {
        State { alive: PlayerSet::first(self.players).0, trap: 0, turn: 0, drawing: false }
    }

    fn turn(&self, state: &State) -> Turn {
        match (state.drawing, PlayerSet(state.alive)) {
            (_, alive) if alive.len() <= 1 => Turn::Over,
            (true, _) => Turn::Chance,
            (false, alive) => Turn::Move(alive),
        }
    }

    fn legal(&self, state: &State, player: usize, mask: &mut ActionMask) {
        mask.reset(3);
        if matches!(self.turn(state), Turn::Move(movers) if movers.contains(player)) {
            (0..3).for_each(|door| mask.insert(Action(door)));
        }
    }

    fn step(&self, state: &mut State, actions: &[Action]) -> Result<(), StepError> {
        let Turn::Move(movers) = self.turn(state) else { return Err(StepError::GameOver) };
        for player in movers.iter().filter(|&player| actions[player].0 == state.trap) {
            state.alive &= !PlayerSet::one(player).0;
        }
        state.turn += 1;
        state.drawing = true;
        Ok(())
    }

    fn chance(&self, _: &State) -> Chance {
        Chance::Enumerable { count: 3 }
    }

    fn chance_probability(&self, _: &State, outcome: u32) -> f64 {
        if outcome < 3 { 1.0 / 3.0 } else { 0.0 }
    }

    fn sample_chance(&self, _: &State, rng: &mut Rng) -> u32 {
        rng.below(3)
    }

    fn apply_chance(&self, state: &mut State, outcome: u32) -> Result<(), StepError> {
        state.trap = outcome;
        state.drawing = false;
        Ok(())
    }

    fn alive(&self, state: &State) -> PlayerSet {
        PlayerSet(state.alive)
    }

    fn elapsed(&self, state: &State) -> u32 {
        state.turn
    }

    fn returns(&self, state: &State, player: usize) -> f32 {
        self.outcome(state, player)
    }

    fn outcome(&self, state: &State, player: usize) -> f32 {
        match (self.turn(state), PlayerSet(state.alive)) {
            (Turn::Over, alive) if alive.contains(player) => 1.0,
            (Turn::Over, alive) if !alive.is_empty() => -1.0,
            _ => 0.0,
        }
    }

    fn planes(&self) -> PlaneShape {
        PlaneShape { channels: 2, height: 1, width: self.players }
    }

    fn observe(&self, state: &State, player: usize, out: &mut [f32]) {
        for seat in 0..self.players {
            out[seat] = f32::from(u8::from(PlayerSet(state.alive).contains(seat)));
            out[self.players + seat] =
                f32::from(u8::from(seat == player)) * (1.0 + (state.turn % 5) as f32);
        }
    }

    fn render(&self, state: &State) -> String {
        format!("{:04b} alive, turn {}\n", state.alive, state.turn)
    }

    fn action_name(&self, action: Action) -> String {
        format!("door {}", action.0)
    }
}
