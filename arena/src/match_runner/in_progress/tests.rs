//! The pace of a match on a busy machine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;

use ouro_replay::testing::MemoryDisk;
use ouro_service::Clock;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::config::MatchConfig;
use crate::testing::timed_state;

/// Elapsed time in multiples of CPU time, while a thread computes.
const STRETCH: u64 = 3;

/// The clock of a thread that gets a third of a core.
#[derive(Debug, Default)]
struct BusyClock {
    elapsed_ms: AtomicU64,
    cpu_ms: AtomicU64,
}

impl BusyClock {
    /// Computes for this CPU time.
    fn compute(&self, cpu_ms: u64) {
        self.cpu_ms.fetch_add(cpu_ms, Ordering::Relaxed);
        self.elapsed_ms.fetch_add(STRETCH * cpu_ms, Ordering::Relaxed);
    }

    /// Lets time pass without computing.
    fn pass(&self, time: Duration) {
        self.elapsed_ms.fetch_add(time.as_millis() as u64, Ordering::Relaxed);
    }
}

impl Clock for BusyClock {
    fn unix(&self) -> Duration {
        self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.elapsed_ms.load(Ordering::Relaxed))
    }

    fn thread_cpu(&self) -> Duration {
        Duration::from_millis(self.cpu_ms.load(Ordering::Relaxed))
    }
}

#[test]
fn a_match_that_waits_for_a_core_pauses_for_its_cpu_time_only() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(BusyClock::default());
    let config = MatchConfig { match_share: 0.25, ..MatchConfig::default() };
    let (state, _) = timed_state(folder.path(), &MemoryDisk::new(), &config, clock.clone());
    let (state, stop) = (Arc::new(state), CancellationToken::new());
    // Without a sender, a pause ends at once. The test moves the clock instead.
    let wake = sync_channel(1).1;
    let runner = MatchRunner { state, config, wake, stop, workers: None };
    for kind in [MatchKind::Gate, MatchKind::Rating] {
        let mut pace = Pace::new(&runner, kind);
        for ply in 0..50 {
            clock.compute(100);
            pace.pause();
            // 100 ms of CPU time are a quarter of 400 ms, of which 300 ms are over.
            let wait = pace.duty_cycle.wait(clock.monotonic());
            assert_eq!(wait, Some(Duration::from_millis(100)), "{kind:?}, ply {ply}");
            clock.pass(wait.unwrap_or_default());
            // The real pause ends with this, too: no time of it counts as work.
            pace.skip();
        }
    }
}
