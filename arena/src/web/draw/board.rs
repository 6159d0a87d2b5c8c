//! The board of a page: SVG, a canvas or text, with the first frame on it.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use super::parts::{CELL, Frame};

/// Maximum number of columns and of rows of a board that is drawn with lines between its cells.
const MOST_LINED: usize = 60;

/// The style of the board, which is the same in all frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum BoardStyle {
    /// Square cells, with lines between them on boards of at most [`MOST_LINED`] rows and columns.
    Cells {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Round holes, as on a Connect Four board.
    Holes {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Square cells of a large board, which the script draws on a canvas. The canvas is hidden
    /// until then.
    Canvas {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Lines of text.
    Text,
}

impl BoardStyle {
    /// The board with a frame on it. Only the element with the id `frame` changes.
    pub(in super::super) fn with_frame(self, frame: &Frame) -> Markup {
        let content = PreEscaped(&frame.board);
        let (width, height) = match self {
            Self::Text => return html! { pre.board #frame { (content) } },
            Self::Cells { width, height } | Self::Holes { width, height } => (width, height),
            Self::Canvas { width, height } => {
                return html! {
                    canvas.board #frame width=(width) height=(height) role="img" hidden
                        aria-labelledby="caption" data-columns=(width) data-rows=(height)
                        data-board=(frame.board) data-marks=(frame.marks) {}
                };
            }
        };
        let class = if matches!(self, Self::Cells { .. }) { "board cells" } else { "board holes" };
        let (right, bottom) = (side(width), side(height));
        html! {
            svg class=(class) viewBox=(format!("0 0 {right} {bottom}")) role="img"
                aria-labelledby="caption" {
                rect.ground width=(right) height=(bottom) {}
                @if matches!(self, Self::Cells { .. }) {
                    @if width.max(height) <= MOST_LINED {
                        path.lines d=(lines(width, height)) {}
                    }
                } @else {
                    g.hollow { @for column in 0..width { @for row in 0..height {
                        circle cx=(side(column) + CELL / 2) cy=(side(row) + CELL / 2) r="4" {}
                    } } }
                }
                g #frame { (content) }
            }
        }
    }

    /// The style for pages without the script, which draws canvases.
    pub(in super::super) fn without_script(self) -> Self {
        match self {
            Self::Canvas { width, height } => Self::Cells { width, height },
            other => other,
        }
    }

    /// Whether the script draws the board.
    pub(in super::super) fn is_canvas(self) -> bool {
        matches!(self, Self::Canvas { .. })
    }
}

/// The length of so many cells.
fn side(cells: usize) -> i32 {
    cells as i32 * CELL
}

/// The lines between cells.
fn lines(width: usize, height: usize) -> String {
    let mut path = String::new();
    // Writing to a string cannot fail.
    for column in 1..width {
        let _ = write!(path, "M{} 0v{}", side(column), side(height));
    }
    for row in 1..height {
        let _ = write!(path, "M0 {}h{}", side(row), side(width));
    }
    path
}
