//! The command that goes on with a run, as its user would type it.

use std::fmt::Display;
use std::path::Path;

use clap::ValueEnum;

use super::Arguments;

/// The command, for the program as it was called: with what this start was told, but for what the
/// folder knows (preset, settings, seed) and the time it should take.
pub(super) fn command(arguments: &Arguments, folder: &Path) -> String {
    let program = std::env::args().next().filter(|program| !program.is_empty());
    of(&program.unwrap_or_else(|| "ouro".to_owned()), arguments, folder)
}

fn of(program: &str, arguments: &Arguments, folder: &Path) -> String {
    let mut words = vec![quoted(program), "train --run".to_owned(), quoted(folder.display())];
    let mut told = |flag: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{flag} {value}")));
    };
    told("device", arguments.device.and_then(|it| Some(it.to_possible_value()?.get_name().into())));
    told("threads", arguments.threads.map(|it| it.to_string()));
    told("arena", arguments.arena.map(|it| it.to_string()));
    told("learner", arguments.learner.map(|it| it.to_string()));
    let web = arguments.web.as_ref().map(|it| it.0.map_or("off".to_owned(), |it| it.to_string()));
    told("web", web);
    // So many again.
    told("generations", arguments.generations.map(|it| it.saturating_add(it.max(1)).to_string()));
    for (flag, is_set) in [
        ("--allow-software-adapter", arguments.allow_software_adapter),
        ("--log-records", arguments.log_records),
        ("--deterministic", arguments.deterministic),
    ] {
        words.extend(is_set.then(|| flag.to_owned()));
    }
    words.join(" ")
}

/// A word for a shell, in quotes where it would be several.
fn quoted(word: impl Display) -> String {
    let word = word.to_string();
    match word.contains(char::is_whitespace) {
        true => format!("\"{word}\""),
        false => word,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn a_run_goes_on_as_it_was_started() {
        let resume = |program: &str, line: &str, folder: &str| {
            let words = std::iter::once("ouro").chain(line.split_whitespace());
            of(program, &Line::parse_from(words).arguments, Path::new(folder))
        };
        assert_eq!(
            resume("target/release/ouro", "tictactoe --for 2m --seed 4", "runs/tictactoe"),
            "target/release/ouro train --run runs/tictactoe"
        );
        let told = "--device cpu --threads 3 --arena 127.0.0.1:1 --learner 127.0.0.1:2 --web off";
        assert_eq!(
            resume("ouro", told, "my runs/1"),
            format!("ouro train --run \"my runs/1\" {told}")
        );
        assert_eq!(
            resume("ouro", "--deterministic --generations 3 --web 0.0.0.0:80", "r"),
            "ouro train --run r --web 0.0.0.0:80 --generations 6 --deterministic"
        );
    }
}
