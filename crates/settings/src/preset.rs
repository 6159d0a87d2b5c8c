//! Named settings, from which a run starts.
//!
//! All presets are sized for a laptop without a GPU. `docs/results.md` lists their results.

use std::str::FromStr;

use clap::ValueEnum;
use ouro_game::{GameConfig, battlesnake, connect_four, maze_dash, snakgame, tic_tac_toe};
use ouro_net::{Architecture, ValueRange};
use ouro_players::OpponentShares;
use ouro_search::SearchConfig;
use ouro_search::mcts::{Noise, Temperature};

use crate::actor::{DemonstrationConfig, PlayConfig, ScriptedConfig, exploring};
use crate::arena::MatchConfig;
use crate::deploy::Deployment;
use crate::learner::{
    AlgorithmConfig, AlphaZeroConfig, IntakeConfig, LearningRateSchedule, ReinforceConfig,
    ReplayConfig, TrainConfig, WeightAveraging,
};
use crate::settings::{Observation, Settings};

/// A preset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// Two snakes on 7x7, AlphaZero.
    #[default]
    #[value(name = "duel-7x7")]
    Duel7x7,
    /// Two snakes on 11x11, AlphaZero.
    Duel,
    /// Four snakes on 11x11, AlphaZero.
    Standard,
    /// Two snakes on 7x7, REINFORCE: no search, neither in training nor in play.
    ReinforceDuel,
    /// Two snakes on 11x11: a small network that evaluates positions for `minimax`.
    DuelMinimax,
    /// Four snakes on 11x11: the same.
    StandardMinimax,
    /// Connect Four, AlphaZero.
    Connect4,
    /// Maze Dash on the paper's 10x10 boards, AlphaZero.
    MazeDash,
    /// Two sides of SNAKGAME on 10x10, AlphaZero.
    Snakgame,
    /// Tic-tac-toe, AlphaZero.
    #[value(name = "tictactoe")]
    TicTacToe,
}

/// The error for a name that no preset has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("preset {0:?} is unknown; known are {names}", names = Preset::names().join(", "))]
pub struct UnknownPreset(String);

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        let found = Self::ALL.into_iter().find(|preset| preset.name() == name);
        found.ok_or_else(|| UnknownPreset(name.to_owned()))
    }
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 10] = [
        Self::Duel7x7,
        Self::Duel,
        Self::Standard,
        Self::ReinforceDuel,
        Self::DuelMinimax,
        Self::StandardMinimax,
        Self::Connect4,
        Self::MazeDash,
        Self::Snakgame,
        Self::TicTacToe,
    ];

    /// The names of all presets.
    pub fn names() -> Vec<&'static str> {
        Self::ALL.into_iter().map(Self::name).collect()
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duel7x7 => "duel-7x7",
            Self::Duel => "duel",
            Self::Standard => "standard",
            Self::ReinforceDuel => "reinforce-duel",
            Self::DuelMinimax => "duel-minimax",
            Self::StandardMinimax => "standard-minimax",
            Self::Connect4 => "connect4",
            Self::MazeDash => "maze-dash",
            Self::Snakgame => "snakgame",
            Self::TicTacToe => "tictactoe",
        }
    }

    /// The settings.
    pub fn settings(self) -> Settings {
        match self {
            Self::Duel7x7 => duel_7x7(),
            Self::Duel => duel(),
            Self::Standard => {
                alphazero(snakes(11, 4), [24, 3], snake_search()).with_schedule(OPEN_END)
            }
            Self::ReinforceDuel => reinforce(snakes(7, 2)),
            Self::DuelMinimax => minimax(snakes(11, 2), "depth=4"),
            Self::StandardMinimax => minimax(snakes(11, 4), "depth=3,best_reply"),
            Self::Connect4 => {
                let game = GameConfig::ConnectFour(connect_four::Config::default());
                let settings = alphazero(game, [48, 3], search(64, 7.0, opening(12)));
                let settings = settings.within_steps(4_200, 0.0);
                // Random openings reach positions that strong self-play rarely visits but that weak
                // opponents lead to.
                let play = PlayConfig { opening_plies: 16, ..settings.actor.clone() };
                Settings { actor: play, ..settings }
            }
            Self::MazeDash => {
                // Two legal moves at most decisions. A policy that never varies would repeat a board.
                let varied = Temperature::Constant { value: 0.5 };
                let game = GameConfig::MazeDash(maze_dash::Config::default());
                alphazero(game, [24, 3], search(64, 5.0, varied)).with_schedule(OPEN_END)
            }
            Self::Snakgame => {
                // With a new snake in every turn, a position has a hundred actions instead of eight.
                let new_snakes = snakgame::NewSnakes::WhenStuck;
                let config = snakgame::Config { new_snakes, ..snakgame::Config::default() };
                let game = GameConfig::Snakgame(config);
                alphazero(game, [24, 3], search(32, 10.0, opening(20))).with_schedule(OPEN_END)
            }
            Self::TicTacToe => {
                let game = GameConfig::TicTacToe(tic_tac_toe::Config {});
                let settings = alphazero(game, [16, 1], search(32, 9.0, opening(4)));
                Settings {
                    generation_steps: 50,
                    replay: ReplayConfig {
                        min_positions: 2_048,
                        window_positions: 16_384,
                        ..settings.replay.clone()
                    },
                    ..settings
                }
            }
        }
    }
}

