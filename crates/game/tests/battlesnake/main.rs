//! Battlesnake against a slow reference implementation, and its own invariants.

mod differential;
mod generate;
mod properties;
mod reference;
mod scoring;
mod statistics;
