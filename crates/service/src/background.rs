//! Background threads and tasks, and the error if one ends without a result.

use std::future::Future;
use std::io;

use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// A thread or task that produced no result.
#[derive(Debug, thiserror::Error)]
pub enum BackgroundError {
    /// The operating system could not start the thread.
    #[error("cannot start the thread {name}: {source}; raise the limit of threads")]
    Start {
        /// Name of the thread.
        name: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The thread or task panicked, or its runtime is gone.
    #[error("{name} ended early; the log has the panic: report it as a bug, and restart")]
    EndedEarly {
        /// Name of the thread or task.
        name: String,
    },
}

/// A handle to a thread or task, which receives its result.
///
/// Dropping the handle detaches the thread or task.
#[derive(Debug)]
pub struct Background<T> {
    name: String,
    /// Closed without a value if the thread or task panics, because the sender is then dropped.
    receiver: oneshot::Receiver<T>,
    /// Set by the first [`ended`](Self::ended) that completes, so the channel is not polled again.
    result: Option<Result<T, BackgroundError>>,
    /// `None` for a thread.
    task: Option<AbortHandle>,
}

impl<T: Send + 'static> Background<T> {
    /// Runs `work` on a new thread called `name`.
    pub fn thread(
        name: impl Into<String>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self, BackgroundError> {
        let name = name.into();
        let (sender, receiver) = oneshot::channel();
        let run = move || {
            // Sending fails only if the handle was dropped.
            let _ = sender.send(work());
        };
        match std::thread::Builder::new().name(name.clone()).spawn(run) {
            Ok(_) => Ok(Self { name, receiver, result: None, task: None }),
            Err(source) => Err(BackgroundError::Start { name, source }),
        }
    }

    /// Runs `work` as a task of the current runtime. Errors refer to the task as `name`.
    pub fn task(name: impl Into<String>, work: impl Future<Output = T> + Send + 'static) -> Self {
        let (sender, receiver) = oneshot::channel();
        let task = tokio::spawn(async move {
            let _ = sender.send(work.await);
        });
        Self { name: name.into(), receiver, result: None, task: Some(task.abort_handle()) }
    }

    /// Waits for the end; later calls return immediately. The method is cancel-safe, so it suits
    /// `select!`.
    pub async fn ended(&mut self) {
        if self.result.is_none() {
            let result = (&mut self.receiver).await;
            self.result = Some(result.map_err(|_| Self::ended_early(&self.name)));
        }
    }

    /// Waits for the end and returns the result.
    pub async fn join(mut self) -> Result<T, BackgroundError> {
        self.ended().await;
        self.result.unwrap_or_else(|| Err(Self::ended_early(&self.name)))
    }

    /// Aborts a task at its next `await`. Has no effect on a thread.
    pub fn abort(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }

    fn ended_early(name: &str) -> BackgroundError {
        BackgroundError::EndedEarly { name: name.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_seen_by_select_is_still_there_for_join() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut thread = Background::thread("adder", move || receiver.recv().unwrap() + 1).unwrap();
        tokio::select! {
            biased;
            () = thread.ended() => panic!("nothing was sent"),
            () = std::future::ready(()) => {}
        }
        sender.send(6).unwrap();
        thread.ended().await;
        thread.ended().await;
        assert_eq!(thread.join().await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_that_names_the_thread_or_task() {
        let thread = Background::<()>::thread("broken", || panic!("on purpose")).unwrap();
        let error = thread.join().await.unwrap_err();
        assert!(error.to_string().starts_with("broken ended early"), "{error}");
        let task = Background::<()>::task("publisher", async { panic!("on purpose") });
        let error = task.join().await.unwrap_err();
        assert!(error.to_string().starts_with("publisher ended early"), "{error}");
    }

    #[tokio::test]
    async fn an_aborted_task_ends_without_a_result() {
        let task = Background::task("endless", std::future::pending::<()>());
        task.abort();
        assert!(task.join().await.is_err());
    }
}
