//! TLS of the services: certificates from files, renewal without a restart, identities.
//!
//! A [`ServerTls`] makes the connections of a port private and may ask clients for a certificate. A
//! [`ClientTls`] verifies a service and may present one. Both read PEM files, check them at the
//! start, and read them again once they change: a renewed certificate counts from the next
//! connection on. Files that cannot be used are reported and tried again, and the ones before stay in
//! use until then. A client's certificate counts only while the port accepts its [`Authorities`],
//! on open connections too.
//!
//! A client's certificate names its holder by one URI among its alternative names,
//! `ouro://ROLE/NAME`; see [`PeerCertificate`].
//!
//! Only TLS 1.3 is spoken, with the algorithms of `ring`. Sessions are never resumed, because a
//! resumed session would not verify the client's certificate again.

mod authorities;
mod certificate;
mod client;
mod connector;
mod error;
mod files;
mod peer;
mod pinned;
mod provider;
mod reload;
mod server;

pub use authorities::Authorities;
pub use client::{ClientFiles, ClientTls};
pub use connector::{connect, connect_lazy};
pub use error::TlsError;
pub use files::KeyPairFiles;
pub use peer::{IDENTITY_SCHEME, PeerCertificate};
pub use server::{HandshakeError, Protocol, ServerTls, TlsStream};

#[cfg(test)]
mod tests;
