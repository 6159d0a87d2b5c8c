//! The official initial placement of snakes and food.
//!
//! Square boards have fixed starting points that are assigned at random. On other boards snakes
//! and food start on random cells. [`Placement::new`] refuses configurations that cannot be
//! placed, so that [`Placement::draw`] always succeeds.
//!
//! The order of draws is this crate's own: a seed gives the same start on every machine, but not
//! the start of the official engine for that seed.

use super::config::{Config, Map, config_error};
use super::position::Point;
use crate::error::ConfigError;
use crate::rng::Rng;

/// Narrowest square board with fixed points.
const SMALL: i32 = 7;
/// Narrowest square board with fixed points for more than eight snakes.
const MEDIUM: i32 = 11;
/// Boards of at least this many cells give every snake a food of its own.
const ROOMY: i32 = MEDIUM * MEDIUM;
/// Most snakes that get a food of their own on smaller square boards.
const FEW: usize = 4;

/// How starting cells are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    /// Corners or edge middles first.
    Ring,
    /// One quadrant after another.
    Quadrants,
    /// Random cells of one colour of the chessboard.
    Scattered,
}

/// The placement of one board.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placement {
    scheme: Scheme,
    width: i32,
    height: i32,
    snakes: usize,
    food: bool,
}

/// A drawn start: one cell per snake, and the food in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StartLayout {
    pub(super) heads: Vec<Point>,
    pub(super) food: Vec<Point>,
}

impl Placement {
    /// Chooses the scheme. The error says why the snakes do not fit.
    pub(super) fn new(config: &Config) -> Result<Self, ConfigError> {
        let (width, height) = (i32::from(config.width), i32::from(config.height));
        let snakes = usize::from(config.snakes);
        let square = width == height;
        let scheme = match snakes {
            0..=8 if square && width >= SMALL => Scheme::Ring,
            9.. if square && width >= MEDIUM => Scheme::Quadrants,
            _ => Scheme::Scattered,
        };
        let food = config.map != Map::Empty && !config.ruleset.is_constrictor();
        let placement = Self { scheme, width, height, snakes, food };
        if config.start.is_some() {
            return Ok(placement);
        }
        if square && width < SMALL && snakes > 8 {
            let remedy = format!("a square board narrower than {SMALL} has room for 8");
            return Err(config_error("snakes", &snakes, remedy));
        }
        let room = placement.chessboard().len();
        if scheme == Scheme::Scattered && snakes > room {
            let remedy = format!("a {width}x{height} board has starting cells for {room}");
            return Err(config_error("snakes", &snakes, remedy));
        }
        Ok(placement)
    }

    /// Draws a start.
    pub(super) fn draw(&self, rng: &mut Rng) -> StartLayout {
        let heads = match self.scheme {
            Scheme::Ring => self.ring(rng),
            Scheme::Quadrants => self.quadrants(rng),
            Scheme::Scattered => self.scattered(rng),
        };
        let food = match self.food {
            false => Vec::new(),
            true if self.width == self.height && self.width >= SMALL => {
                self.fixed_food(&heads, rng)
            }
            true => self.scattered_food(&heads, rng),
        };
        StartLayout { heads, food }
    }

    fn center(&self) -> Point {
        Point { x: (self.width - 1) / 2, y: (self.height - 1) / 2 }
    }

    fn ring(&self, rng: &mut Rng) -> Vec<Point> {
        let (low, middle, high) = (1, self.center().x, self.width - 2);
        let mut corners = [(low, low), (low, high), (high, low), (high, high)];
        let mut edges = [(low, middle), (middle, low), (high, middle), (middle, high)];
        rng.shuffle(&mut corners);
        rng.shuffle(&mut edges);
        let groups = if rng.below(2) == 0 { [corners, edges] } else { [edges, corners] };
        groups.as_flattened()[..self.snakes].iter().map(|&point| point.into()).collect()
    }

    fn quadrants(&self, rng: &mut Rng) -> Vec<Point> {
        let half = self.width / 2;
        let (near, far) = (half / 3, half - half / 3);
        let (right, top) = (self.width - 1, self.height - 1);
        let base = [(near, near), (near, far), (far, near), (far, far)];
        let mut quadrants = [
            base,
            base.map(|(x, y)| (right - x, y)),
            base.map(|(x, y)| (x, top - y)),
            base.map(|(x, y)| (right - x, top - y)),
        ];
        for quadrant in &mut quadrants {
            rng.shuffle(quadrant);
        }
        let first = rng.below(4) as usize;
        // Snake i is the (i / 4)-th to be put into its quadrant.
        (0..self.snakes).map(|snake| quadrants[(first + snake) % 4][snake / 4].into()).collect()
    }

