//! Drawings of Battlesnake: snakes with heads and eyes, food and hazards. The health and length of
//! each snake are beside the board. Snake uses the same style.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, html};
use ouro_game::battlesnake::{
    Battlesnake, Cause, Cell, DeadBodies, Death, Point, Position, Snake, State,
};
use ouro_game::{Game, snake};

use super::parts::{CELL, Drawing, colour};

/// Maximum number of hazards of a stack that are drawn on top of each other.
const DRAWN_HAZARDS: u32 = 4;

/// Draws a position; `None` if the rules are not Battlesnake's. Snakes that have just died are
/// drawn at their position in `before`.
pub(super) fn drawing<C: Cell, const W: usize, const S: usize>(
    rules: &dyn Any,
    now: &dyn Any,
    before: Option<&dyn Any>,
) -> Option<Drawing> {
    let rules = rules.downcast_ref::<Battlesnake<C, W, S>>()?;
    // The bodies of dead snakes come from `before`, so `DeadBodies` stays empty.
    let position = |state| rules.position(state, &DeadBodies::new(S));
    let state = now.downcast_ref::<State<C, W, S>>()?;
    let now = position(state);
    let before = before.and_then(|before| before.downcast_ref()).map(position);
    let length = |seat: usize| state.length(seat);
    let seats = now.snakes.iter().enumerate().map(|(seat, snake)| beside(snake, length(seat)));
    Some(Drawing {
        board: board(&now, before.as_ref()),
        seats: seats.collect(),
        ..Drawing::default()
    })
}

/// Draws a position; `None` if the rules are not Snake's.
pub(super) fn alone<const W: usize>(rules: &dyn Any, now: &dyn Any) -> Option<Drawing> {
    let rules = rules.downcast_ref::<snake::Snake<W>>()?;
    let state = now.downcast_ref::<snake::State<W>>()?;
    let size = state.size();
    let point = |cell: usize| Point::from(((cell % size) as i32, (cell / size) as i32));
    let mut board = String::new();
    state.apple().into_iter().for_each(|cell| feed(&mut board, point(cell), size as i32));
    let mut body: Vec<Point> = state.trail().map(point).collect();
    body.reverse();
    draw(&mut board, 0, &body, size as i32, "");
    let seat = html! {
        span.length { "length " (state.length()) " of " (state.cells()) }
        span { "step " (state.elapsed()) " of " (rules.config().limit()) }
    };
    Some(Drawing { board, seats: vec![seat], ..Drawing::default() })
}

