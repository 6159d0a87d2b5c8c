//! What one credential may use.
//!
//! Calls beyond the limits are refused. Messages and bytes beyond the limits wait: the body of the
//! call is not read, so HTTP/2 flow control slows the client down. A client that sends games which no
//! working actor sends is refused for a while.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Time for which a credential may exceed its rates after a time of rest.
const BURST: Duration = Duration::from_secs(10);

/// What one credential may use. A group of actors that shares a token shares its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CredentialLimits {
    /// Calls open at once, streams included.
    pub open_calls: usize,
    /// Calls started per second.
    pub calls_per_second: u32,
    /// Messages received per second.
    pub messages_per_second: u32,
    /// Bytes received per second.
    pub bytes_per_second: u64,
    /// Invalid messages per minute.
    pub invalid_per_minute: u32,
    /// Time for which calls are refused after too many invalid messages.
    pub suspension: Duration,
}

impl CredentialLimits {
    /// No limits that a process reaches; for its own parts.
    pub(super) const UNLIMITED: Self = Self {
        open_calls: Semaphore::MAX_PERMITS,
        calls_per_second: u32::MAX,
        messages_per_second: u32::MAX,
        bytes_per_second: 1 << 50,
        invalid_per_minute: u32::MAX,
        suspension: Duration::ZERO,
    };
}

impl Default for CredentialLimits {
    fn default() -> Self {
        Self {
            open_calls: 1_024,
            calls_per_second: 500,
            messages_per_second: 20_000,
            bytes_per_second: 64 << 20,
            invalid_per_minute: 120,
            suspension: Duration::from_secs(60),
        }
    }
}

/// A token bucket, as the time at which it is full again (GCRA, ITU-T I.371).
#[derive(Clone, Copy, Debug)]
struct Bucket {
    per_second: f64,
    burst: Duration,
    full: Option<Instant>,
}

impl Bucket {
    fn new(per_second: f64, burst: Duration) -> Self {
        Self { per_second, burst, full: None }
    }

    fn after(&self, amount: u64, now: Instant) -> Instant {
        let start = self.full.map_or(now, |full| full.max(now));
        start + Duration::from_secs_f64(amount as f64 / self.per_second)
    }

    /// Takes an amount in any case. Returns the time to wait for until the next.
    fn charge(&mut self, amount: u64, now: Instant) -> Duration {
        let full = self.after(amount, now);
        self.full = Some(full);
        (full - now).saturating_sub(self.burst)
    }

    /// Takes one, or returns the time after which one is there.
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let full = self.after(1, now);
        let wait = (full - now).saturating_sub(self.burst);
        if wait.is_zero() {
            self.full = Some(full);
            return Ok(());
        }
        Err(wait)
    }
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Too many calls were started.
    Rate(Duration),
    /// Too many messages were invalid.
    Suspended(Duration),
}

/// What one credential has used.
#[derive(Debug)]
pub(super) struct Quota {
    /// Places for open calls.
    pub(super) open_calls: Arc<Semaphore>,
    suspension: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    calls: Bucket,
    messages: Bucket,
    bytes: Bucket,
    invalid: Bucket,
    suspended: Option<Instant>,
}

