//! Maze Dash as a game in which every end but a solution is lost.

use ouro_game::maze_dash::{Config, MazeDash, State};
use ouro_game::{Action, ActionMask, ConfigError, Game, PlaneShape, Rng, StepError, Turn};

/// [`MazeDash`] with the outcomes 1 and −1. Its own outcome of an unsolved board grows with the
/// visited share, so a search would not take such an end for lost.
#[derive(Clone, Debug)]
pub(crate) struct Puzzle(MazeDash);

impl Game for Puzzle {
    type Config = Config;
    type State = State;

    const NAME: &'static str = MazeDash::NAME;

    fn new(config: Config) -> Result<Self, ConfigError> {
        MazeDash::new(config).map(Self)
    }

    fn config(&self) -> &Config {
        self.0.config()
    }

    fn players(&self) -> usize {
        self.0.players()
    }

    fn action_count(&self) -> usize {
        self.0.action_count()
    }

    fn initial(&self, rng: &mut Rng) -> State {
        self.0.initial(rng)
    }

    fn turn(&self, state: &State) -> Turn {
        self.0.turn(state)
    }

    fn legal(&self, state: &State, player: usize, mask: &mut ActionMask) {
        self.0.legal(state, player, mask);
    }

    fn step(&self, state: &mut State, actions: &[Action]) -> Result<(), StepError> {
        self.0.step(state, actions)
    }

    fn collapse_forced(&self) -> bool {
        self.0.collapse_forced()
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    fn elapsed(&self, state: &State) -> u32 {
        self.0.elapsed(state)
    }

    fn returns(&self, state: &State, player: usize) -> f32 {
        self.0.returns(state, player)
    }

    /// 1 for a solved board, otherwise −1.
    fn outcome(&self, state: &State, _player: usize) -> f32 {
        if state.visited() == state.cells() { 1.0 } else { -1.0 }
    }

    fn planes(&self) -> PlaneShape {
        self.0.planes()
    }

    fn observe(&self, state: &State, player: usize, out: &mut [f32]) {
        self.0.observe(state, player, out);
    }

    fn render(&self, state: &State) -> String {
        self.0.render(state)
    }

    fn action_name(&self, action: Action) -> String {
        self.0.action_name(action)
    }
}
