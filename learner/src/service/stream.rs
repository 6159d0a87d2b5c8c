//! One connection of one actor.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ouro_game::GameConfig;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::push_response::Message as Answer;
use ouro_proto::text::brief;
use ouro_proto::trajectory::{Hello, from_wire};
use ouro_replay::{Item, Refusal};
use ouro_service::access::Identity;
use ouro_service::{Throttle, blocking};
use ouro_traces::{Time, span, trace_of};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Status, Streaming};

use super::{AHEAD, Shared, StreamError};
use crate::actors::{ActorHandle, Client};
use crate::journal_writer::{Command, Decision, Ended, NotOpened, PushSession};

/// Time between two log lines about refused games of one connection.
const REFUSAL_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Time for which a connection is not read after a game that no working actor sends. Such games cost
/// threads and journal that honest actors need, and only callers with a credential are
/// [suspended](Identity::report_invalid).
const INVALID_PAUSE: Duration = Duration::from_millis(50);

/// A game that was checked.
pub(super) struct Examined {
    pub(super) decision: Decision,
    /// The status that ends the connection, if the credential has sent too many invalid games.
    pub(super) report: Result<(), Status>,
}

type Responses = mpsc::Sender<Result<wire::PushResponse, Status>>;

impl From<Ended> for StreamError {
    fn from(_: Ended) -> Self {
        Self::Closing
    }
}

/// Serves one connection until it ends. An error ends it with a status.
pub(super) async fn serve(
    shared: &Arc<Shared>,
    identity: Option<&Identity>,
    mut requests: Streaming<wire::PushRequest>,
    responses: Responses,
    client: Client,
) -> Result<(), StreamError> {
    let first = tokio::time::timeout(shared.hello, next(shared, &mut requests)).await;
    let hello = match first.map_err(|_| StreamError::Silent(shared.hello))? {
        Ok(Some(Ask::Hello(hello))) => Hello::try_from(hello)?,
        // An empty message is not a hello either.
        Ok(Some(Ask::Trajectory(_))) | Err(StreamError::NoTrajectory) => {
            return Err(StreamError::NoHello);
        }
        Ok(None) => return Ok(()),
        Err(error) => return Err(error),
    };
    if let Some(identity) = identity.filter(|identity| !identity.may_be(&hello.actor)) {
        let (kind, holder) = (identity.credential().to_string(), identity.name().to_owned());
        return Err(StreamError::OtherName { kind, holder, name: hello.actor.to_string() });
    }
    let mut session = open_session(shared, &hello).await?;
    let watermark = *session.watermark.borrow_and_update();
    check_answered(&hello, watermark)?;
    tracing::info!(actor = %session.actor, epoch = session.epoch, watermark, "actor connected");
    let actors = &shared.progress.figures().actors;
    let connection = Connection {
        shared,
        identity,
        figures: actors.connect(Arc::clone(&session.actor), client, Instant::now()),
        hello,
        session,
        responses,
        received: watermark,
        acknowledged: watermark,
        repeated: None,
        arrivals: VecDeque::new(),
        examining: VecDeque::new(),
        examined: None,
        refusal_log: Throttle::new(REFUSAL_LOG_INTERVAL),
        unread_until: None,
    };
    connection.run(requests).await
}

/// Opens the session of an actor.
async fn open_session(shared: &Shared, hello: &Hello) -> Result<PushSession, StreamError> {
    if hello.config != shared.game {
        // Both go to the log and to the peer, and an actor's configuration may be long.
        let text = |game: &Arc<GameConfig>| {
            let text = serde_json::to_string(game.as_ref());
            brief(&text.unwrap_or_else(|error| format!("unreadable: {error}")))
        };
        let (got, expected) = (text(&hello.config), text(&shared.game));
        return Err(StreamError::OtherGame { got, expected });
    }
    let mut is_ready = shared.is_ready.subscribe();
    let opening = async {
        let answer = {
            // In the order of the hellos: a process replaces those before it, never one after it.
            let _turn = shared.openings.lock().await;
            // The sender is part of the shared state, so it is not dropped before.
            drop(is_ready.wait_for(|is_ready| *is_ready).await);
            check_run(shared, hello)?;
            shared.journal_writer.request_session(hello.actor.clone(), hello.epoch).await?
        };
        answer.await.map_err(|_| StreamError::from(Ended))
    };
    let session = tokio::select! {
        biased;
        () = shared.stop.cancelled() => return Err(StreamError::Closing),
        session = opening => session?,
    };
    session.map_err(|refusal| match refusal {
        NotOpened::Fenced => StreamError::Fenced {
            name: hello.actor.clone(),
            epoch: hello.epoch.unwrap_or_default(),
        },
        NotOpened::Full => StreamError::Full,
    })
}

