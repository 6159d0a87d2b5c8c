//! Prints `docs/settings.md`; see `cargo xtask settings`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(ouro_settings::settings_page().as_bytes())
}
