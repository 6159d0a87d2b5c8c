//! A style of generated boards of Maze Dash, on the command line.

use ouro_game::maze_dash::Style;

/// Parses the name of a style.
pub(crate) fn parse(name: &str) -> Result<Style, String> {
    let known = || Style::ALL.map(Style::name).join(", ");
    Style::from_name(name).ok_or_else(|| format!("no style has this name; known are {}", known()))
}
