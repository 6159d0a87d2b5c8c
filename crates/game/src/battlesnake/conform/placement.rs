//! Checks a set-up against the placement rules, from the position alone.
//!
//! Placement is random. A set-up conforms if some random choice produces it.

use super::spawn::legal_cells;
use crate::battlesnake::config::Map;
use crate::battlesnake::position::{Point, Position};

/// Checks whether the map could have set up `position`; the error names the violated rule.
///
/// The position is that before the ruleset's first pass, which removes food from constrictor
/// games.
pub fn check_placement(map: Map, position: &Position) -> Result<(), String> {
    if position.turn != 0 || !position.hazards.is_empty() {
        return Err("a set-up is turn 0 without hazards".to_owned());
    }
    let mut heads = Vec::with_capacity(position.snakes.len());
    for (index, snake) in position.snakes.iter().enumerate() {
        let fresh = snake.death.is_none() && snake.health == 100;
        let head = match snake.body[..] {
            [head, second, third] if fresh && head == second && head == third => head,
            _ => return Err(format!("snakes[{index}] does not start whole, 3 long, on one cell")),
        };
        if position.cell_index(head).is_none() {
            return Err(format!("snakes[{index}] starts off the board, on {head}"));
        }
        if heads.contains(&head) {
            return Err(format!("snakes[{index}] starts on {head}, as does another"));
        }
        heads.push(head);
    }
    check_heads(position, &heads)?;
    match map {
        Map::Empty if position.food.is_empty() => Ok(()),
        Map::Empty => Err("the empty map starts without food".to_owned()),
        Map::Standard | Map::Royale => check_food(position, &heads),
    }
}

fn centre(position: &Position) -> Point {
    Point { x: (i32::from(position.width) - 1) / 2, y: (i32::from(position.height) - 1) / 2 }
}

/// Whether the board is square and large enough for fixed starting points.
fn has_fixed_points(position: &Position) -> bool {
    position.width == position.height && position.width >= 7
}

fn check_heads(position: &Position, heads: &[Point]) -> Result<(), String> {
    let outside = |index: usize| {
        Err(format!("snakes[{index}] starts on {}, which is not one of its points", heads[index]))
    };
    let square = position.width == position.height;
    if heads.len() > 8 && square && position.width < 7 {
        return Err("more than 8 snakes do not fit a small square board".to_owned());
    }
    if !has_fixed_points(position) || (heads.len() > 8 && position.width < 11) {
        let centre = centre(position);
        let fits = |head: &Point| (head.x + head.y) % 2 == 0 && *head != centre;
        return match heads.iter().position(|head| !fits(head)) {
            Some(index) => outside(index),
            None => Ok(()),
        };
    }
    let (last, middle) = (i32::from(position.width) - 1, centre(position).x);
    if heads.len() <= 8 {
        // Corner points and edge points; whole groups, in either order.
        let is_corner = |p: &Point| [1, last - 1].contains(&p.x) && [1, last - 1].contains(&p.y);
        let is_edge = |p: &Point| {
            (p.x == middle && [1, last - 1].contains(&p.y))
                || (p.y == middle && [1, last - 1].contains(&p.x))
        };
        let first_is_corner = heads.first().is_some_and(is_corner);
        let fits = |index: usize| {
            let corner = (index < 4) == first_is_corner;
            if corner { is_corner(&heads[index]) } else { is_edge(&heads[index]) }
        };
        return match (0..heads.len()).find(|&index| !fits(index)) {
            Some(index) => outside(index),
            None => Ok(()),
        };
    }
    // Four points in each quadrant, quadrants in turn.
    let quarter = i32::from(position.width) / 2;
    let inset = quarter / 3;
    let near = [inset, quarter - inset];
    let far = near.map(|at| last - at);
    let quadrant = |p: &Point| match (near.contains(&p.x), near.contains(&p.y)) {
        (true, true) => Some(0),
        (false, true) if far.contains(&p.x) => Some(1),
        (true, false) if far.contains(&p.y) => Some(2),
        (false, false) if far.contains(&p.x) && far.contains(&p.y) => Some(3),
        _ => None,
    };
    let first = quadrant(&heads[0]);
    let fits = |index: usize| {
        first.is_some_and(|first| quadrant(&heads[index]) == Some((first + index) % 4))
    };
    (0..heads.len()).find(|&index| !fits(index)).map_or(Ok(()), outside)
}

fn check_food(position: &Position, heads: &[Point]) -> Result<(), String> {
    let (food, centre) = (&position.food, centre(position));
    if !has_fixed_points(position) {
        let legal = legal_cells(&Position { food: Vec::new(), ..position.clone() });
        let expected = heads.len().min(legal.len());
        if food.len() != expected {
            return Err(format!("{} foods are set up; it must be {expected}", food.len()));
        }
        for (index, cell) in food.iter().enumerate() {
            if !legal.contains(cell) || food[..index].contains(cell) {
                return Err(format!("food[{index}] is set up on {cell}, which is not free"));
            }
        }
        return Ok(());
    }
    let paired = heads.len() <= 4 || position.cells() >= 121;
    let expected = if paired { heads.len() + 1 } else { 1 };
    if food.len() != expected {
        return Err(format!("{} foods are set up; it must be {expected}", food.len()));
    }
    if paired {
        for (index, (&cell, &head)) in food.iter().zip(heads).enumerate() {
            if food[..index].contains(&cell) || !is_starter(position, head, cell) {
                return Err(format!(
                    "food[{index}] is set up on {cell}, which does not suit snakes[{index}] on {head}"
                ));
            }
        }
    }
    if food[expected - 1] != centre {
        return Err(format!(
            "food[{}] is set up on {}; it must be the centre",
            expected - 1,
            food[expected - 1]
        ));
    }
    Ok(())
}

/// Whether `food` lies diagonally next to `head`, further out than it on some axis, and
/// neither in a corner of the board nor in the centre.
fn is_starter(position: &Position, head: Point, food: Point) -> bool {
    let centre = centre(position);
    let edge = |at: i32, side: u8| at == 0 || at == i32::from(side) - 1;
    let further = |food: i32, head: i32, centre: i32| {
        (food < head && head < centre) || (centre < head && head < food)
    };
    // First, so that what follows computes with cells of the board alone.
    position.cell_index(food).is_some()
        && (food.x - head.x).abs() == 1
        && (food.y - head.y).abs() == 1
        && food != centre
        && !(edge(food.x, position.width) && edge(food.y, position.height))
        && (further(food.x, head.x, centre.x) || further(food.y, head.y, centre.y))
}
