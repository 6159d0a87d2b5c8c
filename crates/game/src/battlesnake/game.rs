//! Battlesnake as a [`Game`].

use super::config::{Config, Ruleset};
use super::observe::EARLIER_CHANNELS;
use super::rules::Battlesnake;
use super::state::{Cell, Pending, State};
use crate::action::{Action, ActionMask};
use crate::error::{ConfigError, StepError};
use crate::game::{Chance, Game, PlaneShape, Turn};
use crate::grid::{DIRECTIONS, turned};
use crate::player_set::PlayerSet;
use crate::rng::Rng;
use crate::rollout::RolloutBuffer;
use crate::symmetry::Symmetry;

impl<C: Cell, const W: usize, const S: usize> Game for Battlesnake<C, W, S> {
    type Config = Config;
    type State = State<C, W, S>;

    const NAME: &'static str = super::NAME;

    fn new(config: Config) -> Result<Self, ConfigError> {
        Self::build(config)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn players(&self) -> usize {
        self.config.snakes.into()
    }

    fn action_count(&self) -> usize {
        4
    }

    fn initial(&self, rng: &mut Rng) -> Self::State {
        if let Some(start) = self.start {
            return start;
        }
        let layout = self.placement.draw(rng);
        let mut state = State::empty(self.config.width, self.config.height, self.config.snakes);
        for (snake, head) in layout.heads.into_iter().enumerate() {
            let Some(cell) = self.geometry.cell(head) else { continue };
            state.alive |= 1 << snake;
            state.occupied.insert(cell);
            state.heads[snake] = C::new(cell);
            state.tails[snake] = C::new(cell);
            state.lengths[snake] = super::START_LENGTH;
            state.stacks[snake] = super::START_LENGTH - 1;
            state.health[snake] = 100;
        }
        for cell in layout.food.into_iter().filter_map(|food| self.geometry.cell(food)) {
            state.add_food(cell);
        }
        state
    }

    fn turn(&self, state: &Self::State) -> Turn {
        if state.pending != Pending::Nothing {
            Turn::Chance
        } else if self.is_decided(state) {
            Turn::Over
        } else {
            Turn::Move(PlayerSet(state.alive))
        }
    }

    fn legal(&self, state: &Self::State, player: usize, mask: &mut ActionMask) {
        mask.reset(4);
        if matches!(self.turn(state), Turn::Move(movers) if movers.contains(player)) {
            (0..4).for_each(|action| mask.insert(Action(action)));
        }
    }

    /// Leaves out moves into walls and bodies that surely stay, starvation and deadly hazards.
    fn viable(&self, state: &Self::State, player: usize, mask: &mut ActionMask) {
        mask.reset(4);
        if matches!(self.turn(state), Turn::Move(movers) if movers.contains(player)) {
            let moves = match self.viable_moves(state, player) {
                0 => 0b1111,
                moves => moves,
            };
            let actions = (0..4).filter(|action| moves >> action & 1 != 0);
            actions.for_each(|action| mask.insert(Action(action)));
        }
    }

    fn is_decided(&self, state: &Self::State) -> bool {
        // The inherent method: food or a shrinking side may still be due.
        Self::is_decided(self, state)
    }

    fn step(&self, state: &mut Self::State, actions: &[Action]) -> Result<(), StepError> {
        if actions.len() != self.players() {
            return Err(StepError::ActionCount { got: actions.len(), expected: self.players() });
        }
        match self.turn(state) {
            Turn::Chance => return Err(StepError::ChancePending),
            Turn::Over => return Err(StepError::GameOver),
            Turn::Move(_) => {}
        }
        let moves = moves(state, actions)?;
        self.step_moves(state, &moves, &mut ());
        Ok(())
    }

    fn chance(&self, state: &Self::State) -> Chance {
        self.chance_node(state)
    }

    fn chance_probability(&self, state: &Self::State, outcome: u32) -> f64 {
        self.probability(state, outcome)
    }

    fn sample_chance(&self, state: &Self::State, rng: &mut Rng) -> u32 {
        self.draw(state, rng)
    }

    fn apply_chance(&self, state: &mut Self::State, outcome: u32) -> Result<(), StepError> {
        self.resolve(state, outcome)
    }

    fn skip_chance(&self, state: &mut Self::State) -> bool {
        self.settle_idle(state);
        true
    }

    fn settle(&self, state: &mut Self::State, rng: &mut Rng) {
        self.settle_all(state, rng);
    }

    /// Snakes move at random, but avoid walls and bodies as in
    /// [`random_turn`](Battlesnake::random_turn).
    fn rollout(
        &self,
        state: &mut Self::State,
        limit: u32,
        _buffer: &mut RolloutBuffer,
        rng: &mut Rng,
    ) {
        self.settle_all(state, rng);
        for _ in 0..limit {
            if self.is_decided(state) {
                return;
            }
            self.random_turn(state, rng);
        }
    }

    fn alive(&self, state: &Self::State) -> PlayerSet {
        PlayerSet(state.alive)
    }

    fn elapsed(&self, state: &Self::State) -> u32 {
        state.turn
    }

    fn returns(&self, state: &Self::State, player: usize) -> f32 {
        self.rewards(state, player)
    }

    fn outcome(&self, state: &Self::State, player: usize) -> f32 {
        self.result(state, player)
    }

    fn planes(&self) -> PlaneShape {
        self.plane_shape()
    }

    fn earlier_channels(&self) -> &'static [usize] {
        &EARLIER_CHANNELS
    }

