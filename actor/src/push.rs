//! Pushes finished games to the learner over one bidirectional stream.
//!
//! `learner.proto` defines the order of messages. Unanswered games stay in the [`Outbox`] and are
//! sent again after a reconnect. While the outbox is full, no game is received from the workers;
//! their channel fills up and blocks them.
//!
//! The first connection is opened once the run of the pool is known, so that the learner can refuse an
//! actor of another run. A first game opens it too: an arena that names its run has named it by then.
//!
//! A stop has three steps within the drain time: receive the last games of the workers, send all
//! games, and wait for the learner's answers. Games that the workers hold after it are lost. They are
//! counted for at most a second.
//!
//! A learner that refuses this actor ends it. A refused token is presented again for some seconds, and
//! read from its file each time: see [`Refusals`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::GameConfig;
use ouro_game::record::RECORD_VERSION;
use ouro_net::{Generation, RunId};
use ouro_proto::Credential;
use ouro_proto::push::{self, Ack, AckReceiver, GameSender, PushError, RefusedGame, Welcome};
use ouro_proto::trajectory::{Hello, MAX_MESSAGE_BYTES, message_bytes};
use ouro_replay::{RefusalReason, Trajectory};
use ouro_service::{Backoff, BoxFuture, Refusals};
use ouro_tls::ClientTls;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tracing::{info, warn};

use crate::counters::ActorCounters;
use crate::dead_letters::DeadLetters;
use crate::error::ActorError;
use crate::game_traces::GameTraces;
use crate::outbox::Outbox;
use crate::pool_watch::at;
use crate::send_log::{SendLog, SendState};
use crate::worker::FinishedGame;

/// Maximum number of messages queued between the outbox and the connection.
const IN_FLIGHT: usize = 8;

/// Maximum time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of HTTP/2 pings, and the time for their answers. They detect a learner that is gone without
/// closing the connection, early enough that pushing continues within 30 seconds.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// A connection that lasted longer resets the back-off to its first delay.
const STABLE_CONNECTION: Duration = Duration::from_secs(10);

/// Maximum pause of one acknowledgement. Longer requests are shortened to it.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Maximum time after a drain for the threads to end, so that the games they hold are counted.
const LAST_GAMES: Duration = Duration::from_secs(1);

/// Error that ends a connection.
#[derive(Debug, thiserror::Error)]
enum ConnectionError {
    #[error(transparent)]
    Push(#[from] PushError),
    #[error("the learner answered epoch {asked} with epoch {got}")]
    Epoch { asked: u64, got: u64 },
    #[error("the time to stop in is over")]
    TimeIsOver,
}

impl ConnectionError {
    /// The message of a permanent refusal of this actor; `None` for other errors.
    fn refusal(&self) -> Option<String> {
        match self {
            Self::Push(PushError::Status(status)) if is_final(status.code()) => {
                Some(status.message().to_owned())
            }
            Self::Epoch { .. } => Some(self.to_string()),
            _ => None,
        }
    }

    /// Whether the learner does not accept the token.
    fn is_unauthenticated(&self) -> bool {
        matches!(self, Self::Push(PushError::Status(status)) if status.code() == Code::Unauthenticated)
    }
}

/// Opens a connection to the learner.
pub(crate) type Connect =
    Box<dyn Fn() -> BoxFuture<Result<Channel, tonic::transport::Error>> + Send + Sync>;

/// Connects to an endpoint over TCP; `tls` verifies the learner at an `https` address.
pub(crate) fn over_tcp(endpoint: Endpoint, tls: Option<ClientTls>) -> Connect {
    let endpoint = with_limits(endpoint).tcp_nodelay(true);
    Box::new(move || {
        let (endpoint, tls) = (endpoint.clone(), tls.clone());
        Box::pin(async move { ouro_tls::connect(&endpoint, tls.as_ref()).await })
    })
}

/// An endpoint whose connections fail in time if the learner is gone.
pub(crate) fn with_limits(endpoint: Endpoint) -> Endpoint {
    endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEPALIVE)
        .keep_alive_timeout(KEEPALIVE)
        .keep_alive_while_idle(true)
}

