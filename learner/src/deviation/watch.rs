//! The comparison of actors in a running learner: who deviates, with a log line for each change.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_proto::DeviatingActor;
use ouro_replay::GameSummary;

use super::{Deviation, Judgement, Tally};

/// The comparison that the journal writer feeds and status requests read.
#[derive(Debug, Default)]
pub(crate) struct DeviationWatch(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    tally: Tally,
    last: Judgement,
}

impl DeviationWatch {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Poisoning is ignored, because a judgement is replaced as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an accepted game. Returns whether an evaluation is due, after the first game of a
    /// generation.
    pub(crate) fn record(&self, actor: &Arc<str>, game: &GameSummary) -> bool {
        self.lock().tally.record(actor, game)
    }

    /// Compares all actors now, which takes milliseconds.
    pub(crate) fn evaluate(&self) {
        evaluate(&mut self.lock());
    }

    /// The numbers of actors with enough games to be compared, and of those that deviate.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.last.judged, state.last.deviating.len())
    }

    /// The actors that deviate, by name.
    pub(crate) fn list(&self) -> Vec<DeviatingActor> {
        let state = self.lock();
        let entry = |(actor, deviation): (&Arc<str>, &Deviation)| DeviatingActor {
            name: actor.to_string(),
            quantity: deviation.quantity.as_str().to_owned(),
            residual: deviation.residual,
            games: u32::try_from(deviation.games).unwrap_or(u32::MAX),
        };
        state.last.deviating.iter().map(entry).collect()
    }
}

fn evaluate(state: &mut State) {
    let judgement = state.tally.judge(state.last.deviating.keys());
    for (actor, Deviation { quantity, residual, games }) in &judgement.deviating {
        if !state.last.deviating.contains_key(actor) {
            let (what, residual) = (quantity.as_str(), format!("{residual:.1}"));
            tracing::warn!(
                %actor, what, %residual, games,
                "the games of an actor deviate from those of all others; \
                 the runbook says what to check before its token is revoked and its games are purged"
            );
        }
    }
    for actor in state.last.deviating.keys() {
        if !judgement.deviating.contains_key(actor) {
            tracing::warn!(%actor, "the games of an actor deviate no more, or are no longer compared");
        }
    }
    state.last = judgement;
}
