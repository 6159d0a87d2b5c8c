//! What the doctor knows of a cluster: plain data, collected by [`collect`](super::collect) and judged
//! by [`checks`](super::checks).

use ouro_arena::store::ServerReport;
use ouro_net::Generation;
use ouro_proto::{ArenaReport, LearnerReport, ProcessReport};

/// Everything that was found out about a cluster.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Version of the doctor's program.
    pub(super) version: String,
    /// Name of the game in the settings; `None` without a settings file.
    pub(super) game: Option<String>,
    pub(super) arena: Service<ArenaFacts>,
    pub(super) learner: Service<LearnerFacts>,
    /// The Redis server of the settings; `None` for results in files.
    pub(super) redis: Option<Result<ServerReport, String>>,
    /// The object store of the settings; `None` for weights in files.
    pub(super) objects: Option<ObjectsFacts>,
}

/// What came of looking into an object store.
#[derive(Clone, Debug)]
pub(super) enum ObjectsFacts {
    /// It can be listed.
    Holds {
        url: String,
        /// Weights that are there.
        weights: usize,
    },
    /// The doctor's program knows no object stores.
    NotBuilt { url: String },
    /// It cannot be listed.
    Failed { problem: String },
}

/// A service, and what came of asking it.
#[derive(Clone, Debug)]
pub(super) struct Service<T> {
    /// Its address.
    pub(super) address: String,
    pub(super) answer: Result<Answer<T>, Unanswered>,
}

/// An answer with the times at which it was given.
#[derive(Clone, Debug)]
pub(super) struct Answer<T> {
    /// Seconds by which the clock of the service is ahead of the doctor's.
    pub(super) ahead: f64,
    /// Largest error of that difference: half the time that the call took.
    pub(super) error: f64,
    /// Seconds between the two samples of the facts.
    pub(super) seconds: f64,
    pub(super) facts: T,
}

/// Why a service gave no answer.
#[derive(Clone, Debug)]
pub(super) enum Unanswered {
    /// Nothing answers at the address.
    Unreachable(String),
    /// The service refused the call.
    Refused(String),
}

/// What the arena says.
#[derive(Clone, Debug, Default)]
pub(super) struct ArenaFacts {
    /// The first of two samples.
    pub(super) before: ArenaReport,
    /// The second one.
    pub(super) now: ArenaReport,
    /// The run.
    pub(super) run: String,
    /// Every generation with the Unix time of its publication, oldest first.
    pub(super) published: Vec<(Generation, f64)>,
    /// Generations whose weights the arena cannot read.
    pub(super) missing: Vec<Generation>,
    /// The candidate whose match is played, with its games and their maximum.
    pub(super) at_gate: Option<(Generation, u32, u32)>,
}

/// What the learner says.
#[derive(Clone, Debug, Default)]
pub(super) struct LearnerFacts {
    /// The first of two samples.
    pub(super) before: LearnerReport,
    /// The second one.
    pub(super) now: LearnerReport,
}

impl Facts {
    /// The arena, if it answered.
    pub(super) fn arena(&self) -> Option<&Answer<ArenaFacts>> {
        self.arena.answer.as_ref().ok()
    }

    /// The learner, if it answered.
    pub(super) fn learner(&self) -> Option<&Answer<LearnerFacts>> {
        self.learner.answer.as_ref().ok()
    }

    /// The processes that answered, by the name of their service.
    pub(super) fn processes(&self) -> Vec<(&'static str, &ProcessReport)> {
        let arena = self.arena().and_then(|arena| arena.facts.now.process.as_ref());
        let learner = self.learner().and_then(|learner| learner.facts.now.process.as_ref());
        let named = [("arena", arena), ("learner", learner)];
        named.into_iter().filter_map(|(name, process)| Some((name, process?))).collect()
    }
}
