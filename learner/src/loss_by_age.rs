//! Loss of weights on the games of a stopped run, by the age of the games.
//!
//! The age of a game is the generation of the measured weights minus that of the weights that played it. Weights
//! have not been trained on games of age 0 or below, because they or later ones played these games. If their loss is
//! clearly lower on older games of the replay window, the network overfits to these games.
//!
//! Rows of the table hold games of the ages below 0, 0, 1, 2 to 3, 4 to 7, and so on. Each row is measured in
//! positions that are spread evenly over its games. Surprise does not weight them, unlike those of a training batch.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use ouro_game::Rng;
use ouro_net::{Generation, Weights};
use ouro_replay::journal::Options;
use ouro_replay::{Draw, EncodedTrajectory, FolderDisk, Item, Journal, JournalError};
use ouro_settings::SettingError;
use serde::Serialize;

use crate::algorithm::Algorithm;
use crate::alphazero::{AlphaZero, Positions};
use crate::batch::Batch;
use crate::config::{AlgorithmConfig, Config};
use crate::device::TrainDevice;
use crate::error::TrainError;
use crate::journal_writer::JOURNAL;
use crate::loss::LossTerms;
use crate::model::{Mode, Net, planes_tensor};
use crate::rules::{Rules, UnpackError, rules};
use crate::training_state::{StateStore, TrainingStateError};

/// Most games of a row that are read for positions.
const GAMES: usize = 1_024;
/// Positions that are evaluated at once.
const BATCH: usize = 256;

/// Loss of weights on the games of a run, in rows of similar age.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LossByAge {
    /// Generation of the measured weights.
    pub generation: Generation,
    /// The rows, youngest games first.
    pub rows: Vec<AgeLoss>,
}

/// Mean loss in games of similar age.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgeLoss {
    /// Age of the youngest game.
    pub first: i64,
    /// Age of the oldest game.
    pub last: i64,
    /// Games of these ages in the journal.
    pub games: u64,
    /// Measured positions.
    pub positions: u64,
    /// Cross-entropy of the policy with its target, in nats.
    pub policy: f64,
    /// Entropy of the target, in nats: the least possible cross-entropy.
    pub target_entropy: f64,
    /// Loss of the value head, as in training.
    pub value: f64,
}

/// Why the loss cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum LossByAgeError {
    /// The journal is in use or cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The training states cannot be read.
    #[error(transparent)]
    TrainingState(#[from] TrainingStateError),
    /// A setting of the run is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A game of the journal does not replay by the rules.
    #[error("game {number} of the journal: {error}")]
    Game {
        /// Number of the game in the journal.
        number: u64,
        /// Reason.
        error: UnpackError,
    },
    /// The network cannot be evaluated.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The run trains by REINFORCE.
    #[error(
        "train.algorithm is reinforce, whose games have no search targets; the loss by age exists for alphazero"
    )]
    NoTargets,
    /// There are no weights to measure.
    #[error("{directory} has no training state yet; let the run train, or name weights")]
    NoWeights {
        /// The directory of the learner.
        directory: String,
    },
    /// The weights belong to another game or network.
    #[error("the weights have another {what} than the run; name weights of this run")]
    OtherWeights {
        /// `game` or `network`.
        what: &'static str,
    },
}

/// The games of a row.
#[derive(Debug)]
struct Row {
    first: i64,
    last: i64,
    numbers: Vec<u64>,
}

/// Measures `weights`, or those of the newest training state, in up to `positions` positions of each row. The
/// learner with this configuration must not run.
pub fn loss_by_age(
    config: &Config,
    weights: Option<Weights>,
    positions: u32,
) -> Result<LossByAge, LossByAgeError> {
    let AlgorithmConfig::AlphaZero(algorithm) = &config.train.algorithm else {
        return Err(LossByAgeError::NoTargets);
    };
    let directory = &config.training_states.directory;
    let game = config.game_identity();
    let disk = FolderDisk::open(&directory.join(JOURNAL))?;
    // Opening a missing journal would make one.
    let journal = match Journal::exists(&disk)? {
        true => Some(Journal::open(disk, game.as_bytes(), Options::default())?.0),
        false => None,
    };
    let weights = match weights {
        Some(weights) => weights,
        None => {
            let mut states = StateStore::open(directory, config.training_states.kept)?;
            let newest = states.load()?.newest.map(|state| state.weights);
            let directory = directory.display().to_string();
            newest.ok_or(LossByAgeError::NoWeights { directory })?
        }
    };
    if weights.meta().game != game {
        return Err(LossByAgeError::OtherWeights { what: "game" });
    }
    if *weights.spec() != config.net_spec()? {
        return Err(LossByAgeError::OtherWeights { what: "network" });
    }
    let generation = weights.meta().generation;
    let Some(journal) = journal else { return Ok(LossByAge { generation, rows: Vec::new() }) };
    let (rows, rules) = (rows(&journal, generation)?, rules(config)?);
    let mut draws = draws(&journal, &rows, &*rules)?;
    let mut network = Measured::new(&weights, AlphaZero::new(algorithm, config.draw), &*rules);
    let measured = rows.into_iter().map(|(key, row)| {
        let draws = spread(&draws.remove(&key).unwrap_or_default(), positions as usize);
        network.measure(&row, &draws)
    });
    Ok(LossByAge { generation, rows: measured.collect::<Result<_, _>>()? })
}

