//! The laws that every [`Game`] keeps, and a check for your own games.
//!
//! A law is a property that searches, replays and training rely on and that the types cannot
//! express. A refused action leaves the state unchanged. A state read back from JSON continues
//! exactly like the state that was written. Mirrored moves lead to mirrored states.
//! [`check_laws`] plays random games and tests every law at every ply:
//!
//! ```
//! use ouro_game::{Game, check_laws};
//! use ouro_game::tic_tac_toe::{Config, TicTacToe};
//!
//! let game = TicTacToe::new(Config::default())?;
//! let coverage = check_laws(&game, 1, 20)?;
//! assert_eq!(coverage.ended, 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A passed check does not prove that a game is correct; a failed check proves an error. The error
//! names the law, the game and the ply. The same seed reproduces the error.

use std::fmt;

use crate::action::{Action, ActionMask};
use crate::game::{Game, Turn};
use crate::record::{Recorder, Replay};
use crate::rng::Rng;

mod chance;
mod position;
mod rollout;
mod step;

/// Maximum number of plies of a checked game. Longer games are checked up to this ply.
pub const MAX_PLIES: usize = 400;

/// A property that every game has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// There are 1 to 16 players and at least one action. A configuration that went through JSON
    /// builds the same rules. A duel has two players and is its own duel.
    Rules,
    /// Action names differ from each other, and states can be rendered as text.
    Names,
    /// Players to move exist, are alive and have a legal action; other players have none.
    Legal,
    /// Viable actions are legal, and there are some. A player that chooses another action is not
    /// alive after the step.
    Viable,
    /// Illegal actions and impossible outcomes are refused and leave the state unchanged.
    Refusal,
    /// The same state and actions give the same state. A clone is independent. Actions of
    /// players that are not to move have no effect.
    Determinism,
    /// A state read back from JSON equals the written state and continues like it.
    RoundTrip,
    /// Probabilities of an enumerable chance node sum to 1. A sampled outcome has a positive
    /// probability, and every outcome with a positive probability applies.
    Chance,
    /// No player moves in a decided state, and chance changes neither its returns nor its outcomes.
    Decided,
    /// `settle` equals drawing outcomes one by one, and `advance` equals `step` and `settle`.
    Settle,
    /// A rollout, plain or guided, plays turns of the game up to its limit or the end. A rollout of
    /// no turns changes nothing. A rollout of twelve turns equals twelve rollouts of one turn.
    Rollout,
    /// A player to move has an action with a positive weight; illegal actions have weight 0.
    Weights,
    /// Time does not run backwards, and eliminated players stay eliminated.
    Progress,
    /// Returns are finite, and outcomes lie between −1 and 1.
    Values,
    /// An observation overwrites every value with a finite one and is the same each time.
    Observation,
    /// Symmetries permute the actions, are undone by their inverse, preserve values and commute
    /// with steps.
    Symmetry,
    /// A record replays to the same states.
    Replay,
}

/// A violation of a law, with the game and the ply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} breaks the law of {law} in game {game} of seed {seed}, ply {ply}: {detail}")]
pub struct BrokenLaw {
    /// [`Game::NAME`].
    pub name: &'static str,
    /// The broken law.
    pub law: Law,
    /// The seed given to [`check_laws`].
    pub seed: u64,
    /// Number of the random game, from 0.
    pub game: u32,
    /// Plies played before the violation.
    pub ply: usize,
    /// The observed violation.
    pub detail: String,
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rules => "rules",
            Self::Names => "names",
            Self::Legal => "legal actions",
            Self::Viable => "viable actions",
            Self::Refusal => "refusal",
            Self::Determinism => "determinism",
            Self::RoundTrip => "round trips",
            Self::Chance => "chance",
            Self::Decided => "decided games",
            Self::Settle => "settling",
            Self::Rollout => "rollouts",
            Self::Weights => "weights",
            Self::Progress => "progress",
            Self::Values => "values",
            Self::Observation => "observation",
            Self::Symmetry => "symmetry",
            Self::Replay => "records",
        })
    }
}

/// Counts of what a check covered, so that a test can require a minimum of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Games that reached their end.
    pub ended: u32,
    /// Plies played.
    pub plies: u64,
    /// Chance nodes visited.
    pub chance_nodes: u64,
    /// Illegal actions tried.
    pub refusals: u64,
}

