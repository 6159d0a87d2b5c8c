//! Pushes finished games to the learner over one bidirectional stream.
//!
//! The order of messages is in `learner.proto`. What is not answered stays in the [`Outbox`]
//! and goes out again after a reconnect. While the outbox is full no game is taken from the
//! workers, whose channel then fills up and parks them.

use std::time::Duration;

use ouro_game::GameConfig;
use ouro_game::record::RECORD_VERSION;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_proto::learner::v1::push_request::Message as Request;
use ouro_proto::learner::v1::push_response::Message as Response;
use ouro_proto::{Hello, Seat, Trajectory};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};
use tracing::{info, warn};

use crate::error::ActorError;
use crate::outbox::Outbox;
use crate::worker::Played;

/// Messages that wait between the outbox and the connection.
const IN_FLIGHT: usize = 8;

/// Longest wait for answers once the process is to end.
const FLUSH: Duration = Duration::from_secs(5);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const KEEPALIVE: Duration = Duration::from_secs(20);
const FIRST_BACKOFF: Duration = Duration::from_millis(200);
const MAX_BACKOFF: Duration = Duration::from_secs(10);

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
}

/// Pushes until `stop`, then flushes what is left for a few seconds.
pub(crate) struct Pusher {
    pub(crate) endpoint: Endpoint,
    /// Name of the actor.
    pub(crate) name: String,
    /// The life that the learner has issued; `None` before the first welcome.
    pub(crate) epoch: Option<u64>,
    /// The game of everything that is pushed.
    pub(crate) config: GameConfig,
    pub(crate) outbox: Outbox<Played>,
    pub(crate) games: mpsc::Receiver<Played>,
    pub(crate) stop: CancellationToken,
}

impl Pusher {
    /// Reconnects with growing pauses until `stop`. Returns the games left unanswered.
    ///
    /// Fails if another process goes by this actor's name: to push the rest as a new life could
    /// bring in twice what the learner has already taken.
    pub(crate) async fn run(mut self) -> Result<usize, ActorError> {
        let mut pause = FIRST_BACKOFF;
        loop {
            let started = Instant::now();
            match self.connection().await {
                Ok(()) => return Ok(self.outbox.len()),
                Err(error) if self.stop.is_cancelled() => {
                    warn!(%error, unanswered = self.outbox.len(), "stopping without the learner");
                    return Ok(self.outbox.len());
                }
                Err(PushError::Status(status)) if status.code() == Code::FailedPrecondition => {
                    self.stop.cancel();
                    return Err(ActorError::Refused(status.message().to_owned()));
                }
                Err(error) => warn!(%error, "lost the learner; trying again"),
            }
            pause = if started.elapsed() > MAX_BACKOFF {
                FIRST_BACKOFF
            } else {
                (pause * 2).min(MAX_BACKOFF)
            };
            tokio::select! {
                () = self.stop.cancelled() => return Ok(self.outbox.len()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// One connection: ends well only when the process is to end and the outbox is flushed.
    async fn connection(&mut self) -> Result<(), PushError> {
        let channel = tokio::select! {
            channel = self.connect() => channel?,
            () = self.stop.cancelled() => return Err(PushError::Closed),
        };
        let (requests, receiver) = mpsc::channel(IN_FLIGHT);
        let hello = Hello {
            actor: self.name.clone(),
            epoch: self.epoch,
            config: self.config.clone(),
            version: RECORD_VERSION,
        };
        let opened = requests.send(message(Request::Hello(hello.into()))).await;
        opened.map_err(|_| PushError::Closed)?;
        let mut client = LearnerServiceClient::new(channel);
        let answer = client.push(ReceiverStream::new(receiver)).await?;
        let mut responses = answer.into_inner();
        let Some(Response::Welcome(welcome)) = next(&mut responses).await? else {
            return Err(PushError::NoWelcome);
        };
        let wire::Welcome { epoch, watermark, .. } = welcome;
        self.epoch = Some(epoch);
        self.outbox.reconnect(watermark);
        info!(epoch, watermark, "pushing to the learner");
        self.exchange(&requests, &mut responses).await
    }

    async fn connect(&self) -> Result<Channel, tonic::transport::Error> {
        let endpoint = self.endpoint.clone();
        endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true)
            .connect()
            .await
    }

    async fn exchange(
        &mut self,
        requests: &mpsc::Sender<wire::PushRequest>,
        responses: &mut Streaming<wire::PushResponse>,
    ) -> Result<(), PushError> {
        let stop = self.stop.clone();
        let mut flush_until: Option<Instant> = None;
        loop {
            if flush_until.is_some() && self.outbox.is_empty() {
                return Ok(());
            }
            let has_unsent = self.outbox.unsent().is_some();
            let takes_games = !self.outbox.is_full() && flush_until.is_none();
            tokio::select! {
                response = next(responses) => self.settle(&response?.ok_or(PushError::Closed)?),
                permit = requests.reserve(), if has_unsent => {
                    let permit = permit.map_err(|_| PushError::Closed)?;
                    if let Some((sequence, played)) = self.outbox.unsent() {
                        permit.send(message(Request::Trajectory(to_wire(sequence, played))));
                        self.outbox.mark_sent();
                    }
                }
                Some(played) = self.games.recv(), if takes_games => {
                    // Not full: checked above, and nobody else pushes.
                    let _ = self.outbox.push(played);
                }
                () = stop.cancelled(), if flush_until.is_none() => {
                    self.games.close();
                    flush_until = Some(Instant::now() + FLUSH);
                }
                () = at(flush_until) => return Err(PushError::Closed),
            }
        }
    }

    fn settle(&mut self, response: &Response) {
        match response {
            Response::Ack(ack) => {
                for refusal in &ack.refusals {
                    let (sequence, reason) = (refusal.sequence, refusal.reason().as_str_name());
                    warn!(sequence, reason, detail = refusal.detail, "game refused");
                }
                self.outbox.settle(ack.watermark);
            }
            Response::Welcome(_) => warn!("the learner sent a second welcome"),
        }
    }
}

/// Resolves at a deadline, never without one.
async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
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
