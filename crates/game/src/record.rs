//! Game records: configuration, seed and joint actions, from which every state can be replayed.
//!
//! A record holds no states. [`Replay`] steps through it with the same rules. It refuses the
//! record at the first disagreement and names the ply and the reason: an illegal action, a ply
//! after the end of the game, or a state whose digest differs from the recorded one.

use std::fmt;

use serde::de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::action::Action;
use crate::catalog::GameConfig;
use crate::error::{ConfigError, StepError, one_line};
use crate::game::{Game, Turn};
use crate::player_set::PlayerSet;
use crate::rng::Rng;

pub use crate::rng::GAME_RNG;

/// The version that this code writes, and the newest version that it reads.
pub const RECORD_VERSION: u32 = 1;

/// Most plies of a record that is read: the longest game of any setting.
pub const MAX_PLIES: usize = 1 << 20;

/// One recorded game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameRecord<C = GameConfig> {
    /// Format version, [`RECORD_VERSION`].
    pub version: u32,
    /// The rules.
    pub config: C,
    /// Seed of the game's generator.
    pub seed: u64,
    /// Per ply, the actions of the players to move, in seat order.
    pub plies: Vec<Vec<Action>>,
    /// [`Game::digest`] of the first state and of the state after each ply.
    pub digests: Vec<u64>,
}

/// Reason why a record is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The text is not a record, or has missing or unknown fields.
    #[error("record is not readable: {0}")]
    Malformed(String),
    /// The record was written by a newer program.
    #[error("record version is {got}; this program reads versions 1 to {newest}")]
    Version {
        /// Version in the record.
        got: u32,
        /// Newest version that this program reads.
        newest: u32,
    },
    /// The record is longer than any game of a setting.
    #[error(
        "record has {plies} plies and {digests} digests; at most {MAX_PLIES} plies are read, so record \
         the game with a smaller --max-plies"
    )]
    TooLong {
        /// Plies in the record.
        plies: usize,
        /// Digests in the record.
        digests: usize,
    },
    /// The configuration is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The number of digests is not the number of plies plus one.
    #[error("record has {digests} digests for {plies} plies; it needs one more than plies")]
    DigestCount {
        /// Digests in the record.
        digests: usize,
        /// Plies in the record.
        plies: usize,
    },
    /// A ply lists too many or too few actions.
    #[error("ply {ply} has {got} actions; {expected} players are to move")]
    ActionCount {
        /// Ply, from 0.
        ply: usize,
        /// Actions in the record.
        got: usize,
        /// Players to move.
        expected: usize,
    },
    /// The rules do not allow a ply.
    #[error("ply {ply}: {error}")]
    Step {
        /// Ply, from 0.
        ply: usize,
        /// The error that the rules return.
        error: StepError,
    },
    /// The state after a ply differs from the recorded state.
    #[error("ply {ply}: state is {got:016x}, the record says {expected:016x}")]
    Digest {
        /// Ply, from 0; the set-up counts as the state after ply −1.
        ply: isize,
        /// Digest of the replayed state.
        got: u64,
        /// Digest in the record.
        expected: u64,
    },
}

impl<C: DeserializeOwned> GameRecord<C> {
    /// Reads a record of at most [`MAX_PLIES`] plies from JSON. The version is checked first, so that a
    /// newer record is reported as newer instead of unreadable. The lengths are checked next: a small
    /// compressed file may unpack to millions of plies, which would take gigabytes.
    pub fn from_json(text: &str) -> Result<Self, ReplayError> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        // serde quotes unknown names as they are.
        let malformed =
            |error: serde_json::Error| ReplayError::Malformed(one_line(&error.to_string()));
        let head: Head = serde_json::from_str(text).map_err(malformed)?;
        check_version(head.version)?;
        let lengths: Lengths = serde_json::from_str(text).map_err(malformed)?;
        let Lengths { plies: Length(plies), digests: Length(digests) } = lengths;
        if plies > MAX_PLIES || digests > MAX_PLIES + 1 {
            return Err(ReplayError::TooLong { plies, digests });
        }
        serde_json::from_str(text).map_err(malformed)
    }
}