/// A check's result: the broken law and the violation, before the game and the ply are added.
type Checked<T = ()> = Result<T, (Law, String)>;

/// Returns an error with a law and a message unless a condition holds.
macro_rules! ensure {
    ($law:ident, $holds:expr, $($message:tt)+) => {
        let holds: bool = $holds;
        if !holds {
            return Err((crate::laws::Law::$law, format!($($message)+)));
        }
    };
}
use ensure;

/// Checks one game and counts the coverage.
struct LawChecker<'a, G: Game> {
    game: &'a G,
    coverage: Coverage,
}

/// Plays `games` random games from `seed` and checks every law at every ply.
///
/// # Errors
///
/// The first broken law, with the game and the ply.
pub fn check_laws<G: Game>(game: &G, seed: u64, games: u32) -> Result<Coverage, BrokenLaw> {
    let mut checker = LawChecker { game, coverage: Coverage::default() };
    for index in 0..games {
        let mut ply = 0;
        checker.play(seed, index, &mut ply).map_err(|(law, detail)| BrokenLaw {
            name: G::NAME,
            law,
            seed,
            game: index,
            ply,
            detail,
        })?;
    }
    Ok(checker.coverage)
}

impl<G: Game> LawChecker<'_, G> {
    fn play(&mut self, seed: u64, index: u32, ply: &mut usize) -> Checked {
        if index == 0 {
            self.check_rules()?;
            self.check_names()?;
        }
        let mut choices = Rng::indexed(seed, "laws", u64::from(index));
        let game_seed = choices.bits();
        self.check_start(game_seed)?;
        let mut recorder = Recorder::new(self.game, game_seed);
        let mut states = vec![recorder.state().clone()];
        loop {
            let state = recorder.state().clone();
            self.check_position(&state)?;
            let Turn::Move(_) = self.game.turn(&state) else {
                ensure!(
                    Legal,
                    self.game.turn(&state) == Turn::Over,
                    "a settled state is a chance node"
                );
                self.check_end(&state)?;
                self.check_rollouts_at_the_end(&state)?;
                self.coverage.ended += 1;
                break;
            };
            if *ply == MAX_PLIES {
                break;
            }
            let joint = self.random_joint(&state, &mut choices);
            self.check_refusals(&state, &joint)?;
            self.check_viable(&state, &joint)?;
            self.check_weights(&state)?;
            self.check_rollouts(&state, &choices)?;
            let mut chance = choices.clone();
            self.check_step(&state, &joint, &mut chance)?;
            recorder
                .advance(self.game, &joint)
                .map_err(|error| (Law::Legal, format!("legal actions are refused: {error}")))?;
            self.check_progress(&state, recorder.state())?;
            states.push(recorder.state().clone());
            *ply += 1;
            self.coverage.plies += 1;
        }
        let record = recorder.into_record(self.game.config().clone());
        let broken = |error| (Law::Replay, format!("a record is refused: {error}"));
        let mut replay = Replay::new(self.game, &record).map_err(broken)?;
        for state in &states {
            ensure!(Replay, replay.state() == state, "ply {} replays differently", replay.ply());
            replay.advance().map_err(broken)?;
        }
        Ok(())
    }

    /// A legal action for each player to move, chosen at random; action 0 for the others.
    fn random_joint(&self, state: &G::State, choices: &mut Rng) -> Vec<Action> {
        let mut mask = ActionMask::default();
        (0..self.game.players())
            .map(|player| {
                self.game.legal(state, player, &mut mask);
                let count = mask.count() as u32;
                mask.nth(choices.below(count) as usize).unwrap_or_default()
            })
            .collect()
    }

    /// Checks that setting up twice gives the same state, and that a record's set-up is
    /// `initial` and `settle`.
    fn check_start(&mut self, seed: u64) -> Checked {
        let mut rng = Rng::new(seed, crate::record::GAME_RNG);
        let mut again = rng.clone();
        let state = self.game.initial(&mut rng);
        let same = state == self.game.initial(&mut again) && rng == again;
        ensure!(Determinism, same, "one seed sets up two different games");
        self.check_settle(&state, &mut rng)
    }
}
