//! The command that resumes a run.

use std::fmt::Display;
use std::path::Path;

use super::arguments::Arguments;

/// Returns the command, with the program name of this start. It repeats the flags of this start,
/// except the time limit. Preset, settings and seed are stored in the folder.
pub(super) fn command(arguments: &Arguments, folder: &Path) -> String {
    // A path need not be UTF-8, so `args` could panic. The command is text and shows such a path lossily.
    let program = std::env::args_os().next().filter(|program| !program.is_empty());
    of(&program.unwrap_or_else(|| "ouro".into()).to_string_lossy(), arguments, folder)
}

fn of(program: &str, arguments: &Arguments, folder: &Path) -> String {
    let mut words = vec![quoted(program), "train --run".to_owned(), quoted(folder.display())];
    let mut given = |flag: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{flag} {value}")));
    };
    let Arguments { device, actor, addresses, web, metrics, store, weights, .. } = arguments;
    let Arguments { access, traces, .. } = arguments;
    given("device", device.device.map(|it| it.name().to_owned()));
    given("threads", actor.threads.map(|it| it.to_string()));
    given("name", actor.name.clone());
    given("cache", actor.cache.as_ref().map(|it| quoted(it.display())));
    given("arena", addresses.arena.as_ref().map(ToString::to_string));
    given("learner", addresses.learner.as_ref().map(ToString::to_string));
    given("web", web.web.map(String::from));
    given("metrics", metrics.metrics.map(String::from));
    given("store", store.store.as_ref().map(quoted));
    given("store-name", store.store_name.clone());
    given("otlp", traces.otlp.clone());
    given("trace-games", traces.trace_games.map(|games| games.to_string()));
    given("weights", weights.weights.as_ref().map(quoted));
    for (flag, file) in [
        ("store-password-file", &store.store_password_file),
        ("store-ca", &store.store_ca),
        ("store-certificate", &store.store_certificate),
        ("store-key", &store.store_key),
        ("tokens", &access.tokens),
        ("tls-certificate", &access.tls_certificate),
        ("tls-key", &access.tls_key),
        ("tls-client-ca", &access.tls_client_ca),
    ] {
        given(flag, file.as_ref().map(|it| quoted(it.display())));
    }
    // The resumed run ends after as many further generations.
    given("generations", arguments.generations.map(|it| it.saturating_add(it.max(1)).to_string()));
    for (flag, is_set) in [
        ("--allow-software-adapter", device.allow_software_adapter),
        ("--log-records", actor.log_records),
        ("--insecure", access.insecure),
        ("--deterministic", arguments.deterministic),
    ] {
        words.extend(is_set.then(|| flag.to_owned()));
    }
    words.join(" ")
}

/// Quotes a word for a shell if it contains white space.
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
    fn a_run_resumes_with_the_flags_of_its_start() {
        let resume = |program: &str, line: &str, folder: &str| {
            let words = std::iter::once("ouro").chain(line.split_whitespace());
            of(program, &Line::parse_from(words).arguments, Path::new(folder))
        };
        assert_eq!(
            resume("target/release/ouro", "tictactoe --for 2m --seed 4", "runs/tictactoe"),
            "target/release/ouro train --run runs/tictactoe"
        );
        let flags = "--device cpu --threads 3 --arena 127.0.0.1:1 --learner 127.0.0.1:2 --web off \
                     --metrics 127.0.0.1:3";
        assert_eq!(
            resume("ouro", flags, "my runs/1"),
            format!("ouro train --run \"my runs/1\" {flags}")
        );
        assert_eq!(
            resume("ouro", "--deterministic --generations 3 --web 0.0.0.0:80", "r"),
            "ouro train --run r --web 0.0.0.0:80 --generations 6 --deterministic"
        );
    }
}