/// The lengths of a record.
#[derive(Deserialize)]
struct Lengths {
    plies: Length,
    digests: Length,
}

/// The length of a list, whose elements are skipped and take no memory.
struct Length(usize);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;
        impl<'de> Visitor<'de> for Count {
            type Value = Length;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Length, A::Error> {
                let mut length = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    length += 1;
                }
                Ok(Length(length))
            }
        }
        deserializer.deserialize_seq(Count)
    }
}

fn check_version(version: u32) -> Result<(), ReplayError> {
    if version == 0 || version > RECORD_VERSION {
        return Err(ReplayError::Version { got: version, newest: RECORD_VERSION });
    }
    Ok(())
}

/// One ply of a recorded game, whatever else is recorded with it.
pub trait RecordedPly {
    /// Actions of the players that were to move, in seat order.
    fn actions(&self) -> impl ExactSizeIterator<Item = Action>;
}

impl RecordedPly for Vec<Action> {
    fn actions(&self) -> impl ExactSizeIterator<Item = Action> {
        self.iter().copied()
    }
}

/// Steps through a record, one ply at a time.
#[derive(Clone, Debug)]
pub struct Replay<'a, G: Game, P = Vec<Action>> {
    game: &'a G,
    plies: &'a [P],
    digests: &'a [u64],
    rng: Rng,
    state: G::State,
    joint: Vec<Action>,
    ply: usize,
}

impl<'a, G: Game> Replay<'a, G> {
    /// Sets up the recorded game. `game` must have been built from the record's configuration.
    pub fn new<C>(game: &'a G, record: &'a GameRecord<C>) -> Result<Self, ReplayError> {
        Self::verified(game, record.version, record.seed, &record.plies, &record.digests)
    }
}

impl<'a, G: Game, P: RecordedPly> Replay<'a, G, P> {
    /// Sets up the game of `seed` and these plies, recorded in format `version`. Every state is
    /// compared with its fingerprint in `digests`: that of the first state, then one per ply.
    pub fn verified(
        game: &'a G,
        version: u32,
        seed: u64,
        plies: &'a [P],
        digests: &'a [u64],
    ) -> Result<Self, ReplayError> {
        check_version(version)?;
        if digests.len() != plies.len() + 1 {
            let (digests, plies) = (digests.len(), plies.len());
            return Err(ReplayError::DigestCount { digests, plies });
        }
        let replay = Self { digests, ..Self::of_plies(game, seed, plies) };
        replay.check_digest()?;
        Ok(replay)
    }

    /// Sets up the game of `seed` and these plies, without fingerprints to compare its states
    /// with.
    pub fn of_plies(game: &'a G, seed: u64, plies: &'a [P]) -> Self {
        let mut rng = Rng::new(seed, GAME_RNG);
        let mut state = game.initial(&mut rng);
        game.settle(&mut state, &mut rng);
        let joint = vec![Action::default(); game.players()];
        Self { game, plies, digests: &[], rng, state, joint, ply: 0 }
    }

    /// The current state.
    pub fn state(&self) -> &G::State {
        &self.state
    }

    /// Plies replayed so far.
    pub fn ply(&self) -> usize {
        self.ply
    }

    /// The joint action that [`advance`](Self::advance) applies next, one entry per player
    /// (those not to move hold action 0), or `None` at the end of the record.
    pub fn next_actions(&mut self) -> Result<Option<&[Action]>, ReplayError> {
        let ply = self.ply;
        let Some(actions) = self.plies.get(ply).map(P::actions) else { return Ok(None) };
        let movers = match self.game.turn(&self.state) {
            Turn::Move(movers) => movers,
            Turn::Over => return Err(ReplayError::Step { ply, error: StepError::GameOver }),
            Turn::Chance => return Err(ReplayError::Step { ply, error: StepError::ChancePending }),
        };
        if actions.len() != movers.len() {
            let (got, expected) = (actions.len(), movers.len());
            return Err(ReplayError::ActionCount { ply, got, expected });
        }
        self.joint.fill(Action::default());
        for (player, action) in movers.iter().zip(actions) {
            self.joint[player] = action;
        }
        Ok(Some(&self.joint))
    }

