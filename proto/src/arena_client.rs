//! A client of the arena, for actors, the learner and the command line.
//!
//! Answers are domain types, and weights are verified against their hash. An error states whether
//! a retry can succeed ([`ArenaError::is_retryable`]). The caller does the retries.

use std::time::Duration;

use bytes::Bytes;
use ouro_rating::{Estimate, Rating, RatingTable};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};

use crate::arena::v1;
use crate::arena::v1::arena_service_client::ArenaServiceClient;
use crate::arena::v1::pool_service_client::PoolServiceClient;
use crate::checkpoint::Checkpoint;
use crate::chunks::{self, Assembly, DEFAULT_MAX_WEIGHTS_BYTES, MESSAGE_BYTES};
use crate::credential::Credential;
use ouro_net::{ContentHash, Generation};
use ouro_tls::ClientTls;

pub(crate) mod error;
mod questions;

pub use crate::pool::{DrawnOpponent, OpponentShares, Pool, PoolMember, PoolSnapshot};
pub use error::ArenaError;
pub use questions::{EventWatch, PlayerComparison};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of HTTP/2 pings, and the time for their answers. They detect an arena that is gone without
/// closing the connection, early enough that its clients continue within 30 seconds.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Longest transfer of one weights file: [`DEFAULT_MAX_WEIGHTS_BYTES`] at about 2 Mbit/s.
pub const TRANSFER_TIMEOUT: Duration = Duration::from_secs(300);

/// A channel whose calls carry a token.
type Connection = InterceptedService<Channel, Credential>;

/// A connection to the arena. Clones share it.
#[derive(Clone, Debug)]
pub struct ArenaClient {
    channel: Channel,
    /// What opens the connection; `None` on a channel of the caller.
    target: Option<Target>,
    credential: Credential,
    arena: ArenaServiceClient<Connection>,
    pool: PoolServiceClient<Connection>,
    max_weights_bytes: u64,
}

/// The arena and how it is verified.
#[derive(Clone, Debug)]
struct Target {
    endpoint: Endpoint,
    tls: Option<ClientTls>,
}

impl Target {
    fn connect(&self) -> Channel {
        ouro_tls::connect_lazy(&self.endpoint, self.tls.as_ref())
    }
}

