//! `maxn`: tree search in which every player looks after itself.

use ouro_game::Game;

use crate::registry::{Context, Form, Options};
use crate::specific::Built;
use crate::thinking::{self, MaxNMethod};

/// How it is written.
pub(crate) const FORM: Form = Form {
    name: "maxn",
    options: &["depth", "ms"],
    usage: &["maxn{depth=TURNS}", "maxn{ms=MILLISECONDS}"],
};

/// Builds a player for any game.
pub(crate) fn build<G: Game>(options: Options<'_>, context: &mut Context<'_, G>) -> Built<G> {
    thinking::build::<MaxNMethod, G>(&FORM, &options, context)
}
