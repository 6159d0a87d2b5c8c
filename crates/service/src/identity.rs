//! What this process is: its service and name, the game, the run and the generation.
//!
//! Lines of JSON logs and `ouro_build_info` carry these facts. They belong to the process, as its
//! log does, so there is one value per process. Each part sets what it knows once it knows it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stands for a generation that is not known; no generation has this number.
const NONE: u64 = u64::MAX;

static IDENTITY: Identity = Identity::new();

/// The identity of this process.
pub fn identity() -> &'static Identity {
    &IDENTITY
}

/// Facts about a process. The first value of each is kept, except that of the generation.
#[derive(Debug)]
pub struct Identity {
    service: OnceLock<&'static str>,
    actor: OnceLock<String>,
    game: OnceLock<String>,
    run: OnceLock<String>,
    generation: AtomicU64,
}

impl Identity {
    pub(crate) const fn new() -> Self {
        Self {
            service: OnceLock::new(),
            actor: OnceLock::new(),
            game: OnceLock::new(),
            run: OnceLock::new(),
            generation: AtomicU64::new(NONE),
        }
    }

    /// Sets the service: `learner`, `arena`, `actor` or `train`.
    pub fn set_service(&self, service: &'static str) {
        self.service.get_or_init(|| service);
    }

    /// Sets the name of an actor.
    pub fn set_actor(&self, name: &str) {
        self.actor.get_or_init(|| name.to_owned());
    }

    /// Sets the name of the game.
    pub fn set_game(&self, game: &str) {
        self.game.get_or_init(|| game.to_owned());
    }

    /// Sets the identifier of the run.
    pub fn set_run(&self, run: impl ToString) {
        self.run.get_or_init(|| run.to_string());
    }

    /// Sets the newest generation that the process made, received or plays.
    pub fn set_generation(&self, generation: u32) {
        self.generation.store(generation.into(), Ordering::Relaxed);
    }

    /// The service; empty if it is not set. So are the other texts.
    pub fn service(&self) -> &str {
        self.service.get().copied().unwrap_or_default()
    }

    /// The name of the actor.
    pub fn actor(&self) -> &str {
        text(&self.actor)
    }

    /// The name of the game.
    pub fn game(&self) -> &str {
        text(&self.game)
    }

    /// The identifier of the run.
    pub fn run(&self) -> &str {
        text(&self.run)
    }

    /// The generation, if one is known.
    pub fn generation(&self) -> Option<u64> {
        let generation = self.generation.load(Ordering::Relaxed);
        (generation != NONE).then_some(generation)
    }
}

fn text(fact: &OnceLock<String>) -> &str {
    fact.get().map_or("", String::as_str)
}
