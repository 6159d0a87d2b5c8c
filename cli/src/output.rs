//! Standard output, as text or as JSON.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::failure::Failure;

/// The writer for the data of a command.
pub(crate) struct Output {
    writer: Box<dyn Write + Send>,
    json: bool,
}

impl Output {
    /// Standard output, as JSON or as text.
    pub(crate) fn stdout(json: bool) -> Self {
        Self { writer: Box::new(BufWriter::new(io::stdout())), json }
    }

    /// Any other writer.
    #[cfg(test)]
    pub(crate) fn to(writer: impl Write + Send + 'static, json: bool) -> Self {
        Self { writer: Box::new(writer), json }
    }

    /// Takes the writer, for a thread that writes from now on. What is printed here is then discarded.
    pub(crate) fn take(&mut self) -> Self {
        Self { writer: std::mem::replace(&mut self.writer, Box::new(io::sink())), json: self.json }
    }

    /// Whether results are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Switches to JSON.
    pub(crate) fn use_json(&mut self) {
        self.json = true;
    }

    /// Prints one result: `value` as one line of JSON, or `text`, whose control characters are
    /// escaped: it may come from a file that someone else wrote.
    pub(crate) fn result<T: Serialize>(
        &mut self,
        value: &T,
        text: impl Display,
    ) -> Result<(), Failure> {
        let written = if self.json {
            serde_json::to_writer(&mut self.writer, value)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(self.writer))
        } else {
            write!(self.writer, "{}", printable(&text.to_string()))
        };
        written.map_err(unwritten)
    }

    /// Prints a result and returns its exit code, also if standard output has no reader any more: a
    /// script may need the code alone.
    pub(crate) fn verdict<T: Serialize>(
        &mut self,
        code: ExitCode,
        value: &T,
        text: impl Display,
    ) -> Result<ExitCode, Failure> {
        let printed = self.result(value, text).and_then(|()| self.flush());
        match printed {
            Err(failure) if failure.has_no_reader() => {
                // The bytes that are left would fail again at the next flush.
                self.writer = Box::new(io::sink());
                Ok(code)
            }
            printed => printed.map(|()| code),
        }
    }

    /// Prints a prompt and flushes the buffer.
    pub(crate) fn prompt(&mut self, text: &str) -> Result<(), Failure> {
        write!(self.writer, "{text}").map_err(unwritten)?;
        self.flush()
    }

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.writer.flush().map_err(unwritten)
    }
}

/// The error of a write to standard output. The kind stays: a closed pipe is no error of a command.
fn unwritten(error: io::Error) -> Failure {
    let text = format!("cannot write to standard output: {error}");
    io::Error::new(error.kind(), text).into()
}

/// A text without control characters that a terminal would obey.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let is_harmful = |one: char| one.is_control() && one != '\n' && one != '\t';
    if !text.contains(is_harmful) {
        return text.into();
    }
    let escape = |one: char| {
        if is_harmful(one) { one.escape_default().to_string() } else { one.to_string() }
    };
    text.chars().map(escape).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_text_stays() {
        assert_eq!(printable("plain → 1\n\t2"), "plain → 1\n\t2");
        assert_eq!(printable("\u{1b}[31mred\r\u{9b}"), "\\u{1b}[31mred\\r\\u{9b}");
    }
}
