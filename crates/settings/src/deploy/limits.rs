//! What one credential may use.

use std::time::Duration;

use ouro_service::access::CredentialLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one token or certificate may use at each service. A group of actors that shares a token shares
/// its limits. Services that everybody may call have none of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Calls open at once, streams included. Further ones are refused.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub open_calls: usize,
    /// Calls started per second, over ten seconds. Further ones are refused.
    #[schemars(range(min = 1))]
    pub calls_per_second: u32,
    /// Messages received per second, over ten seconds. Further ones wait.
    #[schemars(range(min = 1))]
    pub messages_per_second: u32,
    /// MiB received per second, over ten seconds. Further ones wait.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub mib_per_second: u32,
    /// Games per minute that no working actor sends: forged, or of other rules. All calls of a
    /// credential that sends more are refused for `suspension_seconds`.
    #[schemars(range(min = 1))]
    pub invalid_per_minute: u32,
    /// Seconds for which all calls of a credential are refused once it has sent more invalid games
    /// than `invalid_per_minute`.
    #[schemars(range(min = 1, max = 86_400))]
    pub suspension_seconds: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        let limits = CredentialLimits::default();
        Self {
            open_calls: limits.open_calls,
            calls_per_second: limits.calls_per_second,
            messages_per_second: limits.messages_per_second,
            mib_per_second: (limits.bytes_per_second >> 20) as u32,
            invalid_per_minute: limits.invalid_per_minute,
            suspension_seconds: limits.suspension.as_secs() as u32,
        }
    }
}

impl From<&LimitsConfig> for CredentialLimits {
    fn from(config: &LimitsConfig) -> Self {
        Self {
            open_calls: config.open_calls,
            calls_per_second: config.calls_per_second,
            messages_per_second: config.messages_per_second,
            bytes_per_second: u64::from(config.mib_per_second) << 20,
            invalid_per_minute: config.invalid_per_minute,
            suspension: Duration::from_secs(config.suspension_seconds.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_services() {
        assert_eq!(CredentialLimits::from(&LimitsConfig::default()), CredentialLimits::default());
    }
}
