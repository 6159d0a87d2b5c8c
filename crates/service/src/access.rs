//! Bearer tokens with roles: who may call what.
//!
//! A port that other machines can reach is guarded. Each call then carries `authorization: Bearer
//! NAME.SECRET`. The [`Guard`] looks up the name in the [tokens file](TokenFile), compares the hash
//! of the secret, and checks that the role permits the method. It does so before any byte of the
//! call's body is read, so an uninvited caller costs one hash. The handler finds the caller's
//! [`Identity`] in the extensions of the request.
//!
//! The tokens file holds hashes only. Secrets are 256 random bits, so a plain SHA-256 is enough
//! against guessing. The file is read again when it changes. Calls of a token that was revoked or
//! has expired are then ended, streams included.

mod guard;
mod guarded;
mod open_body;
mod role;
mod token;
mod token_file;
mod tokens;

pub use guard::{Guard, Permissions, Refusals};
pub(crate) use guarded::Guarded;
pub use role::{Role, UnknownRole};
pub use token::{Token, TokenError};
pub use token_file::{StoredToken, TokenFile, TokenFileError};
pub use tokens::Identity;
