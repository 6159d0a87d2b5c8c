//! `ouro games`: lists the games.

use std::process::ExitCode;

use ouro_game::catalog::GAMES;
use ouro_game::{Game, GameConfig, GameVisitor, PlaneShape};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;

/// One game under its default configuration.
#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    about: &'static str,
    players: usize,
    actions: usize,
    planes: PlaneShape,
    state_bytes: usize,
    config: GameConfig,
}

struct Describe {
    about: &'static str,
    config: GameConfig,
}

impl GameVisitor for Describe {
    type Output = Entry;

    fn visit<G: Game>(self, game: G) -> Entry {
        Entry {
            name: G::NAME,
            about: self.about,
            players: game.players(),
            actions: game.action_count(),
            planes: game.planes(),
            state_bytes: size_of::<G::State>(),
            config: self.config,
        }
    }
}

pub(super) fn run(output: &mut Output) -> Result<ExitCode, Failure> {
    let mut entries = Vec::new();
    for info in GAMES {
        let config = GameConfig::by_name(info.name).map_err(anyhow::Error::from)?;
        let describe = Describe { about: info.about, config: config.clone() };
        entries.push(config.visit(describe).map_err(anyhow::Error::from)?);
    }
    let mut text = format!(
        "{:<14}{:>8}{:>9}  {:<12}{:>8}  about\n",
        "game", "players", "actions", "planes", "state"
    );
    for entry in &entries {
        let PlaneShape { channels, height, width } = entry.planes;
        let planes = format!("{channels}x{height}x{width}");
        text += &format!(
            "{:<14}{:>8}{:>9}  {planes:<12}{:>6} B  {}\n",
            entry.name, entry.players, entry.actions, entry.state_bytes, entry.about
        );
    }
    output.result(&entries, text)?;
    Ok(ExitCode::SUCCESS)
}
