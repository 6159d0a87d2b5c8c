//! Numbers of refused calls, as metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_tls::ServerTls;

use super::guard::Guard;
use super::identity::Identity;
use crate::metrics::{Readings, Source};

crate::series! {
    /// The series of guarded ports.
    pub const SERIES = [
        REFUSED: Counter "ouro_access_calls_refused_total" ["reason", "role", "credential"]
            "Calls refused by their credential: `missing`, `invalid`, `expired`, `forbidden` to the role, or beyond the limits of the credential (`saturated`, `rate`, `suspended`). Role and name of the credential are empty if it is not known.";
        THROTTLED: Counter "ouro_access_throttled_seconds_total" ["role", "credential"]
            "Seconds for which streams were not read, because a credential sent more than its messages or bytes per second.";
        HANDSHAKES: Counter "ouro_access_handshakes_refused_total" ["reason"]
            "Connections refused before any call: clients without TLS (`plain`), with an `expired` or `invalid` certificate, with a handshake that took too long (`timeout`), or that refused this server (`other`).";
        EXPIRES: Gauge "ouro_access_certificate_expires_timestamp_seconds" []
            "End of the validity of this process's certificate, in seconds since 1970; absent without TLS.";
    ];
}

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
    fn name(self) -> &'static str {
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
type Key = (&'static str, String);

#[derive(Debug, Default)]
struct Counts {
    calls: BTreeMap<(Reason, Key), u64>,
    throttled: BTreeMap<Key, f64>,
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
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self, reason: Reason, identity: Option<&Identity>) {
        let mut counts = self.counts();
        let key = (reason, key(identity, counts.calls.len()));
        *counts.calls.entry(key).or_default() += 1;
    }

    pub(super) fn throttled(&self, identity: &Identity, seconds: f64) {
        let mut counts = self.counts();
        let key = key(Some(identity), counts.throttled.len());
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

fn key(identity: Option<&Identity>, known: usize) -> Key {
    match identity {
        None => ("", String::new()),
        Some(identity) if known >= MAX_NAMES => (identity.role().name(), OTHER.to_owned()),
        Some(identity) => (identity.role().name(), identity.name().to_owned()),
    }
}

/// Reads the series of the guarded ports of a process.
#[derive(Debug, Default)]
pub struct AccessSource {
    guards: Vec<Guard>,
    tls: Option<ServerTls>,
}

impl AccessSource {
    /// The ports with these guards and this certificate.
    pub fn new(guards: impl IntoIterator<Item = Option<Guard>>, tls: Option<ServerTls>) -> Self {
        Self { guards: guards.into_iter().flatten().collect(), tls }
    }
}

impl Source for AccessSource {
    fn read(&self, readings: &mut Readings<'_>) -> fmt::Result {
        let (mut calls, mut throttled) = (BTreeMap::new(), BTreeMap::new());
        for guard in &self.guards {
            let counts = guard.refused().counts();
            for (key, count) in &counts.calls {
                *calls.entry(key.clone()).or_insert(0_u64) += count;
            }
            for (key, seconds) in &counts.throttled {
                *throttled.entry(key.clone()).or_insert(0.0) += seconds;
            }
        }
        let rows = calls.iter();
        let rows = rows.map(|((reason, (role, name)), count)| ([reason.name(), role, name], *count));
        readings.table(&REFUSED, rows)?;
        let rows = throttled.iter().map(|((role, name), seconds)| ([*role, name.as_str()], *seconds));
        readings.table(&THROTTLED, rows)?;
        let handshakes = self.tls.iter().flat_map(ServerTls::refusals);
        readings.each(&HANDSHAKES, handshakes)?;
        readings.maybe(&EXPIRES, self.tls.as_ref().map(ServerTls::expires))
    }
}
