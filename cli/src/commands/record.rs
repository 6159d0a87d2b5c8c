//! `ouro record`: plays a random game and writes its record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use ouro_game::record::{MAX_PLIES, Recorder};
use ouro_game::{Action, ActionMask, Game, GameConfig, GameRecord, GameVisitor, Rng, Turn};

use super::game_argument;
use super::numbers::whole;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A name from `ouro games`, or a configuration as JSON.
    #[arg(value_parser = game_argument::parse)]
    game: GameConfig,
    /// Seed of set-up, chance and moves.
    #[arg(long, default_value_t = 0, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Stop after this many plies.
    #[arg(long, default_value_t = 10_000, value_parser = whole::<usize>(0..=MAX_PLIES))]
    max_plies: usize,
    /// Where to write; compressed if it ends in `.gz`. Standard output if missing. An earlier record is
    /// replaced, another file is not.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Plays one game of uniformly random legal moves.
struct PlayAtRandom<'a>(&'a Arguments);

impl GameVisitor for PlayAtRandom<'_> {
    type Output = anyhow::Result<GameRecord>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let arguments = self.0;
        let mut recorder = Recorder::new(&game, arguments.seed);
        let mut choices: Vec<Rng> = (0..game.players())
            .map(|seat| Rng::indexed(arguments.seed, "seat", seat as u64))
            .collect();
        let mut mask = ActionMask::default();
        let mut joint = vec![Action::default(); game.players()];
        while let Turn::Move(movers) = game.turn(recorder.state()) {
            if recorder.plies() == arguments.max_plies {
                break;
            }
            for player in movers.iter() {
                game.legal(recorder.state(), player, &mut mask);
                let choice = choices[player].below(u32::try_from(mask.count())?) as usize;
                joint[player] = mask.nth(choice).unwrap_or_default();
            }
            recorder.advance(&game, &joint)?;
        }
        Ok(recorder.into_record(arguments.game.clone()))
    }
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    if let Some(path) = &arguments.out {
        check_path(path, "--out")?;
    }
    let played = arguments.game.visit(PlayAtRandom(arguments)).map_err(anyhow::Error::from)?;
    let record = played?;
    match &arguments.out {
        Some(path) => write(path, "--out", &record)?,
        None => output.result(&record, String::from_utf8_lossy(&to_json(&record)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a path of a record before the game is played: one that no file can have, and that of a file that
/// is something else. `option` is the option that names it.
pub(crate) fn check_path(path: &Path, option: &str) -> Result<(), Failure> {
    check_place(path, option)?;
    if is_something_else(path).map_err(|error| Failure::read(path.display(), &error))? {
        return Err(Failure::usage(format_args!(
            "{} is not a record of a game, and a record replaces nothing else; remove it or name another \
             file with {option}",
            path.display()
        )));
    }
    Ok(())
}

/// Bytes at the start of a file that show whether it is a record.
const START: u64 = 64;

/// Whether a file has content that is not that of a record. A device or a pipe has none.
fn is_something_else(path: &Path) -> io::Result<bool> {
    if !path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(false);
    }
    let mut file = BufReader::new(File::open(path)?);
    let mut start = Vec::new();
    if file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        // What cannot be unpacked is no record.
        let _ = GzDecoder::new(file).take(START).read_to_end(&mut start);
    } else {
        file.take(START).read_to_end(&mut start)?;
    }
    Ok(!starts_as_record(&start))
}

/// Whether these are the first bytes of a record: its version and its game.
fn starts_as_record(start: &[u8]) -> bool {
    let text: String = String::from_utf8_lossy(start).split_whitespace().collect();
    let after_version = text.strip_prefix("{\"version\":");
    let after_number =
        after_version.map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    after_number.is_some_and(|rest| rest.starts_with(",\"config\":{\"game\":"))
}

/// Refuses a path that no file can have. `option` is the option that names it.
pub(crate) fn check_place(path: &Path, option: &str) -> Result<(), Failure> {
    let name = path.display();
    if path.is_dir() {
        return Err(Failure::io(format_args!(
            "cannot write {name}: it is a folder; name a file with {option}"
        )));
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(Failure::io(format_args!(
            "cannot write {name}: there is no folder {}; make it or name another file with {option}",
            folder.display()
        )));
    }
    Ok(())
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Whether two paths lead to the same file, even if there is no file yet.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| {
        let new = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
        path.canonicalize().ok().or_else(new)
    };
    one == other || resolved(one).is_some_and(|one| Some(one) == resolved(other))
}

/// Writes a record to a file, compressed if its name ends in `.gz`. `option` is the option that names the
/// file.
pub(crate) fn write(path: &Path, option: &str, record: &GameRecord) -> Result<(), Failure> {
    let mut json = to_json(record)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&json)?;
        json = encoder.finish()?;
    }
    // During a long match, another program may have made a file there.
    check_path(path, option)?;
    replace(path, &json).map_err(|error| Failure::write(path.display(), option, &error))
}

