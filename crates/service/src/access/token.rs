//! The text that a client presents: `NAME.SECRET`.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Characters of a name.
const MAX_NAME: usize = 64;

/// A name and its secret. The text form is `NAME.SECRET` with 64 hexadecimal digits as the secret.
/// `Debug` leaves the secret out.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    name: String,
    secret: String,
}

/// Why a text is not a token, or a token cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The name has other characters, or none, or too many.
    #[error("{0:?} is not a name; give 1 to 64 letters, digits, dots, underscores or dashes")]
    Name(String),
    /// The text has no secret of the right form. It is left out of the message.
    #[error("this is not a token; it has the form NAME.SECRET, as `ouro token create` prints it")]
    Form,
    /// The system has no random numbers.
    #[error("no random numbers from the system: {0}")]
    Random(getrandom::Error),
}

impl Token {
    /// A token with a new secret.
    pub fn create(name: &str) -> Result<Self, TokenError> {
        check_name(name)?;
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret).map_err(TokenError::Random)?;
        Ok(Self { name: name.to_owned(), secret: hex(&secret) })
    }

    /// The name of its holder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of the secret, in hexadecimal digits. This is what a tokens file holds.
    pub fn digest(&self) -> String {
        hex(&Sha256::digest(self.secret.as_bytes()))
    }

    /// The whole text, secret included.
    pub fn reveal(&self) -> String {
        format!("{}.{}", self.name, self.secret)
    }

    /// The token of an HTTP header: a bearer token, or the name and the secret as HTTP Basic user
    /// and password, which browsers ask their users for.
    pub(super) fn from_header(value: &str) -> Option<Self> {
        let (scheme, rest) = value.split_once(' ')?;
        let rest = rest.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return rest.parse().ok();
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let text = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
        let (name, secret) = text.split_once(':')?;
        // Users paste the whole token as the password as well.
        let whole = secret.parse().ok().filter(|token: &Self| token.name == name);
        whole.or_else(|| format!("{name}.{secret}").parse().ok())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("name", &self.name).finish_non_exhaustive()
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let (name, secret) = text.rsplit_once('.').ok_or(TokenError::Form)?;
        let is_secret = secret.len() == 2 * SECRET_BYTES && is_hex(secret);
        if !is_secret || check_name(name).is_err() {
            return Err(TokenError::Form);
        }
        Ok(Self { name: name.to_owned(), secret: secret.to_owned() })
    }
}

/// Checks the name of a holder.
pub(super) fn check_name(name: &str) -> Result<(), TokenError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(TokenError::Name(name.chars().take(MAX_NAME).collect())),
    }
}

/// Whether all characters are lower-case hexadecimal digits.
pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_two_are_never_equal() {
        let token = Token::create("gpu.host-1").unwrap();
        assert_eq!(token.reveal().parse::<Token>().unwrap(), token);
        assert_ne!(token, Token::create("gpu.host-1").unwrap());
        assert_eq!(token.digest().len(), 64);
        let shown = format!("{token:?}");
        assert!(shown.contains("gpu.host-1") && !token.reveal().contains(&shown), "{shown}");
        assert!(!shown.contains(&token.secret));
    }

    #[test]
    fn other_texts_are_refused_without_repeating_a_secret() {
        let secret = "0".repeat(64);
        for text in ["", "a", ".", "a.", "a.0", &format!(".{secret}"), &format!("a b.{secret}")] {
            let error = text.parse::<Token>().unwrap_err().to_string();
            assert!(error.contains("NAME.SECRET") && !error.contains(&secret), "{error}");
        }
        assert!(format!("a.{}", secret.replace('0', "G")).parse::<Token>().is_err());
        assert!(Token::create("").is_err() && Token::create(&"a".repeat(65)).is_err());
    }

    #[test]
    fn headers_of_programs_and_of_browsers_carry_the_same_token() {
        let token: Token = format!("me.{}", "0f".repeat(32)).parse().unwrap();
        let bearer = |text: &str| Token::from_header(text);
        assert_eq!(bearer(&format!("Bearer {}", token.reveal())), Some(token.clone()));
        assert_eq!(bearer(&format!("bearer  {} ", token.reveal())), Some(token.clone()));
        // "me:" and the secret, encoded by coreutils' base64.
        let basic = "Basic bWU6MGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYw\
                     ZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZg==";
        assert_eq!(bearer(basic), Some(token));
        for text in ["", "Bearer", "Bearer x", "Basic", "Basic %", "Basic bWU=", "Digest a"] {
            assert_eq!(bearer(text), None, "{text}");
        }
    }
}
