//! The record of a judged game, in the catalog's official mode.

use ouro_game::record::Recorder;
use ouro_game::snakgame::{Config, Large, Mode, Move, Small, Snakgame, Words};
use ouro_game::{Game, GameConfig, GameRecord};

use crate::failure::Failure;

/// The record of a game on the board of this size and seed, up to the last legal move.
///
/// Chef's draws are those of the record's seed, so his moves follow from it.
pub(super) fn of(
    rows: u16,
    columns: u16,
    seed: u64,
    moves: &[Move],
) -> Result<GameRecord, Failure> {
    let mode = Mode::Official;
    let config =
        Config { mode, rows, columns, board_seed: Some(seed), exit: true, ..Config::default() };
    if Small::fits(&config) {
        replay(&Small::new(config).map_err(Failure::bug)?, seed, moves)
    } else {
        replay(&Large::new(config).map_err(Failure::bug)?, seed, moves)
    }
}

fn replay<W: Words>(game: &Snakgame<W>, seed: u64, moves: &[Move]) -> Result<GameRecord, Failure> {
    let mut recorder = Recorder::new(game, seed);
    for action in moves {
        let action = game.move_action(recorder.state(), *action).ok_or_else(|| {
            Failure::bug(format_args!("the judge accepted {action}, which the rules refuse"))
        })?;
        recorder.advance(game, &[action]).map_err(Failure::bug)?;
    }
    Ok(recorder.into_record(GameConfig::Snakgame(game.config().clone())))
}
