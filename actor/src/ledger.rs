//! What an actor writes down about the games it pushes.
//!
//! * The *record log* has a [`ClientLine`] for each game sent and for each one acknowledged, so
//!   that whoever checks a run can join it with the learner's journal
//!   ([`ouro_replay::check::join()`]).
//! * The *dead letters* are the refused games themselves, for whoever looks into why.
//!
//! Both are files of JSON lines that are appended to, a whole line at a time and handed to the
//! system at once, so that a process that is killed has told all it knew. Neither stops play: a
//! file that cannot be written to any more is given up with one line in the log.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use ouro_replay::Episode;
use ouro_replay::check::ClientLine;
use ouro_replay::episode::{Searched, Seat, fingerprint};
use serde_json::json;
use tracing::warn;

use crate::worker::Played;

/// The files. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    records: Option<Lines>,
    dead: Option<Lines>,
}

/// A file of lines with a bound.
#[derive(Debug)]
struct Lines {
    what: &'static str,
    file: File,
    /// Bytes that it may still grow.
    room: u64,
}

impl Ledger {
    /// Opens the files that are wanted, for appending. `most_bytes` bounds the dead letters.
    pub(crate) fn open(
        records: Option<&Path>,
        dead: Option<&Path>,
        most_bytes: u64,
    ) -> Result<Self, (&'static str, io::Error)> {
        let records = records.map(|path| {
            Lines::open("log_records", path, u64::MAX).map_err(|error| ("log_records", error))
        });
        let dead = dead.map(|path| {
            Lines::open("dead_letters", path, most_bytes).map_err(|error| ("dead_letters", error))
        });
        Ok(Self { records: records.transpose()?, dead: dead.transpose()? })
    }

    /// Notes that a game of `actor` went out, or what the learner made of it.
    pub(crate) fn note(
        &mut self,
        actor: &str,
        epoch: u64,
        sequence: u64,
        game: &Played,
        fate: Fate,
    ) {
        append(&mut self.records, || {
            // What has no binary form cannot be in the journal either.
            let encoded = episode(game).encode().unwrap_or_default();
            let line = ClientLine {
                actor: actor.to_owned(),
                epoch,
                sequence,
                hash: format!("{:016x}", fingerprint(&encoded)),
                acked: fate != Fate::Sent,
                refused: fate == Fate::Refused,
            };
            serde_json::to_value(line).unwrap_or_default()
        });
    }

    /// Keeps a refused game.
    pub(crate) fn bury(
        &mut self,
        epoch: u64,
        sequence: u64,
        played: &Played,
        reason: &str,
        detail: &str,
    ) {
        append(&mut self.dead, || {
            let seat = |seat: &crate::PlayedSeat| json!({ "generation": seat.generation, "learns": seat.learns });
            json!({
                "epoch": epoch, "sequence": sequence, "reason": reason, "detail": detail,
                "record": played.record, "behaviour": played.behaviour,
                "outcomes": played.outcomes,
                "seats": played.seats.iter().map(seat).collect::<Vec<_>>(),
            })
        });
    }
}

/// What became of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It went out; once per connection that it went out on.
    Sent,
    /// The learner has it on disk.
    Accepted,
    /// The learner does not want it.
    Refused,
}

/// A game as the learner's journal keeps it.
fn episode(game: &Played) -> Episode {
    let seat =
        |seat: &crate::PlayedSeat| Seat { generation: Some(seat.generation), learns: seat.learns };
    let searched = |thought: &ouro_proto::Searched| Searched {
        policy: thought.policy.clone(),
        value: thought.value,
        surprise: thought.surprise,
    };
    let row = |row: &Vec<ouro_proto::Searched>| row.iter().map(searched).collect();
    Episode {
        seed: game.record.seed,
        digest: game.record.digests.last().copied().unwrap_or_default(),
        plies: game.record.plies.clone(),
        behaviour: game.behaviour.clone(),
        searched: game.searched.iter().map(row).collect(),
        seats: game.seats.iter().map(seat).collect(),
        outcomes: game.outcomes.clone(),
    }
}

impl Lines {
    fn open(what: &'static str, path: &Path, most_bytes: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let room = most_bytes.saturating_sub(file.metadata()?.len());
        Ok(Self { what, file, room })
    }

    /// Appends a line; whether there was room and the system took it.
    fn append(&mut self, line: &str) -> bool {
        let bytes = line.len() as u64 + 1;
        if bytes > self.room {
            warn!(file = self.what, "full; nothing more is written to it");
            return false;
        }
        self.room -= bytes;
        match self.file.write_all(format!("{line}\n").as_bytes()) {
            Ok(()) => true,
            Err(error) => {
                warn!(file = self.what, %error, "cannot be written; given up");
                false
            }
        }
    }
}

fn append(lines: &mut Option<Lines>, line: impl FnOnce() -> serde_json::Value) {
    if let Some(open) = lines
        && !open.append(&line().to_string())
    {
        *lines = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::played;

    fn lines(path: &Path) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn the_record_log_goes_on_after_a_restart_and_names_games_by_what_the_journal_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let game = played(3);
        for fate in [Fate::Sent, Fate::Accepted, Fate::Refused] {
            let mut ledger = Ledger::open(Some(&path), None, 0).unwrap();
            ledger.note("a", 7, 2, &game, fate);
            ledger.bury(7, 2, &game, "STALE", "no file was asked for");
        }
        let encoded = episode(&game).encode().unwrap();
        let line = ClientLine {
            actor: "a".to_owned(),
            epoch: 7,
            sequence: 2,
            hash: format!("{:016x}", fingerprint(&encoded)),
            acked: false,
            refused: false,
        };
        let acked = ClientLine { acked: true, ..line.clone() };
        let refused = ClientLine { refused: true, ..acked.clone() };
        let expected = [line, acked, refused].map(|line| serde_json::to_value(line).unwrap());
        assert_eq!(lines(&path), expected);
        let decoded = Episode::decode(&encoded).unwrap();
        assert_eq!((decoded.plies, decoded.seed), (game.record.plies, game.record.seed));
    }

    #[test]
    fn dead_letters_can_be_replayed_and_stop_at_their_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead");
        let game = played(3);
        let mut ledger = Ledger::open(None, Some(&path), u64::MAX).unwrap();
        ledger.bury(7, 1, &game, "REPLAY", "ply 3");
        let written = std::fs::metadata(&path).unwrap().len();
        let letter = lines(&path).remove(0);
        assert_eq!((&letter["reason"], &letter["detail"]), (&json!("REPLAY"), &json!("ply 3")));
        let record = ouro_game::GameRecord::<ouro_game::GameConfig>::from_json(
            &letter["record"].to_string(),
        );
        assert_eq!(record.unwrap(), game.record);
        // Room for one more, not for two.
        let mut ledger = Ledger::open(None, Some(&path), 3 * written - 1).unwrap();
        for sequence in 2..9 {
            ledger.bury(7, sequence, &game, "REPLAY", "ply 3");
        }
        assert_eq!(lines(&path).len(), 2);
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Ledger::open(Some(folder.path()), None, 0).unwrap_err();
        assert_eq!(error.0, "log_records");
        // A folder that is missing is made; one that cannot be is no place for a file.
        let file = folder.path().join("a");
        assert!(Ledger::open(None, Some(&file), 0).is_ok());
        let error = Ledger::open(None, Some(&file.join("no/such")), 0).unwrap_err();
        assert_eq!(error.0, "dead_letters");
        assert!(Ledger::open(None, Some(&folder.path().join("no/such")), 0).is_ok());
    }
}
