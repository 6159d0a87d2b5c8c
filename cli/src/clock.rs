//! The clock of the machine, for searches with a time limit.

use std::time::Duration;

use ouro_players::Clock;
use ouro_service::SystemClock;

/// Time since the clock was made; copies agree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WallClock(SystemClock);

impl Clock for WallClock {
    fn monotonic(&self) -> Duration {
        ouro_service::Clock::monotonic(&self.0)
    }
}