/// Checks that an actor that knows its run follows the pool of this run.
fn check_run(shared: &Shared, hello: &Hello) -> Result<(), StreamError> {
    match (hello.run, shared.run.get()) {
        (Some(got), Some(&expected)) if got != expected => {
            Err(StreamError::OtherRun { name: hello.actor.clone(), got, expected })
        }
        _ => Ok(()),
    }
}

/// Checks that the journal holds all games up to the last one that the actor knows to be
/// acknowledged. Games are acknowledged once they are on disk, so a journal without them has lost
/// its end.
fn check_answered(hello: &Hello, watermark: u64) -> Result<(), StreamError> {
    let Some(epoch) = hello.epoch.filter(|_| hello.answered > watermark) else { return Ok(()) };
    let (first, last) = (watermark + 1, hello.answered);
    let error = StreamError::LostGames { name: hello.actor.clone(), epoch, first, last };
    tracing::error!(%error, "acknowledged games are lost");
    Err(error)
}

/// The next message; `None` at the end of the stream.
async fn next(
    shared: &Shared,
    requests: &mut Streaming<wire::PushRequest>,
) -> Result<Option<Ask>, StreamError> {
    let message = tokio::select! {
        biased;
        () = shared.stop.cancelled() => return Err(StreamError::Closing),
        message = requests.message() => message,
    };
    match message.map_err(|status| StreamError::Transport(Box::new(status)))? {
        Some(request) => request.message.map(Some).ok_or(StreamError::NoTrajectory),
        None => Ok(None),
    }
}

/// A connection after its welcome.
struct Connection<'a> {
    shared: &'a Arc<Shared>,
    identity: Option<&'a Identity>,
    figures: ActorHandle,
    hello: Hello,
    session: PushSession,
    responses: Responses,
    /// Highest sequence number received.
    received: u64,
    /// Highest sequence number acknowledged.
    acknowledged: u64,
    /// The lowest number of a decided game that arrived again and needs another acknowledgement.
    repeated: Option<u64>,
    /// The sequence numbers of games without an acknowledgement, with the times of their arrival.
    arrivals: VecDeque<(u64, Instant)>,
    /// The games that are checked or wait for it. Those that wait end with the connection, so that
    /// a client which connects again and again cannot fill the memory with them.
    examining: VecDeque<(u64, AbortOnDropHandle<Examined>)>,
    /// The checked game that waits for room in the journal writer's queue.
    examined: Option<(u64, Examined)>,
    /// Bounds the log of an actor whose games are all refused.
    refusal_log: Throttle,
    /// The end of the pause after an invalid game.
    unread_until: Option<tokio::time::Instant>,
}

