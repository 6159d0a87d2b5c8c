//! Who may call the services, and who tried and may not.

use std::net::IpAddr;

use ouro_proto::{AccessReport, ProcessReport};

use super::super::facts::Facts;
use super::super::finding::Finding;
use super::list;

/// Time before the end of a token that is worth a warning, in seconds.
const SOON: f64 = 7.0 * 86_400.0;
/// What to do about callers whose credential does not permit the call.
const UNFIT: &str = "the log of the service names the method; give the process its token or \
                     certificate, or close the port";
/// What to do about callers that exceed the limits of their credential.
const BUSY: &str = "`ouro_access_calls_refused_total` names the credential; give its holders \
                    several, or raise deploy.limits";
/// What to do about callers whose credential is suspended.
const SUSPENDED: &str = "`ouro_access_calls_refused_total` names the credential; the log of its \
                         holder says why its games are invalid";

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(arena) = facts.arena() {
        let (before, now) = (&arena.facts.before.process, &arena.facts.now.process);
        let address = &facts.arena.address;
        found.extend(service("arena", address, &["actor", "learner"], before, now));
    }
    if let Some(learner) = facts.learner() {
        let (before, now) = (&learner.facts.before.process, &learner.facts.now.process);
        found.extend(service("learner", &facts.learner.address, &["actor"], before, now));
    }
    found
}

/// The findings about a service that `roles` must be able to call.
fn service(
    name: &'static str,
    address: &str,
    roles: &[&str],
    before: &Option<ProcessReport>,
    now: &Option<ProcessReport>,
) -> Vec<Finding> {
    let Some(now) = now else { return Vec::new() };
    let Some(access) = &now.access else { return vec![open(name, address)] };
    let before = before.as_ref().and_then(|before| before.access.as_ref());
    vec![tokens(name, roles, access, now.unix_seconds), callers(name, before, access)]
}

fn open(name: &'static str, address: &str) -> Finding {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    if host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback()) {
        return Finding::ok("tokens", name, "none needed on this machine");
    }
    let remedy = "set deploy.tokens (see `ouro token`), unless the network is private";
    Finding::warn("tokens", name, "everybody who reaches the port may call", remedy)
}

fn tokens(name: &'static str, roles: &[&str], access: &AccessReport, now: f64) -> Finding {
    if access.certificates && access.roles.is_empty() {
        return Finding::ok("tokens", name, "callers present certificates");
    }
    // A service does not know which certificates exist, so a role without a token may have one.
    let have = |role: &str| {
        access.certificates
            || access.roles.iter().any(|one| one.role == role || one.role == "admin")
    };
    let lacking: Vec<String> =
        roles.iter().filter(|role| !have(role)).map(|role| (*role).to_owned()).collect();
    if !lacking.is_empty() {
        let value = format!("no token of role {}", list(&lacking));
        let remedy = "make one with `ouro token create NAME --role ROLE`";
        return Finding::warn("tokens", name, value, remedy);
    }
    let ending = access.roles.iter().filter_map(|role| Some((role.expires_at?, role)));
    let first = ending.min_by(|(one, _), (other, _)| one.total_cmp(other));
    if let Some((at, role)) = first.filter(|(at, _)| at - now < SOON) {
        let days = ((at - now) / 86_400.0).max(0.0);
        let value = format!("a token of role {} expires in {days:.1} days", role.role);
        let remedy =
            "create another, give it to its holder, then `ouro token revoke NAME --keep-newest`";
        return Finding::warn("tokens", name, value, remedy);
    }
    let counts = access.roles.iter().map(|role| format!("{} {}", role.tokens, role.role));
    let certificates = access.certificates.then(|| "certificates".to_owned());
    let accepted: Vec<String> = counts.chain(certificates).collect();
    Finding::ok("tokens", name, format!("accepted: {}", accepted.join(", ")))
}

fn callers(name: &'static str, before: Option<&AccessReport>, now: &AccessReport) -> Finding {
    let earlier = refusals(before.unwrap_or(now)).map(|(count, ..)| count);
    let (new, mut remedies): (Vec<String>, Vec<&str>) = refusals(now)
        .into_iter()
        .zip(earlier)
        .filter(|((count, ..), earlier)| count > earlier)
        .map(|((count, why, remedy), earlier)| (format!("{} {why}", count - earlier), remedy))
        .unzip();
    if new.is_empty() {
        let total = now.refused();
        return Finding::ok("callers", name, format!("{total} calls refused since the start"));
    }
    remedies.dedup();
    let value = format!("calls are refused now: {}", new.join(", "));
    Finding::warn("callers", name, value, remedies.join("; "))
}

