//! Plays many games in lockstep.
//!
//! Each [`advance`](GameBatch::advance) plays one ply in every game. It calls every player once,
//! with all positions in which that player is to move, and then steps every game. The batch owns
//! randomness and records; threads and services are the caller's concern.
//!
//! Contract: a game depends only on its seed, its players and `max_plies`, provided that players
//! draw only from the generator of each request and keep knowledge of a game to that game. Other games in the batch have no influence.
//! Seat `s` of a game draws from `Rng::indexed(seed, SEAT_RNG, s)`; chance draws from the
//! record's own generator. Every finished game replays with [`ouro_game::record::Replay`].

use ouro_game::record::{GameRecord, Recorder};
use ouro_game::{Action, ActionMask, Game, PlayerSet, Rng, StepError, Turn};

use crate::player::{Choice, Player, Request};

/// Purpose of the generators that players draw from.
pub const SEAT_RNG: &str = "seat";

/// A batch of games in progress. See the [module](self).
#[derive(Debug)]
pub struct GameBatch<G: Game> {
    game: G,
    max_plies: usize,
    /// Games started so far.
    started: u64,
    active: Vec<ActiveGame<G>>,
    legal: ActionMask,
    choices: Vec<Choice>,
}

/// One game in progress.
#[derive(Debug)]
struct ActiveGame<G: Game> {
    /// Number of the game in the batch.
    number: u64,
    recorder: Recorder<G>,
    seed: u64,
    players: Vec<usize>,
    rngs: Vec<Rng>,
    behaviour: Vec<Vec<f32>>,
    /// Seats that choose in this ply.
    movers: PlayerSet,
    /// The action that each seat chose in this ply.
    joint: Vec<Action>,
    probabilities: Vec<f32>,
}

/// A read-only view of a game in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GameInProgress<'a> {
    /// Seed of the game.
    pub seed: u64,
    /// Index of the player at each seat.
    pub players: &'a [usize],
    /// Per ply played, the actions of the players that were to move.
    pub plies: &'a [Vec<Action>],
}

/// A game that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedGame<C> {
    /// Seed and joint actions; replays to the last state.
    pub record: GameRecord<C>,
    /// Per ply, the probability with which each action of the record was chosen.
    pub behaviour: Vec<Vec<f32>>,
    /// Index of the player at each seat.
    pub players: Vec<usize>,
    /// Outcome of each seat in the last state, 1 win to −1 loss.
    pub outcomes: Vec<f32>,
    /// Score of each seat in the last state, [`Game::score`].
    pub scores: Vec<f32>,
    /// Whether the game was cut short at the limit of plies.
    pub truncated: bool,
}

/// A seating or a choice that cannot be played.
///
/// After an error in a ply, some games have advanced and others have not, so the caller must drop
/// the batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GameBatchError {
    /// Too many or too few players for the seats.
    #[error("{got} players were given; {game} has {expected} seats")]
    SeatCount {
        /// Players given.
        got: usize,
        /// The game's name.
        game: &'static str,
        /// Seats of the game.
        expected: usize,
    },
    /// A seat names a player that was not passed to `advance`.
    #[error("game {seed} has player {player}; only {count} players were given")]
    UnknownPlayer {
        /// Seed of the game.
        seed: u64,
        /// Index of the player.
        player: usize,
        /// Players given.
        count: usize,
    },
    /// A player returned too few or too many choices.
    #[error("player {name} gave {got} choices for {expected} requests")]
    ChoiceCount {
        /// The player's name.
        name: String,
        /// Choices given.
        got: usize,
        /// Requests made.
        expected: usize,
    },
    /// A player reported a probability outside (0, 1].
    #[error("player {name} reports probability {value}; it must be above 0 and at most 1")]
    Probability {
        /// The player's name.
        name: String,
        /// The reported value, as text.
        value: String,
    },
    /// The rules refuse the chosen action.
    #[error("game {seed}, ply {ply}: {error}")]
    Step {
        /// Seed of the game.
        seed: u64,
        /// Ply, from 0.
        ply: usize,
        /// The error that the rules return.
        error: StepError,
    },
}

impl<G: Game> GameBatch<G> {
    /// An empty batch. A game that is not over after `max_plies` plies is cut short.
    pub fn new(game: G, max_plies: usize) -> Self {
        let legal = ActionMask::new(game.action_count());
        Self { game, max_plies, started: 0, active: Vec::new(), legal, choices: Vec::new() }
    }

    /// The rules.
    pub fn game(&self) -> &G {
        &self.game
    }

    /// Number of games in progress.
    pub fn len(&self) -> usize {
        self.active.len()
    }

    /// Whether no game is in progress.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// The current states, in the order in which games were started.
    pub fn states(&self) -> impl Iterator<Item = &G::State> {
        self.active.iter().map(|game| game.recorder.state())
    }

