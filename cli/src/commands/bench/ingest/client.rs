//! A client that pushes games as fast as the learner receives them.

use std::sync::Arc;

use ouro_proto::Credential;
use ouro_proto::push::{self, PushError};
use ouro_proto::trajectory::Hello;
use ouro_replay::Trajectory;
use tokio_util::sync::CancellationToken;

/// Maximum messages that are queued for the connection.
const AHEAD: usize = 64;

/// Error that ends a client early.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("the learner ended a stream: {0}")]
    Push(#[from] PushError),
    #[error("the sending task ended early: {0}")]
    Sender(#[from] tokio::task::JoinError),
    #[error("the learner refused game {sequence}: {detail}")]
    Refused { sequence: u64, detail: String },
    #[error("{0} games were sent, {1} acknowledged")]
    Lost(u64, u64),
}

/// Pushes the games in a loop until `stop`, starting with the game at `first`. Then waits until
/// all are acknowledged and returns their number.
pub(super) async fn push(
    url: String,
    hello: Hello,
    games: Arc<Vec<Trajectory>>,
    first: usize,
    stop: CancellationToken,
) -> Result<u64, ClientError> {
    let channel = push::endpoint(url)?.connect().await.map_err(PushError::Connect)?;
    let (_, sender, mut acks) = push::open(channel, Credential::None, hello, AHEAD).await?;
    let sending = tokio::spawn(async move {
        let mut sequence = 0;
        for game in games.iter().cycle().skip(first) {
            tokio::select! {
                biased;
                () = stop.cancelled() => return sequence,
                permit = sender.reserve() => {
                    let Ok(permit) = permit else { return sequence };
                    sequence += 1;
                    permit.send(sequence, game);
                }
            }
        }
        sequence
    });
    let mut acknowledged = 0;
    while let Some(ack) = acks.next().await? {
        if let Some(refused) = ack.refused.into_iter().next() {
            let (sequence, detail) = (refused.sequence, refused.detail);
            return Err(ClientError::Refused { sequence, detail });
        }
        acknowledged = ack.watermark;
    }
    let sent = sending.await?;
    if sent == acknowledged { Ok(sent) } else { Err(ClientError::Lost(sent, acknowledged)) }
}
