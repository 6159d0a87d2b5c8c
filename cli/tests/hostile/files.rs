//! Damage to every file of a run, in every class of bytes of its format.
//!
//! After each damage, `ouro check` names it, a start refuses in one line, or the run continues and is
//! sound again. A refused run starts after `ouro repair`, or the line names another remedy.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ouro_testkit::attack;
use ouro_testkit::process::{Ended, Process};

use crate::support::small_run;

/// By default one case in so many runs.
const ONE_IN: usize = 12;

/// Longest time of a command.
const LIMIT: Duration = Duration::from_secs(60);

/// Files whose content the programs cannot verify: the settings, which a user may edit, the history
/// of events, and the logs of sent games, which are for people and tests.
const UNVERIFIED: [&str; 3] = ["run.toml", "events.jsonl", "records.log"];

/// A change to a file.
#[derive(Clone, Debug)]
enum Damage {
    /// One bit of the byte at this offset.
    Bit(usize),
    /// The sector that contains this offset reads as zeros.
    Zeros(usize),
    /// The file ends here.
    End(usize),
    /// Bytes after the end.
    Appended(&'static [u8]),
    /// The first half twice.
    Repeated,
    Removed,
    /// A folder in place of the file.
    Folder,
    /// The file of another run with the same settings.
    Foreign,
}

/// A damage to one file of the run.
#[derive(Clone, Debug)]
struct Case {
    /// Path in the folder of the run.
    file: PathBuf,
    damage: Damage,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {:?}", self.file.display(), self.damage)
    }
}

/// Every file below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut open, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// The format of a file: its name without the numbers and hashes in it.
fn format_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let kind = match name.rsplit_once('.') {
        Some((stem, ending)) if stem.len() > 40 || stem.contains(char::is_numeric) => {
            format!("*.{ending}")
        }
        _ => name.into_owned(),
    };
    let folder = if folder.contains(char::is_numeric) { "*" } else { &folder };
    format!("{folder}/{kind}")
}

/// Offsets that cover the parts of a format: the header, lengths, checksums, content, the end.
fn offsets(bytes: &[u8]) -> Vec<usize> {
    let end = bytes.len();
    let mut offsets: Vec<usize> = [0, 4, 9, 13, 17, 25, 34, 42, 48, 60, 80]
        .into_iter()
        .chain([end / 4, end / 2, 3 * end / 4, end.saturating_sub(2), end.saturating_sub(1)])
        .filter(|&offset| offset < end)
        .collect();
    // Of text also the first of each kind of character after the middle.
    if std::str::from_utf8(bytes).is_ok() {
        for class in [b'"', b':', b',', b'{', b'}', b'=', b'\n', b' ', b'.'] {
            let rest = &bytes[end / 2..];
            offsets.extend(rest.iter().position(|&byte| byte == class).map(|at| end / 2 + at));
        }
        let digit = bytes[end / 2..].iter().position(u8::is_ascii_digit);
        offsets.extend(digit.map(|at| end / 2 + at));
    }
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// All damages to the newest and the oldest file of every format.
fn cases(run: &Path) -> Vec<Case> {
    let mut of_format: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in files(run) {
        of_format.entry(format_of(&file)).or_default().push(file);
    }
    let mut cases = Vec::new();
    for of_one in of_format.values() {
        let mut ends = vec![&of_one[0], &of_one[of_one.len() - 1]];
        ends.dedup();
        for path in ends {
            let bytes = fs::read(path).expect("it can be read");
            let file = path.strip_prefix(run).expect("it is in the run").to_owned();
            let mut add = |damage| cases.push(Case { file: file.clone(), damage });
            offsets(&bytes).into_iter().for_each(|offset| add(Damage::Bit(offset)));
            add(Damage::Zeros(bytes.len() / 2));
            for end in [0, bytes.len() / 2, bytes.len().saturating_sub(1)] {
                add(Damage::End(end));
            }
            add(Damage::Appended(b"\0"));
            add(Damage::Appended(b"one more line\n"));
            add(Damage::Repeated);
            add(Damage::Removed);
            add(Damage::Folder);
            add(Damage::Foreign);
        }
    }
    cases
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a new folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).expect("it can be copied");
        }
    }
}

/// Damages a file. `other` is the folder of another run.
fn damage(path: &Path, other: &Path, case: &Case) {
    let mut bytes = fs::read(path).expect("it can be read");
    match case.damage {
        Damage::Bit(offset) => bytes[offset] ^= 1,
        Damage::Zeros(offset) => {
            let start = offset / 512 * 512;
            let end = bytes.len().min(start + 512);
            bytes[start..end].fill(0);
        }
        Damage::End(end) => bytes.truncate(end),
        Damage::Appended(more) => bytes.extend_from_slice(more),
        Damage::Repeated => bytes.extend_from_within(..bytes.len() / 2),
        Damage::Removed | Damage::Folder => {
            fs::remove_file(path).expect("it is there");
            if matches!(case.damage, Damage::Folder) {
                fs::create_dir(path).expect("nothing is there");
            }
            return;
        }
        Damage::Foreign => {
            let format = format_of(path);
            let file = files(other).into_iter().find(|file| format_of(file) == format);
            bytes = fs::read(file.expect("both runs have the same files")).expect("it can be read");
        }
    }
    fs::write(path, bytes).expect("it can be written");
}

