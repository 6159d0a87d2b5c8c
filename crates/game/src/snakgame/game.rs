//! SNAKGAME as a [`Game`].

use super::cell_set::Words;
use super::chance::draw;
use super::config::{Config, Mode, NAME};
use super::direction::{DIRECTIONS, image, turned};
use super::observe::CHANNELS;
use super::random_play::Policy;
use super::rules::{EXTENSIONS, Phase, Snakgame};
use super::side::Side;
use super::state::State;
use crate::action::{Action, ActionMask};
use crate::error::{ConfigError, StepError};
use crate::game::{Chance, Game, PlaneShape, Turn};
use crate::player_set::PlayerSet;
use crate::rng::Rng;
use crate::rollout::RolloutBuffer;
use crate::symmetry::Symmetry;

/// Cells of a board up to which Chef's outcomes are listed: those of the small class.
const MOST_LISTED: usize = <[u64; 16] as Words>::MOST_CELLS;

/// Names of the actions that extend an end.
const END_NAMES: [&str; 2] = ["first end", "second end"];

impl<W: Words> Game for Snakgame<W> {
    type Config = Config;
    type State = State<W>;

    const NAME: &'static str = NAME;

    fn new(config: Config) -> Result<Self, ConfigError> {
        Self::build(config)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn players(&self) -> usize {
        match self.config.mode {
            Mode::Duel => 2,
            Mode::Official => 1,
        }
    }

    /// NEW on every cell, eight extensions and EXIT: see [`Snakgame::action_move`].
    fn action_count(&self) -> usize {
        self.config.cells() + EXTENSIONS + 1
    }

    fn initial(&self, rng: &mut Rng) -> State<W> {
        self.first_state(rng)
    }

    fn turn(&self, state: &State<W>) -> Turn {
        match self.phase(state) {
            Phase::Over => Turn::Over,
            Phase::Chef => Turn::Chance,
            Phase::Move(side) => Turn::Move(PlayerSet::one(side as usize)),
        }
    }

    fn legal(&self, state: &State<W>, player: usize, mask: &mut ActionMask) {
        self.list(state, player, true, mask);
    }

    /// Leaves out EXIT.
    fn viable(&self, state: &State<W>, player: usize, mask: &mut ActionMask) {
        self.list(state, player, false, mask);
    }

    fn step(&self, state: &mut State<W>, actions: &[Action]) -> Result<(), StepError> {
        self.movers(state, actions)?;
        let side = state.to_move;
        let (player, action) = (side as usize, actions[side as usize]);
        match self.meaning(state, action) {
            Some(meaning) if self.is_legal(state, side, meaning) => {
                self.make(state, side, meaning);
                Ok(())
            }
            _ => Err(StepError::IllegalAction { player, action: action.0 }),
        }
    }

    /// Chef's answers are listed on boards of up to 1,024 cells. Larger boards have too many, so
    /// they are sampled.
    fn chance(&self, _state: &State<W>) -> Chance {
        if self.config.cells() <= MOST_LISTED {
            Chance::Enumerable { count: self.outcomes() }
        } else {
            Chance::Sampled
        }
    }

    fn chance_probability(&self, state: &State<W>, outcome: u32) -> f64 {
        self.probability(state, outcome)
    }

    fn sample_chance(&self, state: &State<W>, rng: &mut Rng) -> u32 {
        draw(state, rng)
    }

    fn apply_chance(&self, state: &mut State<W>, outcome: u32) -> Result<(), StepError> {
        self.resolve(state, outcome)
    }

    /// Chef does nothing in this turn, as in the last turn of a freeze.
    fn skip_chance(&self, state: &mut State<W>) -> bool {
        if self.phase(state) == Phase::Chef {
            state.to_move = Side::First;
        }
        true
    }

    fn settle(&self, state: &mut State<W>, rng: &mut Rng) {
        self.play_chef(state, rng);
    }

    /// Extends at random and starts a snake only if no extension is possible; never exits.
    fn rollout(
        &self,
        state: &mut State<W>,
        limit: u32,
        _buffer: &mut RolloutBuffer,
        rng: &mut Rng,
    ) {
        self.play_at_random(state, limit, Policy::Uniform, rng);
    }

    /// Extensions are weighed by the empty neighbours of their target; see the module
    /// `random_play`.
    fn weigh(&self, state: &State<W>, player: usize, _legal: &mut ActionMask, weights: &mut [u32]) {
        self.write_weights(state, player, weights);
    }

    /// Draws the same numbers and plays the same moves as
    /// [`rollout::guided`](crate::rollout::guided).
    fn guided_rollout(
        &self,
        state: &mut State<W>,
        limit: u32,
        _buffer: &mut RolloutBuffer,
        rng: &mut Rng,
    ) {
        self.play_at_random(state, limit, Policy::Guided, rng);
    }

    /// All players but one that has exited.
    fn alive(&self, state: &State<W>) -> PlayerSet {
        let exited = state.exited.map_or(PlayerSet::EMPTY, |side| PlayerSet::one(side as usize));
        PlayerSet(PlayerSet::first(self.players()).0 & !exited.0)
    }

    fn collapse_forced(&self) -> bool {
        true
    }

    fn state_bytes(&self) -> usize {
        State::<W>::bytes(self.config.cells())
    }

    /// Turns of the player, in a duel of both players. EXIT is not counted.
    fn elapsed(&self, state: &State<W>) -> u32 {
        match self.config.mode {
            Mode::Duel => state.cell_count(Side::First) + state.cell_count(Side::Second),
            Mode::Official => state.cell_count(Side::First),
        }
    }

    /// Official: the score as a share of [`one_snake_bound`](super::one_snake_bound). Duel: the
    /// outcome at the end, 0 before it.
    fn returns(&self, state: &State<W>, player: usize) -> f32 {
        match self.config.mode {
            Mode::Official => state.share(Side::First) as f32,
            Mode::Duel if self.phase(state) == Phase::Over => self.outcome(state, player),
            Mode::Duel => 0.0,
        }
    }

    /// Official: twice the share of [`one_snake_bound`](super::one_snake_bound) less 1, at most 1.
    /// Duel: 1 for the higher score, 0 for equal scores; a player that has exited loses.
    fn outcome(&self, state: &State<W>, player: usize) -> f32 {
        if self.config.mode == Mode::Official {
            return (2.0 * state.share(Side::First) - 1.0).clamp(-1.0, 1.0) as f32;
        }
        let own = if player == 0 { Side::First } else { Side::Second };
        if let Some(loser) = state.exited {
            return if loser == own { -1.0 } else { 1.0 };
        }
        let [own, other] = [own, own.other()].map(|side| state.snakes(side).score());
        match own.cmp(&other) {
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => 1.0,
        }
    }

    /// The score by the contest's formula.
    #[expect(clippy::cast_precision_loss, reason = "scores above 2^24 are rounded")]
    fn score(&self, state: &State<W>, player: usize) -> f32 {
        let side = if player == 0 { Side::First } else { Side::Second };
        state.snakes(side).score() as f32
    }

    fn planes(&self) -> PlaneShape {
        let (height, width) = (self.config.rows.into(), self.config.columns.into());
        PlaneShape { channels: CHANNELS, height, width }
    }

    fn observe(&self, state: &State<W>, player: usize, out: &mut [f32]) {
        self.write_planes(state, player, out);
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        if self.config.rows == self.config.columns { Symmetry::SQUARE } else { Symmetry::OBLONG }
    }

    fn transform(&self, state: &State<W>, symmetry: Symmetry) -> State<W> {
        state.image(symmetry)
    }

    fn transform_action(&self, action: Action, symmetry: Symmetry) -> Action {
        let (rows, columns) = (self.config.rows, self.config.columns);
        let (cells, index) = (self.config.cells(), action.index());
        if index < cells {
            if !self.symmetries().contains(&symmetry) {
                return action;
            }
            let width = usize::from(columns);
            let cell = super::Cell::new((index / width) as u16 + 1, (index % width) as u16 + 1);
            let moved = image(cell, symmetry, rows, columns);
            let index = usize::from(moved.row - 1) * width + usize::from(moved.column - 1);
            return Action(index as u32);
        }
        match index - cells {
            extension if extension < EXTENSIONS => {
                let direction = turned(extension % 4, symmetry);
                Action((cells + extension / 4 * 4 + direction) as u32)
            }
            _ => action,
        }
    }

    fn render(&self, state: &State<W>) -> String {
        self.draw_board(state)
    }

    /// `NEW 3 5` as in the contest, `first end up`, or `EXIT`.
    fn action_name(&self, action: Action) -> String {
        let (cells, index) = (self.config.cells(), action.index());
        if index < cells {
            let columns = usize::from(self.config.columns);
            return format!("NEW {} {}", index / columns + 1, index % columns + 1);
        }
        match index - cells {
            extension if extension < EXTENSIONS => {
                format!("{} {}", END_NAMES[extension / 4], DIRECTIONS[extension % 4])
            }
            _ => "EXIT".to_owned(),
        }
    }

    fn digest(&self, state: &State<W>) -> u64 {
        state.digest()
    }
}
