//! The sample-to-insert ratio, which limits playing and learning to the same pace.
//!
//! A [`Ratio`] counts inserted and sampled positions. For `r` samples per insert, the error is
//! `inserts · r − samples`, counted from the end of the warm-up. It measures how far sampling lags
//! behind. An insert must not raise the error above its upper bound, and a sample must not lower
//! it below its lower bound. Too much data blocks the actors, too little blocks the learner. This
//! is the rate limiter of Reverb (Cassirer et al. 2021, "Reverb: a framework for experience
//! replay", §3.4).
//!
//! Before [`warmup`](Settings::warmup) positions are inserted, inserting is always allowed and
//! sampling never. A training state keeps the [`Counters`], which only grow, and the [`Pace`],
//! from which the error is counted. If a run resumes with other settings, they apply from then on
//! and not to the past.

use serde::{Deserialize, Serialize};

/// Settings of a ratio. All counts are positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Samples per insert, above 0.
    pub samples_per_insert: f64,
    /// Inserts before the first sample, at least 1.
    pub warmup: u64,
    /// Greatest distance of the error from 0, in samples.
    pub tolerance: f64,
    /// Most positions inserted at once: those of the longest game.
    pub largest_insert: u64,
    /// Most positions sampled at once: one batch.
    pub largest_sample: u64,
}

/// Error in [`Settings`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RatioError {
    /// The ratio is not positive and finite.
    #[error("samples_per_insert is {0}; it must be above 0 and finite")]
    SamplesPerInsert(f64),
    /// A count is 0.
    #[error("{0} is 0; it must be at least 1")]
    Zero(&'static str),
    /// The tolerance is so small that inserting and sampling can block each other.
    #[error(
        "tolerance is {got}; with {samples_per_insert} samples per insert, games of up to {largest_insert} positions and batches of {largest_sample} it must be at least {least}, or inserting and sampling would wait for each other for ever"
    )]
    Tolerance {
        /// The tolerance.
        got: f64,
        /// The smallest tolerance without deadlock.
        least: f64,
        /// See [`Settings::samples_per_insert`].
        samples_per_insert: f64,
        /// See [`Settings::largest_insert`].
        largest_insert: u64,
        /// See [`Settings::largest_sample`].
        largest_sample: u64,
    },
}

impl Settings {
    /// The smallest tolerance without deadlock. For any error, the largest insert then fits below
    /// the upper bound or the largest sample fits above the lower bound.
    pub fn least_tolerance(&self) -> f64 {
        let insert = self.largest_insert as f64 * self.samples_per_insert;
        (insert + self.largest_sample as f64) / 2.0
    }

    /// Validates the settings.
    pub fn check(&self) -> Result<(), RatioError> {
        let samples_per_insert = self.samples_per_insert;
        if !(samples_per_insert > 0.0 && samples_per_insert.is_finite()) {
            return Err(RatioError::SamplesPerInsert(samples_per_insert));
        }
        let counts = [
            ("warmup", self.warmup),
            ("largest_insert", self.largest_insert),
            ("largest_sample", self.largest_sample),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(RatioError::Zero(name));
        }
        let (got, least) = (self.tolerance, self.least_tolerance());
        // Comparisons with NaN are false, so NaN is refused.
        if got >= least && got.is_finite() {
            return Ok(());
        }
        let Self { largest_insert, largest_sample, .. } = *self;
        Err(RatioError::Tolerance {
            got,
            least,
            samples_per_insert,
            largest_insert,
            largest_sample,
        })
    }
}

/// Counts since the start of the run. Part of a training state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Positions inserted.
    pub inserts: u64,
    /// Positions sampled.
    pub samples: u64,
}

/// The rate of the error and the point from which it is counted. Part of a training state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// The current [`Settings::samples_per_insert`].
    pub samples_per_insert: f64,
    /// The current [`Settings::warmup`].
    pub warmup: u64,
    /// The counters at which the error is `lead`. During a warm-up `from.inserts` is above the
    /// current count.
    pub from: Counters,
    /// The error at `from`, in samples.
    pub lead: f64,
}

impl Pace {
    /// The pace of a new run, with an error of 0 at the end of the warm-up.
    fn new(settings: &Settings) -> Self {
        let Settings { samples_per_insert, warmup, .. } = *settings;
        Self {
            samples_per_insert,
            warmup,
            from: Counters { inserts: warmup, samples: 0 },
            lead: 0.0,
        }
    }

