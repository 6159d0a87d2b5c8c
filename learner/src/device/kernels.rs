//! The time that a GPU spends in kernels, by its own clock.
//!
//! Every launch gets a pair of timestamps, read after the work is done, so that kernels still follow
//! each other without a wait. A pair costs the launching thread a round trip, so the work as a whole
//! is slower than usual. The times of the kernels are not.

use std::time::Duration;

/// Kernels that ran during a piece of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelTimes {
    /// Number of launches.
    pub launches: usize,
    /// Launches with a time by the device's own clock. The sums leave out the others.
    pub timed: usize,
    /// Sum of the times of all kernels.
    pub busy: Duration,
    /// From the start of the first kernel to the end of the last.
    pub span: Duration,
    /// The kernels by their names in the backend, the longest time first; only timed launches.
    pub by_name: Vec<(&'static str, KernelTime)>,
}

/// All launches of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTime {
    /// Number of launches.
    pub launches: usize,
    /// Sum of their times.
    pub busy: Duration,
}

#[cfg(feature = "gpu")]
pub(super) use observed::measure;

/// Does `work`. A program without GPU support launches no kernels.
#[cfg(not(feature = "gpu"))]
pub(super) fn measure<T>(_: std::time::Instant, work: impl FnOnce() -> T) -> (T, KernelTimes) {
    (work(), KernelTimes::default())
}

#[cfg(feature = "gpu")]
mod observed {
    use std::collections::BTreeMap;
    use std::pin::pin;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::task::{Context, Poll, Waker};
    use std::thread;
    use std::time::{Duration, Instant};

    use cubecl_runtime::logging::{
        LaunchObservation, LaunchObserver, ProfileDuration, TimingMethod, TimingRequest,
    };

    use super::{KernelTime, KernelTimes};

    /// Keeps the names and timestamps of all launches, unread.
    #[derive(Default)]
    struct Launches(Mutex<Vec<(&'static str, ProfileDuration)>>);

    impl Launches {
        fn take(&self) -> Vec<(&'static str, ProfileDuration)> {
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }

    impl LaunchObserver for Launches {
        fn launched(&self, _: &'static str) {}

        fn timing(&self) -> TimingRequest {
            TimingRequest::Deferred
        }

        fn profiled(&self, name: &'static str, profile: ProfileDuration) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push((name, profile));
        }
    }

    /// Does `work` and times its kernels. `before` must be earlier than the first use of the device.
    pub(in crate::device) fn measure<T>(
        before: Instant,
        work: impl FnOnce() -> T,
    ) -> (T, KernelTimes) {
        let launches = Arc::new(Launches::default());
        let observation = LaunchObservation::new(launches.clone());
        let done = work();
        drop(observation);
        let profiles = launches.take();
        let mut times = KernelTimes { launches: profiles.len(), ..KernelTimes::default() };
        let (mut first, mut last) = (Duration::MAX, Duration::ZERO);
        let mut by_name: BTreeMap<&'static str, KernelTime> = BTreeMap::new();
        for (name, profile) in profiles {
            if profile.timing_method() != TimingMethod::Device {
                continue;
            }
            if let Some(ticks) = wait_for(profile.resolve()) {
                times.timed += 1;
                times.busy += ticks.duration();
                let kernel = by_name.entry(name).or_default();
                kernel.launches += 1;
                kernel.busy += ticks.duration();
                first = first.min(ticks.start_duration_since(before));
                last = last.max(ticks.end_duration_since(before));
            }
        }
        times.by_name = by_name.into_iter().collect();
        times.by_name.sort_by_key(|(_, one)| std::cmp::Reverse(one.busy));
        times.span = last.saturating_sub(first);
        (done, times)
    }

    /// Polls a future until it is ready. The device has done its work already, so that takes
    /// microseconds.
    fn wait_for<T>(future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return value;
            }
            thread::sleep(Duration::from_micros(50));
        }
    }
}
