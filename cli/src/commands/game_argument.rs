//! How a game is named on the command line: by name, or by its whole configuration.

use ouro_game::{Game, GameConfig, GameVisitor};

/// Reads `connect_four` or `{"game": "connect_four", "width": 8}`, and refuses what no rules
/// can be built from.
pub(super) fn parse(text: &str) -> Result<GameConfig, String> {
    struct Build;
    impl GameVisitor for Build {
        type Output = ();
        fn visit<G: Game>(self, _game: G) {}
    }
    let config = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| error.to_string())?
    } else {
        GameConfig::by_name(text).map_err(|error| error.to_string())?
    };
    config.visit(Build).map_err(|error| error.to_string())?;
    Ok(config)
}
