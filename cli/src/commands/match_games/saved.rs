//! The games of a match in a file, from which an interrupted match continues.
//!
//! A line counts for the game with its seed and seats. A match with more games per lineup starts with
//! those of a shorter one, so the same file also extends a match. Another [build] of the program may
//! continue a match too; a warning then names its games.

use std::collections::BTreeMap;
use std::path::Path;

use ouro_game::GameConfig;
use serde::{Deserialize, Serialize};

use super::Arguments;
use super::play::PlayedGame;
use super::schedule::Planned;
use crate::commands::build::{self, Builds};
use crate::commands::entrants::{self, Engines};
use crate::commands::line_file::{FirstLine, LineFile, Purpose};
use crate::failure::Failure;

/// Version of the format.
const VERSION: u32 = 1;

/// What two matches have in common if they share games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    /// Version of the format, which also says what the file is.
    #[serde(rename = "match")]
    version: u32,
    players: Vec<String>,
    /// Hash of each weights file.
    weights: BTreeMap<String, String>,
    game: GameConfig,
    seed: u64,
    max_plies: usize,
    /// The build that started the file. Earlier versions of the program wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
}

impl FirstLine for Header {
    fn allowing(&self, found: &Self) -> Self {
        Self { build: found.build.clone(), ..self.clone() }
    }
}

/// One game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    seed: u64,
    /// The entrant of each seat.
    seats: Vec<usize>,
    /// The build that played the game, if it did not start the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
    #[serde(flatten)]
    game: PlayedGame,
}

/// The file of a match.
#[derive(Debug)]
pub(super) struct Saved {
    file: LineFile,
    games: BTreeMap<(u64, Vec<usize>), PlayedGame>,
    /// The build that new lines name.
    build: Option<String>,
}

impl Saved {
    /// Opens the file at `path`, or starts one. Prints a warning if another build played some of its games.
    pub(super) fn open(
        path: &Path,
        purpose: Purpose,
        arguments: &Arguments,
        game: &GameConfig,
        engines: &Engines,
        seats: usize,
    ) -> Result<Self, Failure> {
        let header = Header {
            version: VERSION,
            players: arguments.players.clone(),
            weights: entrants::hashes(engines)?,
            game: game.clone(),
            seed: arguments.seed,
            max_plies: arguments.max_plies,
            build: build::own(),
        };
        let (file, first, lines) = LineFile::open(path, &header, purpose, |_, line: &Line| {
            let lengths = [line.seats.len(), line.game.outcomes.len(), line.game.scores.len()];
            let known = line.seats.iter().all(|entrant| *entrant < arguments.players.len());
            if known && lengths == [seats; 3] {
                Ok(())
            } else {
                Err("is not a game of this match".to_owned())
            }
        })?;
        let builds = Builds { own: header.build, first: first.build };
        builds.warn(path, purpose, "games", lines.iter().map(|line| line.build.as_ref()))?;
        let games = lines.into_iter().map(|Line { seed, seats, game, .. }| ((seed, seats), game));
        Ok(Self { file, games: games.collect(), build: builds.of_new_line() })
    }

    /// The saved result of a game.
    pub(super) fn get(&self, planned: &Planned) -> Option<&PlayedGame> {
        self.games.get(&(planned.seed, planned.seats.clone()))
    }

    /// Adds a game that has ended.
    pub(super) fn add(&mut self, planned: &Planned, game: &PlayedGame) -> Result<(), Failure> {
        let (seed, seats) = (planned.seed, planned.seats.clone());
        let build = self.build.clone();
        let line = Line { seed, seats: seats.clone(), build, game: game.clone() };
        self.file.append(&line)?;
        self.games.insert((seed, seats), line.game);
        Ok(())
    }
}
