//! Orderly shutdown: one cancellation token, and one tracker that owns every task.
//!
//! A process has one [`Shutdown`]. Services receive clones of its token and spawn their tasks on
//! its tracker, so [`Shutdown::drain`] can wait for all of them. The first signal (Ctrl-C, SIGTERM
//! or SIGHUP) cancels the token. The second abandons the drain (see [`until_signal`]).

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

use crate::error::ServiceError;

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// All work ended before the deadline.
    Clean,
    /// Work was still running at the deadline.
    DeadlinePassed,
}

/// The stop token of a process, and its tasks. Clones share both.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    token: CancellationToken,
    tasks: TaskTracker,
}

impl Shutdown {
    /// A token that is not cancelled, and no task.
    pub fn new() -> Self {
        Self::default()
    }

    /// The token that is cancelled when the process should stop.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Completes when the process should stop.
    pub fn cancelled(&self) -> WaitForCancellationFutureOwned {
        self.token.clone().cancelled_owned()
    }

    /// Cancels the token.
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// Spawns a task that [`drain`](Self::drain) waits for.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn(task)
    }

    /// Cancels the token, then waits for the tasks, at most for `deadline`.
    pub async fn drain(&self, deadline: Duration) -> Drain {
        self.token.cancel();
        self.tasks.close();
        match tokio::time::timeout(deadline, self.tasks.wait()).await {
            Ok(()) => Drain::Clean,
            Err(_) => Drain::DeadlinePassed,
        }
    }
}

/// Drives `work` until it ends, and handles Ctrl-C, SIGTERM and SIGHUP. SIGHUP stays ignored if the
/// process was started so, for example by `nohup`.
///
/// The first signal cancels the token, and `work` continues in order to drain. The second signal
/// drops `work`, and the function returns `Ok(None)`.
pub async fn until_signal<F: Future>(
    shutdown: &Shutdown,
    work: F,
) -> Result<Option<F::Output>, ServiceError> {
    let mut signals = Signals::install()?;
    tokio::pin!(work);
    tokio::select! {
        output = &mut work => return Ok(Some(output)),
        () = signals.next() => {
            tracing::info!("stopping; a second signal stops at once");
            shutdown.cancel();
        }
    }
    tokio::select! {
        output = work => Ok(Some(output)),
        () = signals.next() => Ok(None),
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// SIGHUP, which a closed terminal sends. `None` if the process was started with the signal
    /// ignored, as `nohup` does.
    hangup: Option<tokio::signal::unix::Signal>,
}

/// Whether the process ignores SIGHUP. False where the system does not report it in `/proc`.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| has_ignored_hangup(&status))
}

/// Whether the content of `/proc/self/status` lists SIGHUP as ignored. `SigIgn` is a mask in which
/// the lowest bit is signal 1, SIGHUP (proc(5)).
#[cfg(unix)]
fn has_ignored_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

#[cfg(unix)]
impl Signals {
    fn install() -> Result<Self, ServiceError> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(ServiceError::Signals)?,
            terminate: signal(SignalKind::terminate()).map_err(ServiceError::Signals)?,
            // A handler would end the ignoring, so none is installed.
            hangup: match ignores_hangup() {
                true => None,
                false => Some(signal(SignalKind::hangup()).map_err(ServiceError::Signals)?),
            },
        })
    }

    async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

#[cfg(windows)]
struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(windows)]
impl Signals {
    fn install() -> Result<Self, ServiceError> {
        let interrupt = tokio::signal::windows::ctrl_c().map_err(ServiceError::Signals)?;
        Ok(Self { interrupt })
    }

    async fn next(&mut self) {
        self.interrupt.recv().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_drain_waits_for_tasks_that_observe_the_token() {
        let shutdown = Shutdown::new();
        let task = shutdown.spawn({
            let stop = shutdown.cancelled();
            async move {
                stop.await;
                7
            }
        });
        assert_eq!(shutdown.drain(Duration::from_secs(60)).await, Drain::Clean);
        assert_eq!(task.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_task_that_ignores_the_token_costs_the_deadline_and_no_more() {
        let shutdown = Shutdown::new();
        let endless = shutdown.spawn(std::future::pending::<()>());
        assert_eq!(shutdown.drain(Duration::ZERO).await, Drain::DeadlinePassed);
        endless.abort();
    }

    #[cfg(unix)]
    #[test]
    fn an_ignored_hangup_is_read_from_the_mask() {
        for (status, expected) in [
            ("Name:\tx\nSigIgn:\t0000000000000001\n", true),
            ("SigIgn:\t0000000000001001\nSigCgt:\t0\n", true),
            ("SigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n", false),
            ("", false),
        ] {
            assert_eq!(has_ignored_hangup(status), expected, "{status}");
        }
    }

    #[tokio::test]
    async fn work_that_ends_by_itself_needs_no_signal() {
        let shutdown = Shutdown::new();
        assert_eq!(until_signal(&shutdown, async { 3 }).await.unwrap(), Some(3));
        assert!(!shutdown.token().is_cancelled());
    }
}
