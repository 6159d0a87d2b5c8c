//! A client that pushes games as fast as the learner accepts them.

use ouro_proto::Hello;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::push_response::Message as Answer;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

/// Messages buffered in front of the connection.
const AHEAD: usize = 64;

/// Error that ends a client early.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("cannot connect to the learner: {0}")]
    Connect(String),
    #[error("the learner ended a stream: {0}")]
    Ended(String),
    #[error("the learner refused game {sequence}: {detail}")]
    Refused { sequence: u64, detail: String },
    #[error("{0} games were sent, {1} acknowledged")]
    Lost(u64, u64),
}

/// Pushes `games` in a cycle until `stop` and waits until all are acknowledged. Returns the number
/// of acknowledged games.
pub(super) async fn push(
    url: String,
    hello: Hello,
    games: Vec<wire::Trajectory>,
    stop: CancellationToken,
) -> Result<u64, ClientError> {
    let connected = LearnerServiceClient::connect(url).await;
    let mut client = connected.map_err(|error| ClientError::Connect(error.to_string()))?;
    let (requests, stream) = mpsc::channel(AHEAD);
    let ask = |message| wire::PushRequest { message: Some(message) };
    let first = requests.send(ask(Ask::Hello(hello.into()))).await;
    first.map_err(|_| ClientError::Ended("before the hello".to_owned()))?;
    let ended = |status: &dyn std::fmt::Display| ClientError::Ended(status.to_string());
    let answers = client.push(ReceiverStream::new(stream)).await;
    let mut answers = answers.map_err(|status| ended(&status))?.into_inner();

    let sender = tokio::spawn(async move {
        let mut sequence = 0;
        for game in games.iter().cycle() {
            sequence += 1;
            let message = Ask::Trajectory(wire::Trajectory { sequence, ..game.clone() });
            tokio::select! {
                biased;
                () = stop.cancelled() => return sequence - 1,
                sent = requests.send(ask(message)) => if sent.is_err() {
                    return sequence - 1;
                },
            }
        }
        sequence
    });
    let mut acknowledged = 0;
    while let Some(answer) = answers.message().await.map_err(|status| ended(&status))? {
        let Some(Answer::Ack(ack)) = answer.message else { continue };
        if let Some(wire::Refusal { sequence, detail, .. }) = ack.refusals.into_iter().next() {
            return Err(ClientError::Refused { sequence, detail });
        }
        acknowledged = ack.watermark;
    }
    let sent = sender.await.map_err(|error| ended(&error))?;
    if sent == acknowledged { Ok(sent) } else { Err(ClientError::Lost(sent, acknowledged)) }
}