    /// The games in progress, in the order in which they were started.
    pub fn in_progress(&self) -> impl Iterator<Item = GameInProgress<'_>> {
        self.active.iter().map(|game| GameInProgress {
            seed: game.seed,
            players: &game.players,
            plies: game.recorder.played(),
        })
    }

    /// Starts the game of `seed`. Seat `s` is played by player `players[s]` of
    /// [`advance`](Self::advance); one player may hold several seats.
    pub fn start_game(&mut self, seed: u64, players: &[usize]) -> Result<(), GameBatchError> {
        let seats = self.game.players();
        if players.len() != seats {
            let got = players.len();
            return Err(GameBatchError::SeatCount { got, game: G::NAME, expected: seats });
        }
        let rng = |seat| Rng::indexed(seed, SEAT_RNG, seat as u64);
        self.started += 1;
        self.active.push(ActiveGame {
            number: self.started,
            recorder: Recorder::new(&self.game, seed),
            seed,
            players: players.to_vec(),
            rngs: (0..seats).map(rng).collect(),
            behaviour: Vec::new(),
            movers: PlayerSet::EMPTY,
            joint: vec![Action::default(); seats],
            probabilities: vec![0.0; seats],
        });
        Ok(())
    }

    /// Plays one ply in every game and returns the games that have ended, in the order in which
    /// they were started. Each player is called at most once.
    pub fn advance(
        &mut self,
        players: &mut [Box<dyn Player<G>>],
    ) -> Result<Vec<FinishedGame<G::Config>>, GameBatchError> {
        let mut finished = self.collect(players);
        for game in &mut self.active {
            game.movers = match self.game.turn(game.recorder.state()) {
                Turn::Move(movers) => movers,
                Turn::Chance | Turn::Over => PlayerSet::EMPTY,
            };
            if let Some(&player) = game.players.iter().find(|&&player| player >= players.len()) {
                let count = players.len();
                return Err(GameBatchError::UnknownPlayer { seed: game.seed, player, count });
            }
        }
        for (index, player) in players.iter_mut().enumerate() {
            self.choose(index, player.as_mut())?;
        }
        for game in &mut self.active {
            game.step(&self.game)?;
        }
        finished.append(&mut self.collect(players));
        Ok(finished)
    }

    /// Plays until every game has ended.
    pub fn finish(
        &mut self,
        players: &mut [Box<dyn Player<G>>],
    ) -> Result<Vec<FinishedGame<G::Config>>, GameBatchError> {
        let mut finished = self.collect(players);
        while !self.is_empty() {
            finished.append(&mut self.advance(players)?);
        }
        Ok(finished)
    }

    /// Calls one player for all seats that it has to choose for.
    fn choose(&mut self, index: usize, player: &mut dyn Player<G>) -> Result<(), GameBatchError> {
        let mut requests = Vec::new();
        for game in &mut self.active {
            let ActiveGame { number, recorder, rngs, players, movers, .. } = game;
            let game = Some(*number);
            for (seat, rng) in rngs.iter_mut().enumerate() {
                if players[seat] == index && movers.contains(seat) {
                    requests.push(Request { state: recorder.state(), player: seat, rng, game });
                }
            }
        }
        let expected = requests.len();
        if expected == 0 {
            return Ok(());
        }
        self.choices.clear();
        player.choose(&self.game, &mut requests, &mut self.choices);
        drop(requests);
        if self.choices.len() != expected {
            let (name, got) = (player.name().to_owned(), self.choices.len());
            return Err(GameBatchError::ChoiceCount { name, got, expected });
        }
        let mut choices = self.choices.iter();
        for game in &mut self.active {
            for seat in game.movers.iter().filter(|&seat| game.players[seat] == index) {
                let Some(choice) = choices.next() else { break };
                let probability = choice.probability;
                if !(probability > 0.0 && probability <= 1.0) {
                    let (name, value) = (player.name().to_owned(), probability.to_string());
                    return Err(GameBatchError::Probability { name, value });
                }
                // Checked here because a game may ignore an illegal action, but a record must
                // hold legal actions only.
                self.game.legal(game.recorder.state(), seat, &mut self.legal);
                if !self.legal.contains(choice.action) {
                    let action = choice.action.0;
                    let error = StepError::IllegalAction { player: seat, action };
                    let (seed, ply) = (game.seed, game.recorder.plies());
                    return Err(GameBatchError::Step { seed, ply, error });
                }
                game.joint[seat] = choice.action;
                game.probabilities[seat] = probability;
            }
        }
        Ok(())
    }

    /// Removes the games that are over or at the limit of plies, and reports them to their players.
    fn collect(&mut self, players: &mut [Box<dyn Player<G>>]) -> Vec<FinishedGame<G::Config>> {
        let (game, max_plies) = (&self.game, self.max_plies);
        let ended = |active: &mut ActiveGame<G>| {
            active.recorder.plies() >= max_plies || game.turn(active.recorder.state()) == Turn::Over
        };
        let finish = |active: ActiveGame<G>| {
            for (index, player) in players.iter_mut().enumerate() {
                if active.players.contains(&index) {
                    player.game_ended(game, active.number, active.recorder.state());
                }
            }
            active.into_finished(game)
        };
        self.active.extract_if(.., ended).map(finish).collect()
    }
}

impl<G: Game> ActiveGame<G> {
    fn step(&mut self, game: &G) -> Result<(), GameBatchError> {
        let (seed, ply) = (self.seed, self.recorder.plies());
        self.recorder.advance(game, &self.joint).map_err(|error| GameBatchError::Step {
            seed,
            ply,
            error,
        })?;
        self.behaviour.push(self.movers.iter().map(|seat| self.probabilities[seat]).collect());
        Ok(())
    }

    fn into_finished(self, game: &G) -> FinishedGame<G::Config> {
        let state = self.recorder.state();
        FinishedGame {
            outcomes: (0..game.players()).map(|seat| game.outcome(state, seat)).collect(),
            scores: (0..game.players()).map(|seat| game.score(state, seat)).collect(),
            truncated: game.turn(state) != Turn::Over,
            record: self.recorder.into_record(game.config().clone()),
            behaviour: self.behaviour,
            players: self.players,
        }
    }
}