impl Settings {
    /// These settings with a learning-rate schedule.
    fn with_schedule(self, schedule: LearningRateSchedule) -> Self {
        Self { train: TrainConfig { schedule, ..self.train }, ..self }
    }

    /// These settings for a short training, whose learning rate falls over `steps`, and from `restart` again
    /// in a longer one. More of the time goes into new games (`docs/results.md`): positions are drawn 3
    /// times instead of 4, games against the pool are rare, because their search serves one learning seat
    /// instead of two, and matches have less time.
    fn within_steps(self, steps: u64, restart: f64) -> Self {
        let schedule = LearningRateSchedule::Cosine { steps, floor: 0.05, restart };
        let settings = self.with_schedule(schedule);
        Self {
            actor: PlayConfig { opponents: RARE_OPPONENTS, ..settings.actor },
            replay: ReplayConfig { samples_per_insert: 3.0, ..settings.replay },
            arena: MatchConfig { match_share: 0.1, ..settings.arena },
            ..settings
        }
    }
}

/// The schedule of presets that run for hours.
const OPEN_END: LearningRateSchedule = LearningRateSchedule::InverseSqrt { steps: 10_000 };

/// Battlesnake. A draw costs nearly as much as a loss, and in a duel as much. Among more snakes, those
/// that die last rank above those that died before.
fn snakes(side: u8, snakes: u8) -> GameConfig {
    GameConfig::Battlesnake(battlesnake::Config {
        width: side,
        height: side,
        snakes,
        draw: if snakes > 2 { -0.9 } else { -1.0 },
        ..battlesnake::Config::default()
    })
}

/// A residual tower, the architecture that trains fastest without a GPU.
fn tower([channels, blocks]: [usize; 2], value: ValueRange) -> Architecture {
    Architecture::Residual {
        channels,
        blocks,
        policy_channels: 4,
        value_channels: 2,
        value_hidden: 64,
        value,
        global_pooling: None,
        opponent_policy: false,
    }
}

/// The temperature of Battlesnake presets. One careless move ends a game: with a temperature of 1
/// for thirty turns, games last seven turns on average, and later turns are never learned.
const WARY: Temperature = Temperature::Until { time: 10, before: 0.8, after: 0.3 };

/// The search of Battlesnake presets. With `tremble`, the search assumes that opponents sometimes
/// enter contested squares by mistake. With 0.2, the policy needed about twice as many steps, and the
/// score against weak opponents was no higher (`docs/results.md`).
fn snake_search() -> SearchConfig {
    SearchConfig { tremble: 0.05, ..search(32, 2.0, WARY) }
}

/// Demonstrations of `minimax`, which searches six turns ahead, until a generation.
fn demonstrations(until_generation: u32) -> DemonstrationConfig {
    DemonstrationConfig {
        players: vec!["minimax{depth=6}".to_owned()],
        share: 1.0,
        random_moves: 0.03,
        until_generation: Some(until_generation),
        ..DemonstrationConfig::default()
    }
}

