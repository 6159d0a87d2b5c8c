//! A strategy of SNAKGAME on the command line.

use ouro_snakgame::Named;

/// Parses the name of a strategy.
pub(crate) fn parse(name: &str) -> Result<Named, String> {
    let known = || Named::ALL.map(Named::name).join(", ");
    Named::find(name).ok_or_else(|| format!("no strategy has this name; known are {}", known()))
}