impl Connection<'_> {
    async fn run(mut self, mut requests: Streaming<wire::PushRequest>) -> Result<(), StreamError> {
        let welcome = wire::Welcome {
            epoch: self.session.epoch,
            watermark: self.acknowledged,
            newest_generation: self.published_generation(),
            refusals: self.refusals(self.hello.answered, self.acknowledged),
        };
        if !self.send(Answer::Welcome(welcome)).await? {
            return Ok(());
        }
        let (shared, stop) = (self.shared, self.shared.stop.clone());
        let mut open = true;
        loop {
            let ahead = self.examining.len() + usize::from(self.examined.is_some());
            if !open && ahead == 0 && self.acknowledged >= self.received {
                tracing::info!(actor = %self.session.actor, "actor disconnected");
                return Ok(());
            }
            tokio::select! {
                () = stop.cancelled() => return Err(StreamError::Closing),
                changed = self.session.watermark.changed() => {
                    changed.map_err(|_| self.closed_by())?;
                    if !self.acknowledge().await? {
                        return Ok(());
                    }
                }
                permit = shared.journal_writer.room(), if self.examined.is_some() => {
                    self.submit(permit?)?;
                }
                examined = front(&mut self.examining),
                    if !self.examining.is_empty() && self.examined.is_none() =>
                {
                    let number = self.examining.pop_front().map(|(number, _)| number);
                    self.examined = number.map(|number| (number, examined));
                }
                () = until(self.unread_until), if self.unread_until.is_some() => {
                    self.unread_until = None;
                }
                message = requests.message(),
                    if open && ahead < AHEAD && self.unread_until.is_none() =>
                {
                    match message.map_err(|status| StreamError::Transport(Box::new(status)))? {
                        None => open = false,
                        Some(wire::PushRequest { message: Some(Ask::Trajectory(message)) }) => {
                            if !self.accept(message).await? {
                                return Ok(());
                            }
                        }
                        Some(_) => return Err(StreamError::NoTrajectory),
                    }
                }
            }
        }
    }

    /// Why the watermark is closed.
    fn closed_by(&self) -> StreamError {
        // A fenced actor gives up for good, so a failed journal writer must not look like fencing.
        if self.shared.journal_writer.is_closed() {
            return StreamError::Closing;
        }
        let name = self.hello.actor.clone();
        // An actor that was not fenced connects again, as another connection of its own process may
        // have been older than this one.
        match self.session.is_fenced.load(Ordering::Acquire) {
            true => StreamError::Fenced { name, epoch: self.session.epoch },
            false => StreamError::Replaced(name),
        }
    }

    /// Starts the check of a received game; `false` if the client is gone.
    async fn accept(&mut self, message: wire::Trajectory) -> Result<bool, StreamError> {
        let (got, expected) = (message.sequence, self.received + 1);
        if got == 0 || got > expected {
            return Err(StreamError::Gap { got, expected });
        }
        if got < expected {
            return self.repeat(got).await;
        }
        self.received = got;
        if got <= self.acknowledged {
            // An earlier connection of this epoch sent the game, and its decision reached the disk
            // after the welcome.
            return self.repeat(got).await;
        }
        self.arrivals.push_back((got, Instant::now()));
        let (shared, hello) = (Arc::clone(self.shared), self.hello.clone());
        let identity = self.identity.cloned();
        let trace = trace_of(&self.session.actor, self.session.epoch, got);
        let examining = tokio::spawn(async move {
            let start = Time::now();
            let examined = examine(&shared, &hello, identity, message).await;
            if let Some(trace) = trace {
                let accepted = matches!(examined.decision, Decision::Accept(_));
                trace.send(span::EXAMINE, start, Time::now(), &[("accepted", accepted.into())]);
            }
            examined
        });
        self.examining.push_back((got, AbortOnDropHandle::new(examining)));
        Ok(true)
    }

    /// Acknowledges the game `got` again, which was decided before.
    async fn repeat(&mut self, got: u64) -> Result<bool, StreamError> {
        self.repeated = Some(self.repeated.map_or(got, |lowest| lowest.min(got)));
        self.shared.progress.figures().duplicates.fetch_add(1, Ordering::Relaxed);
        self.acknowledge().await
    }

    /// Sends a checked game to the journal writer. Fails if its sender has sent too many invalid ones.
    fn submit(&mut self, permit: mpsc::Permit<'_, Command>) -> Result<(), StreamError> {
        let Some((sequence, examined)) = self.examined.take() else { return Ok(()) };
        let Examined { decision, report } = examined;
        let is_invalid =
            matches!(&decision, Decision::Refuse(reason, _) if reason.is_senders_fault());
        match &decision {
            Decision::Accept(accepted) => {
                let game = &accepted.game;
                self.figures.accepted(game.positions().into(), game.generation(), Instant::now());
            }
            Decision::Refuse(..) => self.figures.refused(),
        }
        if let Decision::Refuse(reason, detail) = &decision
            && let Some(count) = self.refusal_log.admit()
        {
            let actor = &self.session.actor;
            tracing::info!(%actor, sequence, ?reason, detail, count, "game refused");
        }
        let (actor, epoch) = (Arc::clone(&self.session.actor), self.session.epoch);
        permit.send(Command::Decide { actor, epoch, sequence, decision });
        if is_invalid {
            self.unread_until = Some(tokio::time::Instant::now() + INVALID_PAUSE);
        }
        report.map_err(|status| StreamError::Suspended(Box::new(status)))
    }

    /// Acknowledges the games whose decisions are on disk, with the suggested pause. `false` if the
    /// client is gone.
    async fn acknowledge(&mut self) -> Result<bool, StreamError> {
        let watermark = *self.session.watermark.borrow_and_update();
        let pause = self.shared.journal_writer.pause();
        if watermark <= self.acknowledged && self.repeated.is_none() && pause.is_zero() {
            return Ok(true);
        }
        while let Some((got, arrival)) = self.arrivals.pop_front_if(|(got, _)| *got <= watermark) {
            if let Some(trace) = trace_of(&self.session.actor, self.session.epoch, got) {
                trace.send(span::INGEST, Time::before(arrival.elapsed()), Time::now(), &[]);
            }
            self.shared.progress.figures().acknowledgement.observe(arrival.elapsed());
        }
        // An actor counts a game at the first acknowledgement after it has sent the game. The refusal may
        // have been reported before, so it is reported again.
        let repeated = self.repeated.take().map_or(u64::MAX, |lowest| lowest - 1);
        let refusals = self.refusals(self.acknowledged.min(repeated), watermark);
        self.acknowledged = self.acknowledged.max(watermark);
        let newest_generation = self.published_generation();
        let pause_ms = u32::try_from(pause.as_millis()).unwrap_or(u32::MAX);
        let ack = wire::Ack { watermark, refusals, newest_generation, pause_ms };
        self.send(Answer::Ack(ack)).await
    }

    /// The refusals after `answered` up to `watermark`.
    fn refusals(&self, answered: u64, watermark: u64) -> Vec<wire::Refusal> {
        self.session.refusals.report(answered, watermark).into_iter().map(Into::into).collect()
    }

    /// The newest generation that the arena has; 0 before it has one. Actors fetch weights from the
    /// arena, so the generation that training has just made is of no use to them yet.
    fn published_generation(&self) -> u32 {
        self.shared.delivered.borrow().newest.unwrap_or_default().0
    }

    /// Sends an answer; `false` if the client is gone.
    async fn send(&self, answer: Answer) -> Result<bool, StreamError> {
        let response = wire::PushResponse { message: Some(answer) };
        tokio::select! {
            biased;
            sent = self.responses.send(Ok(response)) => Ok(sent.is_ok()),
            () = self.shared.stop.cancelled() => Err(StreamError::Closing),
        }
    }
}