/// Two snakes on 7×7. The first 1,000 steps learn from games of `minimax`, all others from self-play.
fn duel_7x7() -> Settings {
    let settings = alphazero(snakes(7, 2), [24, 3], snake_search()).within_steps(8_000, 0.5);
    Settings {
        actor: PlayConfig { demonstrations: demonstrations(10), ..settings.actor },
        ..settings
    }
}

/// Two snakes on 11×11. The first 4,000 steps learn from games of `minimax`, because searches with an
/// untrained network play badly. Later `minimax` is the opponent in a fifth of the games.
fn duel() -> Settings {
    let search = SearchConfig { tremble: 0.0, ..snake_search() };
    let settings = alphazero(snakes(11, 2), [24, 3], search);
    let schedule = LearningRateSchedule::Cosine { steps: 20_000, floor: 0.03, restart: 0.0 };
    let algorithm = AlphaZeroConfig { root_value_share: 0.5, ..AlphaZeroConfig::default() };
    let minimax = |depth| format!("minimax{{depth={depth}}}");
    Settings {
        generation_steps: 200,
        actor: PlayConfig {
            opponents: RARE_OPPONENTS,
            scripted: ScriptedConfig { share: 0.2, players: [4, 6].map(minimax).into() },
            demonstrations: demonstrations(20),
            opening_plies: 10,
            max_plies: 600,
            ..settings.actor
        },
        train: TrainConfig {
            algorithm: AlgorithmConfig::AlphaZero(algorithm),
            schedule,
            ..settings.train
        },
        replay: ReplayConfig {
            window_positions: 131_072,
            samples_per_insert: 6.0,
            ..settings.replay
        },
        ..settings
    }
}

/// Samples moves by visits for the first `time` time steps, then plays the best move.
fn opening(time: u32) -> Temperature {
    Temperature::Until { time, before: 1.0, after: 0.0 }
}

/// A search that explores. `noise` is the sum of the Dirichlet concentrations, which the legal
/// moves share equally. Visits that forced playouts add are removed from the targets.
fn search(simulations: u32, noise: f32, temperature: Temperature) -> SearchConfig {
    SearchConfig {
        noise: Some(Noise { total: noise, ..Noise::default() }),
        forced_playouts: Some(2.0),
        temperature,
        ..exploring(simulations, 0)
    }
}

/// Mostly self-play: a game against the pool has only one learning seat.
const OPPONENTS: OpponentShares = OpponentShares { self_play: 0.8, prioritised: 0.1, uniform: 0.1 };

/// The same with half as many games against the pool.
const RARE_OPPONENTS: OpponentShares =
    OpponentShares { self_play: 0.9, prioritised: 0.05, uniform: 0.05 };

/// The AlphaZero settings that the presets share. `size` is the tower's channels and blocks.
fn alphazero(game: GameConfig, size: [usize; 2], search: SearchConfig) -> Settings {
    let train = TrainConfig {
        batch_moves: 512,
        learning_rate: 2e-3,
        warmup_steps: 50,
        weight_decay: 1e-4,
        average: WeightAveraging::Exponential { every_steps: 10, half_life_steps: 300 },
        algorithm: AlgorithmConfig::AlphaZero(AlphaZeroConfig::default()),
        ..TrainConfig::default()
    };
    Settings {
        seed: 1,
        generation_steps: 100,
        discount: 1.0,
        game,
        net: tower(size, ValueRange::Tanh),
        observation: Observation::default(),
        actor: PlayConfig {
            games_per_thread: 64,
            search: Some(search),
            opponents: OPPONENTS,
            ..PlayConfig::default()
        },
        train,
        replay: ReplayConfig::default(),
        intake: IntakeConfig::default(),
        arena: MatchConfig { player: "mcts{sims=16,weights=self}".to_owned(), ..matches() },
        deploy: Deployment::default(),
    }
}

