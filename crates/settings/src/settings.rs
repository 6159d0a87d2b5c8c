//! The settings of a run, as in its `run.toml`.

use std::path::{Path, PathBuf};

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{Architecture, NetSpec, SpecError};
use ouro_proto::text::brief;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::actor::PlayConfig;
use crate::arena::MatchConfig;
use crate::deploy::Deployment;
use crate::error::SettingError;
use crate::file::{self, FileError};
use crate::keys::Keys;
use crate::learner::{IntakeConfig, ReplayConfig, TrainConfig};
use crate::off;
use crate::preset::Preset;

/// Name of the file in the folder of a run.
pub const SETTINGS_FILE: &str = "run.toml";

/// Folder of runs that start from a preset, or from a settings file not called `run.toml`.
const RUNS: &str = "runs";

/// Keys of every complete file. Versions before `observation` wrote complete files without it.
const COMPLETE: [&str; 11] = [
    "game",
    "net",
    "actor",
    "train",
    "replay",
    "intake",
    "arena",
    "deploy",
    "seed",
    "generation_steps",
    "discount",
];

/// Everything that `ouro train` and the three services read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Seed of everything random.
    pub seed: u64,
    /// Optimiser steps between two generations.
    #[schemars(range(min = 1, max = 4_294_967_296_u64))]
    pub generation_steps: u64,
    /// Discount γ per time step, for searches and training alike: what comes `t` time steps
    /// later counts `γ^t`. The outcome of an eliminated player comes with its elimination.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1))]
    pub discount: f32,
    /// The game.
    pub game: GameConfig,
    /// The network's layers. Its input and output follow from the game.
    pub net: Architecture,
    /// What the network reads of a position.
    #[serde(default)]
    pub observation: Observation,
    /// How games are played for training.
    pub actor: PlayConfig,
    /// The update rule.
    pub train: TrainConfig,
    /// Which games are learned from, how long and how often.
    pub replay: ReplayConfig,
    /// Which games the learner accepts.
    pub intake: IntakeConfig,
    /// How candidates are matched and rated.
    pub arena: MatchConfig,
    /// Where the processes of the run are, and what each may use there.
    pub deploy: Deployment,
}

/// A settings file as a TOML table, before its keys become typed settings.
#[derive(Clone, Debug)]
pub struct Source {
    /// The preset that fills the gaps of the file; `None` for a complete file.
    pub preset: Option<Preset>,
    /// The settings of that preset; those of the default preset for a complete file.
    pub base: Table,
    /// The entries of the file, with gaps filled from the preset.
    pub table: Table,
    /// The error of a file that should be complete and is not. Its gaps are filled from the default
    /// preset, only so that its other problems can be found.
    pub incomplete: Option<SettingError>,
}

impl Source {
    /// Reads a settings file.
    ///
    /// The key `preset` names the preset that fills the gaps. A file without that key takes the
    /// default preset. A `run.toml` without that key is complete: optional keys that it leaves out
    /// are not set. A file without any key is an error: its content was probably lost.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        Self::parse(path, &file::read_text(path)?)
    }

    /// Like [`read`](Self::read), for the text of the file `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Self, FileError> {
        let mut written = file::parse_table(path, text)?;
        if written.is_empty() {
            return Err(empty(path));
        }
        let named = written.remove("preset");
        let mut incomplete = None;
        if is_run_file(path) && named.is_none() {
            incomplete = missing_key(&written);
            if incomplete.is_none() {
                let base = Preset::default().table();
                switch_off(&mut Table::new(), &mut written);
                return Ok(Self { preset: None, base, table: written, incomplete });
            }
        }
        let preset = match named {
            None => Preset::default(),
            Some(name) => {
                let known = name.as_str().and_then(|name| name.parse().ok());
                known.ok_or_else(|| unknown_preset(path, &name))?
            }
        };
        let base = preset.table();
        let mut table = base.clone();
        if is_another_game(&base, &written) {
            drop_demonstrations(&mut table);
        }
        switch_off(&mut table, &mut written);
        file::merge(&mut table, written);
        Ok(Self { preset: Some(preset), base, table, incomplete })
    }

    /// The settings of the file, which is `path` in errors. Does not check their values.
    pub fn into_settings(self, path: &Path) -> Result<Settings, FileError> {
        let settings = file::read(path, self.table)?;
        match self.incomplete {
            None => Ok(settings),
            Some(error) => {
                let (path, what) = (path.to_owned(), error.to_string());
                Err(FileError::Key { path, key: error.key, what })
            }
        }
    }
}

