//! What every service reports about its process.

use crate::service::v1 as wire;

/// Maximum number of roles in a report, which bounds its size.
const MOST_ROLES: usize = 16;

/// A running process: what it is, its clock, its disk and its callers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessReport {
    /// The service: `learner`, `arena` or `train`.
    pub service: String,
    /// Version of the program.
    pub version: String,
    /// The run; empty until the process knows it.
    pub run: String,
    /// Name of the game.
    pub game: String,
    /// Unix time by the clock of the process, in seconds.
    pub unix_seconds: f64,
    /// Free space on the disk of the service's files, in bytes.
    pub disk_free_bytes: Option<f64>,
    /// Whose calls are accepted; `None` if everybody may call.
    pub access: Option<AccessReport>,
}

/// The accepted tokens, and the calls refused since the start of the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessReport {
    /// The accepted tokens by role.
    pub roles: Vec<RoleTokens>,
    /// Calls without a token.
    pub missing: u32,
    /// Calls with a wrong, revoked or malformed token.
    pub invalid: u32,
    /// Calls with a token that has expired.
    pub expired: u32,
    /// Calls that the role may not make.
    pub forbidden: u32,
    /// Calls beyond the number that a token may have open.
    pub saturated: u32,
    /// Whether certificates of clients identify callers. A role then needs no token.
    pub certificates: bool,
    /// Calls beyond the number that a credential may start per second.
    pub rate: u32,
    /// Calls of a credential that sent too many invalid messages.
    pub suspended: u32,
}

/// The accepted tokens of one role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleTokens {
    /// Name of the role.
    pub role: String,
    /// Number of tokens that have not expired.
    pub tokens: u32,
    /// Unix time at which the first of them expires, in seconds.
    pub expires_at: Option<f64>,
}

impl AccessReport {
    /// Calls refused for any reason.
    pub fn refused(&self) -> u32 {
        let by_credential = [self.missing, self.invalid, self.expired, self.forbidden];
        let by_limit = [self.saturated, self.rate, self.suspended];
        by_credential.into_iter().chain(by_limit).fold(0, u32::saturating_add)
    }
}

impl From<wire::Process> for ProcessReport {
    fn from(process: wire::Process) -> Self {
        let wire::Process { service, version, run, game, unix_seconds, disk_free_bytes, access } =
            process;
        let access = access.map(Into::into);
        Self { service, version, run, game, unix_seconds, disk_free_bytes, access }
    }
}

impl From<ProcessReport> for wire::Process {
    fn from(process: ProcessReport) -> Self {
        let ProcessReport { service, version, run, game, unix_seconds, disk_free_bytes, access } =
            process;
        let access = access.map(Into::into);
        Self { service, version, run, game, unix_seconds, disk_free_bytes, access }
    }
}

impl From<wire::Access> for AccessReport {
    fn from(access: wire::Access) -> Self {
        let wire::Access {
            roles,
            missing,
            invalid,
            expired,
            forbidden,
            saturated,
            certificates,
            rate,
            suspended,
        } = access;
        let role =
            |wire::RoleTokens { role, tokens, expires_at }| RoleTokens { role, tokens, expires_at };
        let roles = roles.into_iter().take(MOST_ROLES).map(role).collect();
        Self {
            roles,
            missing,
            invalid,
            expired,
            forbidden,
            saturated,
            certificates,
            rate,
            suspended,
        }
    }
}

impl From<AccessReport> for wire::Access {
    fn from(access: AccessReport) -> Self {
        let AccessReport {
            roles,
            missing,
            invalid,
            expired,
            forbidden,
            saturated,
            certificates,
            rate,
            suspended,
        } = access;
        let role =
            |RoleTokens { role, tokens, expires_at }| wire::RoleTokens { role, tokens, expires_at };
        let roles = roles.into_iter().map(role).collect();
        Self {
            roles,
            missing,
            invalid,
            expired,
            forbidden,
            saturated,
            certificates,
            rate,
            suspended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_survives_the_wire() {
        let roles = vec![RoleTokens { role: "actor".to_owned(), tokens: 2, expires_at: Some(9.5) }];
        let access = AccessReport {
            roles,
            missing: 1,
            forbidden: 3,
            certificates: true,
            rate: 5,
            suspended: 7,
            ..AccessReport::default()
        };
        let process = ProcessReport {
            service: "arena".to_owned(),
            version: "0.1.0".to_owned(),
            run: "0011223344556677".to_owned(),
            game: "battlesnake".to_owned(),
            unix_seconds: 1.25,
            disk_free_bytes: Some(4096.0),
            access: Some(access),
        };
        let wire = wire::Process::from(process.clone());
        assert_eq!(process.access.as_ref().map(AccessReport::refused), Some(16));
        assert_eq!(ProcessReport::from(wire), process);
    }
}
