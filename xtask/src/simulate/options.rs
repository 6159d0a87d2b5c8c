//! Options of `cargo xtask simulate`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

/// The options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Number of seeds.
    pub(crate) seeds: u32,
    /// The first seed.
    pub(crate) from: u64,
    /// Faults of each seed.
    pub(crate) faults: u32,
    /// Number of seeds that run twice.
    pub(crate) repeat: u32,
    /// Whether each seed prints its events.
    pub(crate) log: bool,
    /// The program to run; `None`: it is built.
    pub(crate) program: Option<PathBuf>,
}

impl Options {
    /// Reads `[--seeds N] [--from SEED] [--faults N] [--repeat N] [--log] [--program FILE]`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let (seeds, from, faults) = (500, 1, 20);
        let mut options = Self { seeds, from, faults, repeat: 0, log: false, program: None };
        let mut repeat = None;
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            if word == "--log" {
                options.log = true;
                continue;
            }
            let value = || words.clone().next().with_context(|| format!("{word} needs a value"));
            let number = || -> Result<u32> {
                let value = value()?;
                value.parse().with_context(|| {
                    format!("{word} {value:?} is not a whole number; write for example {word} 20")
                })
            };
            match word {
                "--seeds" => options.seeds = number()?,
                "--from" => options.from = number()?.into(),
                "--faults" => options.faults = number()?,
                "--repeat" => repeat = Some(number()?),
                "--program" => options.program = Some(value()?.into()),
                _ => bail!(
                    "{word:?} is unknown; known are --seeds N, --from SEED, --faults N, --repeat N, \
                     --log, --program FILE"
                ),
            }
            words.next();
        }
        ensure!(options.seeds > 0, "--seeds 0 runs nothing");
        options.repeat = repeat.unwrap_or(20).min(options.seeds);
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_from_the_command_line() {
        let usual = Options::parse(&[]).unwrap();
        assert_eq!((usual.seeds, usual.from, usual.faults, usual.repeat), (500, 1, 20, 20));
        let words = ["--seeds", "3", "--from", "77", "--log", "--faults", "5", "--program", "x"];
        let short = Options::parse(&words).unwrap();
        assert_eq!((short.seeds, short.from, short.faults, short.repeat), (3, 77, 5, 3));
        assert!(short.log && short.program == Some("x".into()));
        for wrong in [&["--seeds"][..], &["--seeds", "x"], &["--seeds", "0"], &["--often"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
        let error = Options::parse(&["--seeds", "x"]).unwrap_err().to_string();
        assert_eq!(error, "--seeds \"x\" is not a whole number; write for example --seeds 20");
    }
}
