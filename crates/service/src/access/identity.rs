//! The caller of a call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::limits::Quota;
use super::refusals::{Reason, Refusals};
use super::role::Role;

/// Who makes a call, as its token or certificate says. Clones are the same caller.
#[derive(Clone)]
pub struct Identity(Arc<Accepted>);

/// A credential that is accepted.
struct Accepted {
    holder: Holder,
    /// Cancelled once the credential is revoked or has expired.
    revoked: CancellationToken,
    quota: Arc<Quota>,
    refusals: Refusals,
}

/// The holder of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) role: Role,
    /// End of the validity, in seconds since 1970.
    pub(super) expires: Option<u64>,
}

/// Kind of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Token,
    Certificate,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token => "token",
            Self::Certificate => "certificate",
        })
    }
}

impl Identity {
    pub(super) fn new(holder: Holder, quota: Arc<Quota>, refusals: Refusals) -> Self {
        Self(Arc::new(Accepted { holder, revoked: CancellationToken::new(), quota, refusals }))
    }

    /// Another identity of the same holder, with the same quota. Revoking this one does not end its
    /// calls.
    pub(super) fn renewed(&self) -> Self {
        let Accepted { holder, quota, refusals, .. } = &*self.0;
        Self::new(holder.clone(), Arc::clone(quota), refusals.clone())
    }

    /// Name of the holder.
    pub fn name(&self) -> &str {
        &self.0.holder.name
    }

    /// What the holder is.
    pub fn role(&self) -> Role {
        self.0.holder.role
    }

    /// What the holder has presented: `token` or `certificate`.
    pub fn credential(&self) -> impl fmt::Display {
        self.0.holder.kind
    }

    /// Whether the holder may act under `name`: its own name, or `OWN.REST` for one of a group that
    /// shares the credential. An admin may use every name.
    pub fn may_be(&self, name: &str) -> bool {
        self.role() == Role::Admin || includes(self.name(), name)
    }

    /// Counts a message that no working client sends. After too many the credential is refused for
    /// a while: the call ends with this status.
    pub fn report_invalid(&self) -> Result<(), Status> {
        match self.quota().invalid() {
            None => Ok(()),
            Some(wait) => {
                self.0.refusals.count(Reason::Suspended, Some((self.role(), self.name())));
                Err(suspended(self, wait))
            }
        }
    }

    /// Counts what was received. Returns the time for which nothing more may be read.
    pub(super) fn receive(&self, bytes: u64, messages: u64) -> Duration {
        let wait = self.quota().receive(bytes, messages);
        if !wait.is_zero() {
            self.0.refusals.throttled((self.role(), self.name()), wait.as_secs_f64());
        }
        wait
    }

    pub(super) fn is_expired(&self, now: u64) -> bool {
        self.0.holder.expires.is_some_and(|expires| expires <= now)
    }

    /// Cancelled once the credential is revoked or has expired.
    pub fn revoked(&self) -> &CancellationToken {
        &self.0.revoked
    }

    /// What the credential has used.
    pub(super) fn quota(&self) -> &Arc<Quota> {
        &self.0.quota
    }
}

/// Whether the credential of an actor `own` is one of actor `name` as well.
pub(super) fn includes(own: &str, name: &str) -> bool {
    name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The status of a call of a credential that sent too many invalid messages.
pub(super) fn suspended(identity: &Identity, wait: Duration) -> Status {
    let text = format!(
        "the {} of {} sent too many invalid messages; see why in the log of {} and try again in {} s",
        identity.credential(),
        identity.name(),
        identity.name(),
        wait.as_secs().max(1),
    );
    exhausted(text, wait)
}

/// A refusal that ends after `wait`, which the client finds in `retry-after`, in seconds.
pub(super) fn exhausted(text: String, wait: Duration) -> Status {
    let mut status = Status::resource_exhausted(text);
    let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
    status.metadata_mut().insert("retry-after", seconds.into());
    status
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.role())
    }
}
