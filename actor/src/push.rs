//! Pushes finished games to the learner over one bidirectional stream.
//!
//! The order of messages is in `learner.proto`. What is not answered stays in the [`Outbox`]
//! and goes out again after a reconnect. While the outbox is full no game is taken from the
//! workers, whose channel then fills up and parks them.
//!
//! To stop: games are taken until the workers have handed over their last, everything is sent,
//! and the learner is waited for, all of it within a time of grace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::GameConfig;
use ouro_game::record::RECORD_VERSION;
use ouro_net::Generation;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_proto::learner::v1::push_request::Message as Request;
use ouro_proto::learner::v1::push_response::Message as Response;
use ouro_proto::trajectory::{MAX_MESSAGE_BYTES, message_bytes};
use ouro_proto::{Hello, Seat, Trajectory};
use ouro_service::Backoff;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;
use tonic::{Code, Status, Streaming};
use tracing::{info, warn};

use crate::ActorCounters;
use crate::error::ActorError;
use crate::ledger::{Fate, Ledger};
use crate::outbox::Outbox;
use crate::pool_watch::at;
use crate::worker::Played;

/// Messages that wait between the outbox and the connection.
const IN_FLIGHT: usize = 8;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const KEEPALIVE: Duration = Duration::from_secs(20);

/// A connection that lasted longer was a good one: the next attempt follows after the first delay.
const STABLE_CONNECTION: Duration = Duration::from_secs(10);

/// Longest pause that the learner can ask for at a time.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum PushError {
    #[error("cannot connect: {0}")]
    Connect(#[from] tonic::transport::Error),
    #[error("{}: {}", .0.code(), .0.message())]
    Status(#[from] Status),
    #[error("the learner closed the stream")]
    Closed,
    #[error("the learner did not answer the hello with a welcome")]
    NoWelcome,
    #[error("the learner answered epoch {asked} with epoch {got}")]
    Epoch { asked: u64, got: u64 },
    #[error("the time to stop in is up")]
    TimeIsUp,
}

/// Pushes until it is told to stop. See the [module](self).
pub(crate) struct Pusher {
    pub(crate) endpoint: Endpoint,
    /// Name of the actor.
    pub(crate) name: String,
    /// The game of everything that is pushed.
    pub(crate) config: GameConfig,
    pub(crate) outbox: Outbox<Played>,
    pub(crate) games: mpsc::Receiver<Played>,
    pub(crate) ledger: Ledger,
    pub(crate) counters: Arc<ActorCounters>,
    /// Told of the newest generation that the learner speaks of.
    pub(crate) newest: watch::Sender<Generation>,
    pub(crate) stop: CancellationToken,
    /// Time to stop in.
    pub(crate) grace: Duration,
    pub(crate) progress: Progress,
}

/// What a pusher has come to know; begins empty.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The life that the learner has issued.
    epoch: Option<u64>,
    /// When to give up, once it is time to stop.
    deadline: Option<Instant>,
    /// The workers have handed over their last game.
    is_drained: bool,
    /// Nothing is sent before, by the learner's wish.
    paused: Option<Instant>,
    /// Games refused so far, by reason.
    refused: BTreeMap<&'static str, u64>,
}

/// An open stream.
struct Stream {
    requests: mpsc::Sender<wire::PushRequest>,
    responses: Streaming<wire::PushResponse>,
    welcome: wire::Welcome,
}

