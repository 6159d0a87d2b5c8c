//! Text of others in messages of this program.

pub use ouro_game::error::brief;