/// Pushes until `stop`. See the [module](self).
pub(crate) struct Pusher {
    pub(crate) connect: Connect,
    pub(crate) credential: Credential,
    /// Name of the actor.
    pub(crate) name: String,
    /// The game of everything that is pushed.
    pub(crate) config: Arc<GameConfig>,
    pub(crate) outbox: Outbox<Trajectory>,
    pub(crate) games: mpsc::Receiver<FinishedGame>,
    pub(crate) send_log: SendLog,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) counters: Arc<ActorCounters>,
    /// Run of the pool, as far as it is known.
    pub(crate) run: watch::Receiver<Option<RunId>>,
    /// Receives the newest generation that the learner reports.
    pub(crate) newest: watch::Sender<Generation>,
    pub(crate) stop: CancellationToken,
    /// Maximum time of a drain.
    pub(crate) grace: Duration,
    /// Cancelled once this pusher sends no more games.
    pub(crate) closed: CancellationToken,
    /// Refusals of the token.
    pub(crate) refusals: Refusals,
    pub(crate) progress: Progress,
}

/// The state of a pusher across connections; empty at the start.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The epoch that the learner has issued.
    epoch: Option<u64>,
    /// The first run that was known. Games of this process are for no other run.
    run: Option<RunId>,
    /// End of the drain, set by the stop signal.
    deadline: Option<Instant>,
    /// Whether the last game of the workers was received.
    is_drained: bool,
    /// End of the pause that the learner requested.
    paused: Option<Instant>,
    /// Games refused so far, by reason.
    refused: BTreeMap<RefusalReason, u64>,
    /// The times of unanswered games.
    traces: GameTraces,
}

/// An open connection to the learner, after its welcome.
struct PushSession {
    welcome: Welcome,
    games: GameSender,
    acks: AckReceiver,
}

impl Pusher {
    /// Pushes until `stop` and reconnects with growing delays. Returns the number of unanswered
    /// games.
    ///
    /// # Errors
    ///
    /// The learner permanently refuses this process: it serves another run than the arena, the run has
    /// another game, or another process uses this actor's name. The remaining games are not pushed under
    /// a new epoch, because that could insert games twice.
    pub(crate) async fn run(mut self) -> Result<usize, ActorError> {
        let mut backoff = Backoff::default();
        let closed = self.closed.clone().drop_guard();
        self.wait_for_run().await;
        while !self.is_finished() {
            let started = Instant::now();
            let ended = self.connection().await;
            self.counters.set_learner(false);
            match ended {
                Ok(()) | Err(ConnectionError::TimeIsOver) => break,
                Err(error) => {
                    if let Some(message) = self.final_refusal(&error) {
                        self.stop.cancel();
                        return Err(ActorError::Refused { service: "learner", message });
                    }
                    warn!(%error, unanswered = self.outbox.len(), "lost the learner; trying again");
                }
            }
            if started.elapsed() > STABLE_CONNECTION {
                backoff.reset();
            }
            if !self.wait(Instant::now() + backoff.next_delay()).await {
                break;
            }
        }
        drop(closed);
        let unanswered = self.outbox.len() + self.count_rest().await;
        if unanswered > 0 {
            warn!(unanswered, "stopping without the learner's answer");
        }
        Ok(unanswered)
    }

    /// The message of a refusal that ends this actor.
    fn final_refusal(&mut self, error: &ConnectionError) -> Option<String> {
        if !error.is_unauthenticated() {
            self.refusals.reset();
        } else if !self.refusals.add() {
            return None;
        }
        error.refusal()
    }

    /// Receives games until the run of the pool is known, a game was received, or the time to stop in
    /// is over.
    async fn wait_for_run(&mut self) {
        let mut run = self.run.clone();
        while self.outbox.is_empty() && !self.is_finished() {
            tokio::select! {
                () = known(&mut run) => return,
                () = at(self.progress.deadline) => return,
                () = self.stop.cancelled(), if self.progress.deadline.is_none() => self.start_stop(),
                game = self.games.recv(), if self.takes_games() => self.take(game),
            }
        }
    }

    /// Counts the finished games that the threads still hold. They are lost.
    async fn count_rest(&mut self) -> usize {
        let end = Instant::now() + LAST_GAMES;
        let mut games = 0;
        while !self.progress.is_drained {
            match tokio::time::timeout_at(end, self.games.recv()).await {
                Ok(Some(_)) => games += 1,
                Ok(None) | Err(_) => break,
            }
        }
        games
    }