/// The pieces on the board.
fn board(now: &Position, before: Option<&Position>) -> String {
    let mut svg = String::new();
    let height = i32::from(now.height);
    let mut stacks: BTreeMap<Point, u32> = BTreeMap::new();
    for &cell in &now.hazards {
        *stacks.entry(cell).or_default() += 1;
    }
    // Writing to a string cannot fail.
    for (cell, stack) in stacks {
        for _ in 0..stack.min(DRAWN_HAZARDS) {
            let (x, y) = (cell.x * CELL, (height - 1 - cell.y) * CELL);
            let _ = write!(svg, r#"<rect class="hazard" x="{x}" y="{y}" width="10" height="10"/>"#);
        }
    }
    for &cell in &now.food {
        feed(&mut svg, cell, height);
    }
    // Dead snakes are drawn first, so that living snakes cover them.
    for (seat, snake) in now.snakes.iter().enumerate() {
        let lay = before.and_then(|before| before.snakes.get(seat));
        if let (Some(_), Some(Snake { body, death: None, .. })) = (snake.death, lay) {
            draw(&mut svg, seat, body, height, " dead");
        }
    }
    for (seat, snake) in now.snakes.iter().enumerate() {
        if snake.death.is_none() {
            draw(&mut svg, seat, &snake.body, height, "");
        }
    }
    svg
}

/// Draws food on a cell.
fn feed(svg: &mut String, cell: Point, height: i32) {
    let (x, y) = centre(cell, height);
    // Writing to a string cannot fail.
    let _ = write!(svg, r#"<circle class="food" cx="{x}" cy="{y}" r="2.5"/>"#);
}

/// The centre of a cell; SVG counts rows from the top.
fn centre(cell: Point, height: i32) -> (i32, i32) {
    (cell.x * CELL + CELL / 2, (height - 1 - cell.y) * CELL + CELL / 2)
}

fn draw(svg: &mut String, seat: usize, body: &[Point], height: i32, class: &str) {
    let Some(&head) = body.first() else { return };
    let (x, y) = centre(head, height);
    let (path, colour) = (path(body, height), colour(seat));
    // The head faces away from the neck. If the whole snake is on one cell, the head faces up.
    let neck = body.iter().find(|&&cell| cell != head);
    let angle = match neck.map(|&neck| towards(neck, head)) {
        Some((1, _)) => 0,
        Some((-1, _)) => 180,
        Some((_, -1)) => 90,
        _ => 270,
    };
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        r#"<g class="{colour}{class}"><path class="body" d="{path}"/><g transform="translate({x} {y}) rotate({angle})"><rect class="head" x="-4" y="-4" width="8.6" height="8" rx="3.2"/><circle class="eye" cx="1.6" cy="-1.9" r="1.3"/><circle class="eye" cx="1.6" cy="1.9" r="1.3"/><circle class="pupil" cx="2.1" cy="-1.9" r=".6"/><circle class="pupil" cx="2.1" cy="1.9" r=".6"/></g></g>"#
    );
}

/// The step from a cell to the next; across an edge of the board if they are far apart.
fn towards(from: Point, to: Point) -> (i32, i32) {
    let step = |from: i32, to: i32| {
        let distance = to - from;
        if distance.abs() > 1 { -distance.signum() } else { distance }
    };
    (step(from.x, to.x), step(from.y, to.y))
}

/// The SVG path through a body, head first, with straight pieces joined. A path that crosses an
/// edge leaves the board and re-enters it on the other side.
fn path(body: &[Point], height: i32) -> String {
    let mut cells = body.iter().copied();
    let Some(mut last) = cells.next() else { return String::new() };
    let (x, y) = centre(last, height);
    let mut path = format!("M{x} {y}");
    let mut run = (0, 0);
    for cell in cells {
        let (dx, dy) = towards(last, cell);
        // In SVG, the vertical coordinate decreases upwards.
        let step = (dx * CELL, -dy * CELL);
        let turns = (run.0 == 0) != (step.0 == 0) || (run.1 == 0) != (step.1 == 0);
        if turns {
            flush(&mut path, &mut run);
        }
        run = (run.0 + step.0, run.1 + step.1);
        let crosses = (cell.x - last.x, cell.y - last.y) != (dx, dy);
        if crosses {
            flush(&mut path, &mut run);
            let (x, y) = centre(cell, height);
            // Writing to a string cannot fail.
            let _ = write!(path, "M{} {}", x - step.0, y - step.1);
            run = step;
        }
        last = cell;
    }
    if run == (0, 0) && !path.contains(['h', 'v']) {
        // A line of length 0, which round caps draw as a dot.
        path.push_str("h0");
    }
    flush(&mut path, &mut run);
    path
}

/// Writes the current straight piece and resets it.
fn flush(path: &mut String, run: &mut (i32, i32)) {
    // Writing to a string cannot fail.
    let _ = match *run {
        (0, 0) => Ok(()),
        (dx, 0) => write!(path, "h{dx}"),
        (_, dy) => write!(path, "v{dy}"),
    };
    *run = (0, 0);
}

/// The text beside a snake.
fn beside(snake: &Snake, length: u16) -> Markup {
    html! {
        span.length { "length " (length) }
        @match snake.death {
            None => span.health {
                meter min="0" max="100" low="25" high="50" optimum="100" value=(snake.health) {}
                " health " (snake.health)
            },
            Some(Death { cause, on, .. }) => span.death { (how(cause)) ", turn " (on) },
        }
    }
}

/// How a snake died.
fn how(cause: Cause) -> &'static str {
    match cause {
        Cause::Hazard => "died in a hazard",
        Cause::OutOfHealth => "starved",
        Cause::WallCollision => "left the board",
        Cause::SnakeSelfCollision => "ran into itself",
        Cause::SnakeCollision => "ran into another",
        Cause::HeadCollision => "met another head",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(cells: &[(i32, i32)]) -> Vec<Point> {
        cells.iter().map(|&cell| cell.into()).collect()
    }

    #[test]
    fn a_body_is_one_line_with_its_straight_pieces_joined() {
        assert_eq!(path(&cells(&[(1, 0), (1, 1), (1, 2), (2, 2), (2, 2)]), 3), "M15 25v-20h10");
    }

    #[test]
    fn a_coiled_snake_is_a_dot() {
        assert_eq!(path(&cells(&[(0, 0), (0, 0), (0, 0)]), 3), "M5 25h0");
    }

    #[test]
    fn a_body_across_an_edge_leaves_the_board_and_comes_back() {
        assert_eq!(path(&cells(&[(0, 0), (2, 0), (1, 0)]), 3), "M5 25h-10M35 25h-20");
    }
}
