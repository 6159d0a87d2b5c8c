//! Any text is a settings file or is refused in one line, with or without a preset. Accepted settings
//! can be written and read back, and their memory can be computed.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use ouro_settings::{Process, Settings};

/// Memory of the machine that the settings are for, in bytes.
const MEMORY: u64 = 16 << 30;

/// A line of an error may quote values of the file, whose length is bounded by the input's.
fn assert_line(error: &str) {
    assert_eq!(error.lines().count(), 1, "{error}");
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for name in ["my.toml", "run.toml"] {
        let settings = match Settings::parse(Path::new(name), text) {
            Ok(settings) => settings,
            Err(error) => {
                assert_line(&error.to_string());
                continue;
            }
        };
        if let Err(error) = settings.validate() {
            assert_line(&error.to_string());
            continue;
        }
        let processes = [Process::Actor, Process::Learner, Process::Arena];
        if let Err(error) = settings.check_memory(&processes, MEMORY) {
            assert_line(&error.to_string());
        }
        let written = toml::to_string(&settings).expect("valid settings are plain data");
        let again = Settings::parse(Path::new("run.toml"), &written);
        assert_eq!(again.expect("what was written reads back"), settings);
    }
});
