//! `minimax`: paranoid alpha-beta, which takes everybody else for one opponent.

use ouro_game::Game;

use crate::game_specific::BuildResult;
use crate::registry::{BuildContext, Options, PlayerSyntax};
use crate::thinking::{self, ParanoidMethod};

/// How it is written.
pub(crate) const SYNTAX: PlayerSyntax = PlayerSyntax {
    name: "minimax",
    options: &["depth", "ms"],
    usage: &["minimax{depth=TURNS}", "minimax{ms=MILLISECONDS}"],
};

/// Builds a player for any game.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    thinking::build::<ParanoidMethod, G>(&SYNTAX, &options, context)
}
