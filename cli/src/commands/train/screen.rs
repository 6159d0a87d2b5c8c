//! The display of a run: a live panel on a terminal, one line of JSON per event elsewhere.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use console::{Term, style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::event::Event;
use super::view::View;
use crate::failure::Failure;
use crate::output::Output;

/// Columns of a terminal that does not report its size.
const COLUMNS: u16 = 80;

/// The display of events.
pub(super) struct Screen<'a> {
    output: &'a mut Output,
    panel: Option<Panel>,
}

impl<'a> Screen<'a> {
    /// Creates a panel if standard output is a terminal and JSON is not requested.
    pub(super) fn new(output: &'a mut Output) -> Self {
        let on_terminal = io::stdout().is_terminal() && !output.is_json();
        if !on_terminal {
            output.use_json();
        }
        Self { output, panel: on_terminal.then(Panel::new) }
    }

    /// Returns a writer for log lines: standard error, with the panel suspended.
    pub(super) fn logs(&self) -> impl Fn() -> LogLine + Send + Sync + 'static {
        let bar = self.panel.as_ref().map(|panel| Arc::new(panel.bar.clone()));
        move || LogLine { bar: bar.clone() }
    }

    /// Shows an event.
    pub(super) fn print(&mut self, event: &Event) -> Result<(), Failure> {
        let text = event.to_string();
        match &self.panel {
            Some(Panel { bar }) => {
                if let Event::End(_) = event {
                    bar.finish_and_clear();
                }
                if !text.is_empty() {
                    bar.suspend(|| self.output.result(event, format_args!("{text}\n")))?;
                }
                bar.suspend(|| self.output.flush())
            }
            None => {
                self.output.result(event, text)?;
                self.output.flush()
            }
        }
    }

    /// Redraws the panel, if there is one.
    pub(super) fn draw(&self, view: &View, seconds: f64) {
        if let Some(Panel { bar }) = &self.panel {
            let (_, columns) = Term::stdout().size_checked().unwrap_or((0, COLUMNS));
            // The last column stays free, because some terminals wrap there.
            let lines = view.lines(seconds, usize::from(columns).saturating_sub(1));
            bar.set_message(lines.iter().map(|line| painted(line)).collect::<Vec<_>>().join("\n"));
            bar.tick();
        }
    }
}

/// Dims the name of a line, unless `NO_COLOR` is set.
fn painted(line: &str) -> String {
    match line.split_once(' ') {
        Some((name, rest)) => format!("{} {rest}", style(name).dim()),
        None => line.to_owned(),
    }
}

/// A block of lines at the bottom of the terminal.
struct Panel {
    bar: ProgressBar,
}

impl Panel {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
        let style = ProgressStyle::with_template("{msg}").expect("the template is well-formed");
        Self { bar: bar.with_style(style) }
    }
}

/// Writes log lines to standard error.
pub(super) struct LogLine {
    bar: Option<Arc<ProgressBar>>,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.bar {
            Some(bar) => bar.suspend(|| io::stderr().write(bytes)),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
