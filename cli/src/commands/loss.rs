//! `ouro loss`: the loss of a run's weights by the age of the games.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ouro_learner::{AgeLoss, LossByAge, LossByAgeError, loss_by_age};
use ouro_settings::{SETTINGS_FILE, Settings};

use super::{stopped_run, weights};
use crate::failure::Failure;
use crate::output::Output;

/// Measure the loss of a run's weights by the age of the games.
///
/// The age of a game is the generation of the measured weights minus that of the weights that played it.
/// Games of age 0 or below were not used to train these weights. If the loss is clearly lower
/// in older games, the network overfits to them: lower replay.samples_per_insert, or make the replay
/// window larger.
/// Positions are spread evenly over up to 1,024 games of each row. The run must train by AlphaZero, and must
/// not be running.
#[derive(Debug, Args)]
#[command(after_help = "Columns, means over the positions:
  policy      cross-entropy of the network's policy with its target, in nats
  target      entropy of the target, the least possible cross-entropy
  divergence  their difference
  value       loss of the value head, as in training

Demonstrations count as games of the newest generation at their arrival.")]
pub(crate) struct Loss {
    /// Folder of the run.
    run: PathBuf,
    /// File of the weights [default: those of the newest training state].
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Most positions of a row.
    #[arg(long, default_value_t = 4_096, value_parser = clap::value_parser!(u32).range(1..))]
    positions: u32,
}

impl Loss {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let run = &self.run;
        stopped_run::journal_owner(run)?;
        let settings = Settings::load(&run.join(SETTINGS_FILE)).map_err(Failure::unreadable)?;
        let weights = self.weights.as_deref().map(weights::read).transpose()?;
        let config = stopped_run::learner_config(&settings, run);
        let losses = loss_by_age(&config, weights, self.positions).map_err(failure)?;
        output.result(&losses, Table(&losses))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The printed table.
struct Table<'a>(&'a LossByAge);

impl Display for Table<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let LossByAge { generation, rows } = self.0;
        writeln!(f, "loss of {generation} by the age of the games, in generations")?;
        let [age, games, positions] = ["age", "games", "positions"];
        write!(f, "{age:<12} {games:>8} {positions:>10}")?;
        writeln!(f, " {:>10} {:>10} {:>10} {:>10}", "policy", "target", "divergence", "value")?;
        for row in rows {
            let AgeLoss { first, last, games, positions, policy, target_entropy, value } = row;
            let age = if first == last { first.to_string() } else { format!("{first} to {last}") };
            write!(f, "{age:<12} {games:>8} {positions:>10}")?;
            let divergence = policy - target_entropy;
            let numbers = [*policy, *target_entropy, divergence, *value];
            writeln!(f, "{}", numbers.map(|number| format!(" {number:>10.4}")).concat())?;
        }
        if rows.is_empty() {
            writeln!(
                f,
                "no game of the journal can be measured: none came yet, or all were purged"
            )?;
        }
        Ok(())
    }
}

fn failure(error: LossByAgeError) -> Failure {
    match error {
        LossByAgeError::NoTargets
        | LossByAgeError::OtherWeights { .. }
        | LossByAgeError::Setting(_) => Failure::usage(error),
        LossByAgeError::NoWeights { .. } => Failure::no_input(error),
        LossByAgeError::Game { .. } => Failure::data(error),
        LossByAgeError::Train(_) => Failure::bug(error),
        LossByAgeError::Journal(_) | LossByAgeError::TrainingState(_) => {
            Failure::unavailable(error)
        }
    }
}
