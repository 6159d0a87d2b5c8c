//! The error of an invalid setting: its key, its value and the remedy.

use ouro_proto::text::brief;

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}; {remedy}")]
pub struct SettingError {
    /// Path of the key in the file, or of the innermost table that holds the problem.
    pub key: String,
    /// The value that was given.
    pub value: String,
    /// The values that are accepted, or what to change.
    pub remedy: String,
}

impl SettingError {
    /// The error that `key` is `value`; `remedy` names the accepted values or the change to make.
    /// Of a long value only the start and the end are kept.
    pub fn new(key: impl Into<String>, value: impl ToString, remedy: impl ToString) -> Self {
        Self { key: key.into(), value: brief(&value.to_string()), remedy: remedy.to_string() }
    }

    /// A value that the game refuses.
    pub fn of_game(error: ouro_game::ConfigError) -> Self {
        Self::new(format!("game.{}", error.field), error.value, error.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_loses_its_middle() {
        let long = format!("a{}z", "é".repeat(100_000));
        let text = SettingError::new("key", &long, "shorten it").to_string();
        assert!(text.starts_with("key is aé") && text.ends_with("éz; shorten it"), "{text}");
        assert!(text.chars().count() < 300, "{text}");
    }
}
