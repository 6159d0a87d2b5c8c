//! How fast tree search is: the cases that figures are given for.
//!
//! Every case is many moves of self-play on one thread, timed by a clock that the caller
//! passes in. With an evaluator that costs nothing the search itself is measured; with a
//! network, which share of the time is not the engine's, and how full its batches are.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::battlesnake::{self, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::{ConfigError, Game, snake};
use ouro_net::{Architecture, Engine, NetSpec, SpecError, Weights, WeightsMeta};
use ouro_search::mcts::{
    Objective, SearchConfigError, SearchSpeed, Temperature, ValueScale, Workload, measure,
};
use ouro_search::{Clock, Evaluator, Rollout, SearchConfig, Uniform};

use crate::{FitError, NetEvaluator};

/// A game that search is timed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Board {
    /// Connect Four, 7×6.
    ConnectFour,
    /// Two snakes on 11×11, both moving at once, food at random.
    Duel,
    /// Four snakes on 11×11.
    FourSnakes,
    /// Snake on 10×10, discounted, forced moves played through.
    Snake,
}

/// Who evaluates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judge {
    /// [`Uniform`], which costs nothing.
    Free,
    /// [`Rollout`], one random game per leaf.
    Rollout,
    /// A network of this architecture with fresh weights.
    Net(Architecture),
}

/// What is timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The game.
    pub board: Board,
    /// The evaluator.
    pub judge: Judge,
    /// Games at once.
    pub games: usize,
    /// Leaves of a full batch.
    pub batch: usize,
    /// Simulations per move.
    pub simulations: u32,
}

/// Why a case cannot be timed.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The game's configuration.
    #[error(transparent)]
    Game(#[from] ConfigError),
    /// The search's configuration.
    #[error(transparent)]
    Search(#[from] SearchConfigError),
    /// The network's sizes.
    #[error(transparent)]
    Net(#[from] SpecError),
    /// The network and the game.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// The cases: every board for free, one tree and 256; Connect Four with rollouts; every board
/// with a network of `architecture`.
pub fn cases(architecture: &Architecture) -> Vec<Case> {
    let boards = [Board::ConnectFour, Board::Duel, Board::FourSnakes, Board::Snake];
    let case =
        |board, judge, games, batch, simulations| Case { board, judge, games, batch, simulations };
    let mut cases = vec![case(Board::ConnectFour, Judge::Rollout, 1, 1, 10_000)];
    cases.extend(boards.map(|board| case(board, Judge::Free, 1, 1, 800)));
    cases.extend(boards.map(|board| case(board, Judge::Free, 256, 256, 200)));
    let net = || Judge::Net(architecture.clone());
    cases.extend(boards.map(|board| case(board, net(), 256, 256, 200)));
    cases
}

impl Case {
    /// Plays for `time` after a quarter of it to warm up. With a network,
    /// [`SearchSpeed::evaluating`] is the time of its engine alone.
    pub fn run(&self, time: Duration, clock: &Arc<dyn Clock>) -> Result<SearchSpeed, CaseError> {
        let snakes =
            |snakes| Small::new(battlesnake::Config { snakes, ..battlesnake::Config::default() });
        match self.board {
            Board::ConnectFour => {
                self.run_on(&ConnectFour::new(connect_four::Config::default())?, time, clock)
            }
            Board::Duel => self.run_on(&snakes(2)?, time, clock),
            Board::FourSnakes => self.run_on(&snakes(4)?, time, clock),
            Board::Snake => self.run_on(&snake::Small::new(snake::Config::default())?, time, clock),
        }
    }

    fn run_on<G: Game>(
        &self,
        game: &G,
        time: Duration,
        clock: &Arc<dyn Clock>,
    ) -> Result<SearchSpeed, CaseError> {
        match &self.judge {
            Judge::Free => self.measure(game, &mut Uniform, time, clock.as_ref()),
            Judge::Rollout => {
                let config = self.config(game.players());
                let mut rollout = Rollout::for_objective(config.objective, config.discount);
                self.measure(game, &mut rollout, time, clock.as_ref())
            }
            Judge::Net(architecture) => {
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
    ) -> Result<SearchSpeed, CaseError> {
        let measured = matches!(self.judge, Judge::Net(_));
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

    /// Self-play as in training: sampled moves, random symmetries.
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
