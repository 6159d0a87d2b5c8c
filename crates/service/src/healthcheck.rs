//! Checks whether a gRPC server of this package serves, as container runtimes and load balancers do.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ouro_tls::ClientTls;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::process::{ExitStatus, Failure};

/// Time for the connection and for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a server counts as unhealthy.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// No server answers.
    #[error("no server answers at {address}: {source}")]
    Unreachable {
        /// The address that was asked.
        address: SocketAddr,
        /// Error of the transport.
        source: tonic::transport::Error,
    },
    /// The server refused the check.
    #[error("server at {address} refused the health check: {}", .status.message())]
    Refused {
        /// The address that was asked.
        address: SocketAddr,
        /// Its answer.
        status: Box<tonic::Status>,
    },
    /// The server answers but does not serve, as during its drain.
    #[error("server at {address} does not serve")]
    NotServing {
        /// The address that was asked.
        address: SocketAddr,
    },
}

impl From<HealthError> for Failure {
    fn from(error: HealthError) -> Self {
        Self::new(ExitStatus::Unavailable, error)
    }
}

/// Calls `grpc.health.v1.Health/Check` of the server that listens on `listening`. A server that
/// listens on every interface is called on loopback. `tls` verifies a server that speaks TLS.
pub async fn check(listening: SocketAddr, tls: Option<&ClientTls>) -> Result<(), HealthError> {
    let address = reachable(listening);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"));
    let endpoint = endpoint.map_err(|source| HealthError::Unreachable { address, source })?;
    let endpoint = endpoint.connect_timeout(PATIENCE).timeout(PATIENCE);
    let channel = ouro_tls::connect(&endpoint, tls).await;
    let channel = channel.map_err(|source| HealthError::Unreachable { address, source })?;
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await;
    let answer = answer
        .map_err(|status| HealthError::Refused { address, status: Box::new(status) })?
        .into_inner();
    match answer.status == ServingStatus::Serving as i32 {
        true => Ok(()),
        false => Err(HealthError::NotServing { address }),
    }
}

/// The address at which this machine reaches a listener.
fn reachable(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listening.port())
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::GrpcServer;
    use crate::server::Limits;

    #[tokio::test]
    async fn a_server_is_healthy_while_it_runs() {
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let server = GrpcServer::bind(any, Limits::default()).await.unwrap();
        let (address, stop) = (server.local_addr(), CancellationToken::new());
        let running = tokio::spawn(server.run_until(stop.clone()));
        check(address, None).await.unwrap();
        stop.cancel();
        running.await.unwrap().unwrap();
        let error = check(address, None).await.unwrap_err();
        assert!(matches!(error, HealthError::Unreachable { .. }), "{error}");
    }
}
