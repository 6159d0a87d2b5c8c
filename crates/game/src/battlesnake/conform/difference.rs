//! A disagreement between the engine and a recording, with the boards drawn side by side.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::battlesnake::position::{Point, Position, Snake};

/// The first disagreement between the engine and a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// File name, as given to the checker.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Name of the game.
    pub game: String,
    /// Number of the state before the moves.
    pub turn: u32,
    /// Name of the comparison that failed.
    pub check: String,
    /// Fields that differ, as `field: expected …, got …`.
    pub fields: Vec<String>,
    /// The moves of the turn, as `id move`.
    pub moves: Vec<String>,
    /// The state before the moves.
    pub before: Option<Position>,
    /// The recorded state.
    pub expected: Option<Position>,
    /// The engine's state.
    pub got: Option<Position>,
}

/// Lists the fields that differ between a recorded position and the engine's.
pub(super) fn compare(expected: &Position, got: &Position) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = |name: String, expected: String, got: String| {
        if expected != got {
            fields.push(format!("{name}: expected {expected}, got {got}"));
        }
    };
    field("turn".to_owned(), expected.turn.to_string(), got.turn.to_string());
    field("food".to_owned(), cells(&expected.food), cells(&got.food));
    field("hazards".to_owned(), cells(&expected.hazards), cells(&got.hazards));
    field("shrunk".to_owned(), format!("{:?}", expected.shrunk), format!("{:?}", got.shrunk));
    field("snakes".to_owned(), expected.snakes.len().to_string(), got.snakes.len().to_string());
    for (index, (expected, got)) in expected.snakes.iter().zip(&got.snakes).enumerate() {
        let name = |part: &str| format!("snakes[{index}].{part}");
        field(name("health"), expected.health.to_string(), got.health.to_string());
        field(name("body"), cells(&expected.body), cells(&got.body));
        field(name("death"), death(expected), death(got));
    }
    fields
}

fn cells(cells: &[Point]) -> String {
    let list: Vec<String> = cells.iter().map(Point::to_string).collect();
    format!("[{}]", list.join(" "))
}

fn death(snake: &Snake) -> String {
    let Some(death) = snake.death else { return "alive".to_owned() };
    // The wire name of a cause, without its quotes.
    let cause = serde_json::to_string(&death.cause).unwrap_or_default();
    let by = death.by.map(|by| format!(" by snakes[{by}]")).unwrap_or_default();
    format!("{}{by} on turn {}", cause.trim_matches('"'), death.on)
}

/// The mark of a cell (`A` head, `a` body, `*` food, `~` hazard) and its full contents.
fn cell(position: &Position, at: Point) -> (char, Vec<usize>) {
    let mut mark = '.';
    let count = |cells: &[Point]| cells.iter().filter(|&&cell| cell == at).count();
    let (hazards, food) = (count(&position.hazards), count(&position.food));
    if hazards > 0 {
        mark = '~';
    }
    if food > 0 {
        mark = '*';
    }
    let mut contents = vec![hazards, food];
    for (snake, letter) in position.snakes.iter().zip('a'..) {
        let living = snake.death.is_none();
        let here = if living { count(&snake.body) } else { 0 };
        let leads = living && snake.body.first() == Some(&at);
        if leads {
            mark = letter.to_ascii_uppercase();
        } else if here > 0 && !mark.is_ascii_uppercase() {
            mark = letter;
        }
        contents.extend([here, usize::from(leads)]);
    }
    (mark, contents)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}:{}: {}, turn {}: {}",
            self.file, self.line, self.game, self.turn, self.check
        )?;
        for field in &self.fields {
            writeln!(f, "  {field}")?;
        }
        if !self.moves.is_empty() {
            writeln!(f, "  moves: {}", self.moves.join(", "))?;
        }
        let boards: Vec<(&str, &Position)> =
            [("before", &self.before), ("expected", &self.expected), ("got", &self.got)]
                .into_iter()
                .filter_map(|(title, board)| Some((title, board.as_ref()?)))
                .collect();
        let Some(&(_, first)) = boards.first() else { return Ok(()) };
        let pair = self.expected.as_ref().zip(self.got.as_ref());
        let (width, height) = (i32::from(first.width), i32::from(first.height));
        writeln!(f)?;
        let columns = usize::from(first.width) * 3 + 2;
        let titles: String = boards.iter().fold(String::new(), |mut line, (title, _)| {
            // Writing to a string cannot fail.
            let _ = write!(line, "  {title:<columns$}");
            line
        });
        writeln!(f, "{}", titles.trim_end())?;
        for y in (0..height).rev() {
            let mut line = String::new();
            for (title, board) in &boards {
                line.push_str("  ");
                for x in 0..width {
                    let at = Point { x, y };
                    let differs = *title != "before"
                        && pair.is_some_and(|(a, b)| cell(a, at).1 != cell(b, at).1);
                    let (open, close) = if differs { ('[', ']') } else { (' ', ' ') };
                    line.extend([open, cell(board, at).0, close]);
                }
                line.push_str("  ");
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        writeln!(f, "  A head, a body, * food, ~ hazard, [ ] differs")
    }
}