fn ouro(home: &Path, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.args(arguments).current_dir(home).env_remove("OURO_RUN").env_remove("RUST_LOG");
    Process::start_piped(&mut command).end_within(LIMIT)
}

/// Continues the run for a moment.
fn train(home: &Path) -> Ended {
    ouro(
        home,
        &[
            "train",
            "--run",
            "run",
            "--for",
            "300ms",
            "--device",
            "cpu",
            "--threads",
            "1",
            "--arena",
            "127.0.0.1:0",
            "--learner",
            "127.0.0.1:0",
            "--web",
            "off",
        ],
    )
}

/// Whether a command ended as the manual says: with one of its exit codes, and with one line if it
/// refused.
fn is_orderly(ended: &Ended, codes: &[i32]) -> bool {
    let is_line = ended.code == Some(0) || ended.code == Some(1) || {
        ended.stderr.lines().last().is_some_and(|line| line.starts_with("error: "))
    };
    ended.code.is_some_and(|code| codes.contains(&code))
        && is_line
        && !ended.stderr.contains("panicked")
}

/// What became of a damage.
enum Outcome {
    /// The run went on and is sound.
    WentOn { was_found: bool },
    /// The start was refused, and `ouro repair` made it possible.
    Repaired,
    /// The start was refused with another remedy.
    Refused,
    /// The run went on with a damaged part that it does not need.
    Unneeded,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WentOn { was_found: true } => "found, healed by the start",
            Self::WentOn { was_found: false } => "without effect",
            Self::Repaired => "refused, repaired",
            Self::Refused => "refused with a remedy",
            Self::Unneeded => "found, not needed by the start",
        })
    }
}

fn attack(run: &Path, other: &Path, case: &Case) -> Result<String, String> {
    let home = tempfile::tempdir().expect("a scratch folder");
    copy(run, &home.path().join("run"));
    let path = home.path().join("run").join(&case.file);
    let before = fs::read(&path).expect("it can be read");
    damage(&path, other, case);
    let is_same = fs::read(&path).is_ok_and(|bytes| bytes == before);
    let shown = |what: &str, ended: &Ended| {
        Err(format!("{case}: {what}: {:?} {}{}", ended.code, ended.stdout, ended.stderr))
    };
    let checked = ouro(home.path(), &["check", "run"]);
    if !is_orderly(&checked, &[0, 1, 65, 66, 74]) {
        return shown("check", &checked);
    }
    let was_found = checked.code != Some(0)
        || ["cannot be shown", "cannot be read", "was moved", "cuts off"]
            .iter()
            .any(|note| checked.stdout.contains(note));
    let trained = train(home.path());
    if !is_orderly(&trained, &[0, 64, 65, 66, 69, 74]) {
        return shown("train", &trained);
    }
    let outcome = if trained.code == Some(0) {
        let again = ouro(home.path(), &["check", "run"]);
        let is_sound = again.code == Some(0);
        let is_unverified = UNVERIFIED.iter().any(|name| case.file.ends_with(name));
        match (was_found, is_sound) {
            (true, false) => Outcome::Unneeded,
            (false, false) => return shown("a check after the start", &again),
            (false, true) if is_same || is_unverified => Outcome::WentOn { was_found },
            (false, true) if matches!(case.damage, Damage::Bit(_)) => {
                return shown("a flipped bit that nothing noticed", &checked);
            }
            (was_found, true) => Outcome::WentOn { was_found },
        }
    } else {
        let repaired = ouro(home.path(), &["repair", "run"]);
        if !is_orderly(&repaired, &[0, 1, 64, 65, 66, 69, 74]) {
            return shown("repair", &repaired);
        }
        let again = train(home.path());
        match again.code {
            Some(0) => Outcome::Repaired,
            _ if is_orderly(&again, &[64, 65, 66, 69, 74]) => Outcome::Refused,
            _ => return shown("train after repair", &again),
        }
    };
    Ok(format!("{}: {outcome}", format_of(&case.file)))
}

#[test]
fn every_damage_to_a_file_of_a_run_is_refused_repaired_or_healed() {
    let homes = [(); 2].map(|()| small_run::home());
    for home in &homes {
        let arguments = ["--run", "run", "--config", "small.toml", "--for", "2s", "--log-records"];
        let trained = small_run::train(home.path(), &arguments);
        assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    }
    let [run, other] = homes.each_ref().map(|home| home.path().join("run"));
    let all = cases(&run);
    assert!(all.len() >= 100, "{}", all.len());
    let chosen: Vec<&Case> =
        attack::cases(all.len(), ONE_IN).into_iter().map(|index| &all[index]).collect();
    let outcomes = attack::run(&chosen, |case| attack(&run, &other, case));
    attack::report(format_args!("damage: {} cases, {} run", all.len(), chosen.len()));
    for (outcome, count) in outcomes {
        attack::report(format_args!("  {count:4} {outcome}"));
    }
}
