//! The command that resumes a run.

use std::fmt::Display;
use std::path::Path;

use super::arguments::Arguments;

/// Returns the command, with the program name of this start. It repeats the flags of this start,
/// except the time limit. Preset, settings and seed are stored in the folder. A URL with a password is
/// replaced by the variable of its flag, because the command is printed and kept in the folder.
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
    given("name", actor.name.as_ref().map(quoted));
    given("cache", actor.cache.as_ref().map(|it| quoted(it.display())));
    given("arena", addresses.arena.as_ref().map(quoted));
    given("learner", addresses.learner.as_ref().map(quoted));
    given("web", web.web.map(|it| quoted(String::from(it))));
    given("metrics", metrics.metrics.map(|it| quoted(String::from(it))));
    given("store", store.store.as_ref().map(|url| url_or_variable(url, "OURO_STORE")));
    given("store-name", store.store_name.as_ref().map(quoted));
    given("otlp", traces.otlp.as_ref().map(|url| url_or_variable(url, "OURO_OTLP")));
    given("trace-games", traces.trace_games.map(|games| games.to_string()));
    given("weights", weights.weights.as_ref().map(|url| url_or_variable(url, "OURO_WEIGHTS")));
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

/// The URL of a flag, or the variable of the flag if the URL has a password.
fn url_or_variable(url: &str, variable: &str) -> String {
    let address = url.split_once("://").map_or(url, |(_, address)| address);
    match address.rsplit_once('@') {
        Some((login, _)) if login.contains(':') => format!("\"${variable}\""),
        _ => quoted(url),
    }
}

/// Quotes a word for a shell, unless each of its characters stands for itself in every shell.
fn quoted(word: impl Display) -> String {
    let word = word.to_string();
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "_./:=,@%+-".contains(one);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word,
        // A quote ends the quotation, follows escaped, and the quotation starts again.
        false => format!("'{}'", word.replace('\'', r"'\''")),
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
            format!("ouro train --run 'my runs/1' {flags}")
        );
        assert_eq!(
            resume("ouro", "--deterministic --generations 3 --web 0.0.0.0:80", "r"),
            "ouro train --run r --web 0.0.0.0:80 --generations 6 --deterministic"
        );
        for (folder, shown) in
            [("a&b", "'a&b'"), ("$HOME", "'$HOME'"), ("it's", r"'it'\''s'"), ("~", "'~'")]
        {
            assert_eq!(resume("ouro", "", folder), format!("ouro train --run {shown}"));
        }
    }

    #[test]
    fn a_password_in_a_url_is_not_part_of_the_command() {
        let resume = |line: &str| {
            let words = std::iter::once("ouro").chain(line.split_whitespace());
            of("ouro", &Line::parse_from(words).arguments, Path::new("r"))
        };
        for (flags, shown) in [
            ("--store redis://u:secret@h", "--store \"$OURO_STORE\""),
            ("--store rediss://:secret@h:1/0", "--store \"$OURO_STORE\""),
            ("--store redis://u@h:6379/0", "--store redis://u@h:6379/0"),
            ("--otlp http://u:secret@h:4317", "--otlp \"$OURO_OTLP\""),
            ("--weights s3://b/p", "--weights s3://b/p"),
        ] {
            let command = resume(flags);
            assert!(!command.contains("secret"), "{command}");
            assert_eq!(command, format!("ouro train --run r {shown}"));
        }
    }
}
