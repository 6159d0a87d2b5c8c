//! The status of a learner and of an arena, and a client that asks a learner for it.

use std::time::Duration;

use ouro_net::Generation;
use ouro_replay::RefusalReason;
use ouro_tls::ClientTls;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use crate::arena::v1 as arena;
use crate::credential::Credential;
use crate::learner::v1 as wire;
use crate::learner::v1::learner_service_client::LearnerServiceClient;
use crate::process::ProcessReport;

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
    /// Positions sampled for training since the start of the run.
    pub sampled: f64,
    /// Mean number of generations between sampled positions and the newest weights.
    pub staleness: f64,
    /// Mean undiscounted return of recent games.
    pub mean_return: f64,
    /// The condition that blocks training; empty while training runs.
    pub condition: String,
    /// The connected actors by name, at most [`MOST_ACTORS`].
    pub connected: Vec<ConnectedActor>,
    /// The process; `None` of a learner that does not report it.
    pub process: Option<ProcessReport>,
    /// Kind of the device; `None` of a learner that does not report it.
    pub device_kind: Option<DeviceKind>,
    /// Whether the condition needs an operator. Otherwise training only waits for games.
    pub is_blocked: bool,
    /// Seconds that training has waited since the start of the process, by reason.
    pub training_waited: Vec<(String, f64)>,
    /// Seconds in which no game was accepted since the start of the process, by reason.
    pub intake_waited: Vec<(String, f64)>,
    /// Newest generation that the arena has; `None` until the arena has answered.
    pub published: Option<Generation>,
    /// Maximum number of connected actors; 0 of a learner that does not report it.
    pub max_actors: u32,
    /// Actors whose games deviate from those of all others, by name, at most [`MOST_ACTORS`].
    pub deviating: Vec<DeviatingActor>,
}

/// Kind of a device that trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceKind {
    /// The CPU, as the settings say.
    #[default]
    Cpu,
    /// The CPU, because the settings prefer a GPU and none was found.
    NoGpu,
    /// A GPU.
    Gpu,
    /// An adapter that has the interface of a GPU and computes on the CPU.
    Software,
}

/// The state of an arena's process, as it reports it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArenaReport {
    /// The process; `None` of an arena that does not report it.
    pub process: Option<ProcessReport>,
    /// What the arena waits for an operator to resolve; empty if nothing.
    pub condition: String,
    /// Where the results are: `files` or `redis`.
    pub store: String,
    /// Published checkpoints without a decision.
    pub candidates_waiting: u32,
    /// Open streams of the pool.
    pub pool_watchers: u32,
    /// Why the learner did not answer the arena's last request; empty if it did.
    pub learner_problem: String,
}

impl From<arena::GetStatusResponse> for ArenaReport {
    fn from(status: arena::GetStatusResponse) -> Self {
        Self {
            process: status.process.map(Into::into),
            condition: status.condition,
            store: status.store,
            candidates_waiting: status.candidates_waiting,
            pool_watchers: status.pool_watchers,
            learner_problem: status.learner_problem,
        }
    }
}

impl DeviceKind {
    fn from_wire(kind: wire::DeviceKind) -> Option<Self> {
        Some(match kind {
            wire::DeviceKind::Unspecified => return None,
            wire::DeviceKind::Cpu => Self::Cpu,
            wire::DeviceKind::NoGpu => Self::NoGpu,
            wire::DeviceKind::Gpu => Self::Gpu,
            wire::DeviceKind::Software => Self::Software,
        })
    }
}

impl From<DeviceKind> for wire::DeviceKind {
    fn from(kind: DeviceKind) -> Self {
        match kind {
            DeviceKind::Cpu => Self::Cpu,
            DeviceKind::NoGpu => Self::NoGpu,
            DeviceKind::Gpu => Self::Gpu,
            DeviceKind::Software => Self::Software,
        }
    }
}

/// An actor whose games deviate from those of all others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviatingActor {
    /// Its name.
    pub name: String,
    /// What deviates most: `outcomes` or `lengths`.
    pub quantity: String,
    /// By how much, as a normal deviate.
    pub residual: f64,
    /// Games of the actor that were compared.
    pub games: u32,
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
    /// IP address from which it connected; empty if it is not known.
    pub address: String,
    /// How often the last ten minutes saw this name come from another address than before.
    pub moves: u32,
}

