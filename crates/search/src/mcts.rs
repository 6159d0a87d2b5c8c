//! Monte Carlo tree search for every kind of [`Game`](ouro_game::Game).
//!
//! One search handles alternating and simultaneous moves, single players with discounted
//! rewards, chance, and any number of players with a value each. One [`SearchConfig`] configures
//! all of it.
//!
//! * [`Search`] is the tree of one game from decision to decision, as a state machine. It emits
//!   leaves and receives estimates; it never evaluates, blocks or reads a clock itself.
//! * [`Scheduler`] drives thousands of searches with one [`Evaluator`](crate::Evaluator), in full
//!   batches.
//! * [`SearchResult`] holds an action with its probability, visits, an improved policy as training
//!   target, and values.
//!
//! ```
//! use ouro_game::connect_four::{Config, ConnectFour};
//! use ouro_game::{Game, Rng};
//! use ouro_search::{Rollout, Scheduler, Search, SearchConfig};
//!
//! let game = ConnectFour::new(Config::default())?;
//! // Three in a row: column 4 wins.
//! let state = game.position("112233").ok_or("not a position")?;
//! let config = SearchConfig { simulations: 100, ..SearchConfig::default() };
//! let mut search = Search::new(config, &game)?;
//! search.start(&game, &state, Rng::new(1, "search"));
//! Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Rollout::new());
//! let decision = search.decide(&game);
//! assert!(decision.proven);
//! assert_eq!(game.action_name(decision.seats[0].action), "column 4");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod config;
mod config_error;
mod joint;
mod node_store;
mod noise;
mod proven;
mod result;
mod reward_sum;
mod root;
mod scale;
mod schedule;
pub mod scheduler;
mod search;
#[cfg(test)]
mod tests;
mod tree;

pub use config::{
    ChanceWidth, FastSearch, FirstPlay, Gumbel, MAX_SIMULATIONS, Noise, Objective, SearchConfig,
    Simultaneous, ValueScale,
};
pub use config_error::SearchConfigError;
pub use node_store::node_bytes;
pub use result::{SearchResult, SeatResult};
pub use schedule::Temperature;
pub use scheduler::{KNOWN_PER_STEP, Scheduler, StepReport};
pub use search::{LeafId, Search, SelectOutcome};