/// Ends at this time.
async fn until(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The oldest game that is being examined, once it is.
async fn front(examining: &mut VecDeque<(u64, AbortOnDropHandle<Examined>)>) -> Examined {
    let Some((_, oldest)) = examining.front_mut() else { return std::future::pending().await };
    // A game whose check panicked is refused. Otherwise the actor would resend it forever.
    let panicked = |_| Examined { decision: refuse(&Refusal::Panicked), report: Ok(()) };
    oldest.await.unwrap_or_else(panicked)
}

fn refuse(refusal: &Refusal) -> Decision {
    Decision::Refuse(refusal.reason(), refusal.to_string())
}

/// Checks and replays a game as soon as a replay permit is free. Reports it to `identity` if no
/// working actor sends it.
pub(super) async fn examine(
    shared: &Arc<Shared>,
    hello: &Hello,
    identity: Option<Identity>,
    message: wire::Trajectory,
) -> Examined {
    // The permit comes before decoding: a decoded game needs several times the memory of its
    // message.
    let permit = Arc::clone(&shared.replays).acquire_owned().await;
    let (rules, newest) = (Arc::clone(&shared.rules), shared.progress.generation());
    let hello = hello.clone();
    let replayed = blocking(move || {
        let examined = from_wire(message, &hello)
            .map_err(|error| Refusal::Malformed(error.to_string()))
            .and_then(|(_, trajectory)| rules.examine(&trajectory, newest));
        // Here, so that a connection that ends during the check does not avoid the report.
        let report = match (&examined, &identity) {
            (Err(refusal), Some(identity)) if refusal.reason().is_senders_fault() => {
                identity.report_invalid()
            }
            _ => Ok(()),
        };
        // Moved into this task and dropped here, so that the permit covers the whole check.
        drop(permit);
        (examined, report)
    });
    let (decision, report) = match replayed.await {
        Ok((Ok(accepted), report)) => (Decision::Accept(Box::new(accepted)), report),
        Ok((Err(refusal), report)) => (refuse(&refusal), report),
        Err(_) => (refuse(&Refusal::Panicked), Ok(())),
    };
    Examined { decision, report }
}
