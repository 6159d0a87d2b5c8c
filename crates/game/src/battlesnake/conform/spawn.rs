//! Checks new food against the rules, from the position alone.
//!
//! A second, slow implementation without the engine's bit sets, so that an error there is not
//! repeated here.

use crate::battlesnake::config::{Config, Map};
use crate::battlesnake::position::{Point, Position};

/// Cells where food may appear: without food and living bodies, not next to a living head.
pub fn legal_cells(position: &Position) -> Vec<Point> {
    let (width, height) = (i32::from(position.width), i32::from(position.height));
    let living = || position.snakes.iter().filter(|snake| snake.death.is_none());
    let beside_a_head = |cell: Point| {
        let heads = living().filter_map(|snake| snake.body.first());
        heads.into_iter().any(|head| (head.x - cell.x).abs() + (head.y - cell.y).abs() == 1)
    };
    (0..height)
        .flat_map(|y| (0..width).map(move |x| Point { x, y }))
        .filter(|cell| !position.food.contains(cell))
        .filter(|cell| !living().any(|snake| snake.body.contains(cell)))
        .filter(|&cell| !beside_a_head(cell))
        .collect()
}

/// Checks whether the rules could have placed `spawned` in `position`; the error names the
/// violated rule.
///
/// A top-up to `minimum_food` has a fixed count. A roll of `food_spawn_chance` gives no food or
/// one, and never any for a chance of 0 or 1.
pub fn check_spawn(config: &Config, position: &Position, spawned: &[Point]) -> Result<(), String> {
    let legal = legal_cells(position);
    let missing = usize::from(config.minimum_food).saturating_sub(position.food.len());
    let (least, most) = if config.map == Map::Empty {
        (0, 0)
    } else if missing > 0 {
        (missing.min(legal.len()), missing.min(legal.len()))
    } else {
        (0, usize::from(config.food_spawn_chance > 1).min(legal.len()))
    };
    let count = spawned.len();
    if !(least..=most).contains(&count) {
        return Err(format!("{count} foods appeared; the rules place {least} to {most}"));
    }
    for (index, cell) in spawned.iter().enumerate() {
        if !legal.contains(cell) {
            return Err(format!("food appeared on {cell}, where none may"));
        }
        if spawned[..index].contains(cell) {
            return Err(format!("food appeared twice on {cell}"));
        }
    }
    Ok(())
}
