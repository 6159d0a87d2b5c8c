//! What a full measurement does.

use std::path::Path;
use std::time::Duration;

use ouro_game::GameConfig;
use ouro_settings::Settings;

/// The games that are pushed, each by a name and the settings of its run.
pub(crate) const PUSHED: [(&str, &str); 2] =
    [("tic-tac-toe", "preset = \"tictactoe\""), ("Battlesnake duel, 11×11", "preset = \"duel\"")];

/// The game of a run with these settings.
pub(crate) fn game_of(settings: &str) -> GameConfig {
    Settings::parse(Path::new("run.toml"), settings).expect("valid settings").game
}

/// The size of a full measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) actors: usize,
    /// Positions per second at the fixed rate.
    pub(crate) rate: f64,
    pub(crate) length: Duration,
    /// Measurements of each case; medians are reported.
    pub(crate) rounds: usize,
}

impl Plan {
    /// Reads words such as `actors=200 rate=20000 seconds=2 rounds=5`.
    pub(crate) fn parse(text: &str) -> Self {
        let mut plan =
            Self { actors: 200, rate: 20_000.0, length: Duration::from_secs(2), rounds: 5 };
        for word in text.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number: f64 = value.parse().unwrap_or_else(|_| panic!("{word}: not a number"));
            match key {
                "actors" => plan.actors = number as usize,
                "rate" => plan.rate = number,
                "seconds" => plan.length = Duration::from_secs_f64(number),
                "rounds" => plan.rounds = number as usize,
                _ => panic!("{word}: known are actors, rate, seconds and rounds"),
            }
        }
        plan
    }
}
