//! The commands in the documentation exist: every subcommand and every flag is in the program's help.
//!
//! Console blocks and code spans of all pages are read. Values are not checked. The page of the players has
//! every option that their parser knows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ouro_players::registry::KNOWN;

use crate::support::programs::programs;

const PROGRAMS: [&str; 4] = ["ouro", "ouro-arena", "ouro-learner", "ouro-actor"];

/// The help of a program's subcommands.
#[derive(Default)]
struct Helps(BTreeMap<Vec<String>, String>);

impl Helps {
    fn of(&mut self, words: &[String]) -> &str {
        self.0.entry(words.to_vec()).or_insert_with(|| {
            let mut command = Command::new(programs().join(&words[0]));
            let help = command.args(&words[1..]).arg("--help").output().expect("it runs");
            assert!(help.status.success(), "{words:?}");
            String::from_utf8(help.stdout).expect("text")
        })
    }

    /// The subcommands of a program or of a subcommand.
    fn subcommands(&mut self, words: &[String]) -> Vec<String> {
        let help = self.of(words);
        let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let commands = commands.take_while(|line| line.starts_with("  "));
        // Descriptions that wrap are indented further.
        let name = |line: &str| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned);
        commands.filter_map(name).filter(|name| !name.is_empty()).collect()
    }

    /// What is wrong with a command, if anything.
    fn problem(&mut self, words: &[String]) -> Option<String> {
        let mut path = vec![words[0].clone()];
        let mut rest = &words[1..];
        loop {
            let subcommands = self.subcommands(&path);
            match rest.first() {
                Some(word) if subcommands.contains(word) => path.push(word.clone()),
                // Without a verb, a program does its usual work, and `ouro` trains.
                Some(word)
                    if !subcommands.is_empty()
                        && !word.starts_with('-')
                        && !is_placeholder(word) =>
                {
                    return Some(format!("{} has no command {word}", path.join(" ")));
                }
                _ => break,
            }
            rest = &rest[1..];
        }
        let help = self.of(&path);
        let flags = rest.iter().filter(|word| word.starts_with("--") && word.len() > 2);
        let mut flags = flags.map(|flag| flag.split('=').next().unwrap_or(flag));
        let is_there = |flag: &str| {
            let end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
            help.match_indices(flag).any(|(start, _)| end(&help[start + flag.len()..]))
        };
        let unknown = flags.find(|flag| !is_there(flag) && *flag != "--version")?;
        Some(format!("{} has no flag {unknown}", path.join(" ")))
    }
}

/// Whether a word stands for any other, such as `VERB`.
fn is_placeholder(word: &str) -> bool {
    word == "…" || word.chars().all(char::is_uppercase)
}

/// The pages below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages.extend(self::pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages
}

/// The commands of a page: console blocks with their continued lines, and code spans.
fn commands(page: &str) -> Vec<String> {
    let (mut commands, mut is_code) = (Vec::new(), false);
    let mut lines = page.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_code) {
            let mut command = command.to_owned();
            while command.ends_with('\\') {
                command.pop();
                command.push_str(lines.next().unwrap_or_default());
            }
            commands.push(command);
        } else if !is_code {
            // Every second part is between backticks.
            commands.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    commands
}

/// The calls of our programs in a command line, each without redirections and what follows a pipe.
fn calls(command: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    for part in command.split(['|', '&', ';']) {
        // The service `ouro` of the compose file runs the command.
        let part = match part.split_once("compose run ") {
            Some((_, call)) => call.find("ouro ").map_or("", |start| &call[start..]),
            None => part.trim(),
        };
        let words = part.split_whitespace().take_while(|word| !word.starts_with(['>', '<', '#']));
        let words: Vec<String> =
            words.map(|word| word.trim_matches(['"', '\'']).to_owned()).collect();
        if words.first().is_some_and(|first| PROGRAMS.contains(&&**first)) {
            calls.push(words);
        }
    }
    calls
}

#[test]
fn every_command_in_the_documentation_exists() {
    let (mut helps, mut problems, mut count) = (Helps::default(), Vec::new(), 0);
    for path in pages(Path::new("../docs")) {
        let page = fs::read_to_string(&path).expect("text");
        for command in commands(&page) {
            for call in calls(&command) {
                count += 1;
                if let Some(problem) = helps.problem(&call) {
                    problems.push(format!("{}: `{command}`: {problem}", path.display()));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(count > 100, "{count} commands were found");
}

#[test]
fn a_command_or_a_flag_that_is_not_there_is_found() {
    let problem = |command: &str| {
        let calls = calls(command);
        assert_eq!(calls.len(), 1, "{command}");
        Helps::default().problem(&calls[0])
    };
    for good in [
        "ouro check runs/mine --store redis://x > out",
        "docker compose run --rm ouro doctor --json",
        "ouro-learner --config run.toml --device vulkan",
        "ouro token create NAME --role reader",
        "ouro",
    ] {
        assert_eq!(problem(good), None, "{good}");
    }
    assert_eq!(problem("ouro chek x").unwrap(), "ouro has no command chek");
    assert_eq!(problem("ouro token make x").unwrap(), "ouro token has no command make");
    assert_eq!(problem("ouro check x --stor=y").unwrap(), "ouro check has no flag --stor");
    assert!(calls("docker compose up -d").is_empty() && calls("ouro-zoo x").is_empty());
}

/// The code spans of a text.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows about the options of each player in the page of the players.
fn documented_options() -> BTreeMap<String, BTreeMap<String, String>> {
    let page = fs::read_to_string("../docs/players.md").expect("text");
    let mut players: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for section in page.split("\n## ").skip(1) {
        let (heading, text) = section.split_once('\n').expect("a heading");
        for player in spans(heading) {
            let options = players.entry(player.to_owned()).or_default();
            for row in text.lines().filter(|line| line.starts_with("| `")) {
                if row.contains("`minimax` only") && player != "minimax" {
                    continue;
                }
                for span in spans(row.split('|').nth(1).expect("a cell")) {
                    let option = span.split('=').next().expect("a name");
                    options.entry(option.to_owned()).or_default().push_str(row);
                }
            }
        }
    }
    players
}

#[test]
fn every_option_of_every_player_is_documented_with_the_defaults_that_can_be_tuned() {
    let mut documented = documented_options();
    for player in KNOWN {
        let rows = documented.remove(player.name).expect(player.name);
        let found: BTreeSet<&str> = rows.keys().map(String::as_str).collect();
        let known: BTreeSet<&str> = player.options.iter().copied().collect();
        assert_eq!(found, known, "{}", player.name);
        for (option, default) in player.defaults {
            let row = &rows[*option];
            assert!(row.contains(&format!("| {default} |")), "{option} has another default: {row}");
        }
    }
    // The player of `ouro match` alone.
    let http = documented.remove("http").expect("it is a player too");
    assert_eq!(http.keys().collect::<Vec<_>>(), ["ms", "url"]);
    assert!(documented.is_empty(), "no such players: {documented:?}");
    let readme = fs::read_to_string("../README.md").expect("text");
    assert!(readme.contains("(docs/players.md)"), "the README links to the page");
}
