//! Hostile values for every key of the settings.
//!
//! Each file is refused in one line that names the key, or `ouro train` runs with it and ends in
//! time. A file that is refused leaves nothing behind.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ouro_settings::keys::{Keys, Meaning};
use ouro_settings::{Preset, Settings};
use ouro_testkit::attack;
use ouro_testkit::process::{Ended, Process};
use toml::{Table, Value};

/// Of the files that are accepted, one in so many is trained with by default.
const ONE_IN: usize = 12;

/// Longest time of a run that should end after half a second.
const LIMIT: Duration = Duration::from_secs(60);

/// Numbers tried for every key that takes a number; the largest within its range count as extreme.
const NUMBERS: [f64; 20] = [
    -1.0,
    0.0,
    f64::MIN_POSITIVE,
    1e-30,
    0.5,
    1.0,
    2.0,
    16.0,
    255.0,
    4_096.0,
    65_535.0,
    1_048_576.0,
    16_777_216.0,
    2_147_483_647.0,
    4_294_967_295.0,
    9_007_199_254_740_992.0,
    1e30,
    1e300,
    f64::NAN,
    f64::INFINITY,
];

/// One settings file.
struct Case {
    /// The key with the hostile value; empty if the file has no key.
    key: String,
    text: String,
}

/// The preset whose settings have the key, and the key's meaning there.
fn home_of(key: &str, meanings: &[Meaning]) -> Preset {
    let order = [Preset::TicTacToe, Preset::Connect4];
    let order = order.into_iter().chain(Preset::ALL);
    let mut having = order
        .filter(|&preset| meanings.iter().any(|meaning| meaning.in_preset(key, preset).is_some()));
    having.next().unwrap_or(Preset::TicTacToe)
}

/// A file with the settings of `preset`, a small network, and `value` at `key`.
fn file(preset: Preset, key: &str, value: Value) -> String {
    let net =
        "kind = \"mlp\"\nlayers = 1\nhidden = 8\nvalue = \"tanh\"".parse::<Table>().expect("TOML");
    let mut table = Table::new();
    table.insert("preset".to_owned(), preset.name().into());
    if !key.starts_with("net") {
        table.insert("net".to_owned(), net.into());
    }
    let mut names: Vec<&str> = key.split('.').collect();
    let last = names.pop().expect("a key has a name");
    let mut inner = &mut table;
    for name in names {
        let next = inner.entry(name.to_owned()).or_insert_with(|| Table::new().into());
        inner = next.as_table_mut().expect("only tables were inserted");
    }
    inner.insert(last.to_owned(), value);
    toml::to_string(&table).expect("plain data")
}

/// The values tried for a key with these meanings.
fn values(meanings: &[Meaning]) -> Vec<Value> {
    let mut values: Vec<Value> = vec![
        Value::Boolean(true),
        "".into(),
        "\u{1b}[31m\n\u{7f}".into(),
        "x".repeat(100_000).into(),
        Value::Array(vec![1.into(); 3]),
        Table::new().into(),
        i64::MAX.into(),
        i64::MIN.into(),
    ];
    let is_number = meanings.iter().any(|meaning| meaning.kind.contains("number"));
    let is_whole = meanings.iter().any(|meaning| meaning.kind.contains("whole"));
    for number in NUMBERS.into_iter().filter(|_| is_number) {
        values.push(if is_whole && number.fract() == 0.0 && number.abs() < 1e18 {
            Value::Integer(number as i64)
        } else {
            Value::Float(number)
        });
    }
    for (choice, _) in meanings.iter().flat_map(|meaning| &meaning.choices) {
        values.push(choice.clone().into());
    }
    values
}

/// A file for every key and value.
fn of_keys() -> Vec<Case> {
    let keys = Keys::new();
    let mut cases = Vec::new();
    for key in keys.all() {
        let meanings = keys.find(&key);
        let preset = home_of(&key, &meanings);
        for value in values(&meanings) {
            cases.push(Case { text: file(preset, &key, value), key: key.clone() });
        }
    }
    cases
}

