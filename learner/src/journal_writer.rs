//! The thread that writes the journal. It is the only writer, and only games on disk count.
//!
//! Connections send checked games to the thread ([`Command::Decide`]). The thread appends them in
//! order of arrival and commits in groups ([`GroupCommit`]). After a commit it inserts the games
//! into the [`SharedReplay`] and raises the watermarks of the connections.
//!
//! While the replay has no room, the thread accepts no game. Connections are then not read, and
//! actors wait. While the disk is full, the thread keeps the uncommitted games, retries every
//! second, and reports the condition once. [`JournalWriter::pause`] is the suggested back-off for
//! actors in both cases.
//!
//! Requests for sessions have a queue of their own, so actors are welcomed while games wait for room.
//! A session may thereby open before earlier games of its actor are decided. If it continues their
//! epoch, the actor sends these games again and their numbers count once. If it has a new epoch, the
//! journal fences them. None of them was acknowledged.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ouro_replay::{
    AcceptedGame, Disk, Due, Greeting, GroupCommit, Item, Journal, JournalError, Policy,
    RefusalReason, WindowError,
};
use ouro_service::{Background, BackgroundError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::figures::IntakeWait;
use crate::game_traces;
use crate::replay::SharedReplay;
use crate::status::{Condition, SharedStatus};

use command::{OpenRequest, SessionReply};
use sessions::{MAX_REFUSALS, Sessions};
use stall::Stall;

pub(crate) use command::{Command, Decision, NotOpened, PushSession};

mod command;
mod decide;
mod refusals;
mod sessions;
mod stall;

/// Capacity of the command queue.
const MAX_COMMANDS: usize = 64;
/// Capacity of the queue of requests for sessions. Small, because they wait for a full disk only.
const MAX_REQUESTS: usize = 16;

/// Why the thread ended early. Acknowledged games are on disk.
#[derive(Debug, thiserror::Error)]
pub enum JournalWriterError {
    /// The disk failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Journal and replay disagree, which is a bug.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// The thread could not be started.
    #[error(transparent)]
    Thread(#[from] BackgroundError),
}

/// A handle to the thread, which ends with a last commit when it is [closed](JournalWriter::close) or
/// when all clones are dropped.
#[derive(Clone, Debug)]
pub(crate) struct JournalWriter {
    commands: mpsc::Sender<Command>,
    requests: mpsc::Sender<OpenRequest>,
    /// No training state needs records before this number. Not a command: the training thread
    /// would wait for room in the queue, which only training can make.
    needed: Arc<AtomicU64>,
    /// Why the thread accepts no game; `None` while it accepts games.
    stall: watch::Receiver<Option<Stall>>,
}

/// The thread.
pub(crate) type JournalWriterThread = Background<Result<(), JournalWriterError>>;

/// Folder of the journal in the folder of the learner.
pub(crate) const JOURNAL: &str = "journal";
/// Name of the thread.
const THREAD: &str = "ouro-journal";

impl JournalWriter {
    /// Starts the thread.
    pub(crate) fn start<D: Disk<File: Send> + Send + 'static>(
        journal: Journal<D>,
        replay: Arc<SharedReplay>,
        progress: SharedStatus,
    ) -> Result<(Self, JournalWriterThread), JournalWriterError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|source| BackgroundError::Start { name: THREAD.to_owned(), source })?;
        let (writer, writing) = Self::new(journal, replay, progress, Policy::default());
        let thread = Background::thread(THREAD, move || runtime.block_on(writing))?;
        Ok((writer, thread))
    }

    /// A handle, and what the thread does.
    pub(crate) fn new<D: Disk<File: Send> + Send + 'static>(
        journal: Journal<D>,
        replay: Arc<SharedReplay>,
        progress: SharedStatus,
        commits: Policy,
    ) -> (Self, impl Future<Output = Result<(), JournalWriterError>> + Send) {
        let (commands, receiver) = mpsc::channel(MAX_COMMANDS);
        let (requests, openings) = mpsc::channel(MAX_REQUESTS);
        let needed = Arc::<AtomicU64>::default();
        let (stalls, stall) = watch::channel(None);
        progress.figures().journal_bytes.store(journal.size().1, Ordering::Relaxed);
        let writer = WriterState {
            journal,
            replay,
            progress,
            group: GroupCommit::new(commits),
            start: Instant::now(),
            sessions: Sessions::new(MAX_REFUSALS),
            opening: Vec::new(),
            waiting: VecDeque::new(),
            refused: Vec::new(),
            blocked: None,
            stall: stalls,
            needed: Arc::clone(&needed),
            released: 0,
        };
        (Self { commands, requests, needed, stall }, writer.run(receiver, openings))
    }

    /// Requests a session and waits for the answer.
    #[cfg(test)]
    pub(crate) async fn open_session(
        &self,
        actor: String,
        claim: Option<u64>,
    ) -> Result<Result<PushSession, NotOpened>, Ended> {
        self.request_session(actor, claim).await?.await.map_err(|_| Ended)
    }

    /// Requests a session under a new epoch, or under the actor's last epoch if `claim` names it.
    /// Requests are answered in their order, which is independent of that of games.
    pub(crate) async fn request_session(
        &self,
        actor: String,
        claim: Option<u64>,
    ) -> Result<oneshot::Receiver<Result<PushSession, NotOpened>>, Ended> {
        let (reply, answer) = oneshot::channel();
        let request = OpenRequest { actor, claim, reply };
        self.requests.send(request).await.map_err(|_| Ended)?;
        Ok(answer)
    }

    /// Waits until the thread accepts another command.
    pub(crate) async fn room(&self) -> Result<mpsc::Permit<'_, Command>, Ended> {
        self.commands.reserve().await.map_err(|_| Ended)
    }

    /// The suggested back-off for actors; zero while games are accepted.
    ///
    /// On a full disk, each attempt to write marks the watermark of every [`PushSession`] as
    /// changed. The connections then repeat the suggestion.
    pub(crate) fn pause(&self) -> Duration {
        let waiting = self.commands.max_capacity() - self.commands.capacity();
        stall::pause(*self.stall.borrow(), waiting)
    }

    /// Whether the thread has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.commands.is_closed()
    }

    /// Ends the thread after all earlier commands.
    pub(crate) async fn close(&self) {
        // An error means that the thread has already ended.
        let _ = self.commands.send(Command::Close).await;
    }

    /// Allows a later commit to remove records before `number`, which no training state needs.
    pub(crate) fn release(&self, number: u64) {
        self.needed.fetch_max(number, Ordering::Relaxed);
    }
}

