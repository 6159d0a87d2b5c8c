//! Search over any [`Game`](ouro_game::Game): the minimax family and Monte Carlo tree search.
//!
//! Searches are pure: randomness comes as a seeded stream, time as a [`Clock`].
//!
//! * [`minimax`]: plain minimax, paranoid alpha-beta and MaxN to a depth or a deadline, over an
//!   [`Evaluation`]; [`AreaControl`] is the one for Battlesnake.

pub mod area_control;
pub mod clock;
pub mod evaluation;
pub mod minimax;

pub use area_control::AreaControl;
pub use clock::Clock;
pub use evaluation::{Evaluation, OutcomeOnly};
pub use minimax::{Deadline, Found, Limits, MaxN, NotToMove, Paranoid, Plain, Query, Searcher};
