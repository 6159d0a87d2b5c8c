//! The actor's side of a push of games to the learner.
//!
//! [`open`] sends the hello and reads the welcome. A [`GameSender`] then sends games, and an
//! [`AckReceiver`] receives acknowledgements. `learner.proto` defines the order of messages.

use std::error::Error;
use std::time::Duration;

use ouro_net::Generation;
use ouro_replay::{RefusalReason, Trajectory};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

use crate::credential::Credential;
use crate::learner::v1 as wire;
use crate::learner::v1::learner_service_client::LearnerServiceClient;
use crate::learner::v1::push_request::Message as Request;
use crate::learner::v1::push_response::Message as Response;
use crate::trajectory::{Hello, to_wire};

/// The learner's answer to a hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The epoch of this push.
    pub epoch: u64,
    /// Highest sequence number decided in this epoch; 0 if none.
    pub watermark: u64,
    /// Newest generation published.
    pub newest_generation: Generation,
    /// Refused games after [`Hello::answered`], as far as the learner knows.
    pub refused: Vec<RefusedGame>,
}

/// An acknowledgement: all games up to a sequence number are decided and on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Highest sequence number decided; all numbers below it are decided too.
    pub watermark: u64,
    /// Games refused since the last acknowledgement. All others were accepted.
    pub refused: Vec<RefusedGame>,
    /// Newest generation published.
    pub newest_generation: Generation,
    /// Suggested time without sending; zero ends an earlier pause.
    pub pause: Duration,
}

/// A game that the learner refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedGame {
    /// Sequence number of the game.
    pub sequence: u64,
    /// The reason, for counting.
    pub reason: RefusalReason,
    /// The reason in one line.
    pub detail: String,
}

/// Reason for the end of a push.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The learner cannot be reached.
    #[error("cannot connect: {}", cause(.0))]
    Connect(#[from] tonic::transport::Error),
    /// The learner or the transport reported an error.
    #[error("{}: {}", .0.code(), .0.message())]
    Status(#[from] Status),
    /// The learner closed the stream.
    #[error("the learner closed the stream")]
    Closed,
    /// The first message of the learner is not a welcome.
    #[error("the learner did not answer the hello with a welcome")]
    NoWelcome,
}

/// Sends games.
#[derive(Debug)]
pub struct GameSender(mpsc::Sender<wire::PushRequest>);

/// A reserved place in the send queue for one game.
#[derive(Debug)]
pub struct SendPermit<'a>(mpsc::Permit<'a, wire::PushRequest>);

/// Receives acknowledgements.
#[derive(Debug)]
pub struct AckReceiver(Streaming<wire::PushResponse>);

/// The endpoint of the learner at a URL, with the transport's default settings.
pub fn endpoint(url: String) -> Result<Endpoint, PushError> {
    Ok(Endpoint::from_shared(url)?)
}

/// The first cause of an error. Those after it say no more than that something failed.
fn cause(error: &tonic::transport::Error) -> &dyn Error {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}

/// Opens a push on a connected `channel` with the token of `credential`. At most `in_flight` messages
/// are queued for the connection.
pub async fn open(
    channel: Channel,
    credential: Credential,
    hello: Hello,
    in_flight: usize,
) -> Result<(Welcome, GameSender, AckReceiver), PushError> {
    let (requests, receiver) = mpsc::channel(in_flight);
    let opened = requests.send(message(Request::Hello(hello.into()))).await;
    opened.map_err(|_| PushError::Closed)?;
    let mut client = LearnerServiceClient::with_interceptor(channel, credential);
    let mut responses = client.push(ReceiverStream::new(receiver)).await?.into_inner();
    let first = responses.message().await?.and_then(|response| response.message);
    let Some(Response::Welcome(welcome)) = first else { return Err(PushError::NoWelcome) };
    Ok((welcome.into(), GameSender(requests), AckReceiver(responses)))
}

impl GameSender {
    /// Waits until the send queue has room for one game. Cancel-safe.
    pub async fn reserve(&self) -> Result<SendPermit<'_>, PushError> {
        self.0.reserve().await.map(SendPermit).map_err(|_| PushError::Closed)
    }
}

impl SendPermit<'_> {
    /// Sends a game with this sequence number.
    pub fn send(self, sequence: u64, game: &Trajectory) {
        self.0.send(message(Request::Trajectory(to_wire(sequence, game))));
    }
}

