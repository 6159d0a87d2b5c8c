//! What drawings of all games share.

use maud::Markup;
use serde::Serialize;

/// Side of a cell, in SVG units.
pub(super) const CELL: i32 = 10;

/// Number of seat colours; further seats repeat them.
const COLOURS: usize = 8;

/// What the colours and marks of a board mean, as a CSS class and a text each.
pub(in super::super) type Legend = &'static [(&'static str, &'static str)];

/// The rendering of one position of a game.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub(in super::super) struct Frame {
    /// SVG of the pieces on the board, escaped text, or the cells of a canvas.
    pub(in super::super) board: String,
    /// Marks on the cells of a canvas.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in super::super) marks: String,
    /// HTML list items, one per seat.
    pub(in super::super) seats: String,
    /// The last moves in a sentence.
    pub(in super::super) caption: String,
}

/// The game-specific part of a frame.
#[derive(Default)]
pub(super) struct Drawing {
    pub(super) board: String,
    pub(super) marks: String,
    /// Per seat, the text beside its name.
    pub(super) seats: Vec<Markup>,
}

/// The class that gives a seat its colour.
pub(super) fn colour(seat: usize) -> String {
    format!("seat{}", seat % COLOURS)
}

/// The result of a seat in a word. Seats that share the best outcome drew, whatever value the game
/// assigns to a draw. A single player draws with no one: between a win and a loss, its game ended.
pub(in super::super) fn result(outcome: f32, all: &[f32]) -> &'static str {
    let shared = all.iter().filter(|&&other| other == outcome).count() > 1;
    let best = all.iter().all(|&other| other <= outcome);
    match outcome {
        outcome if outcome >= 1.0 => "won",
        _ if shared && best => "drew",
        outcome if outcome <= -1.0 => "lost",
        _ if all.len() == 1 => "ended",
        0.0 => "drew",
        outcome if outcome > 0.0 => "came out ahead",
        _ => "came out behind",
    }
}
