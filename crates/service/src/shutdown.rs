//! Orderly shutdown: one token that says stop, one tracker that owns every task.
//!
//! A process has one [`Shutdown`]. Services get clones of its token and spawn their tasks on
//! its tracker, so that [`Shutdown::drain`] knows when the last has ended. The first Ctrl-C or
//! SIGTERM cancels the token; the second gives up on draining (see [`until_signal`]).

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

use crate::ServiceError;

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// Everything ended by itself.
    Clean,
    /// The deadline passed with work still running.
    DeadlinePassed,
}

/// The stop signal of a process and the tasks that listen to it. Clones share both.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    token: CancellationToken,
    tasks: TaskTracker,
}

impl Shutdown {
    /// Nothing stopped, no task.
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

    /// Asks everything to stop.
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// Runs a task that [`drain`](Self::drain) waits for.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn(task)
    }

    /// Cancels the token and waits at most `deadline` for the tasks.
    pub async fn drain(&self, deadline: Duration) -> Drain {
        self.token.cancel();
        self.tasks.close();
        match tokio::time::timeout(deadline, self.tasks.wait()).await {
            Ok(()) => Drain::Clean,
            Err(_) => Drain::DeadlinePassed,
        }
    }
}

/// Drives `work` and listens for Ctrl-C and SIGTERM meanwhile.
///
/// The first signal cancels the token and `work` goes on, to drain. The second drops `work`:
/// the answer is then `Ok(None)`.
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
}

#[cfg(unix)]
impl Signals {
    fn install() -> Result<Self, ServiceError> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(ServiceError::Signals)?,
            terminate: signal(SignalKind::terminate()).map_err(ServiceError::Signals)?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
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
    async fn a_drain_waits_for_the_tasks_that_listen() {
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
    async fn a_deaf_task_costs_the_deadline_and_no_more() {
        let shutdown = Shutdown::new();
        let deaf = shutdown.spawn(std::future::pending::<()>());
        assert_eq!(shutdown.drain(Duration::ZERO).await, Drain::DeadlinePassed);
        deaf.abort();
    }

    #[tokio::test]
    async fn work_that_ends_by_itself_needs_no_signal() {
        let shutdown = Shutdown::new();
        assert_eq!(until_signal(&shutdown, async { 3 }).await.unwrap(), Some(3));
        assert!(!shutdown.token().is_cancelled());
    }
}
