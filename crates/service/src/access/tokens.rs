//! The accepted tokens in memory, and the identities that they give.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::role::Role;
use super::token::Token;
use super::token_file::StoredToken;

/// Maximum number of open calls of one token. A token may serve a whole group of actors, each of
/// which holds two streams.
const MAX_CALLS: usize = 1_024;

/// Who makes a call, as its token says. Clones are the same caller.
#[derive(Clone)]
pub struct Identity(Arc<Accepted>);

/// A token that is accepted.
struct Accepted {
    stored: StoredToken,
    /// Cancelled once the token is revoked or has expired.
    revoked: CancellationToken,
    calls: Arc<Semaphore>,
}

/// Why a token gives no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// No such name, or another secret. Callers do not learn which.
    Invalid,
    /// The secret is right, and the time is over.
    Expired,
}

/// All accepted tokens by name.
#[derive(Debug, Default)]
pub(super) struct Tokens(HashMap<String, Vec<Identity>>);

impl Identity {
    /// Name of the holder.
    pub fn name(&self) -> &str {
        &self.0.stored.name
    }

    /// What the holder is.
    pub fn role(&self) -> Role {
        self.0.stored.role
    }

    /// Whether the holder may act under `name`: its own name, or `OWN.REST` for one of a group that
    /// shares the token. An admin may use every name.
    pub fn may_be(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.name());
        self.role() == Role::Admin
            || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Cancelled once the token is revoked or has expired.
    pub(super) fn revoked(&self) -> &CancellationToken {
        &self.0.revoked
    }

    /// Places for open calls.
    pub(super) fn calls(&self) -> &Arc<Semaphore> {
        &self.0.calls
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.role())
    }
}

impl Tokens {
    /// Replaces all tokens. Those that stay keep their open calls. The others are revoked.
    pub(super) fn replace(&mut self, stored: impl IntoIterator<Item = StoredToken>) {
        let mut old: Vec<Identity> = self.0.drain().flat_map(|(_, of_name)| of_name).collect();
        for stored in stored {
            let known = old.iter().position(|identity| identity.0.stored == stored);
            let identity = match known {
                Some(index) => old.swap_remove(index),
                None => Identity(Arc::new(Accepted {
                    stored,
                    revoked: CancellationToken::new(),
                    calls: Arc::new(Semaphore::new(MAX_CALLS)),
                })),
            };
            self.0.entry(identity.name().to_owned()).or_default().push(identity);
        }
        for gone in old {
            gone.0.revoked.cancel();
        }
    }

    /// Ends the calls of tokens that have expired at `now`, in seconds since 1970.
    pub(super) fn expire(&self, now: u64) {
        for identity in self.0.values().flatten().filter(|one| one.0.stored.is_expired(now)) {
            identity.0.revoked.cancel();
        }
    }

    /// The tokens that count at `now`, in seconds since 1970: role and end of each.
    pub(super) fn valid(&self, now: u64) -> impl Iterator<Item = &StoredToken> {
        self.0.values().flatten().map(|one| &one.0.stored).filter(move |one| !one.is_expired(now))
    }

    /// The identity that `token` gives at `now`, in seconds since 1970.
    pub(super) fn find(&self, token: &Token, now: u64) -> Result<Identity, Unknown> {
        let digest = token.digest();
        let of_name = self.0.get(token.name()).into_iter().flatten();
        // Hashes are compared, not secrets: how long it takes says nothing about a secret.
        let mut found = of_name.filter(|one| one.0.stored.sha256 == digest);
        let found = found.next().ok_or(Unknown::Invalid)?;
        if found.0.stored.is_expired(now) || found.0.revoked.is_cancelled() {
            return Err(Unknown::Expired);
        }
        Ok(found.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::TokenFile;

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