/// The thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal is closed")]
pub(crate) struct Ended;

/// The state of the thread.
struct WriterState<D: Disk> {
    journal: Journal<D>,
    replay: Arc<SharedReplay>,
    progress: SharedStatus,
    group: GroupCommit,
    start: Instant,
    sessions: Sessions,
    /// Sessions under new epochs that wait for their commit.
    opening: Vec<(SessionReply, PushSession)>,
    /// Accepted games that wait for their commit, with their numbers and actors.
    waiting: VecDeque<(u64, Arc<str>, Box<AcceptedGame>)>,
    refused: Vec<RefusalReason>,
    /// A command that waits for room in the replay.
    blocked: Option<Command>,
    stall: watch::Sender<Option<Stall>>,
    needed: Arc<AtomicU64>,
    /// Records before this one were released.
    released: u64,
}

impl<D: Disk> WriterState<D> {
    async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        mut openings: mpsc::Receiver<OpenRequest>,
    ) -> Result<(), JournalWriterError> {
        let ended = self.serve(&mut commands, &mut openings).await;
        // Before the watermarks are closed: a connection that sees this looks whether the queue is
        // closed too, and otherwise takes it for the end of its session alone.
        drop((commands, openings));
        ended?;
        self.close()
    }

    /// Serves commands until the thread is closed.
    async fn serve(
        &mut self,
        commands: &mut mpsc::Receiver<Command>,
        openings: &mut mpsc::Receiver<OpenRequest>,
    ) -> Result<(), JournalWriterError> {
        let mut open = true;
        loop {
            self.publish_stall();
            let due = self.group.due(self.now());
            if due == Due::Now {
                self.commit()?;
                continue;
            }
            if !open && self.blocked.is_none() {
                return Ok(());
            }
            let until = match due {
                Due::At(at) => Some(self.start + at),
                Due::Now | Due::Never => None,
            };
            let (positions, waiting) =
                (self.blocked.as_ref().map(positions), self.waiting_positions());
            tokio::select! {
                () = sleep_until(until) => {}
                () = self.replay.room(positions.unwrap_or(0), waiting), if positions.is_some() => {
                    if let Some(command) = self.blocked.take() {
                        self.take(command)?;
                    }
                }
                // Also while a game waits for room. Branches are polled in a random order, so that
                // neither queue can hold up the other.
                Some(request) = openings.recv(), if open && !self.group.is_paused() => {
                    self.open_session(request)?;
                }
                command = commands.recv(), if open && self.blocked.is_none() && !self.group.is_paused() => {
                    match command {
                        None | Some(Command::Close) => open = false,
                        Some(command) if self.replay.has_room(self::positions(&command), waiting) => {
                            self.take(command)?;
                        }
                        Some(command) => self.blocked = Some(command),
                    }
                }
            }
            if self.group.is_paused() && self.replay.is_closed() {
                return Ok(());
            }
        }
    }

    /// Publishes why no game is accepted. Called before connections are notified, because they
    /// read the reason at once.
    fn publish_stall(&self) {
        let stall = if self.group.is_paused() {
            Some(Stall::DiskFull)
        } else {
            self.blocked.as_ref().map(|_| Stall::ReplayFull)
        };
        self.stall.send_replace(stall);
        let waits = stall.map(|stall| match stall {
            Stall::ReplayFull => IntakeWait::Training,
            Stall::DiskFull => IntakeWait::Disk,
        });
        self.progress.figures().intake.set(waits, std::time::Instant::now());
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Positions of accepted games that wait for their commit.
    fn waiting_positions(&self) -> u64 {
        self.waiting.iter().map(|(.., accepted)| u64::from(accepted.game.positions())).sum()
    }

    fn take(&mut self, command: Command) -> Result<(), JournalWriterError> {
        match command {
            Command::Decide { actor, epoch, sequence, decision } => {
                self.decide(&actor, epoch, sequence, decision)
            }
            // Never blocked, because a close adds no positions.
            Command::Close => Ok(()),
        }
    }

    fn open_session(&mut self, request: OpenRequest) -> Result<(), JournalWriterError> {
        let OpenRequest { actor, claim, reply } = request;
        // Sends fail if the connection is gone, which is harmless.
        if claim.is_none() && self.forgets_connected(&actor) {
            let _ = reply.send(Err(NotOpened::Full));
            return Ok(());
        }
        let (epoch, is_new) = match self.journal.greet(&actor, claim)? {
            Greeting::Issued(epoch) => (epoch, true),
            Greeting::Known(epoch) => (epoch, false),
            Greeting::Fenced { .. } => {
                let _ = reply.send(Err(NotOpened::Fenced));
                return Ok(());
            }
            Greeting::NeverIssued { last } => {
                tracing::error!(
                    %actor,
                    ?claim,
                    last,
                    "an actor has an epoch that is not in the journal: the journal lost its end, \
                     or the actor is of another run"
                );
                let _ = reply.send(Err(NotOpened::Fenced));
                return Ok(());
            }
        };
        let decided = self.journal.watermark(&actor).filter(|&(current, _)| current == epoch);
        let known = decided.map_or(0, |(_, watermark)| watermark);
        let session = self.sessions.open(actor.into(), epoch, known);
        if is_new {
            self.group.appended(self.now());
            self.opening.push((reply, session));
        } else {
            let _ = reply.send(Ok(session));
        }
        Ok(())
    }

    /// Whether a new epoch of `actor` would make the journal forget a connected actor, which then
    /// could not go on. Otherwise one caller with many names could end all other actors.
    fn forgets_connected(&self, actor: &str) -> bool {
        self.journal.forgets(actor).is_some_and(|name| self.sessions.is_connected(name))
    }

    /// Commits the appended records, then inserts the games and notifies the connections.
    fn commit(&mut self) -> Result<(), JournalWriterError> {
        let start = Instant::now();
        match self.journal.commit() {
            Ok(_) => self.progress.figures().sync.observe(start.elapsed()),
            Err(error @ JournalError::Exhausted { .. }) => {
                if !self.group.is_paused() {
                    tracing::error!(%error, "games cannot be stored: no game is accepted");
                    self.progress.set_condition(Condition::Journal, Some(error.to_string()));
                }
                self.group.failed(self.now());
                self.publish_stall();
                // Marks the watermarks as changed, so that connections repeat the suggested pause.
                self.sessions.notify();
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        if self.group.is_paused() {
            tracing::warn!("there is space again: games are accepted");
            self.progress.set_condition(Condition::Journal, None);
        }
        self.group.committed();
        self.publish_stall();
        let mut is_comparison_due = false;
        for (number, actor, accepted) in self.waiting.drain(..) {
            let AcceptedGame { game, returns, summary } = *accepted;
            is_comparison_due |= self.progress.figures().deviations.record(&actor, &summary);
            self.progress.accepted(game.positions() as usize, &returns);
            game_traces::committed(number);
            self.replay.insert(number, game)?;
        }
        for reason in self.refused.drain(..) {
            self.progress.refused(reason);
        }
        for (reply, session) in self.opening.drain(..) {
            let _ = reply.send(Ok(session));
        }
        self.release()?;
        let (journal, now) = (&self.journal, self.now());
        self.progress.figures().journal_bytes.store(journal.size().1, Ordering::Relaxed);
        self.sessions.committed(|actor| journal.watermark(actor), now);
        // After the acknowledgements, which it must not delay.
        if is_comparison_due {
            self.progress.figures().deviations.evaluate();
        }
        Ok(())
    }

    /// Removes records that no training state needs.
    fn release(&mut self) -> Result<(), JournalWriterError> {
        let needed = self.needed.load(Ordering::Relaxed);
        if needed <= self.released {
            return Ok(());
        }
        self.released = needed;
        match self.journal.release_before(needed) {
            Ok(_) => Ok(()),
            Err(error @ JournalError::Fatal { .. }) => Err(error.into()),
            Err(error) => {
                tracing::warn!(%error, "old games stay on disk");
                Ok(())
            }
        }
    }

    /// Makes the last commit.
    fn close(mut self) -> Result<(), JournalWriterError> {
        match self.journal.commit() {
            Err(error @ JournalError::Exhausted { .. }) => {
                tracing::warn!(%error, "games without an acknowledgement are dropped; actors send them again");
                Ok(())
            }
            Err(error) => Err(error.into()),
            Ok(_) => Ok(()),
        }
    }
}

/// Positions that a command adds.
fn positions(command: &Command) -> u64 {
    match command {
        Command::Decide { decision: Decision::Accept(accepted), .. } => {
            accepted.game.positions().into()
        }
        _ => 0,
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