/// Writes a file that is complete as soon as it has its name. A link stays, and so does a device or a pipe.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = match path.canonicalize() {
        Ok(file) if file.is_file() => file,
        Err(_) if !path.is_symlink() => path.to_owned(),
        // A device, a pipe, or a link to a file that is still to be made.
        _ => return fs::write(path, bytes),
    };
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let draft = file.with_file_name(name);
    // Left by an earlier process with this id that was killed.
    let _ = fs::remove_file(&draft);
    let written = write_draft(&draft, &file, bytes).and_then(|()| fs::rename(&draft, &file));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&draft);
    })
}

/// Writes the draft of a file, with the permissions of the file that it replaces.
fn write_draft(draft: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = OpenOptions::new().write(true).create_new(true).open(draft)?;
    // A file that must not be written is not replaced either.
    match OpenOptions::new().write(true).open(file) {
        Ok(earlier) => new.set_permissions(earlier.metadata()?.permissions())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    new.write_all(bytes)?;
    new.sync_all()
}

fn to_json(record: &GameRecord) -> Result<Vec<u8>, Failure> {
    let mut json = serde_json::to_vec(record).map_err(anyhow::Error::from)?;
    json.push(b'\n');
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> GameRecord {
        GameRecord {
            version: 1,
            config: GameConfig::by_name("tic_tac_toe").expect("a game"),
            seed: 1,
            plies: Vec::new(),
            digests: vec![1],
        }
    }

    #[test]
    fn a_record_replaces_records_and_empty_files_alone() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let record = record();
        for name in ["game.json", "game.json.gz"] {
            let path = folder.path().join(name);
            check_path(&path, "--out").expect("there is no file");
            fs::write(&path, "").expect("it is written");
            check_path(&path, "--out").expect("it is empty");
            write(&path, "--out", &record).expect("it is written");
            check_path(&path, "--out").expect("it is a record");
        }
        let packed = fs::read(folder.path().join("game.json.gz")).expect("it is there");
        let other = folder.path().join("other");
        for content in [
            &b"seed = 1\n"[..],
            b"{\"version\":1,\"name\":\"a package\"}",
            b"{\"match\":1,\"players\":[]}",
            &packed[..12],
            b"\xff\xfe",
        ] {
            fs::write(&other, content).expect("it is written");
            let refused =
                format!("{:?}", check_path(&other, "--out").expect_err("it is no record"));
            assert!(refused.contains("other is not a record of a game"), "{refused}");
            assert!(refused.contains("code: 64") && refused.contains("with --out"), "{refused}");
        }
        let refused = check_path(&folder.path().join("none/game.json"), "--out");
        let refused = format!("{:?}", refused.expect_err("there is no such folder"));
        assert!(refused.contains("there is no folder"), "{refused}");
    }

    #[test]
    fn a_file_that_was_made_after_the_check_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("game.json");
        check_path(&path, "--record").expect("there is no file");
        fs::write(&path, "notes").expect("it is written");
        let refused = write(&path, "--record", &record()).expect_err("it is no record");
        let refused = format!("{refused:?}");
        assert!(refused.contains("code: 64") && refused.contains("with --record"), "{refused}");
        assert_eq!(fs::read_to_string(&path).expect("it is still there"), "notes");
    }

    #[cfg(unix)]
    #[test]
    fn a_record_is_written_to_the_file_of_a_link_and_leaves_no_draft() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("below")).expect("a folder");
        std::os::unix::fs::symlink(path("below/game.json"), path("link")).expect("a link");
        // The first record makes the file, and the second one replaces it.
        for _ in 0..2 {
            write(&path("link"), "--out", &record()).expect("it is written");
            assert!(path("link").is_symlink());
            check_path(&path("below/game.json"), "--out").expect("it is a record");
            assert_eq!(fs::read_dir(path("below")).expect("a folder").count(), 1);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    #[test]
    fn spellings_of_a_path_lead_to_the_same_file_with_a_file_and_without() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("below")).expect("a folder");
        for _ in 0..2 {
            assert!(is_same_file(&path("file"), &path("file")));
            assert!(is_same_file(&path("file"), &path("below/../file")));
            assert!(!is_same_file(&path("file"), &path("below/file")));
            assert!(!is_same_file(&path("file"), &path("other")));
            fs::write(path("file"), "").expect("it is written");
        }
        assert!(!is_same_file(&path("none/file"), &path("nowhere/file")));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("file"), path("below/link")).expect("a link");
            assert!(is_same_file(&path("below/link"), &path("file")));
        }
    }
}