/// Removes the optional keys that are `"off"` in `written` from both tables.
fn switch_off(base: &mut Table, written: &mut Table) {
    // The schema takes long to make, and few files need it.
    if off::has_off(written) {
        let keys = Keys::new();
        off::switch_off(base, written, &|key| keys.can_be_off(key));
    }
}

/// The error of a file without keys.
fn empty(path: &Path) -> FileError {
    let what = format!(
        "it has no keys; put its content back, or name a preset, such as preset = \"{}\"",
        Preset::default().name()
    );
    FileError::Key { path: path.to_owned(), key: String::new(), what }
}

/// The error for the first key that a complete file lacks.
fn missing_key(written: &Table) -> Option<SettingError> {
    let missing = COMPLETE.into_iter().find(|key| !written.contains_key(*key))?;
    let remedy = format!(
        "put it back, or name a preset, which fills the gaps, such as preset = \"{}\"",
        Preset::default().name()
    );
    Some(SettingError::new(missing, "missing", remedy))
}

/// Whether a file names a game, and not that of its preset.
fn is_another_game(base: &Table, written: &Table) -> bool {
    let game = |table: &Table| Some(table.get("game")?.get("game")?.as_str()?.to_owned());
    game(written).is_some_and(|written| Some(written) != game(base))
}

/// Removes a preset's demonstrations. Their players know one game, and nothing in it says so.
fn drop_demonstrations(table: &mut Table) {
    if let Some(Value::Table(actor)) = table.get_mut("actor") {
        actor.remove("demonstrations");
    }
}

fn unknown_preset(path: &Path, name: &Value) -> FileError {
    let name = brief(&name.to_string());
    let what = format!("preset is {name}; known are {}", Preset::names().join(", "));
    FileError::Key { path: path.to_owned(), key: "preset".to_owned(), what }
}

fn is_run_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == SETTINGS_FILE)
}

impl Settings {
    /// Reads a settings file as [`Source::read`] does. Does not check the values.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        Self::parse(path, &file::read_text(path)?)
    }

    /// Like [`load`](Self::load), for the text of the file `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Self, FileError> {
        Source::parse(path, text)?.into_settings(path)
    }

    /// The optional keys that `preset` sets and these settings do not have, such as `actor.search.noise`. A file
    /// with this preset has these settings only if the keys are `"off"`.
    pub fn keys_off(&self, preset: Preset) -> Vec<String> {
        // Settings are plain data, which can be a table.
        let Ok(table) = Table::try_from(self) else { return Vec::new() };
        let mut missing = off::missing(&preset.table(), &table);
        if !missing.is_empty() {
            let keys = Keys::new();
            missing.retain(|key| keys.can_be_off(key));
        }
        missing
    }

    /// Folder of the run that uses the settings file `path`: the folder that contains `run.toml`,
    /// or `runs/NAME` for a file `NAME.toml` of another name.
    pub fn folder(path: &Path) -> PathBuf {
        if !is_run_file(path) {
            return Path::new(RUNS).join(path.file_stem().unwrap_or_default());
        }
        match path.parent() {
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        }
    }

    /// The network: inputs and outputs from the game, layers from `net`.
    pub fn net_spec(&self) -> Result<NetSpec, SettingError> {
        net_spec(&self.game, &self.net, self.observation)
    }

    /// The settings of play, with the run's discount in searches and demonstrations.
    pub fn play(&self) -> PlayConfig {
        let mut play = self.actor.clone();
        if let Some(search) = &mut play.search {
            search.discount = self.discount;
        }
        play.demonstrations.discount = self.discount;
        play
    }
}

