//! The address of a service.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SettingError;

/// The address of a service, `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Address(String);

/// A text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an address; write HOST:PORT, such as 127.0.0.1:50061")]
pub struct AddressError(String);

impl Address {
    /// A loopback address, which other machines cannot reach.
    pub fn loopback(port: u16) -> Self {
        Self(format!("127.0.0.1:{port}"))
    }

    /// The address to listen on: `listen` if given, else this address. Fails if the host of this
    /// address is then a name instead of an IP address. The error names `deploy.` and `key`.
    pub fn listen(
        &self,
        key: &str,
        listen: Option<SocketAddr>,
    ) -> Result<SocketAddr, SettingError> {
        listen.or_else(|| self.0.parse().ok()).ok_or_else(|| {
            let remedy = "a service listens on an IP address; give one with --listen, such as \
                          --listen 0.0.0.0:PORT";
            SettingError::new(format!("deploy.{key}"), self, remedy)
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let is_host = |host: &str| {
            !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '/')
        };
        let is_address = text.rsplit_once(':').is_some_and(|(host, port)| {
            is_host(host)
                && port.parse::<u16>().is_ok()
                && (!host.contains(':') || text.parse::<SocketAddr>().is_ok())
        });
        if is_address { Ok(Self(text.to_owned())) } else { Err(AddressError(text.to_owned())) }
    }
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(Address(text): Address) -> Self {
        text
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self(address.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for text in ["127.0.0.1:50061", "arena.example:50061", "[::1]:1", "arena:0"] {
            let address: Address = text.parse().expect(text);
            assert_eq!(String::from(address), text);
        }
        for text in ["", "arena", ":1", "arena:", "arena:66666", "http://a:1", "a b:1", "::1:5"] {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn a_service_listens_on_its_own_address_unless_another_is_given() {
        let other = SocketAddr::from(([0, 0, 0, 0], 7));
        let named: Address = "arena:7".parse().expect("an address");
        assert_eq!(Address::loopback(5).listen("arena", None), Ok(([127, 0, 0, 1], 5).into()));
        assert_eq!(named.listen("arena", Some(other)), Ok(other));
        let error = named.listen("arena", None).expect_err("a name").to_string();
        assert!(error.starts_with("deploy.arena is arena:7; ") && error.contains("--listen"));
    }
}
