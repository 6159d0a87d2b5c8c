//! `perfect`: Connect Four without mistakes, from the game's solver.
//!
//! Every action that keeps the exact score is played with equal probability, so a win comes as
//! soon and a loss as late as possible. What the solver learns stays with the player, so that
//! the next positions of a game come cheap.

use ouro_game::Game;
use ouro_game::connect_four::{ConnectFour, Solver};

use crate::registry::{Context, Form, Options};
use crate::specific::{Built, specific};
use crate::{Choice, Player, Request};

/// How it is written.
pub(crate) const FORM: Form = Form { name: "perfect", options: &[], usage: &["perfect"] };

/// Builds a player for Connect Four.
pub(crate) fn build<G: Game>(options: Options<'_>, context: &mut Context<'_, G>) -> Built<G> {
    let build = |_: &ConnectFour| -> Built<ConnectFour> { Ok(Box::new(Perfect::new())) };
    specific(context.game, build).unwrap_or_else(|| Err(options.other_game::<G>(ConnectFour::NAME)))
}

/// Plays the solver's best actions.
#[derive(Debug, Default)]
pub struct Perfect {
    solver: Solver,
}

impl Perfect {
    /// A player that has not solved anything yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Player<ConnectFour> for Perfect {
    fn name(&self) -> &str {
        FORM.name
    }

    fn choose(
        &mut self,
        _game: &ConnectFour,
        requests: &mut [Request<'_, ConnectFour>],
        choices: &mut Vec<Choice>,
    ) {
        for request in requests {
            let best = self.solver.best_moves(request.state);
            let drawn = request.rng.below(best.len() as u32) as usize;
            // Who is asked is to move; a table reports a choice that is not given.
            if let Some(&action) = best.get(drawn) {
                choices.push(Choice { action, probability: 1.0 / best.len() as f32 });
            }
        }
    }
}