impl Preset {
    /// Folder of a run that starts from the preset.
    pub fn folder(self) -> PathBuf {
        Path::new(RUNS).join(self.name())
    }

    /// The settings as a TOML table.
    pub fn table(self) -> Table {
        Table::try_from(self.settings()).expect("presets are plain data, as a test checks")
    }
}

impl Default for Settings {
    /// The settings of the default preset.
    fn default() -> Self {
        Preset::default().settings()
    }
}

/// What a network reads of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// Feature planes of the whole board.
    #[default]
    Planes,
    /// A short vector, for a small `mlp` that evaluates the leaves of `minimax`. Battlesnake has one.
    Features,
}

/// The network for a game: inputs and outputs from `game`, layers from `net`.
pub fn net_spec(
    game: &GameConfig,
    net: &Architecture,
    observation: Observation,
) -> Result<NetSpec, SettingError> {
    struct Shape<'a>(&'a Architecture, Observation);
    impl GameVisitor for Shape<'_> {
        type Output = Option<NetSpec>;
        fn visit<G: Game>(self, game: G) -> Option<NetSpec> {
            let planes = match self.1 {
                Observation::Planes => game.planes(),
                Observation::Features => game.features()?,
            };
            Some(NetSpec { planes, actions: game.action_count(), architecture: self.0.clone() })
        }
    }
    let spec = game.visit(Shape(net, observation)).map_err(SettingError::of_game)?;
    let Some(spec) = spec else {
        let remedy = "this game has none; write \"planes\" or leave it out";
        return Err(SettingError::new("observation", "features", remedy));
    };
    spec.validate().map_err(|error| match error {
        SpecError::OutOfRange { field, value, max } if !field.starts_with("architecture") => {
            let value = format!("a game with {field} of {value}");
            let remedy = format!("a network takes 1 to {max}: choose a smaller board");
            SettingError::new("game", value, remedy)
        }
        SpecError::OutOfRange { field, value, max } => {
            let remedy = format!("it must be 1 to {max}");
            SettingError::new(field.replacen("architecture", "net", 1), value, remedy)
        }
        error => SettingError::new("net", format!("{net:?}"), error),
    })?;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings_of(name: &str, text: &str) -> Result<Settings, String> {
        let home = tempfile::tempdir().expect("a scratch folder");
        let path = home.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        Settings::load(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn every_preset_survives_its_file_and_is_valid() {
        for preset in Preset::ALL {
            let settings = preset.settings();
            settings.validate().expect("a preset is valid");
            let text = toml::to_string(&settings).expect("plain data");
            assert_eq!(settings_of(SETTINGS_FILE, &text).as_ref(), Ok(&settings));
            let text = format!("preset = \"{}\"\n{text}", preset.name());
            assert_eq!(settings_of("my.toml", &text), Ok(settings));
        }
    }

    #[test]
    fn a_board_that_no_network_reads_is_an_error_of_the_game() {
        let text = "preset = \"snakgame\"\n[game]\nrows = 255\n";
        let settings = settings_of("my.toml", text).expect("the rules accept the board");
        let error = settings.validate().unwrap_err().to_string();
        let expected = "game is a game with planes.height of 255; a network takes 1 to 64";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_file_changes_what_it_says_and_leaves_the_rest_of_its_preset() {
        let text = "preset = \"tictactoe\"\n[train]\nlearning_rate = 0.5\n\
                    [actor.search]\nsimulations = 7\n";
        let mut expected = Preset::TicTacToe.settings();
        expected.train.learning_rate = 0.5;
        expected.actor.search.as_mut().expect("it searches").simulations = 7;
        assert_eq!(settings_of("my.toml", text), Ok(expected));
        for (text, message) in [
            ("preset = \"chess\"", "preset is \"chess\"; known are duel-7x7, duel, "),
            ("[train]\nlerning_rate = 1", "did you mean `train.learning_rate`?"),
            ("[deploy]\narena = \"here\"", "`deploy.arena`: \"here\" is not an address"),
        ] {
            let error = settings_of("my.toml", text).expect_err("it is not valid");
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_run_file_without_a_preset_needs_every_table() {
        let complete = Preset::Connect4.table();
        for key in COMPLETE {
            let mut table = complete.clone();
            assert!(table.remove(key).is_some(), "{key}");
            let error = settings_of(SETTINGS_FILE, &table.to_string()).expect_err(key);
            let expected = format!("run.toml: {key} is missing; put it back, or name a preset");
            assert!(error.contains(&expected), "{error}");
            // Errors in the other keys are reported first.
            table.insert("sead".to_owned(), 3.into());
            let error = settings_of(SETTINGS_FILE, &table.to_string()).expect_err("unknown");
            assert!(error.contains("did you mean `seed`?"), "{error}");
            table.remove("sead");
            table.insert("preset".to_owned(), "connect4".into());
            let settings = settings_of(SETTINGS_FILE, &table.to_string());
            assert_eq!(settings, Ok(Preset::Connect4.settings()));
        }
        // As complete files were before this key.
        let mut table = complete;
        assert!(table.remove("observation").is_some());
        let settings = settings_of(SETTINGS_FILE, &table.to_string());
        assert_eq!(settings, Ok(Preset::Connect4.settings()));
    }

    #[test]
    fn a_file_without_keys_is_refused_under_any_name() {
        for name in [SETTINGS_FILE, "my.toml"] {
            for text in ["", "\n", "# preset = \"duel\"\n"] {
                let error = settings_of(name, text).expect_err("it has no keys");
                let expected = format!("{name}: it has no keys; put its content back, or name");
                assert!(error.contains(&expected), "{error}");
            }
        }
    }

    #[test]
    fn a_key_of_another_kind_is_refused_in_a_kind_without_keys() {
        for (table, key) in [
            ("[train.schedule]\nsteps = 4000\n", "train.schedule.steps"),
            ("[train.schedule]\nfloor = 0.05\n", "train.schedule.floor"),
            ("[train.average]\nkind = \"none\"\nevery_steps = 2\n", "train.average.every_steps"),
            ("[game]\nwidth = 3\n", "game.width"),
        ] {
            let text = format!("preset = \"tictactoe\"\n{table}");
            let error = settings_of("my.toml", &text).expect_err(key);
            let expected = format!("`{key}` is unknown; the `kind` or `game` of this table");
            assert!(error.contains(&expected), "{error}");
        }
        let cosine = "preset = \"tictactoe\"\n\
                      [train.schedule]\nkind = \"cosine\"\nsteps = 4000\nfloor = 0.05\n";
        assert!(settings_of("my.toml", cosine).is_ok());
    }

    #[test]
    fn another_game_takes_no_demonstrations_from_a_preset() {
        let shares =
            |text| settings_of("my.toml", text).map(|settings| settings.actor.demonstrations.share);
        assert_eq!(shares("[game]\ngame = \"battlesnake\"\nwidth = 9\n"), Ok(1.0));
        assert_eq!(shares("[game]\ngame = \"connect_four\"\n"), Ok(0.0));
        let own = "[game]\ngame = \"tic_tac_toe\"\n[actor.demonstrations]\nshare = 0.5\n\
                   players = [\"minimax{depth=9}\"]\n";
        assert_eq!(shares(own), Ok(0.5));
    }

    #[test]
    fn actors_search_with_the_discount_that_the_learner_trains_with() {
        let mut settings = Preset::TicTacToe.settings();
        settings.discount = 0.9;
        assert_eq!(settings.play().search.expect("it searches").discount, 0.9);
        assert_eq!(settings.play().demonstrations.discount, 0.9);
        let text = toml::to_string(&settings).expect("plain data");
        assert_eq!(text.matches("discount").count(), 1, "{text}");
    }

    #[test]
    fn the_folder_of_a_run_is_that_of_its_file() {
        for (file, folder) in [
            ("run.toml", "."),
            ("runs/mine/run.toml", "runs/mine"),
            ("/data/run.toml", "/data"),
            ("settings/my.toml", "runs/my"),
        ] {
            assert_eq!(Settings::folder(Path::new(file)), Path::new(folder), "{file}");
        }
    }
}