    fn features(&self) -> Option<PlaneShape> {
        Some(self.feature_shape())
    }

    fn duel(config: &Config) -> Option<Config> {
        let is_solo = config.solo || config.ruleset == Ruleset::Solo;
        // The rules of a game take fixed hazards from its start.
        let has_hazards = config.start.as_ref().is_some_and(|start| !start.hazards.is_empty());
        let duel = || Config { snakes: 2, start: None, ..config.clone() };
        (config.snakes >= 2 && !is_solo && !has_hazards).then(duel)
    }

    fn observe(&self, state: &Self::State, player: usize, out: &mut [f32]) {
        // Planes of the smallest board are longer than the features of any game.
        if out.len() == self.feature_shape().len() {
            self.write_features(state, player, out);
        } else {
            self.write_planes(state, player, out);
        }
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        let all = if self.config.width == self.config.height {
            Symmetry::SQUARE
        } else {
            Symmetry::OBLONG
        };
        let fixed = |&symmetry: &Symmetry| self.hazards.is_invariant(&self.geometry, symmetry);
        if all.iter().all(fixed) { all } else { &[Symmetry::Identity] }
    }

    fn transform(&self, state: &Self::State, symmetry: Symmetry) -> Self::State {
        state.image(symmetry)
    }

    fn transform_action(&self, action: Action, symmetry: Symmetry) -> Action {
        Action(turned(action.index(), symmetry) as u32)
    }

    fn render(&self, state: &Self::State) -> String {
        self.draw_board(state)
    }

    fn action_name(&self, action: Action) -> String {
        DIRECTIONS[action.index() & 3].to_owned()
    }

    fn digest(&self, state: &Self::State) -> u64 {
        state.digest()
    }
}

/// The directions chosen by the living snakes.
fn moves<C: Cell, const W: usize, const S: usize>(
    state: &State<C, W, S>,
    actions: &[Action],
) -> Result<[u8; S], StepError> {
    let mut moves = [0; S];
    for (player, action) in actions.iter().enumerate() {
        if state.is_alive(player) {
            if action.0 > 3 {
                return Err(StepError::IllegalAction { player, action: action.0 });
            }
            moves[player] = action.0 as u8;
        }
    }
    Ok(moves)
}
