//! A setting that is out of range, and the checks that find it.

/// A field that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("learner config: {field} is {value}; {remedy}")]
pub struct ConfigError {
    /// Path of the field in the file.
    pub field: String,
    /// The value that was given.
    pub value: String,
    /// What would be accepted.
    pub remedy: String,
}

impl ConfigError {
    /// The game's own complaint.
    pub(crate) fn of_game(error: ouro_game::ConfigError) -> Self {
        let field = format!("game.{}", error.field);
        Self { field, value: error.value, remedy: error.remedy }
    }
}

pub(crate) fn refuse<T>(field: &str, value: impl ToString, remedy: &str) -> Result<T, ConfigError> {
    Err(ConfigError { field: field.into(), value: value.to_string(), remedy: remedy.into() })
}

pub(crate) fn positive(field: &str, value: f64) -> Result<(), ConfigError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    refuse(field, value, "it must be positive and finite")
}

pub(crate) fn range(field: &str, value: f64, low: f64, high: f64) -> Result<(), ConfigError> {
    // Written so that NaN is refused.
    if value >= low && value <= high {
        return Ok(());
    }
    refuse(field, value, &format!("it must be {low} to {high}"))
}

pub(crate) fn count(field: &str, value: usize, low: usize, high: usize) -> Result<(), ConfigError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    refuse(field, value, &format!("it must be {low} to {high}"))
}
