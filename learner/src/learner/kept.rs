//! A future that may be awaited to its end in one place and asked for its output in another.

/// A future and, once it has ended, its output: so that it is never polled again.
pub(super) struct Kept<F: Future> {
    future: F,
    output: Option<F::Output>,
}

impl<F: Future + Unpin> Kept<F> {
    pub(super) fn new(future: F) -> Self {
        Self { future, output: None }
    }

    /// Waits for the end, however often it is called. Dropping the wait loses nothing.
    pub(super) async fn ended(&mut self) {
        if self.output.is_none() {
            self.output = Some((&mut self.future).await);
        }
    }

    /// The future itself.
    pub(super) fn future(&self) -> &F {
        &self.future
    }

    /// Waits for the end and gives what it came to.
    pub(super) async fn output(self) -> F::Output {
        match self.output {
            Some(output) => output,
            None => self.future.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_that_was_seen_early_is_not_waited_for_again() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let mut kept = Kept::new(receiver);
        tokio::select! {
            biased;
            () = kept.ended() => panic!("nothing was sent"),
            () = std::future::ready(()) => {}
        }
        sender.send(7).expect("the receiver waits");
        kept.ended().await;
        kept.ended().await;
        assert_eq!(kept.output().await, Ok(7));
    }
}
