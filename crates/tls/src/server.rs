//! The side of a port.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::{CertificateError, RootCertStore, ServerConfig, version};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

pub use tokio_rustls::server::TlsStream;

use crate::authorities::Authorities;
use crate::certificate::{Purpose, expires};
use crate::client::HTTP2;
use crate::error::TlsError;
use crate::files::{self, KeyPairFiles};
use crate::peer::PeerCertificate;
use crate::provider::provider;
use crate::reload::Reloading;

/// The protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC.
    Http2,
    /// Web pages.
    Http1,
}

/// How a port proves who it is, and how it verifies clients. Clones share it.
#[derive(Clone, Debug)]
pub struct ServerTls(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    files: Reloading<Loaded>,
    refusals: [AtomicU64; REASONS.len()],
}

/// A value equals its clones.
impl PartialEq for ServerTls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Debug)]
struct Loaded {
    http1: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
    expires: u64,
    /// The authorities that sign certificates of clients; `None` if clients present none.
    authorities: Option<Arc<RootCertStore>>,
}

/// Why a client got no connection.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The client does not speak TLS.
    #[error("the client speaks no TLS")]
    Plain,
    /// The client's certificate has expired.
    #[error("the client's certificate has expired")]
    Expired,
    /// The client's certificate is of another authority, or otherwise invalid.
    #[error("the client's certificate is not valid here: {0}")]
    Certificate(String),
    /// The handshake was not complete in time.
    #[error("the handshake took too long")]
    TimeIsOver,
    /// The client refused this server, or broke the protocol, or went away.
    #[error("{0}")]
    Other(String),
}

/// The names of the reasons in metrics, in the order of [`HandshakeError`].
const REASONS: [&str; 5] = ["plain", "expired", "invalid", "timeout", "other"];

impl HandshakeError {
    /// The place of the reason in [`REASONS`].
    fn index(&self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Expired => 1,
            Self::Certificate(_) => 2,
            Self::TimeIsOver => 3,
            Self::Other(_) => 4,
        }
    }
}

impl ServerTls {
    /// Reads and checks the files. With `client_authorities`, clients may present a certificate that
    /// one of these has signed; without a certificate they are not refused here.
    pub fn new(own: KeyPairFiles, client_authorities: Option<PathBuf>) -> Result<Self, TlsError> {
        let mut read = vec![own.certificate.clone(), own.key.clone()];
        read.extend(client_authorities.clone());
        let load = move || load(&own, client_authorities.as_deref());
        let files = Reloading::new(read, load)?;
        Ok(Self(Arc::new(Shared { files, refusals: Default::default() })))
    }

    /// The number of refused connections by reason.
    pub fn refusals(&self) -> [(&'static str, u64); REASONS.len()] {
        let count = |index: usize| self.0.refusals[index].load(Ordering::Relaxed);
        std::array::from_fn(|index| (REASONS[index], count(index)))
    }

    /// End of the validity of the certificate, in seconds since 1970.
    pub fn expires(&self) -> u64 {
        self.0.files.get().expires
    }

    /// The authorities of clients in the newest files; `None` if clients present no certificates.
    pub(crate) fn authorities(&self) -> Option<Arc<RootCertStore>> {
        self.0.files.get().authorities.clone()
    }

    /// Makes a connection private within `limit`. Returns it with the client's certificate.
    pub async fn accept(
        &self,
        stream: TcpStream,
        protocol: Protocol,
        limit: Duration,
    ) -> Result<(TlsStream<TcpStream>, Option<PeerCertificate>), HandshakeError> {
        let accepted = tokio::time::timeout(limit, self.handshake(stream, protocol)).await;
        accepted.unwrap_or(Err(HandshakeError::TimeIsOver)).inspect_err(|error| {
            self.0.refusals[error.index()].fetch_add(1, Ordering::Relaxed);
        })
    }

    async fn handshake(
        &self,
        stream: TcpStream,
        protocol: Protocol,
    ) -> Result<(TlsStream<TcpStream>, Option<PeerCertificate>), HandshakeError> {
        let loaded = self.0.files.get();
        let config = match protocol {
            Protocol::Http1 => &loaded.http1,
            Protocol::Http2 => &loaded.http2,
        };
        let accepted = TlsAcceptor::from(Arc::clone(config)).accept(stream).await;
        let stream = accepted.map_err(|error| refusal(&error))?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let peer = certificate.and_then(|certificate| {
            let roots = loaded.authorities.clone();
            let authorities = roots.map(|roots| Authorities::new(self.clone(), roots));
            PeerCertificate::of(certificate, authorities)
        });
        Ok((stream, peer))
    }

    #[cfg(test)]
    pub(crate) fn expire(&self) {
        self.0.files.expire();
    }
}

fn refusal(error: &io::Error) -> HandshakeError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidMessage(_)) => HandshakeError::Plain,
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => HandshakeError::Expired,
        Some(rustls::Error::InvalidCertificate(error)) => {
            HandshakeError::Certificate(error.to_string())
        }
        _ => HandshakeError::Other(error.to_string()),
    }
}

fn load(own: &KeyPairFiles, client_authorities: Option<&Path>) -> Result<Loaded, TlsError> {
    let refused = |error: String| TlsError::Configuration(error);
    let pair = files::key_pair(own, Purpose::Server)?;
    let expires = pair.end_entity_cert().ok().and_then(expires).unwrap_or(u64::MAX);
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])
        .map_err(|error| refused(error.to_string()))?;
    let authorities = client_authorities.map(files::authorities).transpose()?;
    let builder = match &authorities {
        None => builder.with_no_client_auth(),
        Some(roots) => {
            let roots = Arc::clone(roots);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
                .allow_unauthenticated()
                .build();
            builder.with_client_cert_verifier(verifier.map_err(|error| refused(error.to_string()))?)
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    let mut http1 = config.clone();
    http1.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(Loaded { http1: Arc::new(http1), http2: Arc::new(config), expires, authorities })
}
