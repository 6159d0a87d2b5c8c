//! Metrics of a process in the OpenMetrics text format, as Prometheus scrapes them.
//!
//! Each service declares its [`Series`] in one table with [`series!`](crate::series), and implements
//! [`Source`], which reads the values at a scrape. Nothing is collected between scrapes, except by
//! the counters and [`Histogram`]s of the services themselves. The tables also make
//! `docs/metrics.md` ([`page()`]).

mod disk;
mod histogram;
mod page;
pub mod process;
pub mod series;
mod server;
mod source;

pub use disk::free_bytes;
pub use histogram::Histogram;
pub use page::page;
pub use process::ProcessSource;
pub use series::{Kind, Series};
pub use server::{MetricsServer, serve};
pub use source::{Metrics, Number, Readings, Source};

#[cfg(test)]
mod tests;
