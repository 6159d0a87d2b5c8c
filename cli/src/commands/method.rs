//! A method that solves Maze Dash, on the command line.

use ouro_maze::Method;

/// Parses the name of a method.
pub(crate) fn parse(name: &str) -> Result<Method, String> {
    let known = || Method::ALL.map(Method::name).join(", ");
    Method::from_name(name).ok_or_else(|| format!("no method has this name; known are {}", known()))
}
