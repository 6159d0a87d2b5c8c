//! Standard output, as text or as JSON.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::failure::Failure;

/// The writer for the data of a command.
pub(crate) struct Output {
    writer: Box<dyn Write>,
    json: bool,
}

impl Output {
    /// Standard output, as JSON or as text.
    pub(crate) fn stdout(json: bool) -> Self {
        Self { writer: Box::new(BufWriter::new(io::stdout())), json }
    }

    /// Whether results are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Switches to JSON.
    pub(crate) fn use_json(&mut self) {
        self.json = true;
    }

    /// Prints one result: `value` as one line of JSON, or `text` as it is.
    pub(crate) fn result<T: Serialize>(
        &mut self,
        value: &T,
        text: impl Display,
    ) -> Result<(), Failure> {
        if self.json {
            serde_json::to_writer(&mut self.writer, value).map_err(io::Error::from)?;
            writeln!(self.writer)?;
        } else {
            write!(self.writer, "{text}")?;
        }
        Ok(())
    }

    /// Prints a prompt and flushes the buffer.
    pub(crate) fn prompt(&mut self, text: &str) -> Result<(), Failure> {
        write!(self.writer, "{text}")?;
        self.flush()
    }

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.writer.flush()?)
    }
}
