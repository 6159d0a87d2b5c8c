//! Players, and batches of games between them.
//!
//! * [`Player`] chooses actions for many positions at once. [`by_name`] builds the known players;
//!   [`registry`] lists them and documents how to add one.
//! * [`GameBatch`] plays many games in lockstep, so that a network evaluates one large batch per
//!   ply.
//! * [`opponents`] draws the opponents of the newest weights in training.
//! * [`pairs`] plans games that differ in their seats only, and [`distinct`] counts games that are
//!   not repetitions of each other.
//!
//! The crate is pure: the same seeds and players give the same games.

pub mod exam;
pub mod game_batch;
pub mod game_specific;
pub mod greedy;
pub mod hamiltonian;
mod mcts;
pub mod minimax;
mod nearest;
pub mod net_evaluator;
mod net_fit;
pub mod net_player;
pub mod network_heuristic;
pub mod opponents;
pub mod pairing;
pub mod perfect;
pub mod player;
pub mod random;
pub mod registry;
mod search_limit;
pub mod selection;
pub mod snake_tree;
pub mod snakgame_strategy;

pub use game_batch::{FinishedGame, GameBatch, GameBatchError, GameInProgress};
pub use greedy::Greedy;
pub use hamiltonian::Hamiltonian;
pub use mcts::WITHOUT_NETWORK;
pub use nearest::nearest;
pub use net_evaluator::NetEvaluator;
pub use net_fit::{FitError, smallest_network};
pub use net_player::NetPlayer;
pub use network_heuristic::NetworkHeuristic;
pub use opponents::{Opponent, OpponentShares, OpponentSharesError};
pub use ouro_search::Clock;
pub use pairing::{PairedGame, distinct, fingerprint, pairs};
pub use perfect::Perfect;
pub use player::{Choice, Player, Request};
pub use random::Random;
pub use registry::{BuildContext, NameError, by_name, by_name_for};
pub use search_limit::check_search;
pub use selection::{Selection, SelectionError};
pub use snake_tree::SnakeTreeSearch;
pub use snakgame_strategy::SnakgameStrategy;
