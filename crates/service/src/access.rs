//! Tokens and certificates with roles: who may call what, and how much.
//!
//! A port that other machines can reach is guarded. Each call then carries `authorization: Bearer
//! NAME.SECRET`, or its connection has a client's certificate that names `ouro://ROLE/NAME`. The
//! [`Guard`] looks up the name of a token in the [tokens file](TokenFile) and compares the hash of
//! the secret; certificates were verified with the connection, and count while the port accepts the
//! authorities that verified them. A call with both is one of the token. The guard then checks that
//! the role permits the method, and the [limits](CredentialLimits) of the credential. It does so
//! before any byte of the call's body is read, so an uninvited caller costs one hash. The handler
//! finds the caller's [`Identity`] in the extensions of the request.
//!
//! A connection without an admitted call is closed after a minute
//! ([`ConnectionLimits::admission`](crate::ConnectionLimits::admission)). Peers without a credential
//! could otherwise hold all connections of a port.
//!
//! The tokens file holds hashes only. Secrets are 256 random bits, so a plain SHA-256 is enough
//! against guessing. The file is read again when it changes. Calls of a token that was revoked or
//! has expired are then ended, streams included. So are those of a certificate that has expired or
//! whose authority was removed.

mod certificates;
mod guard;
mod guarded;
mod identity;
mod limits;
pub mod metrics;
mod open_body;
mod refusals;
mod role;
mod token;
mod token_file;
mod tokens;

pub use guard::{Accepts, Guard, Permissions};
pub(crate) use guarded::Guarded;
pub use identity::Identity;
pub use limits::CredentialLimits;
pub use refusals::RefusalCounts;
pub use role::{Role, UnknownRole};
pub use token::{Token, TokenError};
pub use token_file::{StoredToken, TokenFile, TokenFileError, TokenFileLock};