impl AckReceiver {
    /// Waits for the next acknowledgement; `None` once the learner has closed the stream.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Ack>, PushError> {
        while let Some(response) = self.0.message().await? {
            // A learner sends one welcome. A second one is ignored, because it would hold no more
            // than an acknowledgement.
            if let Some(Response::Ack(ack)) = response.message {
                return Ok(Some(ack.into()));
            }
        }
        Ok(None)
    }
}

fn message(message: Request) -> wire::PushRequest {
    wire::PushRequest { message: Some(message) }
}

impl From<wire::Welcome> for Welcome {
    fn from(welcome: wire::Welcome) -> Self {
        Self {
            epoch: welcome.epoch,
            watermark: welcome.watermark,
            newest_generation: Generation(welcome.newest_generation),
            refused: welcome.refusals.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Welcome> for wire::Welcome {
    fn from(welcome: Welcome) -> Self {
        Self {
            epoch: welcome.epoch,
            watermark: welcome.watermark,
            newest_generation: welcome.newest_generation.0,
            refusals: welcome.refused.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<wire::Ack> for Ack {
    fn from(ack: wire::Ack) -> Self {
        Self {
            watermark: ack.watermark,
            refused: ack.refusals.into_iter().map(Into::into).collect(),
            newest_generation: Generation(ack.newest_generation),
            pause: Duration::from_millis(ack.pause_ms.into()),
        }
    }
}

impl From<Ack> for wire::Ack {
    fn from(ack: Ack) -> Self {
        Self {
            watermark: ack.watermark,
            refusals: ack.refused.into_iter().map(Into::into).collect(),
            newest_generation: ack.newest_generation.0,
            pause_ms: u32::try_from(ack.pause.as_millis()).unwrap_or(u32::MAX),
        }
    }
}

impl From<wire::Refusal> for RefusedGame {
    fn from(refusal: wire::Refusal) -> Self {
        let reason = refusal.reason().into();
        Self { sequence: refusal.sequence, reason, detail: refusal.detail }
    }
}

impl From<RefusedGame> for wire::Refusal {
    fn from(refused: RefusedGame) -> Self {
        let RefusedGame { sequence, reason, detail } = refused;
        Self { sequence, reason: wire::RefusalReason::from(reason).into(), detail }
    }
}

impl From<wire::RefusalReason> for RefusalReason {
    fn from(reason: wire::RefusalReason) -> Self {
        match reason {
            wire::RefusalReason::Unspecified => Self::Unknown,
            wire::RefusalReason::Malformed => Self::Malformed,
            wire::RefusalReason::Oversize => Self::Oversize,
            wire::RefusalReason::Seats => Self::Seats,
            wire::RefusalReason::UnknownGeneration => Self::UnknownGeneration,
            wire::RefusalReason::Stale => Self::Stale,
            wire::RefusalReason::Behaviour => Self::Behaviour,
            wire::RefusalReason::Search => Self::Search,
            wire::RefusalReason::Replay => Self::Replay,
            wire::RefusalReason::Outcome => Self::Outcome,
            wire::RefusalReason::NothingToLearn => Self::NothingToLearn,
            wire::RefusalReason::Internal => Self::Internal,
        }
    }
}

impl From<RefusalReason> for wire::RefusalReason {
    fn from(reason: RefusalReason) -> Self {
        match reason {
            RefusalReason::Unknown => Self::Unspecified,
            RefusalReason::Malformed => Self::Malformed,
            RefusalReason::Oversize => Self::Oversize,
            RefusalReason::Seats => Self::Seats,
            RefusalReason::UnknownGeneration => Self::UnknownGeneration,
            RefusalReason::Stale => Self::Stale,
            RefusalReason::Behaviour => Self::Behaviour,
            RefusalReason::Search => Self::Search,
            RefusalReason::Replay => Self::Replay,
            RefusalReason::Outcome => Self::Outcome,
            RefusalReason::NothingToLearn => Self::NothingToLearn,
            RefusalReason::Internal => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_survives_the_wire_under_its_own_name() {
        for reason in RefusalReason::ALL {
            let sent = wire::RefusalReason::from(reason);
            assert_eq!(RefusalReason::from(sent), reason);
            let name = sent.as_str_name().to_lowercase();
            assert_eq!(name.strip_prefix("refusal_reason_"), Some(reason.as_str()));
        }
        // A learner of a later version.
        let refusal = wire::Refusal { sequence: 1, reason: 999, detail: String::new() };
        assert_eq!(RefusedGame::from(refusal).reason, RefusalReason::Unknown);
    }
}
