//! The thread that decides: it alone writes the journal, and only what is on disk counts.
//!
//! Streams hand it what they have examined ([`Order::Decide`]). It appends in the order of
//! arrival, commits in groups (see [`GroupCommit`]), and only then inserts games into the
//! [`SharedReplay`] and lets the streams' watermarks rise. While there is no room in the replay it takes
//! nothing more in, so streams are not read and actors wait. While the disk is full it says so
//! once, keeps what waits, tries again every second and goes on when there is space. For how long
//! actors had better send nothing then, [`Ledger::pause`] says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ouro_net::Generation;
use ouro_proto::RefusedGame;
use ouro_replay::{
    Appended, Disk, Due, Greeting, GroupCommit, Item, Journal, JournalError, Policy, Record,
    RefusalReason, WindowError,
};
use ouro_service::{Background, BackgroundError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::replay::SharedReplay;
use crate::rules::AcceptedGame;
use crate::status::{Condition, SharedStatus};

use hold::Hold;

pub use refusals::Refusals;

mod hold;
mod refusals;

/// Decisions that wait for the thread.
const ORDERS: usize = 64;

/// Why the ledger ended before it was told to. What it had acknowledged is on disk.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The disk.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Journal and window disagree: a bug.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// The thread could not be started.
    #[error(transparent)]
    Thread(#[from] BackgroundError),
}

/// What was found about a game.
#[derive(Debug)]
pub enum Decision {
    /// It is trained on.
    Accept(Box<AcceptedGame>),
    /// It is not, for this reason.
    Refuse(RefusalReason, String),
}

/// A life of an actor, as its stream sees it.
#[derive(Debug)]
pub struct Life {
    /// The actor's name.
    pub actor: Arc<str>,
    /// Number of the life.
    pub epoch: u64,
    /// The highest sequence number that is decided and on disk. Closed when another stream has
    /// taken over the name.
    pub watermark: watch::Receiver<u64>,
    /// What was decided against, by whichever stream of this life it came.
    pub refusals: Refusals,
}

/// What the thread is asked.
#[derive(Debug)]
pub enum Order {
    /// An actor connects.
    Greet {
        /// Its name.
        actor: String,
        /// The life it wants to go on with.
        claim: Option<u64>,
        /// `None` if that life is over.
        reply: oneshot::Sender<Option<Life>>,
    },
    /// A game was examined.
    Decide {
        /// The actor's name.
        actor: Arc<str>,
        /// Its life.
        epoch: u64,
        /// The game's number in it.
        sequence: u64,
        /// What was found.
        decision: Decision,
    },
    /// Nothing more is to come.
    Close,
}

/// The way to the thread. Clones share it. The thread ends with a last commit when it is
/// [closed](Ledger::close), or when all clones are gone.
#[derive(Clone, Debug)]
pub struct Ledger {
    orders: mpsc::Sender<Order>,
    /// No checkpoint needs records before this number. Beside the orders, since whoever trains
    /// must never wait for room that only training makes.
    needed: Arc<AtomicU64>,
    /// Why the thread takes nothing in, if so.
    hold: watch::Receiver<Option<Hold>>,
}

/// The thread.
pub type LedgerThread = Background<Result<(), LedgerError>>;

/// Name of the thread.
const THREAD: &str = "ouro-ledger";

impl Ledger {
    /// Starts the thread.
    pub fn start<D: Disk<File: Send> + Send + 'static>(
        journal: Journal<D>,
        replay: Arc<SharedReplay>,
        progress: SharedStatus,
    ) -> Result<(Self, LedgerThread), LedgerError> {
        let (orders, receiver) = mpsc::channel(ORDERS);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|source| BackgroundError::Start { name: THREAD.to_owned(), source })?;
        let needed = Arc::<AtomicU64>::default();
        let (says, hold) = watch::channel(None);
        let clerk = Clerk {
            journal,
            replay,
            progress,
            group: GroupCommit::new(Policy::default()),
            start: Instant::now(),
            lives: BTreeMap::new(),
            greeted: Vec::new(),
            waiting: VecDeque::new(),
            refused: Vec::new(),
            held: None,
            hold: says,
            needed: Arc::clone(&needed),
            released: 0,
        };
        let thread = Background::thread(THREAD, move || runtime.block_on(clerk.run(receiver)))?;
        Ok((Self { orders, needed, hold }, thread))
    }

    /// The life that an actor goes on with: a new one unless it claims its last. `Ok(None)` if it
    /// claims any other, `Err` once the thread has ended.
    pub async fn greet(&self, actor: String, claim: Option<u64>) -> Result<Option<Life>, Ended> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order::Greet { actor, claim, reply }).await.map_err(|_| Ended)?;
        answer.await.map_err(|_| Ended)
    }

    /// Room for one order, waiting as long as the thread takes nothing in.
    pub async fn room(&self) -> Result<mpsc::Permit<'_, Order>, Ended> {
        self.orders.reserve().await.map_err(|_| Ended)
    }

    /// For how long an actor had better send nothing; zero while games are taken in. On a full
    /// disk the watermark of every [`Life`] counts as changed at each attempt to go on, so that
    /// streams can tell.
    pub fn pause(&self) -> Duration {
        let waiting = self.orders.max_capacity() - self.orders.capacity();
        hold::pause(*self.hold.borrow(), waiting)
    }

    /// Whether the thread has ended.
    pub fn is_closed(&self) -> bool {
        self.orders.is_closed()
    }

    /// Lets the thread end, after everything that was ordered before.
    pub async fn close(&self) {
        // Without the thread there is nothing to end.
        let _ = self.orders.send(Order::Close).await;
    }

    /// Tells that no checkpoint needs records before `number`; they may go at some later commit.
    pub fn release(&self, number: u64) {
        self.needed.fetch_max(number, Ordering::Relaxed);
    }
}

