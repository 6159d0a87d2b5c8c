//! Players of a single game, behind an interface that is generic over all games.
//!
//! Callers build players for a game that is a type parameter. A player of a single game tests
//! here whether that parameter is its game.

use std::any::Any;

use ouro_game::Game;

use crate::player::Player;
use crate::registry::NameError;

/// The result of building a player.
pub type BuildResult<G> = Result<Box<dyn Player<G>>, NameError>;

/// Runs `build` if `game` is a game of type `H`; `None` for any other game.
pub fn build_for_game<G: Game, H: Game>(
    game: &G,
    build: impl FnOnce(&H) -> BuildResult<H>,
) -> Option<BuildResult<G>> {
    let game: &H = (game as &dyn Any).downcast_ref()?;
    match build(game) {
        Err(error) => Some(Err(error)),
        Ok(player) => {
            let player: Box<dyn Any> = Box::new(player);
            // G and H are the same type here, so the player's type is what it was built as.
            player.downcast::<Box<dyn Player<G>>>().ok().map(|player| Ok(*player))
        }
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::connect_four::{self, ConnectFour};
    use ouro_game::tic_tac_toe::{self, TicTacToe};

    use super::*;
    use crate::Random;

    #[test]
    fn a_player_is_built_for_its_own_game_and_for_no_other() {
        let build = |_: &TicTacToe| -> BuildResult<TicTacToe> { Ok(Box::new(Random::new())) };
        let own = TicTacToe::new(tic_tac_toe::Config {}).expect("in range");
        let other = ConnectFour::new(connect_four::Config::default()).expect("in range");
        let built = build_for_game(&own, build).expect("it is its game").expect("it builds");
        assert_eq!(built.name(), "random");
        assert!(build_for_game(&other, build).is_none());
    }

    #[test]
    fn an_error_in_building_is_passed_on() {
        let error = NameError::Unknown { name: "nobody".to_owned(), more: &[] };
        let own = TicTacToe::new(tic_tac_toe::Config {}).expect("in range");
        let built = build_for_game(&own, |_: &TicTacToe| Err(error.clone()));
        assert_eq!(built.map(|built| built.err()), Some(Some(error)));
    }
}
