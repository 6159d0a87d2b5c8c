//! Screenshots of the web page for the documentation, taken by the browser test.

use anyhow::Result;

use crate::shell::{self, cargo, root};

/// The test that drives the browser.
const TEST: &str = "the_page_shows_a_run_and_its_games_in_a_browser";

/// Trains a small run and saves screenshots of its page in `docs/img`. Takes a few minutes.
pub(crate) fn run() -> Result<()> {
    let mut command = cargo(&["test", "--workspace", "--test", "commands", "--", TEST]);
    command.env("OURO_SCREENSHOTS", root().join("docs/img"));
    // Otherwise the test would be skipped without a browser, and no screenshot would be taken.
    command.env("OURO_REQUIRE_ALL_CHECKS", "1");
    shell::run(command)
}
