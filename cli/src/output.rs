//! Standard output, as text or as JSON.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Where a command prints its data.
pub(crate) struct Output {
    writer: Box<dyn Write>,
    json: bool,
}

impl Output {
    /// Standard output; `json` selects the form.
    pub(crate) fn stdout(json: bool) -> Self {
        Self { writer: Box::new(BufWriter::new(io::stdout())), json }
    }

    /// Whether results are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints JSON from now on.
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

    /// Shows a prompt and hands over everything before it.
    pub(crate) fn prompt(&mut self, text: &str) -> Result<(), Failure> {
        write!(self.writer, "{text}")?;
        self.flush()
    }

    /// Hands over what is still buffered.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.writer.flush()?)
    }
}
