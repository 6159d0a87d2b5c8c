//! Decisions about games: what the thread appends to the journal.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ouro_net::Generation;
use ouro_proto::RefusedGame;
use ouro_replay::{Appended, Disk, Item, Record};

use super::command::Decision;
use super::{JournalWriterError, WriterState};
use crate::game_traces;

impl<D: Disk> WriterState<D> {
    /// Appends a checked game, or its refusal.
    pub(super) fn decide(
        &mut self,
        actor: &Arc<str>,
        epoch: u64,
        sequence: u64,
        decision: Decision,
    ) -> Result<(), JournalWriterError> {
        let appended = match decision {
            Decision::Accept(accepted) => {
                let (generation, payload) = (accepted.game.generation(), accepted.game.as_bytes());
                let record = Record { actor, epoch, sequence, generation, payload };
                let appended = self.journal.append(record)?;
                if let Appended::Uncommitted(Some(number)) = appended {
                    game_traces::appended(actor, epoch, sequence, number);
                    self.waiting.push_back((number, Arc::clone(actor), accepted));
                }
                appended
            }
            Decision::Refuse(reason, detail) => {
                let payload = detail.as_bytes();
                let record = Record { actor, epoch, sequence, generation: Generation(0), payload };
                let refused = self.journal.refuse(record)?;
                if let Appended::Uncommitted(_) = refused {
                    self.refused.push(reason);
                    self.sessions.refuse(actor, epoch, RefusedGame { sequence, reason, detail });
                }
                refused
            }
        };
        match appended {
            Appended::Uncommitted(_) => self.group.appended(self.now()),
            Appended::Duplicate => {
                self.progress.figures().duplicates.fetch_add(1, Ordering::Relaxed);
            }
            // Connections check sequence numbers themselves, and a fenced connection is ending. Its
            // games may have waited for room while the next epoch was opened.
            Appended::Gap { .. } | Appended::Fenced { .. } => {
                tracing::warn!(%actor, epoch, sequence, ?appended, "game out of turn");
            }
        }
        Ok(())
    }
}