    /// Cells whose coordinates have an even sum, the centre left out.
    fn chessboard(&self) -> Vec<Point> {
        let row = |y| (0..self.width).map(move |x| Point { x, y });
        let even = |point: &Point| (point.x + point.y) % 2 == 0 && *point != self.center();
        (0..self.height).flat_map(row).filter(even).collect()
    }

    fn scattered(&self, rng: &mut Rng) -> Vec<Point> {
        let mut cells = self.chessboard();
        (0..self.snakes)
            .map(|_| cells.swap_remove(rng.below(cells.len() as u32) as usize))
            .collect()
    }

    fn fixed_food(&self, heads: &[Point], rng: &mut Rng) -> Vec<Point> {
        let mut food = Vec::with_capacity(heads.len() + 1);
        if heads.len() <= FEW || self.width * self.height >= ROOMY {
            for &head in heads {
                let choices: Vec<Point> = diagonals(head)
                    .into_iter()
                    .filter(|cell| self.is_outward(*cell, head) && !food.contains(cell))
                    .collect();
                if !choices.is_empty() {
                    food.push(choices[rng.below(choices.len() as u32) as usize]);
                }
            }
        }
        food.push(self.center());
        food
    }

    /// Whether a diagonal neighbour of a head may get that snake's food.
    ///
    /// On some axis the cell is further from the centre than the head, and it is neither a corner
    /// of the board nor the centre.
    fn is_outward(&self, cell: Point, head: Point) -> bool {
        let (center, right, top) = (self.center(), self.width - 1, self.height - 1);
        let corner = (cell.x == 0 || cell.x == right) && (cell.y == 0 || cell.y == top);
        let beyond = |cell: i32, head: i32, center: i32| {
            cell < head && head < center || center < head && head < cell
        };
        let outward = beyond(cell.x, head.x, center.x) || beyond(cell.y, head.y, center.y);
        outward && !corner && cell != center
    }

    /// One food per snake on cells without food and bodies that are not next to a head; fewer if
    /// the board has too few such cells.
    fn scattered_food(&self, heads: &[Point], rng: &mut Rng) -> Vec<Point> {
        let row = |y| (0..self.width).map(move |x| Point { x, y });
        let clear = |cell: &Point| {
            heads.iter().all(|head| head.x.abs_diff(cell.x) + head.y.abs_diff(cell.y) > 1)
        };
        let mut cells: Vec<Point> = (0..self.height).flat_map(row).filter(clear).collect();
        let count = heads.len().min(cells.len());
        (0..count).map(|_| cells.swap_remove(rng.below(cells.len() as u32) as usize)).collect()
    }
}

fn diagonals(head: Point) -> [Point; 4] {
    [(-1, -1), (-1, 1), (1, -1), (1, 1)].map(|(dx, dy)| Point { x: head.x + dx, y: head.y + dy })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(width: u8, height: u8, snakes: u8) -> Result<Placement, ConfigError> {
        Placement::new(&Config { width, height, snakes, ..Config::default() })
    }

    #[test]
    fn every_snake_of_a_fixed_start_keeps_a_food_cell_that_no_other_can_take() {
        // Then the greedy choice can never run out of cells, whatever is drawn.
        for side in 7..=25 {
            for snakes in 1..=16 {
                let Ok(placement) = placement(side, side, snakes) else { continue };
                let own_food = usize::from(snakes) <= FEW || i32::from(side).pow(2) >= ROOMY;
                if placement.scheme == Scheme::Scattered || !own_food {
                    continue;
                }
                for seed in 0..20 {
                    let heads = placement.draw(&mut Rng::new(seed, "deal")).heads;
                    let choices = |head: Point| {
                        diagonals(head)
                            .into_iter()
                            .filter(move |&cell| placement.is_outward(cell, head))
                    };
                    for &head in &heads {
                        let own = choices(head).any(|cell| {
                            heads.iter().all(|&other| {
                                other == head || choices(other).all(|taken| taken != cell)
                            })
                        });
                        assert!(own, "{side}x{side}, {snakes} snakes, head {head}");
                    }
                }
            }
        }
    }

    #[test]
    fn boards_without_room_are_refused_by_the_number_of_snakes() {
        assert!(placement(3, 3, 4).is_ok());
        let error = placement(3, 3, 5).expect_err("four even cells are left without the centre");
        assert_eq!(error.field, "snakes");
        assert!(placement(6, 6, 8).is_ok());
        assert!(placement(6, 6, 9).is_err());
        assert!(placement(7, 7, 16).is_ok());
        assert!(placement(3, 4, 5).is_ok());
    }
}
