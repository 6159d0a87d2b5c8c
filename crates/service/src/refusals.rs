//! How long a service may refuse the credential of a client before the client ends.
//!
//! Arena and learner read their tokens files once per second, each by itself. A new token may thus
//! be unknown to one of them at first. A token that was revoked may have a successor in the client's
//! file, which is read for each call. A certificate that has expired may have a successor too, which
//! counts from the next connection on.

use std::time::Duration;

use tokio::time::Instant;

/// Default time until refusals in a row are final.
const NEW_CREDENTIAL: Duration = Duration::from_secs(5);

/// The refusals in a row by one service.
#[derive(Debug)]
pub struct Refusals {
    patience: Duration,
    first: Option<Instant>,
}

impl Default for Refusals {
    /// Refusals that are final once they last five seconds.
    fn default() -> Self {
        Self::new(NEW_CREDENTIAL)
    }
}

impl Refusals {
    /// Refusals that are final once they last this long.
    pub fn new(patience: Duration) -> Self {
        Self { patience, first: None }
    }

    /// Adds a refusal. Returns whether it is final.
    pub fn add(&mut self) -> bool {
        self.first.get_or_insert_with(Instant::now).elapsed() >= self.patience
    }

    /// Another answer, or none: the next refusal is the first again.
    pub fn reset(&mut self) {
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
