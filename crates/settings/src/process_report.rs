//! What a service tells about its process when it is asked for its status.

use std::path::Path;
use std::time::Duration;

use ouro_proto::{AccessReport, ProcessReport, RoleTokens};
use ouro_service::access::{Guard, Role};
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
    let refused = guard.refusals();
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let role = |(role, tokens, expires): (Role, u32, Option<u64>)| RoleTokens {
        role: role.name().to_owned(),
        tokens,
        expires_at: expires.map(|expires| expires as f64),
    };
    AccessReport {
        roles: guard.roles().into_iter().map(role).collect(),
        missing: small(refused.missing),
        invalid: small(refused.invalid),
        expired: small(refused.expired),
        forbidden: small(refused.forbidden),
        saturated: small(refused.saturated),
    }
}

#[cfg(test)]
mod tests {
    use ouro_service::access::{Accepts, Token, TokenFile};

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
        let roles = report.access.unwrap().roles;
        let brief: Vec<_> = roles.iter().map(|role| (&*role.role, role.tokens)).collect();
        assert_eq!(brief, [("actor", 3), ("reader", 1)]);
        assert!(roles[0].expires_at.is_some() && roles[1].expires_at.is_none());
        assert!(report.disk_free_bytes.is_some_and(|bytes| bytes > 0.0));
        assert_eq!(report.unix_seconds, 1.8e9);
        assert_eq!(process_report(now, folder.path(), None).access, None);
    }
}