/// Training of an evaluation for `minimax`: games of searches with these options, half of the seats with
/// area control and half with the newest weights. The former keep the games varied.
fn minimax(game: GameConfig, search: &str) -> Settings {
    let settings = alphazero(game, [1, 1], SearchConfig::default());
    let players = ["", ",weights=self"].map(|part| format!("minimax{{{search}{part}}}"));
    // Who wins is decided within the last fifty turns or so. An undiscounted outcome would be noise
    // for all earlier positions.
    let discount = 0.98;
    // Half of a target is the value of the search, which lacks the chance of what follows.
    let algorithm = AlphaZeroConfig {
        root_value_share: 0.5,
        value_coefficient: 16.0,
        ..AlphaZeroConfig::default()
    };
    Settings {
        generation_steps: 500,
        discount,
        net: Architecture::Mlp { layers: 2, hidden: 32, value: ValueRange::Tanh },
        observation: Observation::Features,
        actor: PlayConfig {
            search: None,
            demonstrations: DemonstrationConfig {
                players: players.into(),
                share: 1.0,
                ..DemonstrationConfig::default()
            },
            opening_plies: 12,
            max_plies: 1_000,
            ..settings.actor
        },
        train: TrainConfig {
            algorithm: AlgorithmConfig::AlphaZero(algorithm),
            schedule: OPEN_END,
            ..settings.train
        },
        replay: ReplayConfig {
            min_positions: 32_768,
            window_positions: 524_288,
            samples_per_insert: 4.0,
            ..settings.replay
        },
        arena: MatchConfig {
            player: format!("minimax{{{search},weights=self}}"),
            match_share: 0.1,
            max_plies: 1_000,
            ..settings.arena
        },
        ..settings
    }
}

/// Match settings that leave most of two cores to actors and learner.
fn matches() -> MatchConfig {
    MatchConfig { max_plies: 400, match_share: 0.2, spare_share: 0.05, ..MatchConfig::default() }
}

fn reinforce(game: GameConfig) -> Settings {
    let algorithm = ReinforceConfig {
        normalize_advantage: true,
        entropy_bonus: 0.02,
        trace_decay: 0.95,
        ..ReinforceConfig::default()
    };
    let train = TrainConfig {
        batch_moves: 512,
        // Large steps learn faster; the weight averaging below removes the noise that they leave.
        learning_rate: 0.003,
        average: WeightAveraging::Exponential { every_steps: 10, half_life_steps: 200 },
        schedule: LearningRateSchedule::Cosine { steps: 74_000, floor: 0.02, restart: 0.0 },
        algorithm: AlgorithmConfig::Reinforce(algorithm),
        ..TrainConfig::default()
    };
    // Once games are long, 512 consecutive moves come from only three or four games.
    let replay = ReplayConfig {
        queue_positions: 16_384,
        mixed_batches: 16,
        segment_moves: 16,
        ..ReplayConfig::default()
    };
    Settings {
        seed: 1,
        generation_steps: 100,
        discount: 0.97,
        game,
        net: tower([16, 2], ValueRange::Unbounded),
        observation: Observation::default(),
        actor: PlayConfig {
            search: None,
            // Half of all random moves lose the game. With ten times this rate, most games would
            // end by a random move.
            epsilon: 0.002,
            opponents: RARE_OPPONENTS,
            ..PlayConfig::default()
        },
        train,
        replay,
        intake: IntakeConfig::default(),
        arena: MatchConfig { match_share: 0.1, ..matches() },
        deploy: Deployment::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_known_by_its_name() {
        assert_eq!(Preset::ALL, Preset::value_variants());
        for preset in Preset::ALL {
            let value = preset.to_possible_value().expect("none is hidden");
            assert_eq!(value.get_name(), preset.name());
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        let error = "chess".parse::<Preset>().expect_err("unknown").to_string();
        assert!(error.starts_with("preset \"chess\" is unknown; known are duel-7x7, "), "{error}");
    }

    #[test]
    fn snakes_that_die_last_rank_above_earlier_ones_in_every_preset() {
        for preset in Preset::ALL {
            if let GameConfig::Battlesnake(config) = preset.settings().game {
                assert!(config.snakes == 2 || config.draw > -1.0, "{}", preset.name());
                assert_eq!(config.draw_outcome(), config.draw, "{}", preset.name());
            }
        }
    }
}
