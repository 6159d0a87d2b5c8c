//! The log of games that were sent and acknowledged.
//!
//! The log has one [`ClientLine`] for each game sent and one for each game acknowledged.
//! [`ouro_replay::check::join()`] compares a run's logs with the learner's journal.

use std::io;
use std::path::Path;

use ouro_replay::Trajectory;
use ouro_replay::check::ClientLine;
use ouro_replay::trajectory::fingerprint;

use crate::append_file::AppendFile;

/// The log. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct SendLog(AppendFile);

/// State of a game in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendState {
    /// The game was sent. Logged once per connection.
    Sent,
    /// The learner has the game on disk.
    Accepted,
    /// The learner refused the game.
    Refused,
}

impl SendLog {
    /// Opens the log at a path, if any, to append.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, (&'static str, io::Error)> {
        AppendFile::open("log_records", path, u64::MAX).map(Self)
    }

    /// Logs the state of a game of `actor`.
    pub(crate) fn append(
        &mut self,
        actor: &str,
        epoch: u64,
        sequence: u64,
        game: &Trajectory,
        state: SendState,
    ) {
        self.0.append(|| {
            // A game without canonical bytes cannot be in the journal either.
            let encoded = game.encode().unwrap_or_default();
            let line = ClientLine {
                actor: actor.to_owned(),
                epoch,
                sequence,
                hash: format!("{:016x}", fingerprint(&encoded)),
                acked: state != SendState::Sent,
                refused: state == SendState::Refused,
            };
            serde_json::to_value(line).unwrap_or_default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{json_lines, played};

    #[test]
    fn the_log_continues_after_a_restart_and_names_games_by_what_the_journal_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let game = played(3);
        for state in [SendState::Sent, SendState::Accepted, SendState::Refused] {
            SendLog::open(Some(&path)).unwrap().append("a", 7, 2, &game, state);
        }
        let encoded = game.encode().unwrap();
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
        assert_eq!(json_lines(&path), expected);
        let decoded = Trajectory::decode(&encoded, &game.record.config).unwrap();
        assert_eq!((decoded.plies, decoded.record.seed), (game.plies, game.record.seed));
    }
}