impl ArenaClient {
    /// Creates a client for `address`, a URL such as `http://127.0.0.1:50061`. The first call
    /// connects; a later call reconnects if the connection broke.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub fn new(address: &str) -> Result<Self, ArenaError> {
        Self::with_tls(address, None)
    }

    /// Like [`new`](Self::new); `tls` verifies the arena at an `https` address.
    pub fn with_tls(address: &str, tls: Option<&ClientTls>) -> Result<Self, ArenaError> {
        let endpoint = Self::endpoint(address)?.tcp_nodelay(true);
        let target = Target { endpoint, tls: tls.cloned() };
        Ok(Self::on(target.connect(), Some(target), Credential::None))
    }

    /// The endpoint of the arena at `address`. Its connections fail in time if the arena is gone.
    pub fn endpoint(address: &str) -> Result<Endpoint, ArenaError> {
        let endpoint = Endpoint::from_shared(address.to_owned())
            .ok()
            .filter(|endpoint| endpoint.uri().host().is_some())
            .ok_or_else(|| ArenaError::Address(address.to_owned()))?;
        Ok(endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE)
            .keep_alive_while_idle(true))
    }

    /// Creates a client on an existing channel.
    pub fn from_channel(channel: Channel) -> Self {
        Self::on(channel, None, Credential::None)
    }

    fn on(channel: Channel, target: Option<Target>, credential: Credential) -> Self {
        let limit = MESSAGE_BYTES.max(4 << 20);
        let connection = InterceptedService::new(channel.clone(), credential.clone());
        Self {
            channel,
            target,
            credential,
            arena: ArenaServiceClient::new(connection.clone()).max_decoding_message_size(limit),
            pool: PoolServiceClient::new(connection).max_decoding_message_size(limit),
            max_weights_bytes: DEFAULT_MAX_WEIGHTS_BYTES,
        }
    }

    /// Sends the token of `credential` with each call.
    #[must_use]
    pub fn credential(self, credential: Credential) -> Self {
        let Self { channel, target, max_weights_bytes, .. } = self;
        Self { max_weights_bytes, ..Self::on(channel, target, credential) }
    }

    /// Opens another connection with the next call. Clones keep the old one.
    ///
    /// A connection carries the certificate with which it was opened, also once that has expired.
    /// A new connection carries the one that is in its file by then. A client
    /// [on a channel](Self::from_channel) keeps its channel.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub fn reconnect(&mut self) {
        let Some(target) = self.target.clone() else { return };
        let (max_weights_bytes, credential) = (self.max_weights_bytes, self.credential.clone());
        let client = Self::on(target.connect(), Some(target), credential);
        *self = client.max_weights_bytes(max_weights_bytes);
    }

    /// Accepts weights up to `bytes` instead of [`DEFAULT_MAX_WEIGHTS_BYTES`].
    #[must_use]
    pub fn max_weights_bytes(mut self, bytes: u64) -> Self {
        self.max_weights_bytes = bytes;
        self
    }

    /// Returns the newest weights, the champion and the pool, from the first snapshot of
    /// [`watch_pool`](Self::watch_pool).
    pub async fn get_pool(&mut self) -> Result<Pool, ArenaError> {
        within(CALL_TIMEOUT, async {
            let first = self.watch_pool().await?.next().await?;
            let ended = || ArenaError::Unavailable("it sent no pool".to_owned());
            Ok(first.ok_or_else(ended)?.into_pool())
        })
        .await
    }

    /// Streams snapshots of the pool: one at once, and another after each change.
    pub async fn watch_pool(&mut self) -> Result<PoolWatch, ArenaError> {
        let snapshots = self.pool.watch_pool(v1::WatchPoolRequest {}).await?.into_inner();
        Ok(PoolWatch(snapshots))
    }

    /// Draws `count` independent opponents for the newest weights. The result depends only on
    /// `seed`, the shares and the pool.
    pub async fn draw_opponents(
        &mut self,
        count: u32,
        seed: u32,
        shares: OpponentShares,
    ) -> Result<Vec<DrawnOpponent>, ArenaError> {
        let shares = Some(shares.into());
        let request = timed(v1::DrawOpponentsRequest { count, seed, shares });
        let drawn = self.pool.draw_opponents(request).await?.into_inner().opponents;
        drawn.into_iter().map(|opponent| Ok(opponent.try_into()?)).collect()
    }

    /// Lists every checkpoint that the arena knows, oldest first.
    pub async fn list_checkpoints(&mut self) -> Result<Vec<Checkpoint>, ArenaError> {
        let request = timed(v1::ListCheckpointsRequest {});
        read_all(self.arena.list_checkpoints(request).await?.into_inner().checkpoints)
    }

    /// Returns the ratings of all players.
    pub async fn get_ratings(&mut self) -> Result<RatingTable, ArenaError> {
        let answer = self.arena.get_ratings(timed(v1::GetRatingsRequest {})).await?.into_inner();
        let ratings = answer.ratings.into_iter().map(|row| Rating {
            player: row.player,
            elo: row.elo,
            elo_low: row.elo_low,
            elo_high: row.elo_high,
            games: row.games,
            score: row.score,
            to_champion: row.to_champion.map(|difference| Estimate {
                value: difference.elo,
                low: difference.elo_low,
                high: difference.elo_high,
            }),
        });
        Ok(RatingTable {
            ratings: ratings.collect(),
            anchor: answer.anchor,
            champion: Some(answer.champion).filter(|champion| !champion.is_empty()),
            games: answer.games,
        })
    }

    /// Fetches the weights file of `checkpoint` and verifies its size and hash. Takes at most
    /// [`TRANSFER_TIMEOUT`].
    pub async fn fetch_weights(&mut self, checkpoint: &Checkpoint) -> Result<Vec<u8>, ArenaError> {
        self.fetch_file(checkpoint.hash, checkpoint.size_bytes).await
    }

    /// Like [`fetch_weights`](Self::fetch_weights), for a file with this hash and size.
    pub async fn fetch_file(
        &mut self,
        hash: ContentHash,
        size_bytes: u64,
    ) -> Result<Vec<u8>, ArenaError> {
        let mut assembly = Assembly::new(hash, size_bytes, self.max_weights_bytes)?;
        let request = v1::FetchCheckpointRequest { hash: hash.to_string() };
        within(TRANSFER_TIMEOUT, async {
            let mut chunks = self.pool.fetch_checkpoint(request).await?.into_inner();
            while let Some(message) = chunks.message().await? {
                assembly.push(&message.chunk)?;
            }
            Ok(assembly.finish()?)
        })
        .await
    }

    /// Offers `weights`, a safetensors file, as a candidate. Offering the same file again
    /// changes nothing. Takes at most [`TRANSFER_TIMEOUT`].
    pub async fn publish(
        &mut self,
        generation: Generation,
        step: u64,
        weights: Bytes,
    ) -> Result<Checkpoint, ArenaError> {
        self.publish_from(None, generation, step, weights).await
    }

    /// Like [`publish`](Self::publish), with an explicit parent. `None` stands for the newest
    /// generation published before.
    pub async fn publish_from(
        &mut self,
        parent: Option<Generation>,
        generation: Generation,
        step: u64,
        weights: Bytes,
    ) -> Result<Checkpoint, ArenaError> {
        use v1::publish_checkpoint_request::Part;
        let header = v1::PublishHeader {
            hash: ContentHash::of(&weights).to_string(),
            generation: generation.0,
            step,
            size_bytes: weights.len() as u64,
            parent: parent.map(|parent| parent.0),
        };
        let parts = std::iter::once(Part::Header(header))
            .chain(chunks::split(weights).map(Part::Chunk))
            .map(|part| v1::PublishCheckpointRequest { part: Some(part) });
        let request = Request::new(tokio_stream::iter(parts));
        within(TRANSFER_TIMEOUT, async {
            let answer = self.pool.publish_checkpoint(request).await?.into_inner();
            Ok(answer.checkpoint.ok_or(ArenaError::Empty)?.try_into()?)
        })
        .await
    }
}

