//! The machine's time, for searches that think against the clock.

use std::time::Duration;

use ouro_players::Clock;
use ouro_service::SystemClock;

/// Time since the program asked for it first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WallClock(SystemClock);

impl Clock for WallClock {
    fn monotonic(&self) -> Duration {
        ouro_service::Clock::monotonic(&self.0)
    }
}
