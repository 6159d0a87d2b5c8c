//! `perfect`: Connect Four without mistakes, by the game's solver.
//!
//! Every action that keeps the exact score is equally likely, so wins are as early and losses as
//! late as possible. The solver needs minutes for the first moves on the standard board, so a
//! table holds those that every game meets, and early results are kept from game to game. A new
//! position with three to seven stones can still take tens of seconds, so this player is
//! unsuitable for games with a time limit.

use std::collections::BTreeMap;

use ouro_game::connect_four::{ConnectFour, Solver, State};
use ouro_game::{Action, Game};

mod openings;

use crate::game_specific::{BuildResult, build_for_game};
use crate::player::{Choice, Player, Request};
use crate::registry::{BuildContext, Options, PlayerSyntax};

/// Syntax of the name.
pub(crate) const SYNTAX: PlayerSyntax =
    PlayerSyntax { name: "perfect", options: &[], defaults: &[], usage: &["perfect"] };

/// Builds a player for Connect Four.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    let build = |_: &ConnectFour| -> BuildResult<ConnectFour> { Ok(Box::new(Perfect::new())) };
    build_for_game(context.game, build)
        .unwrap_or_else(|| Err(options.other_game::<G>(ConnectFour::NAME)))
}

/// Positions with fewer stones are solved once and then cached.
const EARLY: u32 = 14;
/// Most early positions that are cached.
const REMEMBERED: usize = 1 << 16;

/// Names an early position: the board's columns and rows, and the digest. Boards of as many cells but
/// another shape can have the same digest.
type Key = (usize, usize, u64);

fn key(game: &ConnectFour, state: &State) -> Key {
    let board = state.board();
    (board.width(), board.height(), game.digest(state))
}

/// Plays the solver's best actions.
#[derive(Debug, Default)]
pub struct Perfect {
    solver: Solver,
    /// Best actions of early positions.
    early: BTreeMap<Key, Vec<Action>>,
}

impl Perfect {
    /// A player that has not solved anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn best_moves(&mut self, game: &ConnectFour, state: &State) -> Vec<Action> {
        if state.plies() >= EARLY {
            return self.solver.best_moves(state);
        }
        let key = key(game, state);
        if let Some(best) = self.early.get(&key) {
            return best.clone();
        }
        let best =
            openings::best_moves(game, state).unwrap_or_else(|| self.solver.best_moves(state));
        if self.early.len() < REMEMBERED {
            self.early.insert(key, best.clone());
        }
        best
    }
}

impl Player<ConnectFour> for Perfect {
    fn name(&self) -> &str {
        SYNTAX.name
    }

    fn choose(
        &mut self,
        game: &ConnectFour,
        requests: &mut [Request<'_, ConnectFour>],
        choices: &mut Vec<Choice>,
    ) {
        for request in requests {
            let best = self.best_moves(game, request.state);
            let drawn = request.rng.below(best.len() as u32) as usize;
            // There is a best action unless the seat is not to move. Then the missing choice is
            // an error of the batch.
            if let Some(&action) = best.get(drawn) {
                choices.push(Choice { action, probability: 1.0 / best.len() as f32 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::connect_four::Config;

    use super::*;

    #[test]
    fn an_answer_is_cached_for_one_shape_of_the_board() {
        let game = |width, height| ConnectFour::new(Config { width, height }).expect("in range");
        let (wide, tall) = (game(7, 6), game(6, 7));
        let [on_wide, on_tall] = [&wide, &tall].map(|game| game.position("").expect("no moves"));
        let mut perfect = Perfect::new();
        assert_eq!(perfect.best_moves(&wide, &on_wide), [Action(3)]);
        assert_eq!(wide.digest(&on_wide), tall.digest(&on_tall));
        assert!(perfect.early.contains_key(&key(&wide, &on_wide)));
        assert!(!perfect.early.contains_key(&key(&tall, &on_tall)));
    }
}
