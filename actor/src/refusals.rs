//! How long a service may refuse the credential of an actor that starts.
//!
//! Arena and learner read their tokens files once per second, each by itself. A new token may thus be
//! unknown to one of them when the actor starts.

use std::time::Duration;

use tokio::time::Instant;

/// Default time until refusals in a row are final.
const NEW_TOKEN: Duration = Duration::from_secs(5);

/// The refusals in a row by one service.
#[derive(Debug)]
pub(crate) struct Refusals {
    patience: Duration,
    first: Option<Instant>,
}

impl Default for Refusals {
    fn default() -> Self {
        Self::new(NEW_TOKEN)
    }
}

impl Refusals {
    /// Refusals that are final once they last this long.
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, first: None }
    }

    /// Adds a refusal. Returns whether it is final.
    pub(crate) fn add(&mut self) -> bool {
        self.first.get_or_insert_with(Instant::now).elapsed() >= self.patience
    }

    /// Another answer, or none: the next refusal is the first again.
    pub(crate) fn reset(&mut self) {
        self.first = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_refusals_in_a_row_become_final() {
        let mut refusals = Refusals::new(Duration::from_secs(5));
        let pass = |seconds| tokio::time::advance(Duration::from_secs(seconds));
        assert!(!refusals.add());
        pass(4).await;
        assert!(!refusals.add());
        refusals.reset();
        pass(4).await;
        assert!(!refusals.add(), "it is the first after another answer");
        pass(5).await;
        assert!(refusals.add());
    }
}
