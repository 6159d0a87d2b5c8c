//! Options of `cargo xtask gpu-kit`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::manifest::Variant;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Options {
    Build(BuildOptions),
    Rehearse,
    Run(RunOptions),
}

/// How the kit is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuildOptions {
    /// Cargo profile of the programs.
    pub(crate) profile: String,
    pub(crate) variants: Vec<Variant>,
}

/// How the kit is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunOptions {
    /// The unpacked kit.
    pub(crate) kit: PathBuf,
    /// Where the report and the logs go.
    pub(crate) out: PathBuf,
    /// Time for all parts.
    pub(crate) budget: Duration,
    /// Longest training run.
    pub(crate) train: Duration,
    /// What is measured.
    pub(crate) scale: Scale,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// The networks and batches of the report.
    Full,
    /// One tiny network in seconds, also on a software adapter.
    Rehearsal,
}

/// Time for all parts, unless given.
const BUDGET: Duration = Duration::from_secs(8 * 60);
/// Longest training run, unless given.
const TRAIN: Duration = Duration::from_secs(5 * 60);

impl Options {
    /// Reads `[--profile NAME] [--variants NAME,NAME]`, `--rehearse`, or
    /// `run KIT OUT [--minutes N] [--train-minutes N] [--rehearse]`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        match *words {
            ["--rehearse"] => Ok(Self::Rehearse),
            ["run", kit, out, ref rest @ ..] => {
                let mut options = RunOptions {
                    kit: kit.into(),
                    out: out.into(),
                    budget: BUDGET,
                    train: TRAIN,
                    scale: Scale::Full,
                };
                let mut rest = rest.iter();
                while let Some(&word) = rest.next() {
                    match word {
                        "--rehearse" => options.scale = Scale::Rehearsal,
                        "--minutes" => options.budget = minutes(word, rest.next())?,
                        "--train-minutes" => options.train = minutes(word, rest.next())?,
                        _ => bail!(
                            "{word:?} is unknown; known are --minutes N, --train-minutes N, \
                             --rehearse"
                        ),
                    }
                }
                Ok(Self::Run(options))
            }
            ref words => Self::parse_build(words).map(Self::Build),
        }
    }

    fn parse_build(words: &[&str]) -> Result<BuildOptions> {
        let variants = Variant::ALL.into_iter().filter(|one| one.is_default()).collect();
        let mut options = BuildOptions { profile: "dist".to_owned(), variants };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word {
                "--profile" => options.profile = (*value()?).to_owned(),
                "--variants" => {
                    let names = value()?.split(',').map(Variant::by_name);
                    options.variants = names.collect::<Result<_>>()?;
                    ensure!(
                        options.variants.contains(&Variant::Plain),
                        "the variant plain is missing; it plays and trains"
                    );
                }
                _ => bail!(
                    "{word:?} is unknown; known are --rehearse, --profile NAME, --variants \
                     NAME,NAME, run KIT OUT"
                ),
            }
        }
        Ok(options)
    }
}

fn minutes(word: &str, value: Option<&&str>) -> Result<Duration> {
    let value = value.with_context(|| format!("{word} needs a value"))?;
    let minutes: f64 = value.parse().with_context(|| format!("{word} {value}"))?;
    ensure!((0.1..=600.0).contains(&minutes), "{word} {value}: give 0.1 to 600");
    Ok(Duration::from_secs_f64(60.0 * minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_from_the_command_line() {
        let Options::Build(build) = Options::parse(&[]).unwrap() else { panic!("it builds") };
        assert_eq!(build.profile, "dist");
        assert_eq!(build.variants, [Variant::Plain, Variant::Spirv]);
        assert_eq!(Options::parse(&["--rehearse"]).unwrap(), Options::Rehearse);
        let words = ["run", "kit", "out", "--minutes", "2.5", "--rehearse"];
        let Options::Run(run) = Options::parse(&words).unwrap() else { panic!("it runs") };
        assert_eq!(run.budget, Duration::from_secs(150));
        assert_eq!((run.train, run.scale), (TRAIN, Scale::Rehearsal));
    }

    #[test]
    fn wrong_options_are_named() {
        for (words, part) in [
            (&["--profile"][..], "--profile needs"),
            (&["--variants", "spirv"], "plain is missing"),
            (&["--variants", "plain,metal"], "known are plain, spirv, wgsl"),
            (&["run", "kit", "out", "--minutes", "0"], "0.1 to 600"),
            (&["run", "kit", "out", "--minutes", "many"], "--minutes many"),
            (&["run", "kit"], "is unknown"),
        ] {
            let error = format!("{:#}", Options::parse(words).unwrap_err());
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
