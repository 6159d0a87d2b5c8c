//! `minimax`: paranoid alpha-beta, which takes everybody else for one opponent.

use ouro_game::Game;

use crate::registry::{Context, Form, Options};
use crate::specific::Built;
use crate::thinking::{self, ParanoidMethod};

/// How it is written.
pub(crate) const FORM: Form = Form {
    name: "minimax",
    options: &["depth", "ms"],
    usage: &["minimax{depth=TURNS}", "minimax{ms=MILLISECONDS}"],
};

/// Builds a player for any game.
pub(crate) fn build<G: Game>(options: Options<'_>, context: &mut Context<'_, G>) -> Built<G> {
    thinking::build::<ParanoidMethod, G>(&FORM, &options, context)
}