    /// Applies the next ply; `false` at the end of the record.
    pub fn advance(&mut self) -> Result<bool, ReplayError> {
        if self.next_actions()?.is_none() {
            return Ok(false);
        }
        self.game
            .advance(&mut self.state, &self.joint, &mut self.rng)
            .map_err(|error| ReplayError::Step { ply: self.ply, error })?;
        self.ply += 1;
        self.check_digest()?;
        Ok(true)
    }

    /// Replays the remaining plies and returns the last state.
    pub fn finish(mut self) -> Result<G::State, ReplayError> {
        while self.advance()? {}
        Ok(self.state)
    }

    fn check_digest(&self) -> Result<(), ReplayError> {
        let Some(&expected) = self.digests.get(self.ply) else { return Ok(()) };
        let got = self.game.digest(&self.state);
        if got == expected {
            return Ok(());
        }
        Err(ReplayError::Digest { ply: self.ply.cast_signed() - 1, got, expected })
    }
}

/// A game in play: its state, and the fingerprints of the states so far. The moves are recorded
/// elsewhere, in whatever form their user needs.
#[derive(Clone, Debug)]
pub struct Playthrough<G: Game> {
    rng: Rng,
    state: G::State,
    seed: u64,
    digests: Vec<u64>,
}

impl<G: Game> Playthrough<G> {
    /// Sets up a new game from `seed`.
    pub fn new(game: &G, seed: u64) -> Self {
        let mut rng = Rng::new(seed, GAME_RNG);
        let mut state = game.initial(&mut rng);
        game.settle(&mut state, &mut rng);
        let digests = vec![game.digest(&state)];
        Self { rng, state, seed, digests }
    }

    /// The current state.
    pub fn state(&self) -> &G::State {
        &self.state
    }

    /// Seed of the game's generator.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Plies played so far.
    pub fn plies(&self) -> usize {
        self.digests.len() - 1
    }

    /// Plays one ply and returns the players that moved. `actions` has an entry for every player;
    /// only those of the players to move are used.
    pub fn advance(&mut self, game: &G, actions: &[Action]) -> Result<PlayerSet, StepError> {
        let Turn::Move(movers) = game.turn(&self.state) else { return Err(StepError::GameOver) };
        game.advance(&mut self.state, actions, &mut self.rng)?;
        self.digests.push(game.digest(&self.state));
        Ok(movers)
    }

    /// [`Game::digest`] of the first state and of the state after each ply.
    pub fn into_digests(self) -> Vec<u64> {
        self.digests
    }
}

/// Plays a game and records it.
#[derive(Clone, Debug)]
pub struct Recorder<G: Game> {
    game: Playthrough<G>,
    plies: Vec<Vec<Action>>,
}

impl<G: Game> Recorder<G> {
    /// Sets up a new game from `seed`.
    pub fn new(game: &G, seed: u64) -> Self {
        Self { game: Playthrough::new(game, seed), plies: Vec::new() }
    }

    /// The current state.
    pub fn state(&self) -> &G::State {
        self.game.state()
    }

    /// Plies played so far.
    pub fn plies(&self) -> usize {
        self.plies.len()
    }

    /// Per ply played so far, the actions of the players to move, as in the record.
    pub fn played(&self) -> &[Vec<Action>] {
        &self.plies
    }

    /// Plays one ply. `actions` has an entry for every player; only the entries of the players to
    /// move are used and recorded.
    pub fn advance(&mut self, game: &G, actions: &[Action]) -> Result<(), StepError> {
        let movers = self.game.advance(game, actions)?;
        self.plies.push(movers.iter().map(|player| actions[player]).collect());
        Ok(())
    }

    /// The record of the plies played so far.
    pub fn into_record<C>(self, config: C) -> GameRecord<C> {
        GameRecord {
            version: RECORD_VERSION,
            config,
            seed: self.game.seed,
            plies: self.plies,
            digests: self.game.digests,
        }
    }
}
