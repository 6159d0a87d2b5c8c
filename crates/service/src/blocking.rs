//! Work that blocks, outside the threads of the runtime.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::background::BackgroundError;

/// Whether blocking work is done by the calling task.
static IS_INLINE: AtomicBool = AtomicBool::new(false);

/// Runs work that takes longer than half a millisecond, or waits, on the runtime's threads for it.
/// Dropping the future does not interrupt the work. A panic of the work is an error.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BackgroundError> {
    if IS_INLINE.load(Ordering::Relaxed) {
        return Ok(work());
    }
    let name = || "work that blocks".to_owned();
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| BackgroundError::EndedEarly { name: name() })
}

/// Makes the calling tasks of this process do their blocking work themselves. A simulation does so,
/// because the order in which threads end is not reproducible.
pub fn block_inline() {
    IS_INLINE.store(true, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_returns_its_value_and_a_panic_is_an_error() {
        assert_eq!(blocking(|| 1 + 1).await.expect("a value"), 2);
        let error = blocking(|| -> u32 { panic!("on purpose") }).await.expect_err("a panic");
        assert!(error.to_string().contains("ended early"), "{error}");
    }
}
