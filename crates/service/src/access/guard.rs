//! Decides about each call.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::codegen::http::HeaderMap;

use super::certificates::Certificates;
use super::identity::{Identity, exhausted, suspended};
use super::limits::{CredentialLimits, Refused};
use super::refusals::{Reason, RefusalCounts, Refusals};
use super::role::Role;
use super::token::Token;
use super::token_file::{StoredToken, TokenFile, TokenFileError, now};
use super::tokens::{Tokens, Unknown};
use crate::connections::PeerInfo;
use crate::throttle::Throttle;

/// Time between two looks at the tokens file.
const RELOAD: Duration = Duration::from_secs(1);
/// Time between two log lines about refused calls.
const LOG_INTERVAL: Duration = Duration::from_secs(30);

/// The methods of a service, `/package.Service/Method`, with the roles that may call them. Admins
/// may call every method, and nobody else one that is not listed.
pub type Permissions = &'static [(&'static str, &'static [Role])];

/// Decides who may call. Clones share everything.
#[derive(Clone, Debug)]
pub struct Guard(Arc<Shared>);

/// A guard equals its clones.
impl PartialEq for Guard {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Debug)]
struct Shared {
    path: Option<PathBuf>,
    tokens: RwLock<Tokens>,
    /// `None`: certificates identify no caller.
    certificates: Option<Mutex<Certificates>>,
    limits: CredentialLimits,
    refused: Refusals,
    log: Mutex<Throttle>,
}

/// What a guard accepts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accepts<'a> {
    /// The tokens in this file.
    pub tokens: Option<&'a Path>,
    /// This token, as an admin; for parts of one process that call each other.
    pub internal: Option<&'a Token>,
    /// The certificates that the port has verified.
    pub certificates: bool,
    /// What each credential may use.
    pub limits: CredentialLimits,
}

/// A call that may be made, while it is open.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(super) identity: Identity,
    pub(super) permit: OwnedSemaphorePermit,
}

/// The status of a call whose credential does not count any more.
pub(super) fn revoked(identity: &Identity) -> Status {
    let (kind, name) = (identity.credential(), identity.name());
    Status::unauthenticated(format!("the {kind} of {name} was revoked or has expired"))
}

impl Guard {
    /// A guard that accepts the tokens of the file at `path`. Reads the file, hence blocks.
    pub fn open(path: &Path) -> Result<Self, TokenFileError> {
        Self::new(Accepts { tokens: Some(path), ..Accepts::default() })
    }

    /// A guard. Reads the tokens file, hence blocks.
    pub fn new(accepts: Accepts<'_>) -> Result<Self, TokenFileError> {
        let file = accepts.tokens.map(TokenFile::load).transpose()?.unwrap_or_default();
        let internal = accepts.internal.map(|token| StoredToken {
            name: token.name().to_owned(),
            role: Role::Admin,
            sha256: token.digest(),
            created: 0,
            expires: None,
        });
        let refused = Refusals::default();
        let mut tokens = Tokens::new(accepts.limits, refused.clone(), internal);
        tokens.replace(file.tokens);
        Ok(Self(Arc::new(Shared {
            path: accepts.tokens.map(Path::to_owned),
            tokens: RwLock::new(tokens),
            certificates: accepts.certificates.then(Mutex::default),
            limits: accepts.limits,
            refused,
            log: Mutex::new(Throttle::new(LOG_INTERVAL)),
        })))
    }

    /// Follows the file until `stop`, and ends the calls of credentials that are gone or have
    /// expired, and of certificates whose authorities are not current. A file that cannot be read
    /// changes nothing.
    pub async fn follow(self, stop: CancellationToken) {
        let stamp = |path: &Path| {
            let file = std::fs::metadata(path).ok()?;
            Some((file.modified().ok()?, file.len()))
        };
        let mut seen: Option<(SystemTime, u64)> = None;
        let mut failures = Throttle::new(LOG_INTERVAL);
        while tokio::time::timeout(RELOAD, stop.cancelled()).await.is_err() {
            self.expire(now());
            let Some(path) = self.0.path.clone() else { continue };
            let look =
                move || (stamp(&path) != seen).then(|| (stamp(&path), TokenFile::load(&path)));
            // The task only fails if it panics, and it does not.
            let Ok(looked) = tokio::task::spawn_blocking(look).await else { return };
            match looked {
                None => {}
                Some((stamp, Ok(file))) => {
                    if seen.is_some() {
                        tracing::info!(tokens = file.tokens.len(), "tokens file changed");
                    }
                    seen = stamp;
                    self.replace(file);
                }
                Some((_, Err(error))) if failures.admit().is_some() => {
                    tracing::warn!("{error}; the tokens before stay valid");
                }
                Some((_, Err(_))) => {}
            }
        }
    }

    fn expire(&self, now: u64) {
        self.0.tokens.write().unwrap_or_else(PoisonError::into_inner).expire(now);
        if let Some(certificates) = &self.0.certificates {
            certificates.lock().unwrap_or_else(PoisonError::into_inner).expire(now);
        }
    }

    fn replace(&self, file: TokenFile) {
        if let Some((wide, narrow)) = file.overlap() {
            tracing::warn!(
                "the token of {wide} may act as {narrow}, which has a token; revoke one"
            );
        }
        let mut tokens = self.0.tokens.write().unwrap_or_else(PoisonError::into_inner);
        tokens.replace(file.tokens);
    }

    fn tokens(&self) -> std::sync::RwLockReadGuard<'_, Tokens> {
        self.0.tokens.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls refused so far.
    pub fn refusals(&self) -> RefusalCounts {
        self.0.refused.by_reason()
    }

