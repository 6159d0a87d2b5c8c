//! The address of a port for HTTP: the arena's web page, or metrics.

use std::net::SocketAddr;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The text for "no such port".
const OFF: &str = "off";

/// The address of a port for HTTP; `None` is written `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct WebAddress(pub Option<SocketAddr>);

/// A text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an address of this machine; write one such as 127.0.0.1:8080, or off")]
pub struct WebAddressError(String);

impl Default for WebAddress {
    /// The default of the web page: port 8080 of the loopback address.
    fn default() -> Self {
        Self(Some(SocketAddr::from(([127, 0, 0, 1], 8080))))
    }
}

impl FromStr for WebAddress {
    type Err = WebAddressError;

    fn from_str(text: &str) -> Result<Self, WebAddressError> {
        if text == OFF {
            return Ok(Self(None));
        }
        text.parse().map(|address| Self(Some(address))).map_err(|_| WebAddressError(text.into()))
    }
}

impl TryFrom<String> for WebAddress {
    type Error = WebAddressError;

    fn try_from(text: String) -> Result<Self, WebAddressError> {
        text.parse()
    }
}

impl From<WebAddress> for String {
    fn from(WebAddress(address): WebAddress) -> Self {
        address.map_or_else(|| OFF.to_owned(), |address| address.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_it_is_written_and_off_is_none() {
        assert_eq!("off".parse(), Ok(WebAddress(None)));
        for address in [WebAddress::default(), WebAddress(None)] {
            assert_eq!(String::from(address).parse(), Ok(address));
        }
        let error = "localhost".parse::<WebAddress>().unwrap_err().to_string();
        assert!(error.contains("\"localhost\"") && error.contains("127.0.0.1:8080, or off"));
    }
}
