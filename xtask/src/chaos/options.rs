//! Options of `cargo xtask chaos`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};

/// When a run has had enough faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// After this many kills.
    Kills(u32),
    /// After this many faults.
    Faults(u32),
    /// After this time; a minute or more has at least five faults.
    Time(Duration),
}

/// The options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Determines the faults and their order.
    pub(crate) seed: u64,
    pub(crate) length: Length,
    /// Time for which the learner is stopped at the end; zero: not at all.
    pub(crate) stall: Duration,
    /// Whether the store is truncated at the end.
    pub(crate) truncates: bool,
    /// Holds the programs; `None`: they are built.
    pub(crate) binaries: Option<PathBuf>,
    /// Whether the report is JSON.
    pub(crate) json: bool,
}

/// Kills of a run without options.
const KILLS: u32 = 100;
/// Stall of a run without options.
const STALL: Duration = Duration::from_secs(600);

impl Options {
    /// Reads `[--seed N] [--kills N | --faults N | --seconds N] [--stall SECONDS] [--no-truncation]
    /// [--binaries DIR] [--json]`. A run with a length has no stall, unless one is given.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut options = Self {
            // A short number, because people type it again.
            seed: now.as_nanos() as u64 % 1_000_000,
            length: Length::Kills(KILLS),
            stall: STALL,
            truncates: true,
            binaries: None,
            json: false,
        };
        let mut stall = None;
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "--json" => options.json = true,
                "--no-truncation" => options.truncates = false,
                "--seed" | "--kills" | "--faults" | "--seconds" | "--stall" | "--binaries" => {
                    let value = words.next().with_context(|| format!("{word} needs a value"))?;
                    let number = || value.parse::<u32>().with_context(|| format!("{word} {value}"));
                    match word {
                        "--seed" => {
                            options.seed =
                                value.parse().with_context(|| format!("{word} {value}"))?;
                        }
                        "--kills" => options.length = Length::Kills(number()?),
                        "--faults" => options.length = Length::Faults(number()?),
                        "--seconds" => {
                            options.length = Length::Time(Duration::from_secs(number()?.into()));
                        }
                        "--stall" => stall = Some(Duration::from_secs(number()?.into())),
                        _ => options.binaries = Some(value.into()),
                    }
                }
                _ => bail!(
                    "{word:?} is unknown; known are --seed N, --kills N, --faults N, --seconds N, \
                     --stall SECONDS, --no-truncation, --binaries DIR, --json"
                ),
            }
        }
        if let Some(stall) = stall {
            options.stall = stall;
        } else if options.length != Length::Kills(KILLS) {
            options.stall = Duration::ZERO;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_from_the_command_line() {
        let long = Options::parse(&["--seed", "7"]).unwrap();
        assert_eq!((long.seed, long.length, long.stall), (7, Length::Kills(100), STALL));
        let short = Options::parse(&["--seconds", "90", "--json", "--binaries", "x"]).unwrap();
        assert_eq!(short.length, Length::Time(Duration::from_secs(90)));
        assert_eq!((short.stall, short.json), (Duration::ZERO, true));
        assert_eq!(short.binaries, Some("x".into()));
        let stalled = Options::parse(&["--faults", "3", "--stall", "20"]).unwrap();
        assert_eq!(stalled.length, Length::Faults(3));
        assert_eq!(stalled.stall, Duration::from_secs(20));
        for wrong in [&["--seed"][..], &["--kills", "x"], &["--often"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
