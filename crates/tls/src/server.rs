//! The side of a port.

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::{CertificateError, ServerConfig, version};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

pub use tokio_rustls::server::TlsStream;

use crate::certificate::{PeerCertificate, Purpose, expires};
use crate::client::HTTP2;
use crate::error::TlsError;
use crate::files::{self, KeyPairFiles};
use crate::provider;
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
pub struct ServerTls(Arc<Reloading<Loaded>>);

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
    /// The client refused this server, or broke the protocol, or went away.
    #[error("{0}")]
    Other(String),
}

impl HandshakeError {
    /// The reason as a label.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Expired => "certificate_expired",
            Self::Certificate(_) => "certificate_invalid",
            Self::Other(_) => "handshake",
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
        Reloading::new(read, load).map(|loaded| Self(Arc::new(loaded)))
    }

    /// End of the validity of the certificate, in seconds since 1970.
    pub fn expires(&self) -> u64 {
        self.0.get().expires
    }

    /// Makes a connection private. Returns it with the client's certificate.
    pub async fn accept(
        &self,
        stream: TcpStream,
        protocol: Protocol,
    ) -> Result<(TlsStream<TcpStream>, Option<PeerCertificate>), HandshakeError> {
        let loaded = self.0.get();
        let config = match protocol {
            Protocol::Http1 => &loaded.http1,
            Protocol::Http2 => &loaded.http2,
        };
        let accepted = TlsAcceptor::from(Arc::clone(config)).accept(stream).await;
        let stream = accepted.map_err(|error| refusal(&error))?;
        let certificates = stream.get_ref().1.peer_certificates();
        let peer = certificates.and_then(<[_]>::first).and_then(PeerCertificate::of);
        Ok((stream, peer))
    }

    #[cfg(test)]
    pub(crate) fn expire(&self) {
        self.0.expire();
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
    let builder = match client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let roots = files::authorities(path)?;
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
    Ok(Loaded { http1: Arc::new(http1), http2: Arc::new(config), expires })
}
