//! Settings with a name: what `ouro train` starts from.
//!
//! All are meant for a laptop without a GPU; what they came to is in `docs/results.md`.

use clap::ValueEnum;
use ouro_actor::config::exploring;
use ouro_arena::config::MatchConfig;
use ouro_game::{GameConfig, battlesnake, connect_four, tic_tac_toe};
use ouro_learner::algorithm::AlgorithmConfig;
use ouro_learner::alphazero::AlphaZeroConfig;
use ouro_learner::config::{IntakeConfig, ReplayConfig, TrainConfig};
use ouro_learner::reinforce::ReinforceConfig;
use ouro_net::{Architecture, ValueRange};
use ouro_search::SearchConfig;
use ouro_search::mcts::Noise;

use super::settings::{ActorSettings, Settings};

/// A preset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
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
    /// Connect Four, AlphaZero.
    Connect4,
    /// Tic-tac-toe, AlphaZero.
    #[value(name = "tictactoe")]
    TicTacToe,
}

impl Preset {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Duel7x7 => "duel-7x7",
            Self::Duel => "duel",
            Self::Standard => "standard",
            Self::ReinforceDuel => "reinforce-duel",
            Self::Connect4 => "connect4",
            Self::TicTacToe => "tictactoe",
        }
    }

    /// The settings.
    pub(crate) fn settings(self) -> Settings {
        match self {
            Self::Duel7x7 => alphazero(snakes(7, 2), tower(16, 2), search(32, 2.0, 30)),
            Self::Duel => alphazero(snakes(11, 2), tower(24, 3), search(32, 2.0, 50)),
            Self::Standard => alphazero(snakes(11, 4), tower(24, 3), search(32, 2.0, 50)),
            Self::ReinforceDuel => reinforce(snakes(7, 2)),
            Self::Connect4 => {
                let game = GameConfig::ConnectFour(connect_four::Config::default());
                alphazero(game, tower(32, 3), search(64, 7.0, 12))
            }
            Self::TicTacToe => {
                let game = GameConfig::TicTacToe(tic_tac_toe::Config {});
                let settings = alphazero(game, tower(16, 1), search(32, 9.0, 4));
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

fn snakes(side: u8, snakes: u8) -> GameConfig {
    GameConfig::Battlesnake(battlesnake::Config {
        width: side,
        height: side,
        snakes,
        ..battlesnake::Config::default()
    })
}

/// A residual tower with a value from -1 to 1.
fn tower(channels: usize, blocks: usize) -> Architecture {
    Architecture::Residual {
        channels,
        blocks,
        policy_channels: 4,
        value_channels: 2,
        value_hidden: 64,
        value: ValueRange::Tanh,
        global_pooling: None,
    }
}

/// A search that explores: `noise` is the sum of Dirichlet's concentrations, about ten over the
/// usual number of moves for each move; for `sampled` time steps moves are drawn by visits.
fn search(simulations: u32, noise: f32, sampled: u32) -> SearchConfig {
    SearchConfig {
        noise: Some(Noise { total: noise, ..Noise::default() }),
        ..exploring(simulations, sampled)
    }
}

fn alphazero(game: GameConfig, net: Architecture, search: SearchConfig) -> Settings {
    let train = TrainConfig {
        batch_moves: 512,
        gamma: 1.0,
        learning_rate: 2e-3,
        warmup_steps: 50,
        weight_decay: 1e-4,
        algorithm: AlgorithmConfig::AlphaZero(AlphaZeroConfig::default()),
        ..TrainConfig::default()
    };
    Settings {
        seed: 1,
        generation_steps: 100,
        game,
        net,
        actor: ActorSettings {
            games_per_thread: 64,
            search: Some(search),
            ..ActorSettings::default()
        },
        train,
        replay: ReplayConfig::default(),
        intake: IntakeConfig::default(),
        arena: MatchConfig { player: "mcts{sims=16,weights=self}".to_owned(), ..matches() },
    }
}

/// Matches that leave most of two cores to playing and training.
fn matches() -> MatchConfig {
    MatchConfig { max_plies: 400, match_share: 0.4, spare_share: 0.05, ..MatchConfig::default() }
}

fn reinforce(game: GameConfig) -> Settings {
    let train = TrainConfig {
        algorithm: AlgorithmConfig::Reinforce(ReinforceConfig::default()),
        ..TrainConfig::default()
    };
    Settings {
        seed: 1,
        generation_steps: 50,
        game,
        net: Architecture::Conv { channels: 16, layers: 3, hidden: 64 },
        actor: ActorSettings { search: None, epsilon: 0.02, ..ActorSettings::default() },
        train,
        replay: ReplayConfig::default(),
        intake: IntakeConfig::default(),
        arena: matches(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_known_by_its_name() {
        for preset in Preset::value_variants() {
            let value = preset.to_possible_value().expect("none is hidden");
            assert_eq!(value.get_name(), preset.name());
        }
    }
}