impl From<wire::GetStatusResponse> for LearnerReport {
    fn from(status: wire::GetStatusResponse) -> Self {
        let refused = status.refused.iter().map(|count| (count.reason().into(), count.games));
        let device_kind = DeviceKind::from_wire(status.device_kind());
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
            sampled: window.sampled,
            staleness: window.staleness,
            mean_return: status.mean_return,
            condition: status.condition,
            connected: status.connected.into_iter().take(MOST_ACTORS).map(Into::into).collect(),
            process: status.process.map(Into::into),
            device_kind,
            is_blocked: status.blocked,
            training_waited: waited(status.training_waited),
            intake_waited: waited(status.intake_waited),
            published: status.published_generation.map(Generation),
            max_actors: status.max_actors,
            deviating: status.deviating.into_iter().take(MOST_ACTORS).map(Into::into).collect(),
        }
    }
}

/// Times of waiting by reason.
fn waited(times: Vec<wire::Waited>) -> Vec<(String, f64)> {
    times.into_iter().map(|wire::Waited { reason, seconds }| (reason, seconds)).collect()
}

impl From<wire::ConnectedActor> for ConnectedActor {
    fn from(actor: wire::ConnectedActor) -> Self {
        let wire::ConnectedActor { name, program, seconds, games, positions, .. } = actor;
        let (rate, generation) = (actor.positions_per_second, actor.generation.map(Generation));
        Self {
            positions_per_second: rate,
            name,
            program,
            seconds,
            games,
            positions,
            refused: actor.refused,
            generation,
            address: actor.address,
            moves: actor.moves,
        }
    }
}

impl From<ConnectedActor> for wire::ConnectedActor {
    fn from(actor: ConnectedActor) -> Self {
        let ConnectedActor { name, program, seconds, games, positions, refused, .. } = actor;
        Self {
            positions_per_second: actor.positions_per_second,
            generation: actor.generation.map(|generation| generation.0),
            address: actor.address,
            moves: actor.moves,
            name,
            program,
            seconds,
            games,
            positions,
            refused,
        }
    }
}

impl From<wire::DeviatingActor> for DeviatingActor {
    fn from(actor: wire::DeviatingActor) -> Self {
        let wire::DeviatingActor { name, quantity, residual, games } = actor;
        Self { name, quantity, residual, games }
    }
}

impl From<DeviatingActor> for wire::DeviatingActor {
    fn from(actor: DeviatingActor) -> Self {
        let DeviatingActor { name, quantity, residual, games } = actor;
        Self { name, quantity, residual, games }
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

impl StatusError {
    /// Whether the learner answered, and refused the call.
    pub fn is_refusal(&self) -> bool {
        let refusals = [Code::Unauthenticated, Code::PermissionDenied, Code::Unimplemented];
        matches!(self, Self::Call(status) if refusals.contains(&status.code()))
    }
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
            address: "10.0.0.7".to_owned(),
            moves: 2,
        };
        let deviating = DeviatingActor {
            name: "eve".to_owned(),
            quantity: "outcomes".to_owned(),
            residual: 8.5,
            games: 300,
        };
        let sent = wire::GetStatusResponse {
            newest_generation: 4,
            device_kind: wire::DeviceKind::from(DeviceKind::Software).into(),
            training_waited: vec![wire::Waited { reason: "games".to_owned(), seconds: 1.5 }],
            refused: vec![wire::RefusalCount {
                reason: wire::RefusalReason::Stale.into(),
                games: 2,
            }],
            connected: vec![actor.clone().into(); MOST_ACTORS + 1],
            deviating: vec![deviating.clone().into(); MOST_ACTORS + 1],
            ..wire::GetStatusResponse::default()
        };
        let report = LearnerReport::from(sent);
        assert_eq!(report.connected.len(), MOST_ACTORS);
        assert_eq!(report.connected[0], actor);
        assert_eq!((report.deviating.len(), &report.deviating[0]), (MOST_ACTORS, &deviating));
        assert_eq!(report.refused, [(RefusalReason::Stale, 2)]);
        assert_eq!((report.generation, report.window_positions), (Generation(4), 0.0));
        assert_eq!(report.device_kind, Some(DeviceKind::Software));
        assert_eq!(report.training_waited, [("games".to_owned(), 1.5)]);
        assert_eq!(LearnerReport::from(wire::GetStatusResponse::default()).device_kind, None);
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
