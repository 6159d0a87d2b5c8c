//! What a service tells about its process when it is asked for its status.

use std::path::Path;
use std::time::Duration;

use ouro_proto::{AccessReport, ProcessReport, RoleTokens};
use ouro_service::access::{Guard, RefusalCounts, Role};
use ouro_service::identity;
use ouro_service::metrics::free_bytes;

/// The report of this process at Unix time `now`, with its files in `folder` and its callers checked
/// by `guard`.
pub fn process_report(now: Duration, folder: &Path, guard: Option<&Guard>) -> ProcessReport {
    let identity = identity();
    ProcessReport {
        service: identity.service().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        run: identity.run().to_owned(),
        game: identity.game().to_owned(),
        unix_seconds: now.as_secs_f64(),
        disk_free_bytes: free_bytes(folder).map(|bytes| bytes as f64),
        access: guard.map(access_report),
    }
}

fn access_report(guard: &Guard) -> AccessReport {
    // All fields by name, so that a new reason is not left out of the report.
    let RefusalCounts { missing, invalid, expired, forbidden, saturated, rate, suspended } =
        guard.refusals();
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let role = |(role, tokens, expires): (Role, u32, Option<u64>)| RoleTokens {
        role: role.name().to_owned(),
        tokens,
        expires_at: expires.map(|expires| expires as f64),
    };
    AccessReport {
        roles: guard.roles().into_iter().map(role).collect(),
        missing: small(missing),
        invalid: small(invalid),
        expired: small(expired),
        forbidden: small(forbidden),
        saturated: small(saturated),
        certificates: guard.accepts_certificates(),
        rate: small(rate),
        suspended: small(suspended),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ouro_service::access::{Accepts, CredentialLimits, Token, TokenFile};
    use ouro_service::connections::PeerInfo;
    use ouro_tls::PeerCertificate;

    use super::*;

    #[test]
    fn a_report_counts_the_tokens_of_each_role_but_not_the_internal_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let mut file = TokenFile::default();
        for (name, days) in [("a", None), ("b", Some(9)), ("c", Some(3))] {
            file.create(name, Role::Actor, days).unwrap();
        }
        file.create("me", Role::Reader, None).unwrap();
        file.save(&path).unwrap();
        let internal = Token::create("process").unwrap();
        let accepts =
            Accepts { tokens: Some(&path), internal: Some(&internal), ..Accepts::default() };
        let guard = Guard::new(accepts).unwrap();
        let now = Duration::from_secs(1_800_000_000);
        let report = process_report(now, folder.path(), Some(&guard));
        let access = report.access.unwrap();
        assert!(!access.certificates);
        let roles = access.roles;
        let brief: Vec<_> = roles.iter().map(|role| (&*role.role, role.tokens)).collect();
        assert_eq!(brief, [("actor", 3), ("reader", 1)]);
        assert!(roles[0].expires_at.is_some() && roles[1].expires_at.is_none());
        assert!(report.disk_free_bytes.is_some_and(|bytes| bytes > 0.0));
        assert_eq!(report.unix_seconds, 1.8e9);
        assert_eq!(process_report(now, folder.path(), None).access, None);
    }

    #[test]
    fn a_report_tells_of_certificates_and_counts_calls_beyond_the_limits() {
        let folder = tempfile::tempdir().unwrap();
        let limits = CredentialLimits {
            calls_per_second: 1,
            invalid_per_minute: 1,
            ..CredentialLimits::default()
        };
        let accepts = Accepts { certificates: true, limits, ..Accepts::default() };
        let guard = Guard::new(accepts).unwrap();
        let identities = vec!["ouro://actor/a".to_owned()];
        let certificate = PeerCertificate { identities, expires: u64::MAX, authorities: None };
        let peer = PeerInfo { certificate: Some(Arc::new(certificate)), ..PeerInfo::default() };
        let call = || guard.visitor(&Default::default(), Some(&peer), &[Role::Actor]);
        let caller = call().unwrap();
        let refused = (0..1_000).filter(|_| call().is_none()).count() as u32;
        assert!(refused > 0);
        assert!(caller.report_invalid().is_ok());
        // The second message suspends the credential, and ends the call that sent it.
        assert!(caller.report_invalid().is_err());
        assert!(call().is_none());
        let access = process_report(Duration::ZERO, folder.path(), Some(&guard)).access.unwrap();
        assert!(access.certificates && access.roles.is_empty());
        assert_eq!((access.rate, access.suspended), (refused, 2));
        assert_eq!(access.refused(), refused + 2);
    }
}
