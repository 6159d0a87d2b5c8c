//! Where each limit lies, as formulas of the costs.

use super::costs::Costs;

/// A part of the run that carries a bounded number of actors.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) name: &'static str,
    pub(crate) formula: &'static str,
    /// Actors, each with one core, at which the part is fully used.
    pub(crate) actors: f64,
    /// What moves the limit.
    pub(crate) remedy: &'static str,
}

impl Costs {
    /// Positions per second that training uses.
    pub(crate) fn training_positions(&self) -> f64 {
        self.training_samples_per_second / self.samples_per_insert
    }

    /// Positions per second that the learner's cores take in.
    pub(crate) fn ingest_positions(&self) -> f64 {
        self.ingest_cores * 1e6 / self.ingest_us
    }

    /// Samples by which training and playing may be apart, to either side of the ratio
    /// (`ouro_settings`, `ReplayConfig::settings`).
    pub(crate) fn tolerance(&self) -> f64 {
        let least = f64::midpoint(self.largest_game * self.samples_per_insert, self.batch);
        least.max(4.0 * self.batch)
    }

    /// Games of a commit at most: those of a group, or those that the ratio has room for.
    pub(crate) fn games_per_commit(&self) -> f64 {
        let room = (2.0 * self.tolerance() - self.batch) / self.samples_per_insert;
        self.commit_games.min((room / self.positions_per_game).floor()).max(1.0)
    }

    /// Positions per second that the journal syncs. A group that cannot become full waits for its
    /// delay.
    pub(crate) fn sync_positions(&self) -> f64 {
        let is_full = self.games_per_commit() >= self.commit_games;
        let delay = if is_full { 0.0 } else { self.commit_delay_ms };
        self.games_per_commit() * self.positions_per_game * 1e3 / (self.sync_ms + delay)
    }

    /// Positions per second that the link into the learner carries.
    pub(crate) fn link_positions(&self) -> f64 {
        self.link_bytes_per_second / self.message_bytes
    }

    /// Seconds between two generations with `actors` actors.
    pub(crate) fn generation_seconds(&self, actors: f64) -> f64 {
        let samples = self.accepted_positions(actors) * self.samples_per_insert;
        self.generation_steps * self.batch / samples
    }

    /// Seconds between two generations while training is fully used.
    pub(crate) fn least_generation_seconds(&self) -> f64 {
        self.generation_steps * self.batch / self.training_samples_per_second
    }

    /// Seconds from a publication until `actors` actors have the weights.
    pub(crate) fn fan_out_seconds(&self, actors: f64) -> f64 {
        actors * self.weights_bytes / self.link_bytes_per_second
    }

    /// Seconds from the start of a game to its end.
    pub(crate) fn game_seconds(&self) -> f64 {
        self.games_at_once * self.positions_per_game / self.actor_positions_per_second
    }

    /// Positions per second from which generations follow each other so quickly that games are too
    /// old when they end. Refusals then slow down training.
    pub(crate) fn fresh_positions(&self) -> f64 {
        let samples = self.max_staleness * self.generation_steps * self.batch;
        samples / self.samples_per_insert / self.game_seconds()
    }

    /// Seconds that a game waits for its acknowledgement while the outboxes of `actors` actors are
    /// full.
    pub(crate) fn backlog_seconds(&self, actors: f64) -> f64 {
        actors * self.outbox_games * self.positions_per_game / self.accepted_positions(actors)
    }

    /// Share of games that are refused as stale if games in full outboxes become too old. Refused
    /// games do not hold actors back, so the actors play at their own pace.
    pub(crate) fn stale_share(&self, actors: f64) -> f64 {
        let age = self.backlog_seconds(actors) / self.generation_seconds(actors);
        let is_stale = age > self.max_staleness;
        let offered = actors * self.actor_positions_per_second;
        if is_stale { 1.0 - self.accepted_positions(actors) / offered } else { 0.0 }
    }

