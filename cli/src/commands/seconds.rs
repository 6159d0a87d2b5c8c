//! A number of seconds on the command line: the duration of a measurement or of a search.

/// Parses a number above 0 and at most 3600.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 3600.0 => Ok(seconds),
        _ => Err("it must be a number above 0 and at most 3600".to_owned()),
    }
}
