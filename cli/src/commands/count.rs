//! Numbers with their nouns, in what commands print.

use std::fmt::Display;

/// A number and its noun, which takes an s unless the number is 1.
pub(crate) fn counted<T: Display + PartialEq + From<u8>>(number: T, noun: &str) -> String {
    let plural = if number == T::from(1) { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular() {
        let texts = [0, 1, 2].map(|number: usize| counted(number, "free cell"));
        assert_eq!(texts, ["0 free cells", "1 free cell", "2 free cells"]);
    }
}
