//! Tables of hostile cases: settings, files, signals and floods.
//!
//! `cargo test` runs a part of each table; `cargo xtask attack` runs all of it and prints reports.

mod files;
mod floods;
mod settings;
mod signals;

/// Set-up that modules share.
#[path = "../support"]
mod support {
    pub(crate) mod flood {
        mod bytes;
        pub(crate) mod client;
        pub(crate) mod table;
    }
    #[expect(dead_code, reason = "these tests make runs of their own and damage files themselves")]
    pub(crate) mod small_run;
}
