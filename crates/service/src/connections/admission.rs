//! The time limit of a connection without an admitted call.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Context;
use std::time::Duration;

use tokio::time::{Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The credential of the last admitted call, until the connection has noted it. Clones are of the same
/// connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Admitted(Arc<Mutex<Option<CancellationToken>>>);

impl Admitted {
    /// Notes that a call was admitted, whose credential counts until `revoked` is cancelled.
    pub(super) fn set(&self, revoked: &CancellationToken) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(revoked.clone());
    }

    fn take(&self) -> Option<CancellationToken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The time limit. It runs while no credential of an admitted call counts.
#[derive(Debug)]
pub(super) struct Admission {
    limit: Duration,
    admitted: Admitted,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The deadline of an admitted call.
    Due(Pin<Box<Sleep>>),
    /// The end of the credential.
    Admitted(Pin<Box<WaitForCancellationFutureOwned>>),
}

impl Admission {
    pub(super) fn new(limit: Duration, admitted: Admitted) -> Self {
        Self { limit, admitted, state: State::Due(Box::pin(sleep(limit))) }
    }

    /// Whether the time is over. The task is woken when that may change.
    pub(super) fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        if let Some(revoked) = self.admitted.take() {
            self.state = State::Admitted(Box::pin(revoked.cancelled_owned()));
        }
        if let State::Admitted(revoked) = &mut self.state
            && revoked.as_mut().poll(context).is_ready()
        {
            self.state = State::Due(Box::pin(sleep(self.limit)));
        }
        match &mut self.state {
            State::Due(deadline) => deadline.as_mut().poll(context).is_ready(),
            State::Admitted(_) => false,
        }
    }
}
