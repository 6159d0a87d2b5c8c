//! The accepted tokens in memory, and the identities that they give.

use std::collections::HashMap;

use super::identity::{Holder, Identity, Kind};
use super::limits::{CredentialLimits, Quota};
use super::refusals::Refusals;
use super::token::Token;
use super::token_file::StoredToken;

/// Why a token gives no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// No such name, or another secret. Callers do not learn which.
    Invalid,
    /// The secret is right, and the time is over.
    Expired,
}

/// All accepted tokens.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    limits: CredentialLimits,
    refusals: Refusals,
    /// Of this process's own parts, without limits.
    internal: Option<(StoredToken, Identity)>,
    by_name: HashMap<String, Vec<(StoredToken, Identity)>>,
}

fn holder(stored: &StoredToken) -> Holder {
    let (name, role) = (stored.name.clone(), stored.role);
    Holder { kind: Kind::Token, name, role, expires: stored.expires }
}

impl Tokens {
    /// No tokens yet, except for `internal`; each but this may use as much as `limits` says.
    pub(super) fn new(
        limits: CredentialLimits,
        refusals: Refusals,
        internal: Option<StoredToken>,
    ) -> Self {
        let internal = internal.map(|stored| {
            let quota = Quota::new(&CredentialLimits::UNLIMITED);
            let identity = Identity::new(holder(&stored), quota, refusals.clone());
            (stored, identity)
        });
        Self { limits, refusals, internal, by_name: HashMap::new() }
    }

    /// Replaces all tokens. Those that stay keep their open calls. The others are revoked.
    pub(super) fn replace(&mut self, stored: impl IntoIterator<Item = StoredToken>) {
        let mut old: Vec<_> = self.by_name.drain().flat_map(|(_, of_name)| of_name).collect();
        for stored in stored {
            let known = old.iter().position(|(token, _)| *token == stored);
            let identity = match known {
                Some(index) => old.swap_remove(index).1,
                None => {
                    let quota = Quota::new(&self.limits);
                    Identity::new(holder(&stored), quota, self.refusals.clone())
                }
            };
            self.by_name.entry(stored.name.clone()).or_default().push((stored, identity));
        }
        for (_, gone) in old {
            gone.revoked().cancel();
        }
    }

    /// Ends the calls of tokens that have expired at `now`, in seconds since 1970. Each such token
    /// gets a new identity: it is valid again if a clock that jumped ahead is set back.
    pub(super) fn expire(&mut self, now: u64) {
        let identities = self.by_name.values_mut().flatten().map(|(_, identity)| identity);
        for identity in identities.filter(|identity| identity.is_expired(now)) {
            let renewed = identity.renewed();
            std::mem::replace(identity, renewed).revoked().cancel();
        }
    }

    /// The tokens of the file that count at `now`, in seconds since 1970.
    pub(super) fn valid(&self, now: u64) -> impl Iterator<Item = &StoredToken> {
        let all = self.by_name.values().flatten();
        all.filter(move |(_, identity)| !identity.is_expired(now)).map(|(stored, _)| stored)
    }

    /// The identity that `token` gives at `now`, in seconds since 1970.
    pub(super) fn find(&self, token: &Token, now: u64) -> Result<Identity, Unknown> {
        let digest = token.digest();
        let of_name = self.by_name.get(token.name()).into_iter().flatten();
        let internal = self.internal.iter().filter(|(stored, _)| stored.name == token.name());
        // Hashes are compared, not secrets: how long it takes says nothing about a secret.
        let mut found = of_name.chain(internal).filter(|(stored, _)| stored.sha256 == digest);
        let (_, found) = found.next().ok_or(Unknown::Invalid)?;
        if found.is_expired(now) { Err(Unknown::Expired) } else { Ok(found.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::access::{Role, TokenFile};

    #[test]
    fn a_new_list_ends_what_is_gone_and_keeps_what_stays() {
        let mut file = TokenFile::default();
        let kept = file.create("kept", Role::Actor, None).unwrap();
        let gone = file.create("gone", Role::Actor, None).unwrap();
        let brief = file.create("brief", Role::Actor, Some(1)).unwrap();
        let expires = file.tokens[2].expires.unwrap();
        let mut tokens = Tokens::default();
        tokens.replace(file.tokens.clone());
        let identities = [&kept, &gone, &brief].map(|token| tokens.find(token, 0).unwrap());

        file.revoke("gone", false).unwrap();
        tokens.replace(file.tokens.clone());
        tokens.expire(expires - 1);
        let ended = || identities.each_ref().map(|one| one.revoked().is_cancelled());
        assert_eq!(ended(), [false, true, false]);
        tokens.expire(expires);
        assert_eq!(ended(), [false, true, true]);
        assert!(tokens.find(&kept, u64::MAX).is_ok());
        assert_eq!(tokens.find(&gone, 0).unwrap_err(), Unknown::Invalid);
        assert_eq!(tokens.find(&brief, expires).unwrap_err(), Unknown::Expired);
        let forged = Token::create("kept").unwrap();
        assert_eq!(tokens.find(&forged, 0).unwrap_err(), Unknown::Invalid);
        // A clock that jumps ahead ends open calls. Once it is set back, the token is valid again,
        // also after the file was read again without a change of its entry.
        for _ in 0..2 {
            let again = tokens.find(&brief, expires - 1).unwrap();
            assert!(!again.revoked().is_cancelled());
            assert!(Arc::ptr_eq(again.quota(), identities[2].quota()));
            tokens.expire(expires);
            assert!(again.revoked().is_cancelled());
            tokens.replace(file.tokens.clone());
        }
    }

    #[test]
    fn a_holder_acts_under_its_own_name_or_as_one_of_its_group() {
        let mut file = TokenFile::default();
        let tokens = [("gpu", Role::Actor), ("root", Role::Admin)]
            .map(|(name, role)| file.create(name, role, None).unwrap());
        let mut accepted = Tokens::default();
        accepted.replace(file.tokens);
        let [actor, admin] = tokens.map(|token| accepted.find(&token, 0).unwrap());
        for (name, may) in
            [("gpu", true), ("gpu.7", true), ("gpu7", false), ("other", false), ("", false)]
        {
            assert_eq!(actor.may_be(name), may, "{name}");
            assert!(admin.may_be(name));
        }
    }
}