/// The thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal is closed")]
pub struct Ended;

/// What the thread owns.
struct Clerk<D: Disk> {
    journal: Journal<D>,
    replay: Arc<SharedReplay>,
    progress: SharedStatus,
    group: GroupCommit,
    start: Instant,
    /// The stream of each actor.
    lives: BTreeMap<Arc<str>, Lease>,
    /// New lives that wait for their commit.
    greeted: Vec<(oneshot::Sender<Option<Life>>, Life)>,
    /// Accepted games that wait for theirs, with their numbers.
    waiting: VecDeque<(u64, Box<AcceptedGame>)>,
    refused: Vec<RefusalReason>,
    /// Taken in, but without room in the replay.
    held: Option<Order>,
    hold: watch::Sender<Option<Hold>>,
    needed: Arc<AtomicU64>,
    /// Records before this one were released.
    released: u64,
}

/// The clerk's end of a [`Life`].
struct Lease {
    epoch: u64,
    watermark: watch::Sender<u64>,
    refusals: Refusals,
}

impl<D: Disk> Clerk<D> {
    async fn run(mut self, mut orders: mpsc::Receiver<Order>) -> Result<(), LedgerError> {
        let mut open = true;
        loop {
            self.say_hold();
            let due = self.group.due(self.now());
            if due == Due::Now {
                self.commit()?;
                continue;
            }
            if !open && self.held.is_none() {
                return self.close();
            }
            let until = match due {
                Due::At(at) => Some(self.start + at),
                Due::Now | Due::Never => None,
            };
            let (positions, waiting) =
                (self.held.as_ref().map(positions), self.waiting_positions());
            tokio::select! {
                () = sleep_until(until) => {}
                () = self.replay.room(positions.unwrap_or(0), waiting), if positions.is_some() => {
                    if let Some(order) = self.held.take() {
                        self.take(order)?;
                    }
                }
                order = orders.recv(), if open && self.held.is_none() && !self.group.is_paused() => {
                    match order {
                        None | Some(Order::Close) => open = false,
                        Some(order) if self.replay.has_room(self::positions(&order), waiting) => {
                            self.take(order)?;
                        }
                        Some(order) => self.held = Some(order),
                    }
                }
            }
            if self.group.is_paused() && self.replay.is_closed() {
                return self.close();
            }
        }
    }

