//! The result of one check.

use std::fmt;

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    /// As it should be.
    Ok,
    /// The run continues, but worse than it could.
    Warn,
    /// The run does not continue, or loses data if nothing is done.
    Fail,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) level: Level,
    /// Name of the check.
    pub(super) check: &'static str,
    /// What was checked: a service, or `actors`.
    pub(super) subject: &'static str,
    /// What was found.
    pub(super) value: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, subject: &'static str, value: impl Into<String>) -> Self {
        Self { level: Level::Ok, check, subject, value: value.into(), remedy: None }
    }

    pub(super) fn warn(
        check: &'static str,
        subject: &'static str,
        value: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let remedy = Some(remedy.into());
        Self { level: Level::Warn, check, subject, value: value.into(), remedy }
    }

    pub(super) fn fail(
        check: &'static str,
        subject: &'static str,
        value: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { level: Level::Fail, ..Self::warn(check, subject, value, remedy) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Ok => "OK",
            Level::Warn => "WARN",
            Level::Fail => "FAIL",
        };
        // A cause from elsewhere may end with spaces or have several lines.
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(f, "{level:<4}  {:<10}  {:<7}  {}", self.check, self.subject, line(&self.value))?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {}", line(remedy)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line() {
        let finding = Finding::fail("reach", "arena", "refused\n at x", "start it");
        assert_eq!(finding.to_string(), "FAIL  reach       arena    refused at x; start it");
        let json = serde_json::to_value(Finding::ok("reach", "arena", "answers")).unwrap();
        assert_eq!(json["level"], "ok");
        assert!(json.get("remedy").is_none());
    }
}
