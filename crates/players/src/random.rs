//! `random`: the baseline that every other player should beat.

use ouro_game::{Action, ActionMask, Game};

use crate::game_specific::BuildResult;
use crate::player::{Choice, Player, Request};
use crate::registry::{BuildContext, Options, PlayerSyntax};

/// Syntax of the name.
pub(crate) const SYNTAX: PlayerSyntax =
    PlayerSyntax { name: Random::NAME, options: &[], defaults: &[], usage: &["random"] };

/// Builds a player for any game.
pub(crate) fn build<G: Game>(_: Options<'_>, _: &mut BuildContext<'_, G>) -> BuildResult<G> {
    Ok(Box::new(Random::new()))
}

/// Plays every legal action with equal probability.
#[derive(Clone, Debug, Default)]
pub struct Random {
    legal: ActionMask,
}

impl Random {
    /// Name in the registry and in results.
    pub const NAME: &'static str = "random";

    /// A random player.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<G: Game> Player<G> for Random {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        for request in requests {
            game.legal(request.state, request.player, &mut self.legal);
            let count = self.legal.count();
            let drawn = request.rng.below(count as u32) as usize;
            // Callers only request seats with a legal action. For any other seat the batch
            // refuses action 0.
            let action = self.legal.nth(drawn).unwrap_or(Action(0));
            choices.push(Choice { action, probability: 1.0 / count.max(1) as f32 });
        }
    }
}
