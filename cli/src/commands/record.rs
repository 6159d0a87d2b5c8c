//! `ouro record`: plays a random game and writes its record.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use ouro_game::record::Recorder;
use ouro_game::{Action, ActionMask, Game, GameConfig, GameRecord, GameVisitor, Rng, Turn};
use std::io::Write;

use super::game_argument;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A name from `ouro games`, or a configuration as JSON.
    #[arg(value_parser = game_argument::parse)]
    game: GameConfig,
    /// Seed of set-up, chance and moves.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Stop after this many plies.
    #[arg(long, default_value_t = 10_000)]
    max_plies: usize,
    /// Where to write; compressed if it ends in `.gz`. Standard output if missing.
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
    let played = arguments.game.visit(PlayAtRandom(arguments)).map_err(anyhow::Error::from)?;
    let record = played?;
    match &arguments.out {
        Some(path) => write(path, &record)?,
        None => output.result(&record, String::from_utf8_lossy(&to_json(&record)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a record to a file, compressed if its name ends in `.gz`.
pub(crate) fn write(path: &Path, record: &GameRecord) -> Result<(), Failure> {
    let mut json = to_json(record)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&json)?;
        json = encoder.finish()?;
    }
    std::fs::write(path, json).map_err(|error| Failure::read(path.display(), &error))
}

fn to_json(record: &GameRecord) -> Result<Vec<u8>, Failure> {
    let mut json = serde_json::to_vec(record).map_err(anyhow::Error::from)?;
    json.push(b'\n');
    Ok(json)
}
