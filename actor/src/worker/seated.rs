//! One game in play, and its opening.

use ouro_game::record::Recorder;
use ouro_game::{
    Action, ActionMask, Game, GameConfig, GameRecord, PlayerSet, Rng, StepError, Turn,
};
use ouro_proto::Searched;

use super::{Played, PlayedSeat, WorkerError};

/// Times that a random opening is drawn again because it ended the game.
const OPENINGS: u64 = 8;

/// One game in play.
#[derive(Debug)]
pub(super) struct Seated<G: Game> {
    pub(super) recorder: Recorder<G>,
    /// Which of the worker's games it is.
    pub(super) number: u64,
    pub(super) seed: u64,
    /// The chair of each seat.
    pub(super) chairs: Vec<usize>,
    pub(super) seats: Vec<PlayedSeat>,
    /// What each seat draws its moves from, where no tree does.
    pub(super) rngs: Vec<Rng>,
    /// One per distinct chair that searches.
    pub(super) trees: Vec<Tree<G>>,
    /// Who chooses in this ply; nobody while it has not been looked at.
    pub(super) movers: PlayerSet,
    /// What each seat chose in this ply.
    pub(super) joint: Vec<Action>,
    pub(super) probabilities: Vec<f32>,
    pub(super) thoughts: Vec<Searched>,
    behaviour: Vec<Vec<f32>>,
    searched: Vec<Vec<Searched>>,
    /// Who moved in each ply of the opening, until a search has valued it.
    opening: Vec<PlayerSet>,
}

/// Where a game's tree is.
#[derive(Debug)]
pub(super) struct Tree<G: Game> {
    pub(super) chair: usize,
    /// Its place among the trees of the chair.
    pub(super) slot: usize,
    pub(super) progress: Progress,
    /// Plies that were played since the tree last decided, with the states they led to.
    pub(super) behind: Vec<(Vec<Action>, G::State)>,
}

/// How far a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Holds nothing of this game.
    Blank,
    /// Decides.
    Thinking,
    /// Has decided; kept for the next time.
    Kept,
}

impl<G: Game> Seated<G> {
    /// The game of `seed` after its random opening: up to `most` plies, uniformly many, of
    /// uniformly random moves. An opening that ends the game is drawn again, and after a few
    /// times left out.
    pub(super) fn new(
        game: &G,
        seed: u64,
        chairs: Vec<usize>,
        seats: Vec<PlayedSeat>,
        most: u32,
        is_searched: bool,
    ) -> Self {
        let players = game.players();
        let Opening { recorder, behaviour, movers: opening } = (0..OPENINGS)
            .take_while(|_| most > 0)
            .map(|attempt| Opening::random(game, seed, most, attempt))
            .find(|opening| game.turn(opening.recorder.state()) != Turn::Over)
            .unwrap_or_else(|| Opening::none(game, seed));
        let unknown = |ply: &Vec<f32>| vec![Searched::default(); ply.len()];
        let rng = |seat| Rng::indexed(seed, ouro_players::game_batch::SEAT_RNG, seat as u64);
        Self {
            recorder,
            number: 0,
            seed,
            chairs,
            seats,
            rngs: (0..players).map(rng).collect(),
            trees: Vec::new(),
            movers: PlayerSet::EMPTY,
            joint: vec![Action::default(); players],
            probabilities: vec![0.0; players],
            thoughts: vec![Searched::default(); players],
            searched: if is_searched {
                behaviour.iter().map(unknown).collect()
            } else {
                Vec::new()
            },
            opening,
            behaviour,
        }
    }

    /// Whether the game is over or at the limit; else looks who is to move.
    pub(super) fn has_ended(&mut self, game: &G, max_plies: usize) -> bool {
        self.movers = match game.turn(self.recorder.state()) {
            Turn::Move(movers) => movers,
            Turn::Chance | Turn::Over => PlayerSet::EMPTY,
        };
        self.movers.is_empty() || self.recorder.plies() >= max_plies
    }

    /// Plays what was chosen. `values` are those of a search for every player, if one ran.
    pub(super) fn play(
        &mut self,
        game: &G,
        values: Option<&[f32]>,
        legal: &mut ActionMask,
    ) -> Result<(), WorkerError> {
        let (seed, ply) = (self.seed, self.recorder.plies());
        let failed = |error| WorkerError::Step { seed, ply, error };
        for player in self.movers.iter() {
            // A game may forgive an illegal action; a record must not hold one.
            game.legal(self.recorder.state(), player, legal);
            let action = self.joint[player];
            if !legal.contains(action) {
                return Err(failed(StepError::IllegalAction { player, action: action.0 }));
            }
        }
        if let Some(values) = values {
            self.value_opening(values);
            let thoughts = &mut self.thoughts;
            let taken = self.movers.iter().map(|player| std::mem::take(&mut thoughts[player]));
            self.searched.push(taken.collect());
        }
        self.behaviour.push(self.movers.iter().map(|seat| self.probabilities[seat]).collect());
        self.recorder.advance(game, &self.joint).map_err(failed)
    }

    /// Gives the moves of the opening the values of the first search.
    fn value_opening(&mut self, values: &[f32]) {
        for (row, movers) in self.searched.iter_mut().zip(self.opening.drain(..)) {
            for (thought, player) in row.iter_mut().zip(movers.iter()) {
                thought.value = values[player];
            }
        }
    }

    /// The finished game; `config` is what its record carries.
    pub(super) fn into_played(self, game: &G, config: &GameConfig) -> Played {
        let state = self.recorder.state();
        let outcomes = (0..game.players()).map(|seat| game.outcome(state, seat)).collect();
        let record: GameRecord<GameConfig> = self.recorder.into_record(config.clone());
        let Self { number, behaviour, searched, seats, .. } = self;
        Played { number, record, behaviour, searched, outcomes, seats }
    }
}

/// The start of a game.
struct Opening<G: Game> {
    recorder: Recorder<G>,
    behaviour: Vec<Vec<f32>>,
    movers: Vec<PlayerSet>,
}

impl<G: Game> Opening<G> {
    fn none(game: &G, seed: u64) -> Self {
        let recorder = Recorder::new(game, seed);
        Self { recorder, behaviour: Vec::new(), movers: Vec::new() }
    }

    /// Up to `most` random plies.
    fn random(game: &G, seed: u64, most: u32, attempt: u64) -> Self {
        let mut rng = Rng::indexed(seed, "opening", attempt);
        let mut opening = Self::none(game, seed);
        let mut legal = ActionMask::new(game.action_count());
        let mut joint = vec![Action::default(); game.players()];
        for _ in 0..rng.below(most.saturating_add(1)) {
            let Turn::Move(movers) = game.turn(opening.recorder.state()) else { break };
            let mut row = Vec::with_capacity(movers.len());
            for player in movers.iter() {
                game.legal(opening.recorder.state(), player, &mut legal);
                let count = legal.count();
                joint[player] = legal.nth(rng.below(count as u32) as usize).unwrap_or_default();
                row.push(1.0 / count.max(1) as f32);
            }
            if opening.recorder.advance(game, &joint).is_err() {
                break;
            }
            opening.behaviour.push(row);
            opening.movers.push(movers);
        }
        opening
    }
}