impl Pusher {
    /// Reconnects with growing pauses until `stop`. Returns the games left unanswered.
    ///
    /// Fails if the learner will never take a game from here: if it plays something else, or
    /// another process goes by this actor's name. To push the rest as a new life could bring in
    /// twice what the learner has already taken.
    pub(crate) async fn run(mut self) -> Result<usize, ActorError> {
        let mut backoff = Backoff::default();
        while !self.is_finished() {
            let started = Instant::now();
            match self.connection().await {
                Ok(()) | Err(PushError::TimeIsUp) => break,
                Err(PushError::Status(status)) if is_final(status.code()) => {
                    self.stop.cancel();
                    return Err(ActorError::Refused(status.message().to_owned()));
                }
                Err(error @ PushError::Epoch { .. }) => {
                    self.stop.cancel();
                    return Err(ActorError::Refused(error.to_string()));
                }
                Err(error) => {
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
        let unanswered = self.outbox.len();
        if unanswered > 0 {
            warn!(unanswered, "stopping without the learner's answer");
        }
        Ok(unanswered)
    }

    /// Whether there is nothing left to do.
    fn is_finished(&self) -> bool {
        self.progress.is_drained && self.outbox.is_empty()
    }

    /// Takes games until a moment; whether there is time left to go on.
    async fn wait(&mut self, until: Instant) -> bool {
        while !self.is_finished() {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return true,
                () = at(self.progress.deadline) => return false,
                () = self.stop.cancelled(), if self.progress.deadline.is_none() => self.begin_stop(),
                game = self.games.recv(), if self.takes_games() => self.take(game),
            }
        }
        false
    }

    fn begin_stop(&mut self) {
        self.progress.deadline = Some(Instant::now() + self.grace);
        self.progress.paused = None;
    }

    fn takes_games(&self) -> bool {
        !self.outbox.is_full() && !self.progress.is_drained
    }

    fn take(&mut self, game: Option<Played>) {
        match game {
            // Not full: checked before, and nobody else pushes.
            Some(game) => {
                let bytes = message_bytes(&to_wire(u64::MAX, &game));
                if bytes > MAX_MESSAGE_BYTES {
                    let detail = format!("message of {bytes} bytes; lower max_plies");
                    warn!(detail, "game is too long to be sent");
                    let epoch = self.progress.epoch.unwrap_or_default();
                    self.ledger.bury(epoch, 0, &game, "OVERSIZE", &detail);
                    // As the learner would.
                    self.counters.answered(0, 1, self.outbox.len());
                    return;
                }
                drop(self.outbox.push(game));
            }
            None => self.progress.is_drained = true,
        }
    }

    /// One connection: ends well only when everything is answered and no more will come.
    async fn connection(&mut self) -> Result<(), PushError> {
        let hello = Hello {
            actor: self.name.clone(),
            epoch: self.progress.epoch,
            answered: self.outbox.answered(),
            config: self.config.clone(),
            version: RECORD_VERSION,
        };
        let opening = open(self.endpoint.clone(), hello);
        tokio::pin!(opening);
        let mut stream = loop {
            tokio::select! {
                opened = &mut opening => break opened?,
                () = at(self.progress.deadline) => return Err(PushError::TimeIsUp),
                () = self.stop.cancelled(), if self.progress.deadline.is_none() => self.begin_stop(),
            }
        };
        let wire::Welcome { epoch, watermark, newest_generation, ref refusals } = stream.welcome;
        if let Some(asked) = self.progress.epoch.filter(|&asked| asked != epoch) {
            return Err(PushError::Epoch { asked, got: epoch });
        }
        self.progress.epoch = Some(epoch);
        refusals.iter().for_each(|refusal| self.note_refusal(epoch, refusal));
        let decided = self.outbox.reconnect(watermark);
        self.count(epoch, &decided, refusals, None);
        self.tell_newest(Generation(newest_generation));
        info!(epoch, watermark, "pushing to the learner");
        self.exchange(epoch, &mut stream).await
    }

    async fn exchange(&mut self, epoch: u64, stream: &mut Stream) -> Result<(), PushError> {
        let Stream { requests, responses, .. } = stream;
        while !self.is_finished() {
            let sends = self.outbox.unsent().is_some() && self.progress.paused.is_none();
            tokio::select! {
                response = next(responses) => {
                    self.answered(epoch, &response?.ok_or(PushError::Closed)?);
                }
                permit = requests.reserve(), if sends => {
                    let permit = permit.map_err(|_| PushError::Closed)?;
                    if let Some((sequence, played)) = self.outbox.unsent() {
                        // First noted: what the learner has must be known here, whenever
                        // this process is killed.
                        self.ledger.note(&self.name, epoch, sequence, played, Fate::Sent);
                        permit.send(message(Request::Trajectory(to_wire(sequence, played))));
                        self.outbox.mark_sent();
                    }
                }
                game = self.games.recv(), if self.takes_games() => self.take(game),
                () = at(self.progress.paused) => self.progress.paused = None,
                () = self.stop.cancelled(), if self.progress.deadline.is_none() => self.begin_stop(),
                () = at(self.progress.deadline) => return Err(PushError::TimeIsUp),
            }
        }
        Ok(())
    }

    fn answered(&mut self, epoch: u64, response: &Response) {
        let Response::Ack(ack) = response else {
            warn!("the learner sent a second welcome");
            return;
        };
        for refusal in &ack.refusals {
            self.note_refusal(epoch, refusal);
        }
        let settled = self.outbox.settle(ack.watermark);
        self.count(epoch, &settled, &ack.refusals, Some(Fate::Accepted));
        self.tell_newest(Generation(ack.newest_generation));
        // The last word counts. Whoever stops has no time to pause.
        let pauses = ack.pause_ms > 0 && self.progress.deadline.is_none();
        let pause = Duration::from_millis(ack.pause_ms.into()).min(MAX_PAUSE);
        self.progress.paused = pauses.then(|| Instant::now() + pause);
    }

    /// Counts games that are decided, and notes the refused ones; all others as `rest`, if the
    /// learner is sure.
    fn count(
        &mut self,
        epoch: u64,
        decided: &[(u64, Played)],
        refusals: &[wire::Refusal],
        rest: Option<Fate>,
    ) {
        let mut refused = 0;
        for (sequence, played) in decided {
            let is_refused = refusals.iter().any(|refusal| refusal.sequence == *sequence);
            refused += u64::from(is_refused);
            if let Some(fate) = if is_refused { Some(Fate::Refused) } else { rest } {
                self.ledger.note(&self.name, epoch, *sequence, played, fate);
            }
        }
        let accepted = decided.len() as u64 - refused;
        self.counters.answered(accepted, refused, self.outbox.len());
    }

    /// Keeps a refused game, and says so in the log: the first of each reason, and then whenever
    /// there are twice as many.
    fn note_refusal(&mut self, epoch: u64, refusal: &wire::Refusal) {
        let (sequence, detail) = (refusal.sequence, refusal.detail.as_str());
        let reason = refusal.reason().as_str_name();
        if let Some(played) = self.outbox.get(sequence) {
            self.ledger.bury(epoch, sequence, played, reason, detail);
        }
        let count = self.progress.refused.entry(reason).or_default();
        *count += 1;
        if count.is_power_of_two() {
            warn!(sequence, reason, detail, count, "game refused");
        }
    }

    fn tell_newest(&self, generation: Generation) {
        self.newest.send_if_modified(|newest| {
            let is_newer = generation > *newest;
            *newest = generation.max(*newest);
            is_newer
        });
    }
}

/// Whether the same hello will be refused for ever.
fn is_final(code: Code) -> bool {
    matches!(code, Code::FailedPrecondition | Code::InvalidArgument)
}

async fn open(endpoint: Endpoint, hello: Hello) -> Result<Stream, PushError> {
    let channel = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEPALIVE)
        .keep_alive_while_idle(true)
        .tcp_nodelay(true)
        .connect()
        .await?;
    let (requests, receiver) = mpsc::channel(IN_FLIGHT);
    let opened = requests.send(message(Request::Hello(hello.into()))).await;
    opened.map_err(|_| PushError::Closed)?;
    let mut client = LearnerServiceClient::new(channel);
    let mut responses = client.push(ReceiverStream::new(receiver)).await?.into_inner();
    let Some(Response::Welcome(welcome)) = next(&mut responses).await? else {
        return Err(PushError::NoWelcome);
    };
    Ok(Stream { requests, responses, welcome })
}

async fn next(responses: &mut Streaming<wire::PushResponse>) -> Result<Option<Response>, Status> {
    Ok(responses.message().await?.and_then(|response| response.message))
}

fn message(message: Request) -> wire::PushRequest {
    wire::PushRequest { message: Some(message) }
}

fn to_wire(sequence: u64, played: &Played) -> wire::Trajectory {
    let seat = |seat: &crate::worker::PlayedSeat| Seat {
        generation: Some(seat.generation),
        learns: seat.learns,
    };
    let trajectory = Trajectory {
        sequence,
        record: played.record.clone(),
        behaviour: played.behaviour.clone(),
        searched: played.searched.clone(),
        seats: played.seats.iter().map(seat).collect(),
        outcomes: played.outcomes.clone(),
    };
    trajectory.into()
}

#[cfg(test)]
mod tests;
