//! The status of a learner, and a client that asks for it.

use std::time::Duration;

use ouro_net::Generation;
use ouro_replay::RefusalReason;
use ouro_tls::ClientTls;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::credential::Credential;
use crate::learner::v1 as wire;
use crate::learner::v1::learner_service_client::LearnerServiceClient;

/// Maximum number of connected actors in a report, which bounds its size. The count of all is in
/// [`LearnerReport::actors`].
pub const MOST_ACTORS: usize = 1_000;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of training, as the learner reports it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnerReport {
    /// The device that trains.
    pub device: String,
    /// The algorithm.
    pub algorithm: String,
    /// Optimiser steps taken.
    pub step: u32,
    /// Newest generation made.
    pub generation: Generation,
    /// Games accepted since the start of the run.
    pub games: f64,
    /// Positions with something to learn in those games.
    pub positions: f64,
    /// Games refused by the learner's process, by reason.
    pub refused: Vec<(RefusalReason, u32)>,
    /// Actors connected.
    pub actors: u32,
    /// Policy loss of the last step that was read.
    pub policy_loss: f64,
    /// Value loss of that step.
    pub value_loss: f64,
    /// Entropy of the policy at that step, in nats.
    pub entropy: f64,
    /// Positions in the replay window.
    pub window_positions: f64,
    /// Current limit of positions.
    pub window_capacity: f64,
    /// Mean number of generations between sampled positions and the newest weights.
    pub staleness: f64,
    /// Mean undiscounted return of recent games.
    pub mean_return: f64,
    /// The condition that blocks training; empty while training runs.
    pub condition: String,
    /// The connected actors by name, at most [`MOST_ACTORS`].
    pub connected: Vec<ConnectedActor>,
}

/// An actor that is connected to the learner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectedActor {
    /// Its name.
    pub name: String,
    /// Its program and version; empty if it names none.
    pub program: String,
    /// Seconds since it connected.
    pub seconds: f64,
    /// Games accepted since then.
    pub games: u32,
    /// Positions with something to learn in those games.
    pub positions: f64,
    /// Such positions per second over about the last half minute.
    pub positions_per_second: f64,
    /// Games refused since it connected.
    pub refused: u32,
    /// Generation of the weights that played its last accepted game.
    pub generation: Option<Generation>,
}

impl From<wire::GetStatusResponse> for LearnerReport {
    fn from(status: wire::GetStatusResponse) -> Self {
        let refused = status.refused.iter().map(|count| (count.reason().into(), count.games));
        let loss = status.loss.unwrap_or_default();
        let window = status.window.unwrap_or_default();
        Self {
            refused: refused.collect(),
            device: status.device,
            algorithm: status.algorithm,
            step: status.step,
            generation: Generation(status.newest_generation),
            games: status.games,
            positions: status.positions,
            actors: status.actors,
            policy_loss: loss.policy,
            value_loss: loss.value,
            entropy: loss.entropy,
            window_positions: window.positions,
            window_capacity: window.capacity,
            staleness: window.staleness,
            mean_return: status.mean_return,
            condition: status.condition,
            connected: status.connected.into_iter().take(MOST_ACTORS).map(Into::into).collect(),
        }
    }
}

impl From<wire::ConnectedActor> for ConnectedActor {
    fn from(actor: wire::ConnectedActor) -> Self {
        let wire::ConnectedActor { name, program, seconds, games, positions, refused, .. } = actor;
        let (rate, generation) = (actor.positions_per_second, actor.generation.map(Generation));
        Self {
            positions_per_second: rate,
            name,
            program,
            seconds,
            games,
            positions,
            refused,
            generation,
        }
    }
}

impl From<ConnectedActor> for wire::ConnectedActor {
    fn from(actor: ConnectedActor) -> Self {
        let ConnectedActor { name, program, seconds, games, positions, refused, .. } = actor;
        Self {
            positions_per_second: actor.positions_per_second,
            generation: actor.generation.map(|generation| generation.0),
            name,
            program,
            seconds,
            games,
            positions,
            refused,
        }
    }
}

/// Why a learner gives no status.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The address is not a URL.
    #[error("learner address {0:?} is not a URL; write http://host:port")]
    Address(String),
    /// The learner cannot be reached, or refused the call.
    #[error("{}", .0.message())]
    Call(Box<Status>),
}

/// Asks a learner for its status. The first call connects; a later one reconnects if the connection
/// broke.
#[derive(Clone, Debug)]
pub struct StatusClient(LearnerServiceClient<InterceptedService<Channel, Credential>>);

impl StatusClient {
    /// A client for `address`, a URL such as `http://127.0.0.1:50062`, with the token of
    /// `credential`. `tls` verifies the learner at an `https` address.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub fn new(
        address: &str,
        credential: Credential,
        tls: Option<&ClientTls>,
    ) -> Result<Self, StatusError> {
        let endpoint = Endpoint::from_shared(address.to_owned())
            .ok()
            .filter(|endpoint| endpoint.uri().host().is_some())
            .ok_or_else(|| StatusError::Address(address.to_owned()))?;
        let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true);
        let channel = ouro_tls::connect_lazy(&endpoint, tls);
        Ok(Self(LearnerServiceClient::with_interceptor(channel, credential)))
    }

    /// The status now.
    pub async fn get(&mut self) -> Result<LearnerReport, StatusError> {
        let mut request = Request::new(wire::GetStatusRequest {});
        request.set_timeout(CALL_TIMEOUT);
        let answer = self.0.get_status(request).await;
        Ok(answer.map_err(|status| StatusError::Call(Box::new(status)))?.into_inner().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_survives_the_wire_and_a_long_list_is_cut() {
        let actor = ConnectedActor {
            name: "gpu-1".to_owned(),
            program: "ouro-actor/0.1.0".to_owned(),
            seconds: 60.0,
            games: 7,
            positions: 90.0,
            positions_per_second: 1.5,
            refused: 2,
            generation: Some(Generation(3)),
        };
        let sent = wire::GetStatusResponse {
            newest_generation: 4,
            refused: vec![wire::RefusalCount {
                reason: wire::RefusalReason::Stale.into(),
                games: 2,
            }],
            connected: vec![actor.clone().into(); MOST_ACTORS + 1],
            ..wire::GetStatusResponse::default()
        };
        let report = LearnerReport::from(sent);
        assert_eq!(report.connected.len(), MOST_ACTORS);
        assert_eq!(report.connected[0], actor);
        assert_eq!(report.refused, [(RefusalReason::Stale, 2)]);
        assert_eq!((report.generation, report.window_positions), (Generation(4), 0.0));
    }

    #[tokio::test]
    async fn an_address_without_a_host_is_refused() {
        for bad in ["", "not a url", "/path"] {
            assert!(
                matches!(
                    StatusClient::new(bad, Credential::None, None),
                    Err(StatusError::Address(_))
                ),
                "{bad}"
            );
        }
    }
}
