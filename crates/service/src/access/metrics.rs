//! The series of guarded ports for Prometheus.

use std::collections::BTreeMap;
use std::fmt;

use ouro_tls::ServerTls;

use super::guard::Guard;
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
        let rows =
            rows.map(|((reason, (role, name)), count)| ([reason.name(), role, name], *count));
        readings.table(&REFUSED, rows)?;
        let rows =
            throttled.iter().map(|((role, name), seconds)| ([*role, name.as_str()], *seconds));
        readings.table(&THROTTLED, rows)?;
        let handshakes = self.tls.iter().flat_map(ServerTls::refusals);
        readings.each(&HANDSHAKES, handshakes)?;
        readings.maybe(&EXPIRES, self.tls.as_ref().map(ServerTls::expires))
    }
}