    /// Says whether anything is taken in, before anybody looks.
    fn say_hold(&self) {
        let hold = if self.group.is_paused() {
            Some(Hold::DiskFull)
        } else {
            self.held.as_ref().map(|_| Hold::Behind)
        };
        self.hold.send_replace(hold);
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Positions that are on their way into the replay.
    fn waiting_positions(&self) -> u64 {
        self.waiting.iter().map(|(_, accepted)| u64::from(accepted.game.positions())).sum()
    }

    fn take(&mut self, order: Order) -> Result<(), LedgerError> {
        match order {
            Order::Greet { actor, claim, reply } => self.greet(actor.into(), claim, reply),
            Order::Decide { actor, epoch, sequence, decision } => {
                self.decide(&actor, epoch, sequence, decision)
            }
            // Never held: it brings no positions.
            Order::Close => Ok(()),
        }
    }

    fn greet(
        &mut self,
        actor: Arc<str>,
        claim: Option<u64>,
        reply: oneshot::Sender<Option<Life>>,
    ) -> Result<(), LedgerError> {
        let (epoch, is_new) = match self.journal.greet(&actor, claim)? {
            Greeting::Issued(epoch) => (epoch, true),
            Greeting::Known(epoch) => (epoch, false),
            Greeting::Fenced { .. } => {
                // Whoever asked may be gone.
                let _ = reply.send(None);
                return Ok(());
            }
        };
        let decided = self.journal.watermark(&actor).filter(|&(current, _)| current == epoch);
        let known = decided.map_or(0, |(_, watermark)| watermark);
        let (sender, watermark) = watch::channel(known);
        let before = self.lives.remove(&actor).filter(|lease| lease.epoch == epoch);
        let refusals = before.map(|lease| lease.refusals).unwrap_or_default();
        // The stream that had the name before sees its end.
        let lease = Lease { epoch, watermark: sender, refusals: refusals.clone() };
        self.lives.insert(Arc::clone(&actor), lease);
        let life = Life { actor, epoch, watermark, refusals };
        if is_new {
            self.group.appended(self.now());
            self.greeted.push((reply, life));
        } else {
            let _ = reply.send(Some(life));
        }
        Ok(())
    }

    fn decide(
        &mut self,
        actor: &str,
        epoch: u64,
        sequence: u64,
        decision: Decision,
    ) -> Result<(), LedgerError> {
        let appended = match decision {
            Decision::Accept(accepted) => {
                let (generation, payload) = (accepted.game.generation(), accepted.game.as_bytes());
                let record = Record { actor, epoch, sequence, generation, payload };
                let appended = self.journal.append(record)?;
                if let Appended::Waiting(Some(number)) = appended {
                    self.waiting.push_back((number, accepted));
                }
                appended
            }
            Decision::Refuse(reason, detail) => {
                let payload = detail.as_bytes();
                let record = Record { actor, epoch, sequence, generation: Generation(0), payload };
                let refused = self.journal.refuse(record)?;
                if let Appended::Waiting(_) = refused {
                    self.refused.push(reason);
                    if let Some(lease) = self.lives.get(actor).filter(|one| one.epoch == epoch) {
                        lease.refusals.push(RefusedGame { sequence, reason, detail });
                    }
                }
                refused
            }
        };
        match appended {
            Appended::Waiting(_) => self.group.appended(self.now()),
            Appended::Duplicate => {}
            // A stream checks its numbers itself, and one that was taken over is ending.
            Appended::Gap { .. } | Appended::Fenced { .. } => {
                tracing::warn!(actor, epoch, sequence, ?appended, "game out of turn");
            }
        }
        Ok(())
    }

    /// Makes durable what waits, and tells everybody.
    fn commit(&mut self) -> Result<(), LedgerError> {
        match self.journal.commit() {
            Ok(_) => {}
            Err(error @ JournalError::NoSpace { .. }) => {
                if !self.group.is_paused() {
                    tracing::error!(%error, "the disk is full: no more games are taken in");
                    self.progress.set_condition(Condition::Journal, Some(error.to_string()));
                }
                self.group.failed(self.now());
                self.say_hold();
                self.lives.values().for_each(|lease| lease.watermark.send_modify(|_| {}));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        if self.group.is_paused() {
            tracing::warn!("there is space again: games are taken in");
            self.progress.set_condition(Condition::Journal, None);
        }
        self.group.committed();
        self.say_hold();
        for (number, accepted) in self.waiting.drain(..) {
            let AcceptedGame { game, returns } = *accepted;
            self.progress.accepted(game.positions() as usize, &returns);
            self.replay.insert(number, game)?;
        }
        for reason in self.refused.drain(..) {
            self.progress.refused(reason);
        }
        for (reply, life) in self.greeted.drain(..) {
            let _ = reply.send(Some(life));
        }
        self.release()?;
        let journal = &self.journal;
        self.lives.retain(|actor, Lease { epoch, watermark: sender, refusals }| {
            // A life that the journal has forgotten, for too many came after it, ends for its
            // stream, too.
            let Some((_, watermark)) = journal.watermark(actor).filter(|(now, _)| now == epoch)
            else {
                return false;
            };
            let raise = |known: &mut u64| std::mem::replace(known, watermark) != watermark;
            sender.send_if_modified(raise);
            // Of an actor that is gone for now, only what it may have missed.
            !sender.is_closed() || !refusals.is_empty()
        });
        Ok(())
    }

    /// Removes what no checkpoint needs any more.
    fn release(&mut self) -> Result<(), LedgerError> {
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

    /// The last commit.
    fn close(mut self) -> Result<(), LedgerError> {
        match self.journal.commit() {
            Err(error @ JournalError::NoSpace { .. }) => {
                tracing::warn!(%error, "what was not acknowledged is dropped; actors send it again");
                Ok(())
            }
            Err(error) => Err(error.into()),
            Ok(_) => Ok(()),
        }
    }
}

/// Positions that an order brings.
fn positions(order: &Order) -> u64 {
    match order {
        Order::Decide { decision: Decision::Accept(accepted), .. } => {
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
