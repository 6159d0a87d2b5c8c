//! The authorities that have verified a client's certificate.

use std::sync::Arc;

use rustls::RootCertStore;

use crate::server::ServerTls;

/// The authorities of a port at the time of a handshake.
///
/// The authorities are current while the port accepts all of them. A new file with the same
/// authorities, or with a further one, changes nothing. The signer of a certificate is not known
/// after the handshake. A removed authority therefore ends all certificates that were verified
/// while the port accepted it. Clients connect again, and the handshake verifies their
/// certificates anew. A file that cannot be used changes nothing.
#[derive(Clone, Debug)]
pub struct Authorities {
    port: ServerTls,
    roots: Arc<RootCertStore>,
}

impl Authorities {
    pub(crate) fn new(port: ServerTls, roots: Arc<RootCertStore>) -> Self {
        Self { port, roots }
    }

    /// Whether the port still accepts all of them. Looks at the files of the port at most once per
    /// second.
    pub fn is_current(&self) -> bool {
        self.port.authorities().is_some_and(|newest| {
            Arc::ptr_eq(&newest, &self.roots)
                || self.roots.roots.iter().all(|root| newest.roots.contains(root))
        })
    }
}

/// The same authorities of the same port are equal, although they were read at different times.
impl PartialEq for Authorities {
    fn eq(&self, other: &Self) -> bool {
        self.port == other.port && self.roots.roots == other.roots.roots
    }
}

impl Eq for Authorities {}
