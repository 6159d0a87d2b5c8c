//! A player whose first plies are random.
//!
//! The random moves draw from the generator of each seat, so all games of one seed have the same
//! opening, whatever the seating. Surely fatal actions are left out. Otherwise an opening could decide
//! all games of its cluster before a player has chosen.

use ouro_game::{Action, ActionMask, Game, Rng};
use ouro_players::{Choice, Player, Request};

/// A player whose first plies are random.
pub(crate) struct RandomOpening<G: Game> {
    inner: Box<dyn Player<G>>,
    /// The time at which the opening is over, as of [`Game::elapsed`].
    end: u32,
    viable: ActionMask,
}

impl<G: Game> RandomOpening<G> {
    /// `inner` after `plies` random plies. A game may start later than at time 0.
    pub(crate) fn new(inner: Box<dyn Player<G>>, game: &G, plies: u32) -> Self {
        let start = game.elapsed(&game.initial(&mut Rng::new(0, ouro_game::record::GAME_RNG)));
        let viable = ActionMask::new(game.action_count());
        Self { inner, end: start.saturating_add(plies), viable }
    }

    /// A uniformly random action that is not surely fatal.
    fn draw(&mut self, game: &G, request: &mut Request<'_, G>) -> Choice {
        game.viable(request.state, request.player, &mut self.viable);
        let count = self.viable.count();
        let drawn = request.rng.below(count as u32) as usize;
        // Only seats with an action are requested. For any other seat the batch refuses action 0.
        let action = self.viable.nth(drawn).unwrap_or(Action(0));
        Choice { action, probability: 1.0 / count.max(1) as f32 }
    }
}

impl<G: Game> Player<G> for RandomOpening<G> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn batches(&self) -> bool {
        self.inner.batches()
    }

    fn game_ended(&mut self, game: &G, number: u64, state: &G::State) {
        self.inner.game_ended(game, number, state);
    }

    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        let is_early = |request: &Request<'_, G>| game.elapsed(request.state) < self.end;
        let early: Vec<bool> = requests.iter().map(is_early).collect();
        if !early.contains(&true) {
            return self.inner.choose(game, requests, choices);
        }
        // Games of one batch are at different plies, so the requests are split and the choices
        // merged again.
        let (mut random, mut late) = (Vec::new(), Vec::new());
        for (request, &early) in requests.iter_mut().zip(&early) {
            if early {
                random.push(self.draw(game, request));
            } else {
                let Request { state, player, rng, game } = request;
                late.push(Request { state: *state, player: *player, rng, game: *game });
            }
        }
        let mut own = Vec::new();
        if !late.is_empty() {
            self.inner.choose(game, &mut late, &mut own);
        }
        // `GameBatch` counts the choices, so it detects a player that returns too few.
        let (mut random, mut own) = (random.into_iter(), own.into_iter());
        choices.extend(
            early.iter().filter_map(|&early| if early { random.next() } else { own.next() }),
        );
    }
}
