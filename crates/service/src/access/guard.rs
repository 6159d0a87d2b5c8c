//! Decides about each call.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::codegen::http::HeaderMap;

use super::role::Role;
use super::token::Token;
use super::token_file::{StoredToken, TokenFile, TokenFileError, now};
use super::tokens::{Identity, Tokens, Unknown};
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
    path: PathBuf,
    /// A token of this process's own parts, which is not in the file.
    internal: Option<StoredToken>,
    tokens: RwLock<Tokens>,
    refused: Counters,
    log: Mutex<Throttle>,
}

/// Numbers of refused calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Calls without a token.
    pub missing: u64,
    /// Calls with a wrong, revoked or malformed token.
    pub invalid: u64,
    /// Calls with a token that has expired.
    pub expired: u64,
    /// Calls that the role may not make.
    pub forbidden: u64,
    /// Calls beyond the number that a token may have open.
    pub saturated: u64,
}

#[derive(Debug, Default)]
struct Counters {
    missing: AtomicU64,
    invalid: AtomicU64,
    expired: AtomicU64,
    forbidden: AtomicU64,
    saturated: AtomicU64,
}

/// A call that may be made, while it is open.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(super) identity: Identity,
    pub(super) permit: OwnedSemaphorePermit,
}

/// The status of a call whose token does not count any more.
pub(super) fn revoked(identity: &Identity) -> Status {
    let name = identity.name();
    Status::unauthenticated(format!("the token of {name} was revoked or has expired"))
}

impl Guard {
    /// A guard with the tokens of the file at `path`. Reads the file, hence blocks.
    pub fn open(path: &Path) -> Result<Self, TokenFileError> {
        Self::with_internal(path, None)
    }

    /// Like [`open`](Self::open), and accepts `internal` as an admin. This is for parts of one
    /// process that call each other.
    pub fn with_internal(path: &Path, internal: Option<&Token>) -> Result<Self, TokenFileError> {
        let file = TokenFile::load(path)?;
        let internal = internal.map(|token| StoredToken {
            name: token.name().to_owned(),
            role: Role::Admin,
            sha256: token.digest(),
            created: 0,
            expires: None,
        });
        let mut tokens = Tokens::default();
        tokens.replace(file.tokens.into_iter().chain(internal.clone()));
        Ok(Self(Arc::new(Shared {
            path: path.to_owned(),
            internal,
            tokens: RwLock::new(tokens),
            refused: Counters::default(),
            log: Mutex::new(Throttle::new(LOG_INTERVAL)),
        })))
    }

    /// Follows the file until `stop`, and ends the calls of tokens that are gone or have expired. A
    /// file that cannot be read changes nothing.
    pub async fn follow(self, stop: CancellationToken) {
        let stamp = |path: &Path| {
            let file = std::fs::metadata(path).ok()?;
            Some((file.modified().ok()?, file.len()))
        };
        let mut seen: Option<(SystemTime, u64)> = None;
        let mut failures = Throttle::new(LOG_INTERVAL);
        while tokio::time::timeout(RELOAD, stop.cancelled()).await.is_err() {
            let path = self.0.path.clone();
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
            self.tokens().expire(now());
        }
    }

    fn replace(&self, file: TokenFile) {
        let internal = self.0.internal.clone();
        let mut tokens = self.0.tokens.write().unwrap_or_else(PoisonError::into_inner);
        tokens.replace(file.tokens.into_iter().chain(internal));
    }

    fn tokens(&self) -> std::sync::RwLockReadGuard<'_, Tokens> {
        self.0.tokens.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls refused so far.
    pub fn refusals(&self) -> Refusals {
        let Counters { missing, invalid, expired, forbidden, saturated } = &self.0.refused;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Refusals {
            missing: read(missing),
            invalid: read(invalid),
            expired: read(expired),
            forbidden: read(forbidden),
            saturated: read(saturated),
        }
    }

    /// The accepted tokens of the file by role: their number, and when the first of them expires, in
    /// seconds since 1970. Roles without a token are left out.
    pub fn roles(&self) -> Vec<(Role, u32, Option<u64>)> {
        let (tokens, internal) = (self.tokens(), self.0.internal.as_ref());
        let valid: Vec<_> = tokens.valid(now()).filter(|token| internal != Some(*token)).collect();
        let of = |role: Role| {
            let of_role = valid.iter().filter(|token| token.role == role);
            (role, of_role.clone().count() as u32, of_role.filter_map(|token| token.expires).min())
        };
        Role::ALL.map(of).into_iter().filter(|(_, count, _)| *count > 0).collect()
    }

    /// Whether the headers have a token of one of `roles`, for web pages.
    pub fn permits(&self, headers: &HeaderMap, roles: &[Role]) -> bool {
        self.admit(headers, "the web page", Some(roles)).is_ok()
    }

    /// Admits a call of `method` with these headers if its role is one of `roles`, or whatever its
    /// role is if `None`.
    pub(crate) fn admit(
        &self,
        headers: &HeaderMap,
        method: &str,
        roles: Option<&[Role]>,
    ) -> Result<Admission, Status> {
        let decided = self.decide(headers, method, roles);
        decided.map_err(|(counter, status)| {
            counter.fetch_add(1, Ordering::Relaxed);
            let mut log = self.0.log.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = log.admit() {
                tracing::warn!(method, count, "call refused: {}", status.message());
            }
            status
        })
    }

    fn decide(
        &self,
        headers: &HeaderMap,
        method: &str,
        roles: Option<&[Role]>,
    ) -> Result<Admission, (&AtomicU64, Status)> {
        let refused = &self.0.refused;
        let Some(header) = headers.get("authorization") else {
            let text = "this call needs a token: send `authorization: Bearer TOKEN`; `ouro token \
                        create` makes one";
            return Err((&refused.missing, Status::unauthenticated(text)));
        };
        let token = header.to_str().ok().and_then(Token::from_header);
        let found =
            token.ok_or(Unknown::Invalid).and_then(|token| self.tokens().find(&token, now()));
        let identity = found.map_err(|unknown| match unknown {
            Unknown::Invalid => {
                let text = "this token is not valid here; it may have been revoked";
                (&refused.invalid, Status::unauthenticated(text))
            }
            Unknown::Expired => {
                let text = "this token has expired; `ouro token create` makes a new one";
                (&refused.expired, Status::unauthenticated(text))
            }
        })?;
        let role = identity.role();
        if role != Role::Admin && roles.is_some_and(|roles| !roles.contains(&role)) {
            let text = format!("a token of role {role} may not call {method}");
            return Err((&refused.forbidden, Status::permission_denied(text)));
        }
        let permit = identity.calls().clone().try_acquire_owned().map_err(|_| {
            let text = format!("all calls of the token of {} are taken", identity.name());
            (&refused.saturated, Status::resource_exhausted(text))
        })?;
        Ok(Admission { identity, permit })
    }
}
