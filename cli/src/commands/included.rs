//! Weights that are part of the program.
//!
//! `included:NAME` stands for them where a command takes a file of weights. Only small files are
//! included: together they take 37 KB of the program.

use crate::failure::Failure;

/// Prefix of the names of included weights.
const PREFIX: &str = "included:";

/// The files of `checkpoints/` that are included, by name.
const FILES: [(&str, &[u8]); 2] = [
    ("duel-minimax", include_bytes!("../../../checkpoints/duel-minimax.safetensors")),
    ("standard-minimax", include_bytes!("../../../checkpoints/standard-minimax.safetensors")),
];

/// The weights called `name`; `None` if it is the path of a file.
pub(super) fn file(name: &str) -> Option<Result<&'static [u8], Failure>> {
    let wanted = name.strip_prefix(PREFIX)?;
    let found = FILES.iter().find(|(known, _)| *known == wanted).map(|(_, bytes)| *bytes);
    Some(found.ok_or_else(|| {
        let known: Vec<String> = FILES.iter().map(|(name, _)| format!("{PREFIX}{name}")).collect();
        let known = known.join(", ");
        Failure::usage(format_args!("{name}: no such weights are included; known are {known}"))
    }))
}
