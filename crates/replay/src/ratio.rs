//! How often each inserted position is sampled: playing and learning held in step, both ways.
//!
//! A [`Ratio`] counts positions inserted and positions sampled. With `r` samples wanted per
//! insert, `error = inserts · r − samples`, counted from the end of the warm-up, says how far
//! sampling lags behind. An insert that would push the error above its upper bound waits, and so
//! does a sample that would push it below the lower one: too much data parks the actors, too
//! little parks the learner. This is the rate limiter of Reverb (Cassirer et al. 2021, "Reverb: a
//! framework for experience replay", §3.4).
//!
//! Until [`warmup`](Settings::warmup) positions are in, inserting is always allowed and
//! sampling never. Counters only grow, and are part of a checkpoint ([`Counters`]), and so is
//! what the error is counted from ([`Pace`]): a run that goes on under another setting is held to
//! it from there on, not as if it had always been in force.

use serde::{Deserialize, Serialize};

/// What is wanted. Positions are the unit of everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Samples per insert, above 0.
    pub samples_per_insert: f64,
    /// Inserts before the first sample, at least 1.
    pub warmup: u64,
    /// How far the error may be from 0, in samples.
    pub tolerance: f64,
    /// Most positions that are inserted at once: those of the longest game.
    pub largest_insert: u64,
    /// Most positions that are sampled at once: a batch.
    pub largest_sample: u64,
}

/// Why settings are impossible.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RatioError {
    /// The ratio is no ratio.
    #[error("samples_per_insert is {0}; it must be above 0 and finite")]
    SamplesPerInsert(f64),
    /// A count is 0.
    #[error("{0} is 0; it must be at least 1")]
    Zero(&'static str),
    /// The bounds are so near to each other that both sides would wait for ever.
    #[error(
        "tolerance is {got}; with {samples_per_insert} samples per insert, games of up to {largest_insert} positions and batches of {largest_sample} it must be at least {least}, or inserting and sampling would wait for each other for ever"
    )]
    Tolerance {
        /// The tolerance.
        got: f64,
        /// The least that cannot lock up.
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
    /// The least tolerance with which somebody may always go on: whatever the error is, either
    /// the largest insert fits below the upper bound or the largest sample above the lower one.
    pub fn least_tolerance(&self) -> f64 {
        let insert = self.largest_insert as f64 * self.samples_per_insert;
        (insert + self.largest_sample as f64) / 2.0
    }

    /// Says what is impossible.
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
        // Written so that NaN is refused.
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

/// What was counted since the start of the run. Part of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Positions inserted.
    pub inserts: u64,
    /// Positions sampled.
    pub samples: u64,
}

/// What the error is counted by, and from where. Part of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// [`Settings::samples_per_insert`] that is in force.
    pub samples_per_insert: f64,
    /// [`Settings::warmup`] that is in force.
    pub warmup: u64,
    /// The counters when the error was `lead`; inserts may yet have to come so far.
    pub from: Counters,
    /// The error at that moment, in samples.
    pub lead: f64,
}

impl Pace {
    /// That of a new run: the error is 0 at the end of the warm-up.
    fn new(settings: &Settings) -> Self {
        let Settings { samples_per_insert, warmup, .. } = *settings;
        Self {
            samples_per_insert,
            warmup,
            from: Counters { inserts: warmup, samples: 0 },
            lead: 0.0,
        }
    }

    fn error(&self, counters: Counters) -> f64 {
        let inserts = counters.inserts as f64 - self.from.inserts as f64;
        let samples = counters.samples as f64 - self.from.samples as f64;
        self.lead + inserts * self.samples_per_insert - samples
    }

    /// Goes on under `settings`, with `held` positions to sample from. Under the same ones
    /// nothing changes. Under others the error stays what it is, as far as the new bounds let it;
    /// and where less is held than the warm-up wants, there is another one for the rest.
    fn resume(self, settings: &Settings, counters: Counters, held: u64) -> Self {
        let Settings { samples_per_insert, warmup, tolerance, .. } = *settings;
        if (self.samples_per_insert, self.warmup) == (samples_per_insert, warmup) {
            return self;
        }
        let missing = warmup.saturating_sub(held);
        let was_warm = counters.inserts >= self.from.inserts;
        let lead = if missing == 0 && was_warm {
            self.error(counters).clamp(-tolerance, tolerance)
        } else {
            0.0
        };
        let from = Counters { inserts: counters.inserts.saturating_add(missing), ..counters };
        Self { samples_per_insert, warmup, from, lead }
    }
}

/// The controller. See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    settings: Settings,
    counters: Counters,
    pace: Pace,
}

impl Ratio {
    /// A controller for a new run; refuses settings that could lock up.
    pub fn new(settings: Settings) -> Result<Self, RatioError> {
        settings.check()?;
        let pace = Pace::new(&settings);
        Ok(Self { settings, counters: Counters::default(), pace })
    }

    /// A controller that goes on with `counters` and `pace`, where `held` positions can be
    /// sampled from; refuses settings that could lock up. Without a pace the settings are taken
    /// to have been the same all along.
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

    /// Samples by which sampling lags behind what is wanted; below 0 it is ahead.
    pub fn error(&self) -> f64 {
        self.pace.error(self.counters)
    }

    /// Least and greatest error that inserting and sampling may lead to.
    pub fn bounds(&self) -> (f64, f64) {
        (-self.settings.tolerance, self.settings.tolerance)
    }

    /// Whether so many positions may be inserted at once, after those that are on their way. An
    /// insert beyond [`largest_insert`](Settings::largest_insert) counts as one of that size, or
    /// nobody could ever make it.
    pub fn may_insert(&self, positions: u64, on_their_way: u64) -> bool {
        let Settings { samples_per_insert, largest_insert, .. } = self.settings;
        if self.counters.inserts.saturating_add(on_their_way) < self.pace.from.inserts {
            return true;
        }
        let positions = positions.min(largest_insert).saturating_add(on_their_way) as f64;
        self.error() + positions * samples_per_insert <= self.bounds().1
    }

    /// Whether so many positions may be sampled at once; limited like
    /// [`may_insert`](Self::may_insert).
    pub fn may_sample(&self, positions: u64) -> bool {
        let positions = positions.min(self.settings.largest_sample) as f64;
        let is_warm = self.counters.inserts >= self.pace.from.inserts;
        is_warm && self.error() - positions >= self.bounds().0
    }

    /// Whether so many positions may be sampled so many times in a row, with no insert between.
    pub fn may_sample_repeatedly(&self, times: u64, positions: u64) -> bool {
        let mut last = self.clone();
        last.sample(times.saturating_sub(1).saturating_mul(positions));
        last.may_sample(positions)
    }

    /// Counts an insert. What has happened is counted whether it was allowed or not: after a
    /// restart the journal may hold more than the checkpoint has seen.
    pub fn insert(&mut self, positions: u64) {
        self.counters.inserts += positions;
    }

    /// Counts a sample.
    pub fn sample(&mut self, positions: u64) {
        self.counters.samples = self.counters.samples.saturating_add(positions);
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What the error is counted by.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// What is wanted.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Samples per insert so far, not counting the warm-up; 0 before its end.
    pub fn achieved(&self) -> f64 {
        let inserts = self.counters.inserts.saturating_sub(self.settings.warmup);
        if inserts == 0 { 0.0 } else { self.counters.samples as f64 / inserts as f64 }
    }
}

#[cfg(test)]
mod tests;
