//! Battlesnake against a slow engine written from the rules, and against its own promises.

mod differential;
mod generate;
mod properties;
mod reference;
mod scoring;
mod statistics;
