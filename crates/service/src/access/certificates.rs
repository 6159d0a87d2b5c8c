//! The identities that clients' certificates give.

use std::collections::BTreeMap;
use std::sync::Arc;

use ouro_tls::{IDENTITY_SCHEME, PeerCertificate};

use super::identity::{Holder, Identity, Kind};
use super::limits::{CredentialLimits, Quota};
use super::refusals::Refusals;
use super::role::Role;

/// Longest name of a holder, in bytes.
const MAX_NAME: usize = 64;

/// The holders of certificates that have called. A certificate is verified with its connection, so
/// only names that the authority has signed are here.
#[derive(Debug, Default)]
pub(super) struct Certificates {
    /// By URI.
    holders: BTreeMap<String, Known>,
}

/// A holder that has called.
#[derive(Debug)]
struct Known {
    /// Used parts of the holder's limits. A renewed certificate of the holder shares them.
    quota: Arc<Quota>,
    /// One for each end of validity, and for each state of the authorities.
    identities: Vec<(PeerCertificate, Identity)>,
}

/// The role and the name in `ouro://ROLE/NAME`.
fn parse(uri: &str) -> Option<(Role, &str)> {
    let (role, name) = uri.strip_prefix(IDENTITY_SCHEME)?.split_once('/')?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_plain);
    Some((role.parse().ok()?, name)).filter(|_| is_name)
}

impl Certificates {
    /// The identity that a certificate gives; `None` unless it names exactly one.
    pub(super) fn find(
        &mut self,
        certificate: &PeerCertificate,
        limits: &CredentialLimits,
        refusals: &Refusals,
    ) -> Option<Identity> {
        let [uri] = certificate.identities.as_slice() else { return None };
        let (role, name) = parse(uri)?;
        let new = || Known { quota: Quota::new(limits), identities: Vec::new() };
        let known = self.holders.entry(uri.clone()).or_insert_with(new);
        let found = known.identities.iter().find(|(accepted, _)| accepted == certificate);
        if let Some((_, identity)) = found {
            return Some(identity.clone());
        }
        let holder = Holder {
            kind: Kind::Certificate,
            name: name.to_owned(),
            role,
            expires: Some(certificate.expires),
        };
        let identity = Identity::new(holder, Arc::clone(&known.quota), refusals.clone());
        known.identities.push((certificate.clone(), identity.clone()));
        Some(identity)
    }

    /// Ends the calls of certificates that have expired at `now`, in seconds since 1970, or whose
    /// authorities are not current, and forgets them.
    pub(super) fn expire(&mut self, now: u64) {
        self.holders.retain(|_, known| {
            known.identities.retain(|(certificate, identity)| {
                let is_kept = !identity.is_expired(now) && certificate.is_current();
                if !is_kept {
                    identity.revoked().cancel();
                }
                is_kept
            });
            !known.identities.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_names_exactly_one_role_and_name() {
        let mut certificates = Certificates::default();
        let mut find = |identities: &[&str]| {
            let identities = identities.iter().map(|&uri| uri.to_owned()).collect();
            let certificate = PeerCertificate { identities, expires: 7, authorities: None };
            let found =
                certificates.find(&certificate, &CredentialLimits::default(), &Refusals::default());
            found.map(|identity| (identity.role(), identity.name().to_owned()))
        };
        assert_eq!(find(&["ouro://actor/gpu-1.a"]), Some((Role::Actor, "gpu-1.a".to_owned())));
        assert_eq!(find(&["ouro://admin/root"]), Some((Role::Admin, "root".to_owned())));
        for uri in [
            "ouro://actor",
            "ouro://actor/",
            "ouro://king/x",
            "ouro://Actor/x",
            "ouro://actor/a/b",
            "ouro://actor/a b",
            "https://actor/a",
            "ouro:///a",
        ] {
            assert_eq!(find(&[uri]), None, "{uri}");
        }
        assert_eq!(find(&[&format!("ouro://actor/{}", "a".repeat(65))]), None);
        assert_eq!(find(&[]), None);
        assert_eq!(find(&["ouro://actor/a", "ouro://admin/a"]), None);
    }

    #[test]
    fn a_renewed_certificate_keeps_its_limits_and_an_expired_one_ends_its_calls() {
        let mut certificates = Certificates::default();
        let mut find = |expires| {
            let identities = vec!["ouro://actor/a".to_owned()];
            let certificate = PeerCertificate { identities, expires, authorities: None };
            let limits = CredentialLimits::default();
            certificates.find(&certificate, &limits, &Refusals::default()).unwrap()
        };
        let (old, again, renewed) = (find(7), find(7), find(9));
        assert!(Arc::ptr_eq(old.quota(), renewed.quota()));
        certificates.expire(7);
        let ended = [old, again, renewed].map(|identity| identity.revoked().is_cancelled());
        assert_eq!(ended, [true, true, false]);
        certificates.expire(9);
        assert!(certificates.holders.is_empty());
    }
}
