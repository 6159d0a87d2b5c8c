//! The machine that runs the benchmarks.

use serde::Serialize;

/// The processor and the build. The name is from `/proc/cpuinfo`, elsewhere the architecture.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    pub(super) cpu: String,
    pub(super) cores: usize,
    /// Whether debug assertions are off.
    pub(super) release_build: bool,
}

impl Machine {
    pub(super) fn here() -> Self {
        let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = described
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find_map(|(key, value)| (key.trim() == "model name").then(|| value.trim().to_owned()));
        Self {
            cpu: model.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            release_build: !cfg!(debug_assertions),
        }
    }
}
