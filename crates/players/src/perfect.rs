//! `perfect`: Connect Four without mistakes, from the game's solver.
//!
//! Every action that keeps the exact score is played with equal probability, so a win comes as
//! soon and a loss as late as possible. The first moves of the standard board take the solver
//! minutes, so those that every game meets are written down; early answers are kept from game
//! to game. A position with three to seven stones that was not met before can still take tens
//! of seconds, so this player is none for a clock.

use std::collections::BTreeMap;

use ouro_game::connect_four::{ConnectFour, Solver, State};
use ouro_game::{Action, Game};

mod openings;

use crate::game_specific::{BuildResult, build_for_game};
use crate::registry::{BuildContext, Options, PlayerSyntax};
use crate::{Choice, Player, Request};

/// How it is written.
pub(crate) const SYNTAX: PlayerSyntax =
    PlayerSyntax { name: "perfect", options: &[], usage: &["perfect"] };

/// Builds a player for Connect Four.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    let build = |_: &ConnectFour| -> BuildResult<ConnectFour> { Ok(Box::new(Perfect::new())) };
    build_for_game(context.game, build)
        .unwrap_or_else(|| Err(options.other_game::<G>(ConnectFour::NAME)))
}

/// Positions with fewer stones are solved once and remembered.
const EARLY: u32 = 14;
/// Early positions that are remembered at most.
const REMEMBERED: usize = 1 << 16;

/// Plays the solver's best actions.
#[derive(Debug, Default)]
pub struct Perfect {
    solver: Solver,
    /// Best actions of early positions by their fingerprint.
    early: BTreeMap<u64, Vec<Action>>,
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
        let key = game.digest(state);
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
            // Who is asked is to move; a table reports a choice that is not given.
            if let Some(&action) = best.get(drawn) {
                choices.push(Choice { action, probability: 1.0 / best.len() as f32 });
            }
        }
    }
}
