//! Rock, paper, scissors for stakes.
//!
//! In each round a die is rolled and both players show a hand simultaneously. The winner gets as
//! many points as the die shows; equal hands win nothing. The player with more points wins.

use ouro_game::{
    Action, ActionMask, Chance, ConfigError, Game, PlaneShape, PlayerSet, Rng, StepError, Turn,
};
use serde::{Deserialize, Serialize};

/// The length of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Rolls of the die, 1 to 100.
    pub(crate) rounds: u8,
}

/// The rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stakes {
    config: Config,
}

/// One position. The rules can continue from any values of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    rounds_played: u8,
    stake: Option<u8>,
    /// Points of player 0 less those of player 1.
    lead: i16,
}

impl Game for Stakes {
    type Config = Config;
    type State = State;

    const NAME: &'static str = "stakes";

    fn new(config: Config) -> Result<Self, ConfigError> {
        if !(1..=100).contains(&config.rounds) {
            let (value, remedy) = (config.rounds.to_string(), "it must be 1 to 100".to_owned());
            return Err(ConfigError { game: Self::NAME, field: "rounds", value, remedy });
        }
        Ok(Self { config })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn players(&self) -> usize {
        2
    }

    fn action_count(&self) -> usize {
        3
    }

    fn initial(&self, _rng: &mut Rng) -> State {
        State { rounds_played: 0, stake: None, lead: 0 }
    }

    fn turn(&self, state: &State) -> Turn {
        match state.stake {
            _ if state.rounds_played >= self.config.rounds => Turn::Over,
            None => Turn::Chance,
            Some(_) => Turn::Move(PlayerSet::first(2)),
        }
    }

    fn legal(&self, state: &State, player: usize, mask: &mut ActionMask) {
        mask.reset(3);
        if matches!(self.turn(state), Turn::Move(movers) if movers.contains(player)) {
            (0..3).for_each(|hand| mask.insert(Action(hand)));
        }
    }

    fn step(&self, state: &mut State, actions: &[Action]) -> Result<(), StepError> {
        self.movers(state, actions)?;
        for (player, &Action(action)) in actions.iter().enumerate() {
            if action > 2 {
                return Err(StepError::IllegalAction { player, action });
            }
        }
        let stake = i16::from(state.stake.take().unwrap_or(0));
        // Each hand beats the one before it, and rock beats scissors.
        match (3 + actions[0].0 - actions[1].0) % 3 {
            1 => state.lead = state.lead.saturating_add(stake),
            2 => state.lead = state.lead.saturating_sub(stake),
            _ => {}
        }
        state.rounds_played += 1;
        Ok(())
    }

    fn chance(&self, _state: &State) -> Chance {
        Chance::Enumerable { count: 6 }
    }

    fn apply_chance(&self, state: &mut State, outcome: u32) -> Result<(), StepError> {
        if self.turn(state) != Turn::Chance {
            return Err(StepError::NotAChanceNode);
        }
        if outcome > 5 {
            return Err(StepError::ImpossibleOutcome { outcome });
        }
        state.stake = Some(outcome as u8 + 1);
        Ok(())
    }

    fn elapsed(&self, state: &State) -> u32 {
        state.rounds_played.into()
    }

    fn returns(&self, state: &State, player: usize) -> f32 {
        f32::from(state.lead) * if player == 0 { 1.0 } else { -1.0 }
    }

    fn outcome(&self, state: &State, player: usize) -> f32 {
        self.returns(state, player).clamp(-1.0, 1.0)
    }

    fn planes(&self) -> PlaneShape {
        PlaneShape { channels: 3, height: 1, width: 1 }
    }

    fn observe(&self, state: &State, player: usize, out: &mut [f32]) {
        out[0] = f32::from(state.stake.unwrap_or(0)) / 6.0;
        out[1] = f32::from(state.rounds_played) / f32::from(self.config.rounds);
        out[2] = self.returns(state, player) / (6.0 * f32::from(self.config.rounds));
    }

    fn render(&self, state: &State) -> String {
        format!("{} rounds, stake {:?}, lead {}\n", state.rounds_played, state.stake, state.lead)
    }

    fn action_name(&self, action: Action) -> String {
        ["rock", "paper", "scissors"][action.index() % 3].to_owned()
    }
}
