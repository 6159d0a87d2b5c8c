//! Numbers of refused calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::role::Role;

/// Largest number of credentials that have a series of their own. Further ones share `other`.
const MAX_NAMES: usize = 1_000;
/// The name of the further ones.
const OTHER: &str = "other";

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    Missing,
    Invalid,
    Expired,
    Forbidden,
    Saturated,
    Rate,
    Suspended,
}

impl Reason {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Invalid => "invalid",
            Self::Expired => "expired",
            Self::Forbidden => "forbidden",
            Self::Saturated => "saturated",
            Self::Rate => "rate",
            Self::Suspended => "suspended",
        }
    }
}

/// Numbers of refused calls. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals(Arc<Mutex<Counts>>);

/// Role and name of a credential; empty if it is not known.
pub(super) type Key = (&'static str, String);

/// The numbers, and the seconds of throttled streams.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) calls: BTreeMap<(Reason, Key), u64>,
    pub(super) throttled: BTreeMap<Key, f64>,
}

/// Numbers of refused calls by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusalCounts {
    /// Calls without a credential.
    pub missing: u64,
    /// Calls with a wrong, revoked or malformed credential.
    pub invalid: u64,
    /// Calls with a credential that has expired.
    pub expired: u64,
    /// Calls that the role may not make.
    pub forbidden: u64,
    /// Calls beyond the number that a credential may have open.
    pub saturated: u64,
    /// Calls beyond the number that a credential may start per second.
    pub rate: u64,
    /// Calls of a credential that sent too many invalid messages.
    pub suspended: u64,
}

impl Refusals {
    pub(super) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a refused call; of which credential, if it is known.
    pub(super) fn count(&self, reason: Reason, credential: Option<(Role, &str)>) {
        let mut counts = self.counts();
        let key = (reason, key(credential, counts.calls.len()));
        *counts.calls.entry(key).or_default() += 1;
    }

    /// Counts the time for which a stream is not read.
    pub(super) fn throttled(&self, credential: (Role, &str), seconds: f64) {
        let mut counts = self.counts();
        let key = key(Some(credential), counts.throttled.len());
        *counts.throttled.entry(key).or_default() += seconds;
    }

    pub(super) fn by_reason(&self) -> RefusalCounts {
        let counts = self.counts();
        let sum = |reason| {
            let of_reason = counts.calls.iter().filter(|((one, _), _)| *one == reason);
            of_reason.map(|(_, count)| count).sum()
        };
        RefusalCounts {
            missing: sum(Reason::Missing),
            invalid: sum(Reason::Invalid),
            expired: sum(Reason::Expired),
            forbidden: sum(Reason::Forbidden),
            saturated: sum(Reason::Saturated),
            rate: sum(Reason::Rate),
            suspended: sum(Reason::Suspended),
        }
    }
}

fn key(credential: Option<(Role, &str)>, known: usize) -> Key {
    match credential {
        None => ("", String::new()),
        Some((role, _)) if known >= MAX_NAMES => (role.name(), OTHER.to_owned()),
        Some((role, name)) => (role.name(), name.to_owned()),
    }
}
