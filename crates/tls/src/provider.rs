//! The cryptography of all connections.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// The algorithms.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
