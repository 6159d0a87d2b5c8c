//! Discounted sums of rewards along several steps.

use ouro_game::Game;

/// Sums the rewards of every player from a first state on, discounted by the time before each.
#[derive(Clone, Debug, Default)]
pub(super) struct RewardSum {
    discount: f64,
    start: u32,
    /// Time of the state added last.
    elapsed: u32,
    /// Returns up to then, `[players]`.
    returns: Vec<f32>,
    /// Discounted rewards since the first state, `[players]`.
    sums: Vec<f64>,
}

impl RewardSum {
    /// An empty sum with discount `gamma`.
    pub(super) fn new(gamma: f32) -> Self {
        Self { discount: f64::from(gamma), ..Self::default() }
    }

    /// Starts over at a state.
    pub(super) fn start<G: Game>(&mut self, game: &G, state: &G::State) {
        self.start = game.elapsed(state);
        self.elapsed = self.start;
        self.returns.clear();
        self.returns.extend((0..game.players()).map(|player| game.returns(state, player)));
        self.sums.clear();
        self.sums.resize(game.players(), 0.0);
    }

    /// Adds the rewards of the step to `state`.
    pub(super) fn add<G: Game>(&mut self, game: &G, state: &G::State) {
        let factor = power(self.discount, self.elapsed.saturating_sub(self.start));
        for (player, (sum, before)) in self.sums.iter_mut().zip(&mut self.returns).enumerate() {
            let after = game.returns(state, player);
            *sum += factor * f64::from(after - *before);
            *before = after;
        }
        self.elapsed = game.elapsed(state);
    }

    /// Discounted sum of each player, `[players]`.
    pub(super) fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// The discount factor from the first state to the state added last.
    pub(super) fn factor(&self) -> f64 {
        power(self.discount, self.elapsed.saturating_sub(self.start))
    }
}

/// `gamma` to the power of a time.
#[inline]
pub(super) fn power(gamma: f64, time: u32) -> f64 {
    match time {
        0 => 1.0,
        1 => gamma,
        _ if gamma == 1.0 => 1.0,
        _ => gamma.powi(time.min(1 << 20) as i32),
    }
}
