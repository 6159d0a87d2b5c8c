//! The arena's series for Prometheus.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ouro_service::metrics::{Readings, Source, free_bytes};
use tokio::sync::watch;

use crate::condition::Condition;
use crate::figures::StreamKind;
use crate::learner_watch::LearnerView;
use crate::state::ArenaState;

ouro_service::series! {
    /// The series of the arena.
    pub const SERIES = [
        CHAMPION: Gauge "ouro_arena_champion_generation" []
            "Generation of the champion; absent before the first promotion.";
        ELO: Gauge "ouro_arena_champion_elo" []
            "Elo of the champion above `random`; absent before its first game that counts.";
        ELO_LOW: Gauge "ouro_arena_champion_elo_low" []
            "Lower end of the 95 % interval of that Elo.";
        ELO_HIGH: Gauge "ouro_arena_champion_elo_high" []
            "Upper end of the 95 % interval of that Elo.";
        NEWEST: Gauge "ouro_arena_newest_generation" []
            "Newest generation published to the arena; absent before the first.";
        MEMBERS: Gauge "ouro_arena_pool_members" []
            "Promoted checkpoints that can be drawn as opponents.";
        MISSING: Gauge "ouro_arena_missing_members" []
            "Checkpoints whose weights cannot be read, so that they do not play.";
        CANDIDATES: Gauge "ouro_arena_candidates_waiting" []
            "Published checkpoints without a decision.";
        WORKERS: Gauge "ouro_arena_workers" []
            "Workers that help to play matches.";
        DECISIONS: Counter "ouro_arena_decisions_total" ["verdict"]
            "Candidates that this process decided about: `promoted` or `rejected` by their match, or `dropped` without one.";
        GAMES: Counter "ouro_arena_match_games_total" ["kind"]
            "Games of matches that this process stored: those at the `gate`, which decide, and those for a `rating`.";
        FIT: Histogram "ouro_arena_rating_fit_seconds" []
            "Time of a fit of all ratings.";
        WATCHERS: Gauge "ouro_arena_watchers" ["stream"]
            "Open streams of the `pool` (one per actor), of `events`, and of browsers with the `page`.";
        UPLOADS: Counter "ouro_arena_uploads_accepted_total" []
            "Uploads of weights that were stored or known already.";
        UPLOADS_REFUSED: Counter "ouro_arena_uploads_refused_total" ["code"]
            "Uploads of weights that were refused or not completed, by gRPC status.";
        APPEND: Histogram "ouro_arena_store_append_seconds" ["store"]
            "Time to append an entry durably to the results, by where they are: `files` or `redis`.";
        DISK: Gauge "ouro_arena_disk_free_bytes" []
            "Free space on the disk of the weights and of results in files.";
        LEARNER: Gauge "ouro_arena_learner_reachable" []
            "1 if the learner answered the last request for its status, else 0.";
        BLOCKED: Gauge "ouro_arena_blocked" ["condition"]
            "1 while the arena waits for an operator, else 0: `matches` or `candidates` cannot be stored.";
    ];
}

/// Reads the series of an arena. It never waits for the store, which may wait for Redis.
#[derive(Debug)]
pub struct ArenaSource {
    pub(crate) state: Arc<ArenaState>,
    pub(crate) learner: watch::Receiver<LearnerView>,
    /// Folder of the weights, and of results in files.
    pub(crate) folder: PathBuf,
}

impl Source for ArenaSource {
    fn read(&self, readings: &mut Readings<'_>) -> fmt::Result {
        let (state, figures) = (&self.state, self.state.figures());
        let pool = state.pool().snapshots().borrow().clone();
        let table = state.ratings().table().borrow().clone();
        let champion = pool.champion.as_ref().map(|row| row.generation);
        let rating = champion.and_then(|champion| {
            let name = champion.to_string();
            table.ratings.iter().find(|row| row.player == name)
        });
        // Without a game that counts, an interval has no finite end.
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        readings.maybe(&CHAMPION, champion.map(|generation| generation.0))?;
        readings.maybe(&ELO, finite(rating.map(|row| row.elo)))?;
        readings.maybe(&ELO_LOW, finite(rating.map(|row| row.elo_low)))?;
        readings.maybe(&ELO_HIGH, finite(rating.map(|row| row.elo_high)))?;
        readings.maybe(&NEWEST, pool.newest.as_ref().map(|row| row.generation.0))?;
        readings.one(&MEMBERS, pool.members.len())?;
        readings.one(&MISSING, pool.missing.len())?;
        readings.one(&CANDIDATES, figures.candidates.load(Ordering::Relaxed))?;
        readings.one(&WORKERS, *state.workers().borrow())?;
        let verdicts = [
            ("promoted", &figures.promoted),
            ("rejected", &figures.rejected),
            ("dropped", &figures.dropped),
        ];
        readings.each(
            &DECISIONS,
            verdicts.map(|(name, count)| (name, count.load(Ordering::Relaxed))),
        )?;
        let games = [("gate", &figures.gate_games), ("rating", &figures.rating_games)];
        readings.each(&GAMES, games.map(|(name, count)| (name, count.load(Ordering::Relaxed))))?;
        readings.histogram(&FIT, [], &figures.fit)?;
        let open = |(kind, name): (StreamKind, _)| {
            (name, figures.streams[kind as usize].load(Ordering::Relaxed))
        };
        readings.each(&WATCHERS, StreamKind::ALL.map(open))?;
        readings.one(&UPLOADS, figures.uploads_accepted.load(Ordering::Relaxed))?;
        readings.each(&UPLOADS_REFUSED, figures.uploads_refused())?;
        let (kind, appends) = state.store().append_times();
        readings.histogram(&APPEND, [kind], appends)?;
        readings.maybe(&DISK, free_bytes(&self.folder))?;
        readings.one(&LEARNER, self.learner.borrow().is_reachable())?;
        let conditions = state.conditions().borrow().clone();
        let is_active = |(condition, name)| (name, conditions.get(condition).is_some());
        readings.each(&BLOCKED, Condition::ALL.map(is_active))
    }
}
