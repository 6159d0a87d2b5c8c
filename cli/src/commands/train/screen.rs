//! The display of a run: a live panel on a terminal, one line of JSON per event elsewhere.
//!
//! A thread of its own writes to standard output, because a write blocks while the reader takes nothing.
//! The run itself trains and ends in the meantime. While many events are not written yet, progress is left
//! out. All other events are kept until the [end](Screen::finish).

mod printer;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use console::{Term, style};
use indicatif::ProgressBar;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;

use self::printer::{Message, Printer};
use super::event::Event;
use super::view::View;
use crate::failure::Failure;
use crate::output::Output;

/// Columns of a terminal that does not report its size.
const COLUMNS: u16 = 80;

/// Messages that wait for the reader when progress starts to be left out.
const MOST_WAITING: usize = 64;

/// The display of events.
pub(super) struct Screen {
    /// The panel, if standard output is a terminal.
    bar: Option<ProgressBar>,
    /// To the thread that writes; `None` after the last event.
    messages: Option<mpsc::Sender<Message>>,
    /// Messages that are not written yet.
    waiting: Arc<AtomicUsize>,
    /// The end of the thread; `None` once it was reported.
    ended: Option<oneshot::Receiver<Result<(), Failure>>>,
}

impl Screen {
    /// Creates a panel if standard output is a terminal and JSON is not requested. Takes the writer of
    /// `output`.
    pub(super) fn new(output: &mut Output) -> Result<Self, Failure> {
        let on_terminal = io::stdout().is_terminal() && !output.is_json();
        if !on_terminal {
            output.use_json();
        }
        Self::start(Printer::new(output.take(), on_terminal.then(printer::panel)))
    }

    /// Starts the thread that writes.
    fn start(printer: Printer) -> Result<Self, Failure> {
        let bar = printer.bar();
        let (messages, received) = mpsc::channel();
        let (end, ended) = oneshot::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let write = move || {
            // Without a screen there is no reader of the result.
            let _ = end.send(printer.run(received, &left));
        };
        thread::Builder::new().name("screen".to_owned()).spawn(write)?;
        Ok(Self { bar, messages: Some(messages), waiting, ended: Some(ended) })
    }

    /// Returns a writer for log lines: standard error, with the panel suspended.
    pub(super) fn logs(&self) -> impl Fn() -> LogLine + Send + Sync + 'static {
        let bar = self.bar.clone().map(Arc::new);
        move || LogLine { bar: bar.clone() }
    }

    /// Shows an event. Returns at once: [`failed`](Self::failed) and [`finish`](Self::finish) report errors.
    pub(super) fn print(&self, event: Event) {
        let may_be_left_out = matches!(event, Event::Progress(_));
        self.send(Message::Event(Box::new(event)), may_be_left_out);
    }

    /// Redraws the panel, if there is one.
    pub(super) fn draw(&self, view: &View, seconds: f64) {
        if self.bar.is_some() {
            let (_, columns) = Term::stdout().size_checked().unwrap_or((0, COLUMNS));
            // The last column stays free, because some terminals wrap there.
            let lines = view.lines(seconds, usize::from(columns).saturating_sub(1));
            let lines: Vec<String> = lines.iter().map(|line| painted(line)).collect();
            self.send(Message::Panel(lines.join("\n")), true);
        }
    }

    fn send(&self, message: Message, may_be_left_out: bool) {
        let Some(messages) = &self.messages else { return };
        if may_be_left_out && self.waiting.load(Ordering::Relaxed) >= MOST_WAITING {
            return;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // A thread that has ended reports why through `ended`.
        let _ = messages.send(message);
    }

    /// Waits for an error of standard output, and reports each once. Never returns without one.
    pub(super) async fn failed(&mut self) -> Failure {
        if let Some(ended) = &mut self.ended {
            let end = result(ended.await);
            self.ended = None;
            if let Err(failure) = end {
                return failure;
            }
        }
        std::future::pending().await
    }

    /// Waits until all events are written, at most so long. Reports an error that was not reported yet.
    pub(super) async fn finish(&mut self, limit: Duration) -> Result<(), Failure> {
        // The thread ends after the messages that are left.
        self.messages = None;
        let Some(ended) = self.ended.take() else { return Ok(()) };
        let Ok(end) = tokio::time::timeout(limit, ended).await else {
            return Err(Failure::io(
                "cannot write to standard output: its reader takes nothing; events.jsonl in the \
                 folder of the run has all events",
            ));
        };
        result(end)
    }
}

/// The result of the thread that writes.
fn result(end: Result<Result<(), Failure>, RecvError>) -> Result<(), Failure> {
    end.unwrap_or_else(|_| Err(Failure::bug("the thread of standard output panicked")))
}

/// Dims the name of a line, unless `NO_COLOR` is set.
fn painted(line: &str) -> String {
    match line.split_once(' ') {
        Some((name, rest)) => format!("{} {rest}", style(name).dim()),
        None => line.to_owned(),
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

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::super::event::Progress;
    use super::*;

    /// A pipe whose reader takes nothing until the sender of `released` is dropped.
    struct Stalled {
        released: mpsc::Receiver<()>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.released.recv();
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            written.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A pipe without a reader.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn screen(writer: impl Write + Send + 'static) -> Screen {
        let started = Screen::start(Printer::new(Output::to(writer, true), None));
        started.expect("a thread starts")
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn while_nothing_is_read_progress_is_left_out_and_other_events_wait() {
        let (release, released) = mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut screen = screen(Stalled { released, written: Arc::clone(&written) });
        for _ in 0..1_000 {
            screen.print(Event::Progress(Progress::default()));
            screen.print(Event::Resumed);
        }
        drop(release);
        screen.finish(LONG).await.expect("all is written");
        let written = written.lock().expect("no panic").clone();
        let text = String::from_utf8(written).expect("JSON");
        let count = |name: &str| text.lines().filter(|line| line.contains(name)).count();
        assert_eq!((count("\"progress\""), count("\"resumed\"")), (MOST_WAITING / 2, 1_000));
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_named_at_the_end() {
        let (release, released) = mpsc::channel();
        let mut screen = screen(Stalled { released, written: Arc::default() });
        screen.print(Event::Resumed);
        let failure = screen.finish(Duration::from_millis(1)).await.expect_err("nothing is read");
        let text = format!("{failure:?}");
        assert!(text.contains("code: 74") && text.contains("events.jsonl"), "{text}");
        drop(release);
    }

    #[tokio::test]
    async fn an_error_of_the_output_is_reported_once() {
        let mut screen = screen(Closed);
        screen.print(Event::Resumed);
        assert!(screen.failed().await.has_no_reader());
        screen.print(Event::Draining);
        screen.finish(LONG).await.expect("it was reported");
    }
}
