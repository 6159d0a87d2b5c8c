//! A method that solves Maze Dash, on the command line.

use ouro_maze::Method;

use crate::failure::Failure;

/// Parses the name of a method.
pub(crate) fn parse(name: &str) -> Result<Method, String> {
    let known = || Method::ALL.map(Method::name).join(", ");
    Method::from_name(name).ok_or_else(|| format!("no method has this name; known are {}", known()))
}

/// Refuses a board whose longer side is `side` if the method cannot solve it.
pub(crate) fn check_side(method: Method, side: usize) -> Result<(), Failure> {
    let (name, most) = (method.name(), method.max_side());
    if side <= most {
        return Ok(());
    }
    let remedy = if side <= Method::Search.max_side() {
        format!("give sides up to {most} or use the method search")
    } else {
        format!("give sides up to {most}")
    };
    Err(Failure::usage(format_args!(
        "a board with a side of {side} is too large for {name}; {remedy}"
    )))
}