/// A stream of pool snapshots. A slow reader skips to the newest.
#[derive(Debug)]
pub struct PoolWatch(Streaming<v1::WatchPoolResponse>);

impl PoolWatch {
    /// Returns the next snapshot; `None` when the arena stops.
    pub async fn next(&mut self) -> Result<Option<PoolSnapshot>, ArenaError> {
        Ok(self.0.message().await?.map(TryInto::try_into).transpose()?)
    }
}

/// Runs a transfer with a deadline. The request's own timeout covers only the time to the first
/// byte of the answer.
async fn within<T>(
    limit: Duration,
    transfer: impl Future<Output = Result<T, ArenaError>>,
) -> Result<T, ArenaError> {
    let late = |_| ArenaError::Unavailable(format!("the transfer took longer than {limit:?}"));
    tokio::time::timeout(limit, transfer).await.map_err(late)?
}

/// A short call with a deadline.
fn timed<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(CALL_TIMEOUT);
    request
}

fn read_all(wire: Vec<v1::Checkpoint>) -> Result<Vec<Checkpoint>, ArenaError> {
    wire.into_iter().map(|checkpoint| Ok(checkpoint.try_into()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_transfer_that_never_ends_is_given_up_and_may_be_tried_again() {
        let error = within::<()>(Duration::ZERO, std::future::pending()).await.unwrap_err();
        assert!(error.is_retryable(), "{error}");
        assert_eq!(within(Duration::ZERO, async { Ok(1) }).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_client_that_reconnects_opens_another_connection() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client =
            ArenaClient::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        // The connections stay open, and no call is answered.
        let mut connections = Vec::new();
        for _ in 0..2 {
            client.reconnect();
            tokio::select! {
                answer = client.get_pool() => panic!("{answer:?}"),
                accepted = listener.accept() => connections.push(accepted.unwrap()),
            }
        }
    }

    #[tokio::test]
    async fn an_address_without_a_host_is_refused() {
        for bad in ["", "not a url", "/path"] {
            assert!(matches!(ArenaClient::new(bad), Err(ArenaError::Address(_))), "{bad}");
        }
        assert!(ArenaClient::new("http://127.0.0.1:50061").is_ok());
    }
}
