//! A game on the command line: its name or its whole configuration as JSON.

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_settings::file;

/// Parses `connect_four` or `{"game": "connect_four", "width": 8}`. Refuses configurations for
/// which no rules can be built.
pub(super) fn parse(text: &str) -> Result<GameConfig, String> {
    struct Build;
    impl GameVisitor for Build {
        type Output = ();
        fn visit<G: Game>(self, _game: G) {}
    }
    let config = if text.trim_start().starts_with('{') {
        file::read_json(text)?
    } else {
        GameConfig::by_name(text).map_err(|error| error.to_string())?
    };
    config.visit(Build).map_err(|error| error.to_string())?;
    Ok(config)
}
