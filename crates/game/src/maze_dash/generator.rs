//! Solvable boards with an exact number of obstacles, from a seed.
//!
//! A generator starts from a path that obeys the rules and changes short parts of it at random, so
//! that it obeys them still ([`reroute`]). Cells that are not on the path are the obstacles. A path
//! that prefers more cells grows from one cell over the board, detour upon detour; a path that
//! prefers a length keeps it and changes its form. This is detour insertion as Markov chain, in place
//! of the random walk of arXiv 2005.14156, section IV, which does not reach that paper's own numbers
//! of obstacles from 20×20 up.
//!
//! Paths that grow cover up to about 80 % of a board. Paths that must cover more begin as a spiral,
//! which covers everything, and obstacles spread from its middle. So every number of obstacles below
//! the number of cells can be generated. The time is bounded by a multiple of the number of cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board::{Board, BoardError, MAX_SIDE};
use crate::rng::Rng;

mod mixing;
mod reroute;
mod slide_path;
mod spiral;

use mixing::{Aim, Mixer, Weights};
use slide_path::SlidePath;

/// Share of the board, in tenths, that a path covers before it shrinks to a smaller length. Paths that
/// stop earlier leave a part of the board empty.
const SPREAD_TENTHS: usize = 7;
/// Proposals for each cell until a path must have grown.
const GROWTH: usize = 400;
/// Proposals until a path must have grown, at least, so that small boards get several attempts.
const LEAST_GROWTH: usize = 100_000;
/// Proposals for each cell between two looks at whether a path still grows.
const GROWTH_CHECK: usize = 40;
/// Proposals for each cell that change a path of the right length.
const MIXING: usize = 20;
/// The same for a path that began as a spiral, whose obstacles must spread from the middle.
const SPIRAL_MIXING: usize = 200;

/// How hard the boards are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Turns are as random changes leave them.
    Plain,
    /// Turns where both sides are free are preferred.
    #[default]
    Standard,
    /// Turns where both sides are free are preferred strongly. A search needs several times as many
    /// nodes as for [`standard`](Self::Standard).
    Hard,
}

impl Style {
    /// All styles, easiest first.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Standard, Self::Hard];

    /// The name in settings and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Standard => "standard",
            Self::Hard => "hard",
        }
    }

    /// The style with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }

    /// Weight of a decision in bits. The values are measured: at 4.5 the number of decisions no
    /// longer grows much.
    fn decision_weight(self) -> f32 {
        match self {
            Self::Plain => 0.0,
            Self::Standard => 1.5,
            Self::Hard => 4.5,
        }
    }
}

/// A board that cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// The size or the number of obstacles is out of range.
    #[error("{0}")]
    Board(#[from] BoardError),
    /// No cell would be free.
    #[error("{obstacles} obstacles are asked on {cells} cells; leave at least one cell free")]
    Obstacles {
        /// Obstacles asked for.
        obstacles: usize,
        /// Cells of the board.
        cells: usize,
    },
}

/// Generates a board with a given start and the path that solves it, in the standard style.
///
/// The same arguments give the same board on every machine. The start is the first cell of the
/// path; [`Board::with_start`] removes it.
pub fn generate(
    width: usize,
    height: usize,
    obstacles: usize,
    seed: u64,
) -> Result<(Board, Vec<usize>), GenerateError> {
    generate_in_style(width, height, obstacles, seed, Style::default())
}

/// Generates a board like [`generate`], in another style.
pub fn generate_in_style(
    width: usize,
    height: usize,
    obstacles: usize,
    seed: u64,
    style: Style,
) -> Result<(Board, Vec<usize>), GenerateError> {
    if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
        return Err(BoardError::Size { width, height }.into());
    }
    let cells = width * height;
    if obstacles >= cells {
        return Err(GenerateError::Obstacles { obstacles, cells });
    }
    let rng = &mut Rng::new(seed, "maze dash board");
    let path = path(width, height, cells - obstacles, style, rng);
    let mut free = vec![false; cells];
    for &cell in &path {
        free[cell] = true;
    }
    let board = Board::new(width, height, free, path.first().copied())?;
    Ok((board, path))
}

/// A path of `target` cells that obeys the rules.
fn path(width: usize, height: usize, target: usize, style: Style, rng: &mut Rng) -> Vec<usize> {
    let cells = width * height;
    let decision = style.decision_weight();
    // Growth weighs cells more than later changes do, which only keep the length.
    let growth = Weights { cell: 4.0, decision, pair: 0.3 };
    let spiral = spiral::spiral(width, height, target, rng);
    let (mut mixer, weights, proposals) =
        if let Some(mixer) = grown(width, height, target, growth, rng) {
            (mixer, Weights { cell: 1.5, ..growth }, MIXING)
        } else {
            let mixer = Mixer::new(SlidePath::new(width, height, &spiral));
            (mixer, Weights { cell: 1.5, pair: 1.5, ..growth }, SPIRAL_MIXING)
        };
    for _ in 0..proposals * cells {
        mixer.step(weights, Aim::Near(target), rng);
    }
    for _ in 0..proposals * cells {
        if mixer.path.len() >= target {
            break;
        }
        mixer.step(growth, Aim::Longer, rng);
    }
    mixer.path.trim(target);
    // The spiral is a valid path of the right length if, against all odds, the other is too short.
    if mixer.path.len() == target { mixer.path.to_cells() } else { spiral }
}

/// A path that has grown from a random cell to at least `target` cells.
fn grown(
    width: usize,
    height: usize,
    target: usize,
    weights: Weights,
    rng: &mut Rng,
) -> Option<Mixer> {
    let cells = width * height;
    let length = target.max(cells * SPREAD_TENTHS / 10);
    let rounds = (LEAST_GROWTH / cells).max(GROWTH) / GROWTH_CHECK;
    let mut mixer: Option<Mixer> = None;
    for _ in 0..rounds {
        let growing = mixer.get_or_insert_with(|| {
            let start = rng.below(cells as u32) as usize;
            Mixer::new(SlidePath::new(width, height, &[start]))
        });
        let before = growing.path.len();
        for _ in 0..GROWTH_CHECK * cells {
            if growing.path.len() >= length {
                return mixer;
            }
            growing.step(weights, Aim::Longer, rng);
        }
        if growing.path.len() <= before + cells / 200 {
            // This path has stopped growing. The next may do better.
            if growing.path.len() >= target {
                return mixer;
            }
            mixer = None;
        }
    }
    None
}
