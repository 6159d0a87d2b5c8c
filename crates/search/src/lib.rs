//! Search over any [`Game`](ouro_game::Game): the minimax family and Monte Carlo tree search.
//!
//! Searches are pure: randomness comes as a seeded stream, time as a [`Clock`].

pub mod clock;

pub use clock::Clock;
