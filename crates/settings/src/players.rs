//! The number of players of a game, which several checks of the settings need.

use ouro_game::{Game, GameConfig, GameVisitor};

use crate::error::SettingError;

/// Number of players of a game.
pub(crate) fn players(game: &GameConfig) -> Result<usize, SettingError> {
    struct Players;
    impl GameVisitor for Players {
        type Output = usize;
        fn visit<G: Game>(self, game: G) -> usize {
            game.players()
        }
    }
    game.visit(Players).map_err(SettingError::of_game)
}
