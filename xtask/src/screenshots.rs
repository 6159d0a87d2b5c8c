//! Screenshots of the web page for the documentation, taken by the browser tests.

use anyhow::Result;

use crate::shell::{self, cargo, root};

/// The tests that drive the browser, with the arguments of `cargo test` that select their binaries.
const TESTS: [(&[&str], &str); 2] = [
    (&["--workspace", "--test", "commands"], "the_page_shows_a_run_and_its_games_in_a_browser"),
    (&["-p", "ouro-arena", "--lib"], "large_boards_are_drawn_on_a_canvas_cell_by_cell"),
];

/// Trains a small run and saves screenshots of its page in `docs/img`, then those of large boards.
/// Takes a few minutes.
pub(crate) fn run() -> Result<()> {
    for (binary, test) in TESTS {
        let mut command = cargo(&[&["test"], binary, &["--", test]].concat());
        command.env("OURO_SCREENSHOTS", root().join("docs/img"));
        // Otherwise the test would be skipped without a browser, and no screenshot would be taken.
        command.env("OURO_REQUIRE_ALL_CHECKS", "1");
        shell::run(command)?;
    }
    Ok(())
}