/// The row of an age: 0 below 0, 1 for 0, 2 for 1, 3 for 2 to 3, 4 for 4 to 7, and so on.
fn row_of(age: i64) -> u32 {
    u64::try_from(age).map_or(0, |age| 1 + (u64::BITS - age.leading_zeros()))
}

/// The games of each row. Purged games are in none.
fn rows(journal: &Journal, generation: Generation) -> Result<BTreeMap<u32, Row>, JournalError> {
    let mut rows = BTreeMap::<u32, Row>::new();
    journal.visit(journal.oldest_record(), |number, record| {
        if !journal.is_void(record.actor, number) {
            let age = i64::from(generation.0) - i64::from(record.generation.0);
            let row = rows.entry(row_of(age));
            let row = row.or_insert_with(|| Row { first: age, last: age, numbers: Vec::new() });
            (row.first, row.last) = (row.first.min(age), row.last.max(age));
            row.numbers.push(number);
        }
        ControlFlow::<()>::Continue(())
    })?;
    Ok(rows)
}

/// All positions of up to [`GAMES`] games of each row.
fn draws(
    journal: &Journal,
    rows: &BTreeMap<u32, Row>,
    rules: &dyn Rules,
) -> Result<BTreeMap<u32, Vec<Draw<EncodedTrajectory>>>, LossByAgeError> {
    let of_row = |(&key, row): (&u32, &Row)| {
        spread(&row.numbers, GAMES).into_iter().map(move |number| (number, key))
    };
    let chosen: BTreeMap<u64, u32> = rows.iter().flat_map(of_row).collect();
    let mut draws = BTreeMap::<u32, Vec<_>>::new();
    let failed = journal.visit(journal.oldest_record(), |number, record| {
        let Some(&key) = chosen.get(&number) else { return ControlFlow::Continue(()) };
        match rules.restore(record.payload, record.generation) {
            Ok((game, _)) => {
                let item = Arc::new(game);
                let draw = |position| Draw { item: Arc::clone(&item), number, position };
                draws.entry(key).or_default().extend((0..item.positions()).map(draw));
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(LossByAgeError::Game { number, error }),
        }
    })?;
    failed.map_or(Ok(draws), Err)
}

/// Up to `most` of `all`, spread evenly.
fn spread<T: Clone>(all: &[T], most: usize) -> Vec<T> {
    let count = all.len().min(most);
    (0..count).map(|index| all[index * all.len() / count].clone()).collect()
}

/// The network that is measured.
struct Measured<'a> {
    net: Net,
    algorithm: AlphaZero,
    rules: &'a dyn Rules,
    device: TrainDevice,
    augmentation: Rng,
}

impl<'a> Measured<'a> {
    fn new(weights: &Weights, algorithm: AlphaZero, rules: &'a dyn Rules) -> Self {
        let device = TrainDevice::cpu();
        let net = Net::new(weights, device.plain());
        Self { net, algorithm, rules, device, augmentation: Rng::indexed(0, "loss by age", 0) }
    }

    /// The mean loss of a row in `draws`.
    fn measure(
        &mut self,
        row: &Row,
        draws: &[Draw<EncodedTrajectory>],
    ) -> Result<AgeLoss, LossByAgeError> {
        let Row { first, last, numbers } = row;
        let (mut positions, mut sums) = (0, [0.0; 3]);
        for draws in draws.chunks(BATCH) {
            let number = draws[0].number;
            let batch = self.rules.positions(draws, &mut self.augmentation);
            let batch = batch.map_err(|error| LossByAgeError::Game { number, error })?;
            if batch.rows() == 0 {
                continue;
            }
            let LossTerms { policy, value, .. } = self.loss(&batch)?;
            let means = [policy, target_entropy(&batch), value];
            positions += batch.rows() as u64;
            for (sum, mean) in sums.iter_mut().zip(means) {
                *sum += mean * batch.rows() as f64;
            }
        }
        let [policy, target_entropy, value] = sums.map(|sum| sum / positions.max(1) as f64);
        let (first, last, games) = (*first, *last, numbers.len() as u64);
        Ok(AgeLoss { first, last, games, positions, policy, target_entropy, value })
    }

    /// The loss with running statistics, as in play.
    fn loss(&self, batch: &Positions) -> Result<LossTerms, TrainError> {
        let device = self.device.plain();
        let planes = planes_tensor(self.net.layout().spec(), batch.planes.clone(), device);
        // The loss removes gradients from its parts, so the pass has to track them.
        let outputs = self.net.tracked(0).forward(planes, Mode::Evaluate);
        self.algorithm.loss(batch, &outputs, device)?.read()
    }
}

/// Mean over the rows of the sum of the entropies of a row's policy targets, in nats.
fn target_entropy(batch: &Positions) -> f64 {
    let shares = batch.policy.iter().map(|&share| f64::from(share)).filter(|&share| share > 0.0);
    shares.map(|share| -share * share.ln()).sum::<f64>() / batch.rows() as f64
}

#[cfg(test)]
mod tests;