    /// The pace of a run that starts again at `counters` with an error of 0 and `held` positions to
    /// sample from. If the warm-up requires more positions than that, another warm-up covers the
    /// difference.
    pub(crate) fn restarted(settings: &Settings, counters: Counters, held: u64) -> Self {
        let Settings { samples_per_insert, warmup, .. } = *settings;
        let missing = warmup.saturating_sub(held);
        let from = Counters { inserts: counters.inserts.saturating_add(missing), ..counters };
        Self { samples_per_insert, warmup, from, lead: 0.0 }
    }

    fn error(&self, counters: Counters) -> f64 {
        let inserts = counters.inserts as f64 - self.from.inserts as f64;
        let samples = counters.samples as f64 - self.from.samples as f64;
        self.lead + inserts * self.samples_per_insert - samples
    }

    /// Resumes under `settings`, with `held` positions to sample from.
    ///
    /// With the same ratio and warm-up the pace stays the same. Otherwise the error is kept,
    /// clamped to the new bounds. If fewer positions are held than the warm-up requires, another
    /// warm-up covers the difference, and the error starts at 0.
    fn resume(self, settings: &Settings, counters: Counters, held: u64) -> Self {
        let Settings { samples_per_insert, warmup, tolerance, .. } = *settings;
        if (self.samples_per_insert, self.warmup) == (samples_per_insert, warmup) {
            return self;
        }
        let was_warm = counters.inserts >= self.from.inserts;
        let lead = if held >= warmup && was_warm {
            self.error(counters).clamp(-tolerance, tolerance)
        } else {
            0.0
        };
        Self { lead, ..Self::restarted(settings, counters, held) }
    }
}

/// The sample-to-insert ratio of a run. See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    settings: Settings,
    counters: Counters,
    pace: Pace,
}

impl Ratio {
    /// Creates the ratio of a new run. Settings that can deadlock are an error.
    pub fn new(settings: Settings) -> Result<Self, RatioError> {
        settings.check()?;
        let pace = Pace::new(&settings);
        Ok(Self { settings, counters: Counters::default(), pace })
    }

    /// Resumes a ratio with `counters` and `pace`, where `held` positions can be sampled. Settings
    /// that can deadlock are an error. Without a pace, the settings are assumed never to have
    /// changed.
    pub fn resume(
        settings: Settings,
        counters: Counters,
        pace: Option<Pace>,
        held: u64,
    ) -> Result<Self, RatioError> {
        let new = Self::new(settings)?;
        let pace = pace.map_or(new.pace, |pace| pace.resume(&settings, counters, held));
        Ok(Self { counters, pace, ..new })
    }

    /// Samples by which sampling lags behind the ratio; negative if it is ahead.
    pub fn error(&self) -> f64 {
        self.pace.error(self.counters)
    }

    /// Least and greatest error that inserting and sampling may cause.
    pub fn bounds(&self) -> (f64, f64) {
        (-self.settings.tolerance, self.settings.tolerance)
    }

    /// Whether `positions` positions may be inserted at once, after the `on_their_way` accepted
    /// but not yet inserted ones.
    ///
    /// An insert above [`largest_insert`](Settings::largest_insert) counts as one of that size;
    /// otherwise it might never be allowed.
    pub fn may_insert(&self, positions: u64, on_their_way: u64) -> bool {
        let Settings { samples_per_insert, largest_insert, .. } = self.settings;
        if self.counters.inserts.saturating_add(on_their_way) < self.pace.from.inserts {
            return true;
        }
        let positions = positions.min(largest_insert).saturating_add(on_their_way) as f64;
        self.error() + positions * samples_per_insert <= self.bounds().1
    }

    /// Whether `positions` positions may be sampled at once. A sample above
    /// [`largest_sample`](Settings::largest_sample) counts as one of that size.
    pub fn may_sample(&self, positions: u64) -> bool {
        let positions = positions.min(self.settings.largest_sample) as f64;
        let is_warm = self.counters.inserts >= self.pace.from.inserts;
        is_warm && self.error() - positions >= self.bounds().0
    }

    /// Whether `positions` positions may be sampled `times` times without another insert.
    pub fn may_sample_repeatedly(&self, times: u64, positions: u64) -> bool {
        // Sampling only lowers the error, so the last sample is the hardest to allow.
        let mut last = self.clone();
        last.sample(times.saturating_sub(1).saturating_mul(positions));
        last.may_sample(positions)
    }

    /// Counts an insert, even if it was not allowed. After a restart the journal may hold more
    /// games than the training state has counted, and all of them are inserted.
    pub fn insert(&mut self, positions: u64) {
        self.counters.inserts += positions;
    }

    /// Counts a sample.
    pub fn sample(&mut self, positions: u64) {
        self.counters.samples = self.counters.samples.saturating_add(positions);
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The pace.
    pub fn pace(&self) -> Pace {
        self.pace
    }
}

#[cfg(test)]
mod tests;
