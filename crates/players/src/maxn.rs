//! `maxn`: tree search in which every player looks after itself.

use ouro_game::Game;

use crate::game_specific::BuildResult;
use crate::registry::{BuildContext, Options, PlayerSyntax};
use crate::thinking::{self, MaxNMethod};

/// How it is written.
pub(crate) const SYNTAX: PlayerSyntax = PlayerSyntax {
    name: "maxn",
    options: &["depth", "ms"],
    usage: &["maxn{depth=TURNS}", "maxn{ms=MILLISECONDS}"],
};

/// Builds a player for any game.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    thinking::build::<MaxNMethod, G>(&SYNTAX, &options, context)
}
