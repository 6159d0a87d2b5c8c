//! The cases of tree-search benchmarks.
//!
//! Each case is self-play on one thread for a given time. With an evaluator that costs nothing, the
//! figure is the cost of the search itself. With a network, the figures are the share of time
//! outside the engine and the fill of its batches.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::battlesnake::{self, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::{ConfigError, Game, snake};
use ouro_net::{Architecture, Engine, NetSpec, SpecError, Weights, WeightsMeta};
use ouro_players::{FitError, NetEvaluator};
use ouro_search::mcts::{Objective, SearchConfigError, Temperature, ValueScale};
use ouro_search::{Clock, Evaluator, Rollout, SearchConfig, Uniform};

use crate::self_play::{SearchSpeed, Workload, measure};

/// A game of the search benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchGame {
    /// Connect Four, 7×6.
    ConnectFour,
    /// Battlesnake duel on 11×11: two snakes with simultaneous moves and random food.
    Duel,
    /// Battlesnake with four snakes on 11×11.
    FourSnakes,
    /// Snake on 10×10, discounted, forced moves collapsed.
    Snake,
}

/// The evaluator of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluatorKind {
    /// [`Uniform`]: costs nothing.
    Free,
    /// [`Rollout`]: one random game per leaf.
    Rollout,
    /// A network of this architecture with initial weights.
    Net(Architecture),
}

/// One benchmark of tree search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchCase {
    /// The game.
    pub game: BenchGame,
    /// The evaluator.
    pub evaluator: EvaluatorKind,
    /// Games in parallel, one tree each.
    pub games: usize,
    /// Leaves of a full batch.
    pub batch: usize,
    /// Simulations per move.
    pub simulations: u32,
}

/// Reason why a case cannot run.
#[derive(Debug, thiserror::Error)]
pub enum SearchCaseError {
    /// The game's configuration is invalid.
    #[error(transparent)]
    Game(#[from] ConfigError),
    /// The search's configuration is invalid.
    #[error(transparent)]
    Search(#[from] SearchConfigError),
    /// The network's sizes are out of range.
    #[error(transparent)]
    Net(#[from] SpecError),
    /// The network does not fit the game.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// Returns all cases: Connect Four with rollouts, every game with a free evaluator, and every game
/// with a network of `architecture`. The free evaluator runs with one tree and with 256 trees.
pub fn search_cases(architecture: &Architecture) -> Vec<SearchCase> {
    let games = [BenchGame::ConnectFour, BenchGame::Duel, BenchGame::FourSnakes, BenchGame::Snake];
    let case = |game, evaluator, games, batch, simulations| SearchCase {
        game,
        evaluator,
        games,
        batch,
        simulations,
    };
    let mut cases = vec![case(BenchGame::ConnectFour, EvaluatorKind::Rollout, 1, 1, 10_000)];
    cases.extend(games.map(|game| case(game, EvaluatorKind::Free, 1, 1, 800)));
    cases.extend(games.map(|game| case(game, EvaluatorKind::Free, 256, 256, 200)));
    let net = || EvaluatorKind::Net(architecture.clone());
    cases.extend(games.map(|game| case(game, net(), 256, 256, 200)));
    cases
}

impl SearchCase {
    /// Plays for `time`, after a warm-up of a quarter of that time.
    ///
    /// With a network, [`SearchSpeed::evaluating`] is the time of its engine alone.
    pub fn run(
        &self,
        time: Duration,
        clock: &Arc<dyn Clock>,
    ) -> Result<SearchSpeed, SearchCaseError> {
        let snakes =
            |snakes| Small::new(battlesnake::Config { snakes, ..battlesnake::Config::default() });
        match self.game {
            BenchGame::ConnectFour => {
                self.run_on(&ConnectFour::new(connect_four::Config::default())?, time, clock)
            }
            BenchGame::Duel => self.run_on(&snakes(2)?, time, clock),
            BenchGame::FourSnakes => self.run_on(&snakes(4)?, time, clock),
            BenchGame::Snake => {
                self.run_on(&snake::Small::new(snake::Config::default())?, time, clock)
            }
        }
    }

    fn run_on<G: Game>(
        &self,
        game: &G,
        time: Duration,
        clock: &Arc<dyn Clock>,
    ) -> Result<SearchSpeed, SearchCaseError> {
        match &self.evaluator {
            EvaluatorKind::Free => self.measure(game, &mut Uniform, time, clock.as_ref()),
            EvaluatorKind::Rollout => {
                let config = self.config(game.players());
                let mut rollout = Rollout::for_objective(config.objective, config.discount);
                self.measure(game, &mut rollout, time, clock.as_ref())
            }
            EvaluatorKind::Net(architecture) => {
                let spec = NetSpec {
                    planes: game.planes(),
                    actions: game.action_count(),
                    architecture: architecture.clone(),
                };
                let weights = Weights::initialize(spec, WeightsMeta::default(), 1)?;
                let engine = Arc::new(Engine::new(&weights));
                let mut net = NetEvaluator::new("bench", engine, game)?;
                self.measure(game, &mut net, time / 4, clock.as_ref())?;
                net.take_time(Arc::clone(clock));
                let mut speed = self.measure(game, &mut net, time, clock.as_ref())?;
                speed.evaluating = net.engine_time();
                Ok(speed)
            }
        }
    }

    fn measure<G: Game, E: Evaluator<G>>(
        &self,
        game: &G,
        evaluator: &mut E,
        time: Duration,
        clock: &dyn Clock,
    ) -> Result<SearchSpeed, SearchCaseError> {
        let measured = matches!(self.evaluator, EvaluatorKind::Net(_));
        let workload = Workload {
            games: self.games,
            batch: self.batch,
            time,
            warm_up: if measured { Duration::ZERO } else { time / 4 },
            keep_trees: false,
            seed: 1,
        };
        Ok(measure(game, &self.config(game.players()), evaluator, &workload, clock)?)
    }

    /// Search settings of self-play in training: sampled moves, random symmetries.
    fn config(&self, players: usize) -> SearchConfig {
        let alone = players == 1;
        SearchConfig {
            simulations: self.simulations,
            temperature: Temperature::Constant { value: 1.0 },
            random_symmetry: true,
            objective: if alone { Objective::Returns } else { Objective::Outcome },
            value_scale: if alone { ValueScale::Running } else { ValueScale::Raw },
            discount: if alone { snake::DISCOUNT as f32 } else { 1.0 },
            ..SearchConfig::default()
        }
    }
}