    /// The accepted tokens of the file by role: their number, and when the first of them expires, in
    /// seconds since 1970. Roles without a token are left out.
    pub fn roles(&self) -> Vec<(Role, u32, Option<u64>)> {
        let tokens = self.tokens();
        let valid: Vec<_> = tokens.valid(now()).collect();
        let of = |role: Role| {
            let of_role = valid.iter().filter(|token| token.role == role);
            (role, of_role.clone().count() as u32, of_role.filter_map(|token| token.expires).min())
        };
        Role::ALL.map(of).into_iter().filter(|(_, count, _)| *count > 0).collect()
    }

    /// Whether certificates identify callers.
    pub fn accepts_certificates(&self) -> bool {
        self.0.certificates.is_some()
    }

    pub(super) fn refused(&self) -> &Refusals {
        &self.0.refused
    }

    /// The caller of a request for a web page; `None` if it has no credential of one of `roles`.
    pub fn visitor(
        &self,
        headers: &HeaderMap,
        peer: Option<&PeerInfo>,
        roles: &[Role],
    ) -> Option<Identity> {
        let admitted = self.admit(headers, peer, "the web page", Some(roles));
        admitted.ok().map(|admission| admission.identity)
    }

    /// Admits a call of `method` with these headers if its role is one of `roles`, or whatever its
    /// role is if `None`.
    pub(crate) fn admit(
        &self,
        headers: &HeaderMap,
        peer: Option<&PeerInfo>,
        method: &str,
        roles: Option<&[Role]>,
    ) -> Result<Admission, Status> {
        let identified = self.identify(headers, peer);
        let decided = identified.map_err(|(reason, status)| (reason, status, None));
        let decided = decided.and_then(|identity| {
            let admitted = admit(&identity, method, roles);
            admitted.map_err(|(reason, status)| (reason, status, Some(identity)))
        });
        decided.map_err(|(reason, status, identity)| {
            let credential = identity.as_ref().map(|one| (one.role(), one.name()));
            self.0.refused.count(reason, credential);
            let mut log = self.0.log.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = log.admit() {
                tracing::warn!(method, count, "call refused: {}", status.message());
            }
            status
        })
    }

    /// The caller. Its token counts, if it sends one; else the certificate of its connection.
    fn identify(
        &self,
        headers: &HeaderMap,
        peer: Option<&PeerInfo>,
    ) -> Result<Identity, (Reason, Status)> {
        if let Some(header) = headers.get("authorization") {
            let token = header.to_str().ok().and_then(Token::from_header);
            let found =
                token.ok_or(Unknown::Invalid).and_then(|token| self.tokens().find(&token, now()));
            return found.map_err(|unknown| match unknown {
                Unknown::Invalid => {
                    let text = "this token is not valid here; it may have been revoked";
                    (Reason::Invalid, Status::unauthenticated(text))
                }
                Unknown::Expired => {
                    let text = "this token has expired; `ouro token create` makes a new one";
                    (Reason::Expired, Status::unauthenticated(text))
                }
            });
        }
        let certificate = peer.and_then(|peer| peer.certificate.as_deref());
        let (Some(certificates), Some(certificate)) = (&self.0.certificates, certificate) else {
            return Err((Reason::Missing, Status::unauthenticated(self.missing())));
        };
        // It was verified only when the connection was opened.
        if !certificate.is_current() {
            let text = "an authority was removed from deploy.tls_client_ca after this connection \
                        was opened; connect again";
            return Err((Reason::Invalid, Status::unauthenticated(text)));
        }
        let mut certificates = certificates.lock().unwrap_or_else(PoisonError::into_inner);
        let found = certificates.find(certificate, &self.0.limits, &self.0.refused);
        let identity = found.ok_or_else(|| {
            let text = "this certificate names no caller; it needs exactly one URI \
                        ouro://ROLE/NAME among its alternative names";
            (Reason::Invalid, Status::unauthenticated(text))
        })?;
        // It was valid when the connection was opened.
        if identity.is_expired(now()) {
            let text = "this certificate has expired; connect with a new one";
            return Err((Reason::Expired, Status::unauthenticated(text)));
        }
        Ok(identity)
    }

    fn missing(&self) -> &'static str {
        match (&self.0.path, &self.0.certificates) {
            (None, Some(_)) => {
                "this call needs a client certificate with the URI ouro://ROLE/NAME; set \
                 deploy.tls_certificate and deploy.tls_key"
            }
            (Some(_), Some(_)) => {
                "this call needs a client certificate or a token: send `authorization: Bearer \
                 TOKEN`; `ouro token create` makes one"
            }
            _ => {
                "this call needs a token: send `authorization: Bearer TOKEN`; `ouro token create` \
                 makes one"
            }
        }
    }
}

/// Admits a call of a caller, if its role and its limits permit.
fn admit(
    identity: &Identity,
    method: &str,
    roles: Option<&[Role]>,
) -> Result<Admission, (Reason, Status)> {
    let (role, kind, name) = (identity.role(), identity.credential(), identity.name());
    if role != Role::Admin && roles.is_some_and(|roles| !roles.contains(&role)) {
        let text = format!("a {kind} of role {role} may not call {method}");
        return Err((Reason::Forbidden, Status::permission_denied(text)));
    }
    identity.quota().start_call().map_err(|refused| match refused {
        Refused::Suspended(wait) => (Reason::Suspended, suspended(identity, wait)),
        Refused::Rate(wait) => {
            let text = format!("the {kind} of {name} starts too many calls per second");
            (Reason::Rate, exhausted(text, wait))
        }
    })?;
    let permit = identity.quota().open_calls.clone().try_acquire_owned().map_err(|_| {
        let text = format!("all calls of the {kind} of {name} are taken");
        (Reason::Saturated, Status::resource_exhausted(text))
    })?;
    Ok(Admission { identity: identity.clone(), permit })
}
