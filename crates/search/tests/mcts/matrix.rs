//! A matrix game, and the exploitability of strategies in it.

use ouro_game::{
    Action, ActionMask, ConfigError, Game, PlaneShape, PlayerSet, Rng, StepError, Turn,
};
use serde::{Deserialize, Serialize};

/// One simultaneous move of two players. The entry of the matrix is the first player's gain and
/// the second player's loss.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) payoffs: Vec<Vec<f32>>,
    /// The second player's returns, if they are not the negated returns of the first.
    pub(crate) second: Option<Vec<Vec<f32>>>,
}

/// The actions played, once the game is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Choices(pub(crate) Option<[u32; 2]>);

impl Game for Matrix {
    type Config = Vec<Vec<f32>>;
    type State = Choices;
    const NAME: &'static str = "matrix";

    fn new(payoffs: Vec<Vec<f32>>) -> Result<Self, ConfigError> {
        Ok(Self { payoffs, second: None })
    }
    fn config(&self) -> &Vec<Vec<f32>> {
        &self.payoffs
    }
    fn players(&self) -> usize {
        2
    }
    fn action_count(&self) -> usize {
        self.payoffs.len().max(self.payoffs[0].len())
    }
    fn initial(&self, _rng: &mut Rng) -> Choices {
        Choices(None)
    }
    fn turn(&self, state: &Choices) -> Turn {
        if state.0.is_some() { Turn::Over } else { Turn::Move(PlayerSet::first(2)) }
    }
    fn legal(&self, state: &Choices, player: usize, mask: &mut ActionMask) {
        mask.reset(self.action_count());
        let count = [self.payoffs.len(), self.payoffs[0].len()][player];
        let open = if state.0.is_none() { count } else { 0 };
        (0..open).for_each(|action| mask.insert(Action(action as u32)));
    }
    fn step(&self, state: &mut Choices, actions: &[Action]) -> Result<(), StepError> {
        state.0 = Some([actions[0].0, actions[1].0]);
        Ok(())
    }
    fn alive(&self, _state: &Choices) -> PlayerSet {
        PlayerSet::first(2)
    }
    fn elapsed(&self, state: &Choices) -> u32 {
        u32::from(state.0.is_some())
    }
    fn returns(&self, state: &Choices, player: usize) -> f32 {
        match (&self.second, state.0) {
            (Some(second), Some([row, column])) if player == 1 => {
                second[row as usize][column as usize]
            }
            _ => self.outcome(state, player),
        }
    }
    fn outcome(&self, state: &Choices, player: usize) -> f32 {
        let sign = if player == 0 { 1.0 } else { -1.0 };
        state.0.map_or(0.0, |[row, column]| sign * self.payoffs[row as usize][column as usize])
    }
    fn planes(&self) -> PlaneShape {
        PlaneShape { channels: 1, height: 1, width: 1 }
    }
    fn observe(&self, _state: &Choices, _player: usize, out: &mut [f32]) {
        out.fill(0.0);
    }
    fn render(&self, state: &Choices) -> String {
        format!("{state:?}\n")
    }
    fn action_name(&self, action: Action) -> String {
        action.0.to_string()
    }
}

/// Exploitability of a pair of mixed strategies: the sum of the gains of both best replies, 0 at an
/// equilibrium.
pub(crate) fn exploitability(payoffs: &[Vec<f32>], rows: &[f32], columns: &[f32]) -> f32 {
    let row = |action: usize| -> f32 {
        payoffs[action].iter().zip(columns).map(|(value, share)| value * share).sum()
    };
    let column = |action: usize| -> f32 {
        payoffs.iter().zip(rows).map(|(row, share)| row[action] * share).sum()
    };
    let best = (0..rows.len()).map(row).fold(f32::NEG_INFINITY, f32::max);
    let worst = (0..columns.len()).map(column).fold(f32::INFINITY, f32::min);
    best - worst
}

/// The matrix games of the tests: name and payoffs.
pub(crate) fn matrices() -> [(&'static str, Vec<Vec<f32>>); 3] {
    [
        ("matching pennies", vec![vec![1.0, -1.0], vec![-1.0, 1.0]]),
        (
            "rock paper scissors",
            vec![vec![0.0, -1.0, 1.0], vec![1.0, 0.0, -1.0], vec![-1.0, 1.0, 0.0]],
        ),
        // The entries are products of (1, -1/3) with itself, so that the
        // equilibrium is 1/4 to 3/4 for both and worth 0.
        ("biased pennies", vec![vec![1.0, -1.0 / 3.0], vec![-1.0 / 3.0, 1.0 / 9.0]]),
    ]
}
