//! The side of a client.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, version};

use crate::certificate::Purpose;
use crate::error::TlsError;
use crate::files::{self, KeyPairFiles};
use crate::pinned::Pinned;
use crate::provider::provider;
use crate::reload::Reloading;

/// The protocol of gRPC.
pub(crate) const HTTP2: &[u8] = b"h2";

/// The files of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFiles {
    /// Certificates of the authorities that sign those of services.
    pub authorities: PathBuf,
    /// What the client presents, if anything.
    pub own: Option<KeyPairFiles>,
}

/// How a client verifies services, and what it presents to them. Clones share it.
#[derive(Clone, Debug)]
pub struct ClientTls(Arc<Reloading<Arc<ClientConfig>>>);

/// A value equals its clones, and others from the same files.
impl PartialEq for ClientTls {
    fn eq(&self, other: &Self) -> bool {
        self.0.files() == other.0.files()
    }
}

impl Eq for ClientTls {}

impl ClientTls {
    /// Reads and checks the files.
    pub fn new(files: ClientFiles) -> Result<Self, TlsError> {
        let mut read = vec![files.authorities.clone()];
        read.extend(files.own.iter().flat_map(|own| [own.certificate.clone(), own.key.clone()]));
        Reloading::new(read, move || config(&files)).map(|config| Self(Arc::new(config)))
    }

    /// Trusts exactly the certificate in this file, under any name. For a process that calls its own
    /// ports.
    pub fn pinned(certificate: &Path) -> Result<Self, TlsError> {
        let path = certificate.to_owned();
        let load = move || {
            let pinned = Pinned(files::certificates(&path)?.swap_remove(0));
            let config = builder()?.dangerous().with_custom_certificate_verifier(Arc::new(pinned));
            Ok(finish(config.with_no_client_auth()))
        };
        Reloading::new(vec![certificate.to_owned()], load).map(|config| Self(Arc::new(config)))
    }

    /// The newest configuration.
    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0.get())
    }

    #[cfg(test)]
    pub(crate) fn expire(&self) {
        self.0.expire();
    }
}

type Builder = rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>;

fn builder() -> Result<Builder, TlsError> {
    ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])
        .map_err(|error| TlsError::Configuration(error.to_string()))
}

fn finish(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Arc::new(config)
}

fn config(files: &ClientFiles) -> Result<Arc<ClientConfig>, TlsError> {
    let config = builder()?.with_root_certificates(files::authorities(&files.authorities)?);
    Ok(finish(match &files.own {
        None => config.with_no_client_auth(),
        Some(own) => match files::key_pair(own, Purpose::Client) {
            Ok(pair) => config.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair))),
            // That of a service, which is no client's: public authorities sign no others.
            Err(TlsError::Purpose { .. }) => config.with_no_client_auth(),
            Err(error) => return Err(error),
        },
    }))
}
