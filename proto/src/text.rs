//! Text of others in messages of this program.

/// Characters at the start and at the end of a text that [`brief`] keeps.
const KEPT: usize = 100;

/// A text from a file or a peer, for a message of one readable line. Control characters are escaped,
/// and a long text loses its middle.
pub fn brief(text: &str) -> String {
    let length = text.chars().count();
    let escaped = |range: &mut dyn Iterator<Item = char>| -> String {
        range
            .map(|one| if one.is_control() { one.escape_default().to_string() } else { one.into() })
            .collect()
    };
    if length <= 3 * KEPT {
        return escaped(&mut text.chars());
    }
    let start = escaped(&mut text.chars().take(KEPT));
    let end = escaped(&mut text.chars().skip(length - KEPT));
    format!("{start} … {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_short_line() {
        assert_eq!(brief("plain text"), "plain text");
        assert_eq!(brief("two\nlines \u{1b}[31m"), "two\\nlines \\u{1b}[31m");
        let long = brief(&format!("a{}z", "é\n".repeat(100_000)));
        assert!(long.starts_with("aé") && long.ends_with("\\nz"), "{long}");
        assert!(long.chars().count() < 400, "{long}");
    }
}
