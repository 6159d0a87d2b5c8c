//! The thread that writes events and the panel to standard output.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::super::event::Event;
use crate::failure::Failure;
use crate::output::Output;

/// What is shown next.
pub(super) enum Message {
    /// An event, above the panel.
    Event(Box<Event>),
    /// The lines of the panel.
    Panel(String),
}

/// A block of lines at the bottom of the terminal.
pub(super) fn panel() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
    let style = ProgressStyle::with_template("{msg}").expect("the template is well-formed");
    bar.with_style(style)
}

/// Writes to standard output. A write blocks until the reader takes it.
pub(super) struct Printer {
    output: Output,
    /// The panel, if standard output is a terminal.
    bar: Option<ProgressBar>,
}

impl Printer {
    pub(super) fn new(output: Output, bar: Option<ProgressBar>) -> Self {
        Self { output, bar }
    }

    /// A handle of the panel.
    pub(super) fn bar(&self) -> Option<ProgressBar> {
        self.bar.clone()
    }

    /// Shows all messages until their sender is dropped, or until the first error. `waiting` counts those
    /// that are not shown yet.
    pub(super) fn run(
        mut self,
        messages: Receiver<Message>,
        waiting: &AtomicUsize,
    ) -> Result<(), Failure> {
        for message in messages {
            match message {
                Message::Event(event) => self.print(&event)?,
                Message::Panel(lines) => self.draw(lines),
            }
            waiting.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn print(&mut self, event: &Event) -> Result<(), Failure> {
        let text = event.to_string();
        match &self.bar {
            Some(bar) => {
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

    fn draw(&self, lines: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(lines);
            bar.tick();
        }
    }
}
