//! The actor's series for Prometheus.

use std::fmt;
use std::sync::Arc;

use ouro_service::metrics::{Readings, Source};

use crate::counters::ActorCounters;

ouro_service::series! {
    /// The series of an actor.
    pub const SERIES = [
        GAMES: Counter "ouro_actor_games_total" []
            "Games finished.";
        POSITIONS: Counter "ouro_actor_positions_total" []
            "Positions in which a player's move was decided, those of unfinished games included.";
        EVALUATIONS: Counter "ouro_actor_evaluations_total" []
            "Positions evaluated by networks, hits of the evaluation cache included.";
        BATCHES: Counter "ouro_actor_batches_total" []
            "Batches of evaluations.";
        SLOTS: Counter "ouro_actor_batch_slots_total" []
            "Positions that those batches had room for; evaluations per slot are the fill of the batches.";
        ACCEPTED: Counter "ouro_actor_games_accepted_total" []
            "Games that the learner acknowledged and did not refuse.";
        REFUSED: Counter "ouro_actor_games_refused_total" ["reason"]
            "Games that the learner refused, by its reason, and games too long to be sent (`oversize`).";
        OUTBOX: Gauge "ouro_actor_outbox_games" []
            "Finished games that the learner has not acknowledged.";
        CAPACITY: Gauge "ouro_actor_outbox_capacity_games" []
            "Finished games that the actor keeps at most; then it stops playing until the learner answers.";
        GENERATION: Gauge "ouro_actor_generation" []
            "Newest generation of weights that the actor plays; absent before the first.";
        CONNECTED: Gauge "ouro_actor_connected" ["service"]
            "1 while connected to the `arena` or the `learner`, else 0.";
    ];
}

/// Reads the series of an actor.
#[derive(Debug)]
pub struct ActorSource {
    pub(crate) counters: Arc<ActorCounters>,
    /// Finished games that the actor keeps at most.
    pub(crate) outbox_games: usize,
}

impl Source for ActorSource {
    fn read(&self, readings: &mut Readings<'_>) -> fmt::Result {
        let counters = &self.counters;
        let now = counters.snapshot();
        readings.one(&GAMES, now.games)?;
        readings.one(&POSITIONS, now.moves)?;
        readings.one(&EVALUATIONS, now.evaluations)?;
        readings.one(&BATCHES, now.batches)?;
        readings.one(&SLOTS, counters.slots())?;
        readings.one(&ACCEPTED, now.accepted)?;
        readings.each(&REFUSED, counters.refused_by_reason())?;
        readings.one(&OUTBOX, now.unanswered)?;
        readings.one(&CAPACITY, self.outbox_games)?;
        readings.maybe(&GENERATION, counters.newest().map(|generation| generation.0))?;
        readings.each(&CONNECTED, counters.connected())
    }
}
