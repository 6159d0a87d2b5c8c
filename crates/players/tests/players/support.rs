//! Builds players by name, for single positions and for many games.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::{Action, Game, Rng};
use ouro_net::Engine;
use ouro_players::{
    BuildContext, Choice, Clock, FinishedGame, GameBatch, NameError, Player, Request, by_name,
    pairs,
};

/// A clock that stands still, so that a time limit never ends.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

pub(crate) fn player<G: Game>(name: &str, game: &G) -> Box<dyn Player<G>> {
    player_by(name, game, Arc::new(Still))
}

/// A player that reads the time from a clock.
pub(crate) fn player_by<G: Game>(
    name: &str,
    game: &G,
    clock: Arc<dyn Clock>,
) -> Box<dyn Player<G>> {
    by_name(name, &mut BuildContext { game, engines: &mut |_| None, clock }).unwrap()
}

/// A player that reads weights by name.
pub(crate) fn player_with<G: Game>(
    name: &str,
    game: &G,
    mut engines: impl FnMut(&str) -> Option<Arc<Engine>>,
) -> Result<Box<dyn Player<G>>, NameError> {
    by_name(name, &mut BuildContext { game, engines: &mut engines, clock: Arc::new(Still) })
}

/// What a player does in a position.
pub(crate) fn choice<G: Game>(
    player: &mut dyn Player<G>,
    game: &G,
    state: &G::State,
    seat: usize,
    rng: &mut Rng,
) -> Choice {
    let mut choices = Vec::new();
    player.choose(game, &mut [Request { state, player: seat, rng, game: None }], &mut choices);
    let [choice] = choices[..] else { panic!("{} choices for one request", choices.len()) };
    choice
}

pub(crate) fn action<G: Game>(
    player: &mut dyn Player<G>,
    game: &G,
    state: &G::State,
    seat: usize,
) -> Action {
    choice(player, game, state, seat, &mut Rng::new(1, "seat")).action
}

/// Plays rounds of games between players by name, every one at every seat once a round.
pub(crate) fn play<G: Game>(
    game: &G,
    names: &[&str],
    rounds: usize,
) -> Vec<FinishedGame<G::Config>> {
    let mut players: Vec<_> = names.iter().map(|name| player(name, game)).collect();
    let mut batch = GameBatch::new(game.clone(), 2_000);
    for game in pairs(5, rounds, names.len()) {
        batch.start_game(game.seed, &game.seats).unwrap();
    }
    batch.finish(&mut players).unwrap()
}

/// Games won by the first player.
pub(crate) fn won<C>(finished: &[FinishedGame<C>]) -> usize {
    let won = |game: &&FinishedGame<C>| {
        let seat = game.players.iter().position(|&player| player == 0).unwrap();
        game.outcomes[seat] > 0.0
    };
    finished.iter().filter(won).count()
}