impl Quota {
    pub(super) fn new(limits: &CredentialLimits) -> Arc<Self> {
        let minute = Duration::from_secs(60);
        let state = State {
            calls: Bucket::new(limits.calls_per_second.into(), BURST),
            messages: Bucket::new(limits.messages_per_second.into(), BURST),
            bytes: Bucket::new(limits.bytes_per_second as f64, BURST),
            invalid: Bucket::new(f64::from(limits.invalid_per_minute) / 60.0, minute),
            suspended: None,
        };
        Arc::new(Self {
            open_calls: Arc::new(Semaphore::new(limits.open_calls)),
            suspension: limits.suspension,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call that starts.
    pub(super) fn start_call(&self) -> Result<(), Refused> {
        let (mut state, now) = (self.state(), Instant::now());
        if let Some(end) = state.suspended.filter(|end| *end > now) {
            return Err(Refused::Suspended(end - now));
        }
        state.calls.take(now).map_err(Refused::Rate)
    }

    /// Counts what was received. Returns the time to wait for before more is read.
    pub(super) fn receive(&self, bytes: u64, messages: u64) -> Duration {
        let (mut state, now) = (self.state(), Instant::now());
        state.bytes.charge(bytes, now).max(state.messages.charge(messages, now))
    }

    /// Counts an invalid message. `Some`: the credential is refused for this time.
    pub(super) fn invalid(&self) -> Option<Duration> {
        let (mut state, now) = (self.state(), Instant::now());
        if let Some(end) = state.suspended.filter(|end| *end > now) {
            return Some(end - now);
        }
        state.invalid.take(now).err()?;
        state.suspended = Some(now + self.suspension);
        Some(self.suspension)
    }
}

/// Counts the messages in a body of gRPC: each is a flag, its length in four bytes, and its bytes.
#[derive(Debug, Default)]
pub(super) struct MessageCounter {
    /// Bytes of the header that were seen, and their value so far.
    header: (usize, u32),
    /// Bytes of the message that are due.
    due: usize,
}

/// Bytes before a message: a flag and the length.
const HEADER: usize = 5;

impl MessageCounter {
    /// The number of messages that start in `bytes`, which follow those before.
    pub(super) fn count(&mut self, mut bytes: &[u8]) -> u64 {
        let mut started = 0;
        while !bytes.is_empty() {
            if self.due > 0 {
                let skipped = self.due.min(bytes.len());
                self.due -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            let (seen, length) = self.header;
            // The first byte is the flag.
            let length = if seen == 0 { 0 } else { length << 8 | u32::from(bytes[0]) };
            bytes = &bytes[1..];
            self.header = (seen + 1, length);
            if seen + 1 == HEADER {
                started += 1;
                self.due = length as usize;
                self.header = (0, 0);
            }
        }
        started
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(limits: CredentialLimits) -> Arc<Quota> {
        Quota::new(&limits)
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_may_be_exceeded_for_a_burst_and_then_waits() {
        let quota =
            quota(CredentialLimits { messages_per_second: 100, ..CredentialLimits::default() });
        // 10 s worth of messages at once, then each costs its time.
        assert_eq!(quota.receive(0, 1_000), Duration::ZERO);
        assert_eq!(quota.receive(0, 50), Duration::from_millis(500));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(quota.receive(0, 50), Duration::ZERO);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(quota.receive(0, 1_000), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn an_honest_rate_never_waits() {
        let quota = quota(CredentialLimits::default());
        // 64 actors of 200 games of 2 KiB per second, for ten minutes.
        for _ in 0..600 {
            assert_eq!(quota.receive(64 * 200 * 2_048, 64 * 200), Duration::ZERO);
            assert_eq!(quota.start_call(), Ok(()));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn invalid_messages_suspend_for_a_while() {
        let limits = CredentialLimits {
            invalid_per_minute: 3,
            suspension: Duration::from_secs(30),
            ..CredentialLimits::default()
        };
        let quota = quota(limits);
        let reports: Vec<_> = (0..4).map(|_| quota.invalid()).collect();
        assert_eq!(reports, [None, None, None, Some(Duration::from_secs(30))]);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(quota.start_call(), Err(Refused::Suspended(Duration::from_secs(20))));
        tokio::time::advance(Duration::from_secs(21)).await;
        assert_eq!(quota.start_call(), Ok(()));
        assert_eq!(quota.invalid(), None, "one per 20 s is within the limit");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_beyond_the_rate_are_refused_with_the_time_to_wait() {
        let quota = quota(CredentialLimits { calls_per_second: 2, ..CredentialLimits::default() });
        for _ in 0..20 {
            assert_eq!(quota.start_call(), Ok(()));
        }
        assert_eq!(quota.start_call(), Err(Refused::Rate(Duration::from_millis(500))));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(quota.start_call(), Ok(()));
    }

    #[test]
    fn messages_are_counted_however_the_bytes_are_cut() {
        let mut body = Vec::new();
        for length in [0_usize, 1, 300, 70_000, 0, 5] {
            body.push(0);
            body.extend_from_slice(&(length as u32).to_be_bytes());
            body.extend(std::iter::repeat_n(7, length));
        }
        for cut in [1, 2, 3, 4, 5, 6, 7, 100, 16_384, body.len()] {
            let mut counter = MessageCounter::default();
            let count: u64 = body.chunks(cut).map(|part| counter.count(part)).sum();
            assert_eq!(count, 6, "cut into {cut} bytes");
        }
    }
}
