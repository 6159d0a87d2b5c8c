//! `ouro states`: lists the training states of a run, and resumes it from an older one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ouro_learner::{FoundState, ResumeError, StoppedLearner, StoredState};
use ouro_net::Generation;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;

/// List the training states of a run, or resume it from an older one.
///
/// A run resumes from its newest training state. If the journal lost games that this state needs,
/// the start is refused and names the newest state that fits. --resume-from moves all newer states
/// to learner/training-states/set-aside. The next start then resumes from that generation, and new
/// generations get numbers above all that were published. The run must not be running.
#[derive(Debug, Args)]
pub(crate) struct States {
    /// Folder of the run.
    run: PathBuf,
    /// Generation of the training state from which the next start resumes.
    #[arg(long, value_name = "GENERATION")]
    resume_from: Option<u32>,
}

/// One training state.
#[derive(Debug, Serialize)]
struct State {
    path: PathBuf,
    /// `None` if the state cannot be read.
    generation: Option<Generation>,
    /// Why the run cannot resume from this state.
    problem: Option<String>,
}

/// What `--resume-from` did.
#[derive(Debug, Serialize)]
struct Resumed {
    generation: Generation,
    /// Where the newer states are now.
    set_aside: Vec<PathBuf>,
}

impl States {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let directory = self.run.join("learner");
        if !directory.is_dir() {
            return Err(Failure::no_input(format_args!(
                "{}: no folder of a learner is here; name the folder of the run, which holds it",
                directory.display()
            )));
        }
        let learner = StoppedLearner::open(&directory).map_err(failure)?;
        match self.resume_from.map(Generation) {
            None => list(&learner, output)?,
            Some(generation) => {
                let set_aside = learner.resume_from(generation).map_err(failure)?;
                let lines = set_aside.iter().map(|path| format!("set aside: {}\n", path.display()));
                let text = lines.collect::<String>();
                let text = format!("{text}the next start resumes from {generation}\n");
                output.result(&Resumed { generation, set_aside }, text)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints each state, and whether the run can resume from it.
fn list(learner: &StoppedLearner, output: &mut Output) -> Result<(), Failure> {
    let games = learner.games();
    let states = learner.states().iter().map(|FoundState { path, content }| {
        let (generation, problem) = match content {
            Ok(StoredState { generation, replay }) => {
                let fit = replay.check(games.start, games.end);
                (Some(*generation), fit.err().map(|error| error.to_string()))
            }
            Err(error) => (None, Some(error.to_string())),
        };
        State { path: path.clone(), generation, problem }
    });
    let states: Vec<State> = states.collect();
    let lines = states.iter().map(|State { path, generation, problem }| {
        let generation = generation.map_or_else(|| "damaged".to_owned(), |it| it.to_string());
        let problem = problem.as_deref().unwrap_or("fits");
        format!("{}  {generation}  {problem}\n", path.display())
    });
    let text = lines.collect::<String>();
    output.result(&states, text)
}

fn failure(error: ResumeError) -> Failure {
    match error {
        ResumeError::Unknown { .. } | ResumeError::Unfit { .. } => Failure::usage(error),
        ResumeError::Journal(_) | ResumeError::States(_) => Failure::unavailable(error),
    }
}
