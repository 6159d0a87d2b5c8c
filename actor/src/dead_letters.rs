//! The dead-letter file: complete refused games, for the analysis of refusals.

use std::io;
use std::path::Path;

use ouro_replay::{Ply, RefusalReason, Seat, Trajectory};
use serde_json::json;

use crate::append_file::AppendFile;

/// A file with one refused game per line.
#[derive(Debug, Default)]
pub(crate) struct DeadLetters(AppendFile);

impl DeadLetters {
    /// Opens the file at a path, if any, to append up to `max_bytes`.
    pub(crate) fn open(
        path: Option<&Path>,
        max_bytes: u64,
    ) -> Result<Self, (&'static str, io::Error)> {
        AppendFile::open("dead_letters", path, max_bytes).map(Self)
    }

    /// Appends a refused game. `ouro show` can replay its `record`.
    pub(crate) fn append(
        &mut self,
        epoch: u64,
        sequence: u64,
        game: &Trajectory,
        reason: RefusalReason,
        detail: &str,
    ) {
        self.0.append(|| {
            let seat =
                |seat: &Seat| json!({ "generation": seat.generation, "learns": seat.learns });
            let behaviour =
                |ply: &Ply| -> Vec<f32> { ply.moves.iter().map(|one| one.behaviour).collect() };
            json!({
                "epoch": epoch, "sequence": sequence, "reason": reason.as_str(), "detail": detail,
                "record": game.to_record(),
                "behaviour": game.plies.iter().map(behaviour).collect::<Vec<_>>(),
                "outcomes": game.seats.iter().map(|seat| seat.outcome).collect::<Vec<_>>(),
                "seats": game.seats.iter().map(seat).collect::<Vec<_>>(),
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{json_lines, played};

    #[test]
    fn dead_letters_can_be_replayed_and_stop_at_their_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead");
        let game = played(3);
        let mut letters = DeadLetters::open(Some(&path), u64::MAX).unwrap();
        letters.append(7, 1, &game, RefusalReason::Replay, "ply 3");
        let written = std::fs::metadata(&path).unwrap().len();
        let letter = json_lines(&path).remove(0);
        assert_eq!((&letter["reason"], &letter["detail"]), (&json!("replay"), &json!("ply 3")));
        let record = ouro_game::GameRecord::<ouro_game::GameConfig>::from_json(
            &letter["record"].to_string(),
        );
        assert_eq!(record.unwrap(), game.to_record());
        // The limit leaves room for one more line.
        let mut letters = DeadLetters::open(Some(&path), 3 * written - 1).unwrap();
        for sequence in 2..9 {
            letters.append(7, sequence, &game, RefusalReason::Replay, "ply 3");
        }
        assert_eq!(json_lines(&path).len(), 2);
    }
}