/// The refused calls: their number, the reason, and what to do. Reasons with one remedy are in a
/// row.
fn refusals(access: &AccessReport) -> [(u32, &'static str, &'static str); 7] {
    [
        (access.missing, "without a credential", UNFIT),
        (access.invalid, "with a wrong credential", UNFIT),
        (access.expired, "with an expired credential", UNFIT),
        (access.forbidden, "of a wrong role", UNFIT),
        (access.saturated, "beyond the open calls of a credential", BUSY),
        (access.rate, "beyond the calls per second of a credential", BUSY),
        (access.suspended, "of a suspended credential", SUSPENDED),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::super::finding::Level::Warn;
    use super::super::testing::{NOW, after, assert_one, of_arena, of_learner};
    use super::*;

    fn access(facts: &mut Facts) -> &mut AccessReport {
        let process = of_arena(facts).facts.now.process.as_mut().expect("it reports");
        process.access.as_mut().expect("it asks for tokens")
    }

    #[test]
    fn an_open_port_is_found_unless_only_this_machine_reaches_it() {
        let open = |address: &'static str| {
            move |facts: &mut Facts| {
                facts.learner.address = address.to_owned();
                let process = of_learner(facts).facts.now.process.as_mut();
                process.expect("it reports").access = None;
            }
        };
        let parts = ["everybody", "deploy.tokens"];
        assert_one(Warn, "tokens", "learner", &parts, open("learner:50062"));
        for address in ["127.0.0.1:1", "[::1]:1", "localhost:1"] {
            assert!(after(open(address)).is_empty(), "{address}");
        }
    }

    #[test]
    fn a_missing_role_and_a_token_that_ends_soon_are_found() {
        assert_one(Warn, "tokens", "arena", &["no token of role learner"], |facts| {
            access(facts).roles.retain(|role| role.role != "learner");
        });
        assert_one(Warn, "tokens", "arena", &["actor expires in 2.0 days", "revoke"], |facts| {
            access(facts).roles[0].expires_at = Some(NOW + 2.0 * 86_400.0);
        });
        let later = |facts: &mut Facts| access(facts).roles[0].expires_at = Some(NOW + 1e6);
        assert!(after(later).is_empty());
        let admin = |facts: &mut Facts| {
            access(facts).roles.truncate(1);
            access(facts).roles[0].role = "admin".to_owned();
        };
        assert!(after(admin).is_empty());
    }

    #[test]
    fn with_certificates_no_role_needs_a_token() {
        let alone = |facts: &mut Facts| {
            let arena = of_arena(facts).facts.now.process.as_mut();
            let arena = arena.and_then(|process| process.access.as_mut()).expect("it asks");
            (arena.certificates, arena.roles) = (true, Vec::new());
            let learner = of_learner(facts).facts.now.process.as_mut();
            let learner = learner.and_then(|process| process.access.as_mut()).expect("it asks");
            (learner.certificates, learner.roles) = (true, Vec::new());
        };
        assert!(after(alone).is_empty());
        let beside = |facts: &mut Facts| {
            let access = access(facts);
            access.certificates = true;
            access.roles.retain(|role| role.role == "reader");
        };
        assert!(after(beside).is_empty());
        // Tokens still end.
        assert_one(Warn, "tokens", "arena", &["reader expires in 2.0 days"], |facts| {
            beside(facts);
            access(facts).roles[0].expires_at = Some(NOW + 2.0 * 86_400.0);
        });
        let said = |access: &AccessReport| tokens("arena", &["actor"], access, NOW).value;
        let mut facts = super::super::testing::healthy();
        beside(&mut facts);
        assert_eq!(said(access(&mut facts)), "accepted: 1 reader, certificates");
        alone(&mut facts);
        assert_eq!(said(access(&mut facts)), "callers present certificates");
    }

    #[test]
    fn only_calls_that_are_refused_now_are_found() {
        let parts = ["2 without a credential, 1 of a wrong role", "its token or certificate"];
        assert_one(Warn, "callers", "arena", &parts, |facts| {
            let access = access(facts);
            (access.missing, access.forbidden) = (5, 1);
        });
    }

    #[test]
    fn calls_beyond_the_limits_of_a_credential_are_found() {
        let parts = ["now: 2 of a suspended credential; ", "games are invalid"];
        assert_one(Warn, "callers", "arena", &parts, |facts| access(facts).suspended = 2);
        let parts = ["now: 2 beyond the calls per second of a credential; ", "deploy.limits"];
        assert_one(Warn, "callers", "arena", &parts, |facts| access(facts).rate = 2);
        // Each remedy is given once.
        let parts = ["3 beyond the open calls", "2 beyond the calls per second"];
        let both = |facts: &mut Facts| {
            let access = access(facts);
            (access.saturated, access.rate) = (3, 2);
        };
        assert_one(Warn, "callers", "arena", &parts, both);
        assert_eq!(after(both)[0].remedy.as_deref(), Some(BUSY));
    }
}
