//! Errors that stop a worker.

use ouro_game::StepError;
use ouro_players::{FitError, NameError};
use ouro_search::mcts::SearchConfigError;

/// Error that stops a worker.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The weights are for another game.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The search does not fit the game.
    #[error(transparent)]
    Search(#[from] SearchConfigError),
    /// A scripted player cannot be built.
    #[error("{key}: {error}")]
    Scripted {
        /// Key of the setting that names it.
        key: &'static str,
        /// The error.
        #[source]
        error: NameError,
    },
    /// A scripted player has a time limit.
    #[error(
        "{key}: {player} has a time limit, but a training game depends on its seed alone; give it a \
         depth or a number of simulations"
    )]
    Timed {
        /// Key of the setting that names it.
        key: &'static str,
        /// The player.
        player: String,
    },
    /// A scripted player has a cache.
    #[error(
        "{key}: {player} has a cache, and every thread would keep one for each player and its weights, \
         besides the memory that is counted; leave cache out"
    )]
    Caching {
        /// Key of the setting that names it.
        key: &'static str,
        /// The player.
        player: String,
    },
    /// The trees do not fit into their memory.
    #[error(
        "{trees} trees of {simulations} simulations need {needed} bytes; tree memory is {bytes}, \
         give more or play fewer games at once"
    )]
    Memory {
        /// Trees at once.
        trees: usize,
        /// Simulations per decision.
        simulations: u32,
        /// Limit in bytes.
        bytes: usize,
        /// Required bytes.
        needed: usize,
    },
    /// A game that must have its number cannot be learned from.
    #[error(
        "game {number} had nothing to learn from in {attempts} attempts: no full search, and no estimate \
         of its outcome at the limit of plies; raise actor.max_plies or actor.search.fast.full_share"
    )]
    NothingToLearn {
        /// Number of the game.
        number: u64,
        /// How often it was played.
        attempts: u32,
    },
    /// A game that must have its number is too long to be sent.
    #[error(
        "game {number} takes {bytes} bytes, a message has at most {max}, and a deterministic run needs every \
         game; lower actor.max_plies"
    )]
    TooLong {
        /// Number of the game.
        number: u64,
        /// Bytes of its message.
        bytes: usize,
        /// Most bytes of a message.
        max: usize,
    },
    /// A scripted player found no move: a bug.
    #[error("the scripted player of seat {player} found no move")]
    NoMove {
        /// The seat.
        player: usize,
    },
    /// A policy has no tree for a game: a bug.
    #[error("a seat policy has no tree for a game that it plays")]
    NoTree,
    /// A move broke the rules: a bug.
    #[error("game {seed}, ply {ply}: {error}")]
    Step {
        /// Seed of the game.
        seed: u64,
        /// Ply, from 0.
        ply: usize,
        /// Error of the rules.
        error: StepError,
    },
}

impl WorkerError {
    /// The setting that the error is about, or the innermost table around it.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Scripted { key, .. } | Self::Timed { key, .. } | Self::Caching { key, .. } => key,
            Self::NothingToLearn { .. } | Self::TooLong { .. } => "actor.max_plies",
            Self::Memory { .. } => "actor.tree_memory_mib",
            Self::Search(_) => "actor.search",
            Self::Fit(_) | Self::NoMove { .. } | Self::NoTree | Self::Step { .. } => "actor",
        }
    }
}