/// Files that are no settings at all.
fn of_bytes() -> Vec<Case> {
    let mut nested = String::new();
    for _ in 0..10_000 {
        nested.push('[');
    }
    let texts = [
        String::new(),
        "\0".to_owned(),
        "\u{feff}seed = 1".to_owned(),
        "seed = 1\r\nseed = 2\r\n".to_owned(),
        "seed = 18446744073709551616".to_owned(),
        "seed = 0x".to_owned(),
        "preset = \"duel\"\npreset = \"duel\"".to_owned(),
        "preset = 3".to_owned(),
        "[[train]]".to_owned(),
        "train = \"x\"".to_owned(),
        "[train\n".to_owned(),
        "a.".repeat(10_000) + "a = 1",
        format!("x = {nested}"),
        format!("x = {}", "{a=".repeat(10_000)),
        "\"\\u0000\" = 1".to_owned(),
        "\"\" = 1".to_owned(),
        "= 1".to_owned(),
        "#".repeat(1 << 20),
        "seed = 1 # \u{202e}".to_owned(),
        "[game]\ngame = \"battlesnake\"\nwidth = 255\nheight = 255".to_owned(),
        "[game]\ngame = \"connect_four\"\ncolumns = 0".to_owned(),
    ];
    texts.into_iter().map(|text| Case { key: String::new(), text }).collect()
}

/// What became of a file before anything was started.
enum Checked {
    Accepted,
    Refused,
}

/// Reads and validates a file in this process.
fn check(home: &Path, case: &Case) -> Result<Checked, String> {
    let path = home.join("my.toml");
    fs::write(&path, &case.text).expect("it is written");
    let error = match Settings::load(&path) {
        Ok(settings) => match settings.validate() {
            Ok(()) => return Ok(Checked::Accepted),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    let is_named = case.key.is_empty() || error.contains(first_name(&case.key));
    if error.lines().count() == 1 && error.len() < 2_000 && is_named {
        return Ok(Checked::Refused);
    }
    let shown: String = error.chars().take(300).collect();
    Err(format!("{:?}: {} bytes: {shown:?}", short(case), error.len()))
}

/// The table or key at the top of the file.
fn first_name(key: &str) -> &str {
    key.split('.').next().unwrap_or(key)
}

/// The case in a message.
fn short(case: &Case) -> String {
    let mut text = String::new();
    let lines = case.text.lines().filter(|line| !line.contains("mlp"));
    for line in lines {
        let _ = write!(text, "{} ", line.chars().take(60).collect::<String>());
    }
    text.chars().take(200).collect()
}

/// Trains with an accepted file.
fn train(case: &Case) -> Result<String, String> {
    let home = tempfile::tempdir().expect("a scratch folder");
    fs::write(home.path().join("my.toml"), &case.text).expect("it is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.args(["train", "--config", "my.toml", "--run", "run", "--for", "300ms"]);
    command.args(["--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0", "--web", "off"]);
    command.args(["--device", "cpu", "--threads", "1"]);
    command.current_dir(home.path()).env_remove("OURO_RUN").env_remove("RUST_LOG");
    let Ended { code, stderr, .. } = Process::start_piped(&mut command).end_within(LIMIT);
    let last: String = stderr.lines().last().unwrap_or_default().chars().take(300).collect();
    let is_one_line = stderr.lines().count() == 1;
    match code {
        Some(0) => Ok("trained".to_owned()),
        // Refused before anything was written, with one line.
        Some(64) if is_one_line && !home.path().join("run").exists() => {
            Ok("refused by the start".to_owned())
        }
        // The settings make training diverge, which only training can show.
        Some(64) if last.contains("diverged") => Ok("diverged".to_owned()),
        _ => Err(format!("{:?}: exit code {code:?}: {last:?}", short(case))),
    }
}

#[test]
fn every_hostile_setting_is_refused_by_name_or_trained_with() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let mut cases = of_keys();
    cases.extend(of_bytes());
    assert!(cases.len() >= 150);
    let (mut accepted, mut failures) = (Vec::new(), Vec::new());
    for case in &cases {
        match check(home.path(), case) {
            Ok(Checked::Accepted) => accepted.push(case),
            Ok(Checked::Refused) => {}
            Err(failure) => failures.push(failure),
        }
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    let chosen: Vec<&Case> =
        attack::cases(accepted.len(), ONE_IN).into_iter().map(|index| accepted[index]).collect();
    let trained = attack::run(&chosen, |case| train(case));
    attack::report(format_args!(
        "settings: {} files, {} refused by name, {} accepted, of which {} started: {trained:?}",
        cases.len(),
        cases.len() - accepted.len(),
        accepted.len(),
        chosen.len(),
    ));
}
