//! Renders games as frames.
//!
//! The server renders frames from the rules, so the script contains no game-specific code. A frame
//! consists of the board, a line per seat, and a caption. Battlesnake, Snake, Connect Four,
//! tic-tac-toe, Maze Dash and SNAKGAME are rendered as SVG, every other game as text. Large boards
//! of Maze Dash and SNAKGAME are cells that the script draws on a canvas: see [`raster`].
//! [`recorded`] renders games of the store, [`live`] the game in play.

mod board;
mod canvas;
mod frame;
mod grids;
mod live;
mod parts;
mod raster;
mod recorded;
mod snakes;
mod stones;

pub(super) use live::{LiveRenderer, live_renderer};
pub(super) use parts::result;
pub(super) use recorded::{Still, animate, still};

#[cfg(test)]
pub(super) mod tests;