    /// Whether all games were received and answered.
    fn is_finished(&self) -> bool {
        self.progress.is_drained && self.outbox.is_empty()
    }

    /// Receives games until `until`. Returns whether the pusher should continue.
    async fn wait(&mut self, until: Instant) -> bool {
        while !self.is_finished() {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return true,
                () = at(self.progress.deadline) => return false,
                () = self.stop.cancelled(), if self.progress.deadline.is_none() => self.start_stop(),
                game = self.games.recv(), if self.takes_games() => self.take(game),
            }
        }
        false
    }

    fn start_stop(&mut self) {
        self.progress.deadline = Some(Instant::now() + self.grace);
        self.progress.paused = None;
    }

    fn takes_games(&self) -> bool {
        !self.outbox.is_full() && !self.progress.is_drained
    }

    fn take(&mut self, game: Option<FinishedGame>) {
        let Some(FinishedGame { trajectory, time, .. }) = game else {
            self.progress.is_drained = true;
            return;
        };
        // The sequence number is not known yet, so the longest number is assumed.
        let bytes = message_bytes(u64::MAX, &trajectory);
        if bytes > MAX_MESSAGE_BYTES {
            let detail = format!("message of {bytes} bytes; lower max_plies");
            warn!(detail, "game is too long to be sent");
            let epoch = self.progress.epoch.unwrap_or_default();
            let reason = RefusalReason::Oversize;
            self.dead_letters.append(epoch, 0, &trajectory, reason, &detail);
            // Counted as refused, because the learner would refuse the game.
            self.counters.answered(0, &[reason], self.outbox.len());
            return;
        }
        // Cannot fail: `takes_games` was checked, and only this task pushes.
        drop(self.outbox.push(trajectory));
        self.progress.traces.taken(time);
        self.counters.set_unanswered(self.outbox.len());
    }

    /// Runs one connection. Returns `Ok` only if every game is answered and no game can follow.
    async fn connection(&mut self) -> Result<(), ConnectionError> {
        let run = *self.run.borrow();
        self.progress.run = self.progress.run.or(run);
        let hello = Hello {
            actor: self.name.clone(),
            epoch: self.progress.epoch,
            answered: self.outbox.answered(),
            config: Arc::clone(&self.config),
            version: RECORD_VERSION,
            run: self.progress.run,
        };
        let opening = PushSession::open((self.connect)(), self.credential.clone(), hello);
        tokio::pin!(opening);
        let session = loop {
            if self.is_finished() {
                return Ok(());
            }
            tokio::select! {
                opened = &mut opening => break opened?,
                () = at(self.progress.deadline) => return Err(ConnectionError::TimeIsOver),
                () = self.stop.cancelled(), if self.progress.deadline.is_none() => self.start_stop(),
                game = self.games.recv(), if self.takes_games() => self.take(game),
            }
        };
        self.refusals.reset();
        let Welcome { epoch, watermark, newest_generation, refused } = &session.welcome;
        let (epoch, watermark) = (*epoch, *watermark);
        if let Some(asked) = self.progress.epoch.filter(|&asked| asked != epoch) {
            return Err(ConnectionError::Epoch { asked, got: epoch });
        }
        self.progress.epoch = Some(epoch);
        let decided = self.outbox.reconnect(watermark);
        self.note_refusals(epoch, refused, &decided);
        self.count(epoch, &decided, refused, None);
        self.report_newest(*newest_generation);
        self.counters.set_learner(true);
        info!(epoch, watermark, "pushing to the learner");
        self.exchange(epoch, session).await
    }

    async fn exchange(&mut self, epoch: u64, session: PushSession) -> Result<(), ConnectionError> {
        let PushSession { games, mut acks, .. } = session;
        while !self.is_finished() {
            let sends = self.outbox.unsent().is_some() && self.progress.paused.is_none();
            tokio::select! {
                ack = acks.next() => {
                    self.acknowledged(epoch, &ack?.ok_or(PushError::Closed)?);
                }
                permit = games.reserve(), if sends => {
                    let permit = permit?;
                    if let Some((sequence, game)) = self.outbox.unsent() {
                        // Logged before sending: even if this process is killed, the log contains
                        // every game that the learner has.
                        self.send_log.append(&self.name, epoch, sequence, game, SendState::Sent);
                        // Noted before sending, because the learner notes the receipt.
                        self.progress.traces.sent(sequence - self.outbox.answered() - 1);
                        permit.send(sequence, game);
                        self.outbox.mark_sent();
                    }
                }
                game = self.games.recv(), if self.takes_games() => self.take(game),
                () = at(self.progress.paused) => self.progress.paused = None,
                () = self.stop.cancelled(), if self.progress.deadline.is_none() => self.start_stop(),
                () = at(self.progress.deadline) => return Err(ConnectionError::TimeIsOver),
            }
        }
        Ok(())
    }

    fn acknowledged(&mut self, epoch: u64, ack: &Ack) {
        let settled = self.outbox.settle(ack.watermark);
        self.note_refusals(epoch, &ack.refused, &settled);
        self.count(epoch, &settled, &ack.refused, Some(SendState::Accepted));
        self.report_newest(ack.newest_generation);
        // Each acknowledgement replaces the previous pause. A stopping actor does not pause.
        let pauses = !ack.pause.is_zero() && self.progress.deadline.is_none();
        self.progress.paused = pauses.then(|| Instant::now() + ack.pause.min(MAX_PAUSE));
    }

    /// Counts decided games and logs the refused ones. Other games are logged as `rest`. `None`
    /// skips them: a restarted learner does not know earlier refusals.
    fn count(
        &mut self,
        epoch: u64,
        decided: &[(u64, Trajectory)],
        refused: &[RefusedGame],
        rest: Option<SendState>,
    ) {
        let mut reasons = Vec::new();
        for (sequence, game) in decided {
            self.progress.traces.answered(&self.name, epoch, *sequence, game.plies.len());
            let refusal = refused.iter().find(|refused| refused.sequence == *sequence);
            reasons.extend(refusal.map(|refused| refused.reason));
            if let Some(state) = if refusal.is_some() { Some(SendState::Refused) } else { rest } {
                self.send_log.append(&self.name, epoch, *sequence, game, state);
            }
        }
        let accepted = (decided.len() - reasons.len()) as u64;
        self.counters.answered(accepted, &reasons, self.outbox.len());
    }

    /// Appends the refused games of `decided` to the dead letters. The log reports the first game of
    /// each reason, then each doubling of their number.
    ///
    /// The learner repeats refusals, also of games that are not sent again yet. A game is decided only
    /// once, so its refusal is noted once.
    fn note_refusals(
        &mut self,
        epoch: u64,
        refused: &[RefusedGame],
        decided: &[(u64, Trajectory)],
    ) {
        for (sequence, game) in decided {
            let refusal = refused.iter().find(|refused| refused.sequence == *sequence);
            let Some(RefusedGame { reason, detail, .. }) = refusal else { continue };
            self.dead_letters.append(epoch, *sequence, game, *reason, detail);
            let count = self.progress.refused.entry(*reason).or_default();
            *count += 1;
            if count.is_power_of_two() {
                warn!(sequence, %reason, detail, count, "game refused");
            }
        }
    }

    fn report_newest(&self, generation: Generation) {
        self.newest.send_if_modified(|newest| {
            let is_newer = generation > *newest;
            *newest = generation.max(*newest);
            is_newer
        });
    }
}

/// Resolves once the run of the pool is known; never if the watcher of the pool has ended before.
async fn known(run: &mut watch::Receiver<Option<RunId>>) {
    if run.wait_for(Option::is_some).await.is_err() {
        std::future::pending().await
    }
}

/// Whether the learner would refuse the same hello again.
fn is_final(code: Code) -> bool {
    matches!(
        code,
        Code::FailedPrecondition
            | Code::InvalidArgument
            | Code::Unauthenticated
            | Code::PermissionDenied
    )
}

impl PushSession {
    async fn open(
        connecting: BoxFuture<Result<Channel, tonic::transport::Error>>,
        credential: Credential,
        hello: Hello,
    ) -> Result<Self, ConnectionError> {
        let channel = connecting.await.map_err(PushError::Connect)?;
        let (welcome, games, acks) = push::open(channel, credential, hello, IN_FLIGHT).await?;
        Ok(Self { welcome, games, acks })
    }
}

#[cfg(test)]
mod tests;
