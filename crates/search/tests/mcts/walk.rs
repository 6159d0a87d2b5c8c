//! A single-player game with a choice, forced steps, chance and rewards, whose values are known.

use ouro_game::{
    Action, ActionMask, Chance, ConfigError, Game, PlaneShape, PlayerSet, Rng, StepError, Turn,
};
use serde::{Deserialize, Serialize};

/// Settings of a [`Walk`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Path {
    /// Reward of the near end, one step away.
    pub(crate) near: f32,
    /// Forced steps of the far way.
    pub(crate) forced: u32,
    /// Outcomes of chance at its end; outcome `k` is worth a reward of `k`.
    pub(crate) outcomes: u32,
    /// Outcome 0 has probability one half, the others share the rest.
    pub(crate) skewed: bool,
    /// Choices between two equal actions that follow.
    pub(crate) tail: u32,
}

/// One player goes near (action 0) or far (action 1).
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    path: Path,
}

/// The state of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) time: u32,
    /// The chance outcome, once it is drawn.
    pub(crate) outcome: Option<u32>,
    pub(crate) over: bool,
    /// Choices of the tail, one bit each, so that all states differ.
    pub(crate) turns: u64,
    near: bool,
}

impl Eq for Place {}

impl Walk {
    fn waits(&self, place: &Place) -> bool {
        place.time == self.path.forced + 1 && place.outcome.is_none() && !place.over
    }
}

impl Game for Walk {
    type Config = Path;
    type State = Place;
    const NAME: &'static str = "walk";

    fn new(path: Path) -> Result<Self, ConfigError> {
        Ok(Self { path })
    }
    fn config(&self) -> &Path {
        &self.path
    }
    fn players(&self) -> usize {
        1
    }
    fn action_count(&self) -> usize {
        3
    }
    fn initial(&self, _rng: &mut Rng) -> Place {
        Place { time: 0, outcome: None, over: false, turns: 0, near: false }
    }
    fn turn(&self, place: &Place) -> Turn {
        if place.over {
            Turn::Over
        } else if self.waits(place) {
            Turn::Chance
        } else {
            Turn::Move(PlayerSet::one(0))
        }
    }
    fn legal(&self, place: &Place, player: usize, mask: &mut ActionMask) {
        mask.reset(3);
        if player != 0 || self.turn(place) != Turn::Move(PlayerSet::one(0)) {
            return;
        }
        if place.time == 0 || place.outcome.is_some() {
            mask.insert(Action(0));
            mask.insert(Action(1));
        } else {
            mask.insert(Action(2));
        }
    }
    fn step(&self, place: &mut Place, actions: &[Action]) -> Result<(), StepError> {
        let action = actions[0].0;
        if place.time == 0 && action == 0 {
            (place.near, place.over) = (true, true);
        }
        place.turns = place.turns << 1 | u64::from(action & 1);
        place.time += 1;
        if place.outcome.is_some() && place.time > self.path.forced + self.path.tail {
            place.over = true;
        }
        Ok(())
    }
    fn chance(&self, _place: &Place) -> Chance {
        Chance::Enumerable { count: self.path.outcomes }
    }
    fn chance_probability(&self, place: &Place, outcome: u32) -> f64 {
        let count = self.path.outcomes;
        match outcome {
            _ if !self.waits(place) || outcome >= count => 0.0,
            0 if self.path.skewed => 0.5,
            _ if self.path.skewed => 0.5 / f64::from(count - 1),
            _ => 1.0 / f64::from(count),
        }
    }
    fn sample_chance(&self, _place: &Place, rng: &mut Rng) -> u32 {
        if !self.path.skewed {
            rng.below(self.path.outcomes)
        } else if rng.below(2) == 0 {
            0
        } else {
            1 + rng.below(self.path.outcomes - 1)
        }
    }
    fn apply_chance(&self, place: &mut Place, outcome: u32) -> Result<(), StepError> {
        place.outcome = Some(outcome);
        place.over = self.path.tail == 0;
        Ok(())
    }
    fn alive(&self, _place: &Place) -> PlayerSet {
        PlayerSet::one(0)
    }
    fn elapsed(&self, place: &Place) -> u32 {
        place.time
    }
    fn returns(&self, place: &Place, _player: usize) -> f32 {
        let near = if place.near { self.path.near } else { 0.0 };
        near + place.outcome.map_or(0.0, |outcome| outcome as f32)
    }
    fn outcome(&self, _place: &Place, _player: usize) -> f32 {
        0.0
    }
    fn planes(&self) -> PlaneShape {
        PlaneShape { channels: 1, height: 1, width: 1 }
    }
    fn observe(&self, _place: &Place, _player: usize, out: &mut [f32]) {
        out.fill(0.0);
    }
    fn render(&self, place: &Place) -> String {
        format!("{place:?}\n")
    }
    fn action_name(&self, action: Action) -> String {
        ["near", "far", "on"][action.index() % 3].to_owned()
    }
}