    /// Mean number of generations between the weights of accepted games and the newest, while the
    /// fan-out takes longer than a generation and no outbox is full.
    ///
    /// An actor gets the weights that were the newest when it asked, one fan-out ago, and starts
    /// games with them for another fan-out. A game is judged after its end.
    pub(crate) fn staleness(&self, actors: f64) -> f64 {
        let seconds = 1.5 * self.fan_out_seconds(actors) + self.game_seconds();
        seconds / self.generation_seconds(actors)
    }

    /// Positions per second that the learner accepts from `actors` actors.
    pub(crate) fn accepted_positions(&self, actors: f64) -> f64 {
        let most = [
            actors * self.actor_positions_per_second,
            self.training_positions(),
            self.ingest_positions(),
            self.sync_positions(),
            self.link_positions(),
            self.fresh_positions(),
        ];
        most.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Bytes of a snapshot of the pool, and of the newest checkpoint in it.
    pub(crate) fn snapshot_bytes(&self) -> f64 {
        (self.pool_members + 1.0) * self.pool_entry_bytes
    }

    /// Candidates per second that Redis carries if no two scripts share a sync.
    pub(crate) fn redis_candidates(&self) -> f64 {
        1e3 / self.redis_script_ms / self.redis_scripts_per_candidate
    }

    /// All limits, the lowest first.
    pub(crate) fn limits(&self) -> Vec<Limit> {
        let of = |positions: f64| positions / self.actor_positions_per_second;
        let interval = self.least_generation_seconds();
        let mut limits = vec![
            Limit {
                name: "training",
                formula: "training_samples_per_second / samples_per_insert / actor_positions_per_second",
                actors: of(self.training_positions()),
                remedy: "a faster device, fewer samples per insert, more simulations per move; actors beyond the limit wait",
            },
            Limit {
                name: "length of games",
                formula: "max_staleness × generation_steps × batch / samples_per_insert / game_seconds / actor_positions_per_second",
                actors: of(self.fresh_positions()),
                remedy: "longer generations, fewer games at once, weights that change between moves (`actor.swap`), a higher `intake.max_staleness`",
            },
            Limit {
                name: "learner: processor",
                formula: "ingest_cores × 10⁶ / ingest_us / actor_positions_per_second",
                actors: of(self.ingest_positions()),
                remedy: "more cores and `intake.replay_threads`; then several learners that only ingest",
            },
            Limit {
                name: "learner: syncs of the journal",
                formula: "games_per_commit × positions_per_game / sync_ms / actor_positions_per_second",
                actors: of(self.sync_positions()),
                remedy: "a disk with faster syncs, larger groups, a longer queue",
            },
            Limit {
                name: "learner: link",
                formula: "link_bytes_per_second / message_bytes / actor_positions_per_second",
                actors: of(self.link_positions()),
                remedy: "a faster link",
            },
            Limit {
                name: "learner and arena: connections",
                formula: "connections",
                actors: self.connections,
                remedy: "one process with more threads per machine, instead of a process per core",
            },
            Limit {
                name: "arena: link, weights",
                formula: "link_bytes_per_second × I / weights_bytes",
                actors: self.link_bytes_per_second * interval / self.weights_bytes,
                remedy: "one fetch per machine (a shared `deploy.cache`), relays, longer generations",
            },
            Limit {
                name: "arena: processor, weights",
                formula: "I / weights_send_ms",
                actors: interval / (self.weights_send_ms / 1e3),
                remedy: "the same",
            },
            Limit {
                name: "age of games in full outboxes",
                formula: "max_staleness × generation_steps × batch / samples_per_insert / (outbox_games × positions_per_game)",
                actors: self.max_staleness * self.generation_steps * self.batch
                    / self.samples_per_insert
                    / (self.outbox_games * self.positions_per_game),
                remedy: "a smaller `deploy.outbox_games`, longer generations, a higher `intake.max_staleness`; beyond the limit games are refused as stale",
            },
            Limit {
                name: "arena: link, pool",
                formula: "link_bytes_per_second × I / snapshot_bytes",
                actors: self.link_bytes_per_second * interval / self.snapshot_bytes(),
                remedy: "changes of the pool instead of snapshots",
            },
        ];
        limits.sort_by(|first, second| first.actors.total_cmp(&second.actors));
        limits
    }
}
