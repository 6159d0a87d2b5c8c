//! The figures of a simulated run.

/// What happened between the warm-up and the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    pub(crate) positions_per_second: f64,
    pub(crate) games_per_commit: f64,
    /// Share of the time in which a commit was under way.
    pub(crate) sync_share: f64,
    /// Share of the time of the learner's cores in which they checked games.
    pub(crate) core_share: f64,
    /// Share of the time in which a step was taken.
    pub(crate) training_share: f64,
    /// Milliseconds from the end of a game to its acknowledgement.
    pub(crate) median_ms: f64,
    pub(crate) p99_ms: f64,
    /// Mean and largest number of generations between the weights of accepted games and the newest.
    pub(crate) mean_staleness: f64,
    pub(crate) largest_staleness: u32,
    /// Share of games that were refused because their weights were too old.
    pub(crate) stale_share: f64,
    pub(crate) fetches_per_second: f64,
    pub(crate) generations: u32,
    /// Most games inside the learner that are not on its disk.
    pub(crate) most_held: usize,
    pub(crate) events: u64,
    /// A hash of all events in their order.
    pub(crate) fingerprint: u64,
}
