//! Many games in lockstep.
//!
//! Each [`advance`](Table::advance) plays one ply in every game: it asks every player object
//! once, with all positions that wait for it, then steps every game. The table keeps time,
//! randomness and records; it knows nothing of threads or services.
//!
//! Contract: a game depends on its seed, its players and `max_plies` alone, not on the games
//! beside it, as long as the players draw only from the generator of each request. Seat `s` of a
//! game draws from `Rng::indexed(seed, SEAT_RNG, s)`; chance draws from the record's own
//! generator. Every finished game replays with [`ouro_game::record::Replay`].

use ouro_game::record::{Record, Recorder};
use ouro_game::{Action, ActionMask, Game, PlayerSet, Rng, StepError, Turn};

use crate::{Choice, Player, Request};

/// Purpose of the generators that players draw from.
pub const SEAT_RNG: &str = "seat";

/// Games in play. See the [module](self).
#[derive(Debug)]
pub struct Table<G: Game> {
    game: G,
    max_plies: usize,
    seated: Vec<Seated<G>>,
    legal: ActionMask,
    choices: Vec<Choice>,
}

/// One game in play.
#[derive(Debug)]
struct Seated<G: Game> {
    recorder: Recorder<G>,
    seed: u64,
    players: Vec<usize>,
    rngs: Vec<Rng>,
    behaviour: Vec<Vec<f32>>,
    /// Who chooses in this ply.
    movers: PlayerSet,
    /// What each seat chose in this ply.
    joint: Vec<Action>,
    probabilities: Vec<f32>,
}

/// A game in play, to be looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InPlay<'a> {
    /// Its seed.
    pub seed: u64,
    /// Which player sits at each seat.
    pub players: &'a [usize],
    /// Per ply played, the actions of the players that were to move.
    pub plies: &'a [Vec<Action>],
}

/// A game that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished<C> {
    /// Seed and joint actions; replays to the last state.
    pub record: Record<C>,
    /// Per ply, the probability with which each action of the record was chosen.
    pub behaviour: Vec<Vec<f32>>,
    /// Which player sat at each seat.
    pub players: Vec<usize>,
    /// Result of each seat, 1 win to −1 loss, of the last state.
    pub outcomes: Vec<f32>,
    /// Score of each seat in the last state, [`Game::score`].
    pub scores: Vec<f32>,
    /// Whether the game was cut short at the table's limit of plies.
    pub truncated: bool,
}

/// A seating or a choice that cannot be played. After an error in a ply some games have
/// moved on and others have not: the table is to be dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Too many or too few players for the seats.
    #[error("{got} players were seated; {game} has {expected} seats")]
    SeatCount {
        /// Players given.
        got: usize,
        /// The game's name.
        game: &'static str,
        /// Seats of the game.
        expected: usize,
    },
    /// A seat names a player that is not at the table.
    #[error("game {seed} seats player {player}; {count} players are at the table")]
    UnknownPlayer {
        /// Seed of the game.
        seed: u64,
        /// Index of the player.
        player: usize,
        /// Players given.
        count: usize,
    },
    /// A player did not answer every request once.
    #[error("player {name} gave {got} choices for {expected} requests")]
    ChoiceCount {
        /// The player's name.
        name: String,
        /// Choices given.
        got: usize,
        /// Requests made.
        expected: usize,
    },
    /// A player reported something that is no probability.
    #[error("player {name} reports probability {value}; it must be above 0 and at most 1")]
    Probability {
        /// The player's name.
        name: String,
        /// What it reported, as text.
        value: String,
    },
    /// The rules refuse what was chosen.
    #[error("game {seed}, ply {ply}: {error}")]
    Step {
        /// Seed of the game.
        seed: u64,
        /// Ply, from 0.
        ply: usize,
        /// What the rules say.
        error: StepError,
    },
}

impl<G: Game> Table<G> {
    /// An empty table. A game that is not over after `max_plies` plies is cut short.
    pub fn new(game: G, max_plies: usize) -> Self {
        let legal = ActionMask::new(game.action_count());
        Self { game, max_plies, seated: Vec::new(), legal, choices: Vec::new() }
    }

    /// The rules.
    pub fn game(&self) -> &G {
        &self.game
    }

    /// Number of games in play.
    pub fn len(&self) -> usize {
        self.seated.len()
    }

    /// Whether no game is in play.
    pub fn is_empty(&self) -> bool {
        self.seated.is_empty()
    }

    /// The current states, in the order of seating.
    pub fn states(&self) -> impl Iterator<Item = &G::State> {
        self.seated.iter().map(|seated| seated.recorder.state())
    }

    /// The games in play, in the order of seating.
    pub fn in_play(&self) -> impl Iterator<Item = InPlay<'_>> {
        self.seated.iter().map(|seated| InPlay {
            seed: seated.seed,
            players: &seated.players,
            plies: seated.recorder.played(),
        })
    }

    /// Starts the game of `seed`, with player `players[s]` of [`advance`](Self::advance) at
    /// seat `s`. One player may sit at several seats.
    pub fn seat(&mut self, seed: u64, players: &[usize]) -> Result<(), TableError> {
        let seats = self.game.players();
        if players.len() != seats {
            let got = players.len();
            return Err(TableError::SeatCount { got, game: G::NAME, expected: seats });
        }
        let rng = |seat| Rng::indexed(seed, SEAT_RNG, seat as u64);
        self.seated.push(Seated {
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

    /// Plays one ply in every game and returns the games that have ended, in the order of
    /// seating. Each player is asked at most once.
    pub fn advance(
        &mut self,
        players: &mut [Box<dyn Player<G>>],
    ) -> Result<Vec<Finished<G::Config>>, TableError> {
        let mut finished = self.collect();
        for seated in &mut self.seated {
            seated.movers = match self.game.turn(seated.recorder.state()) {
                Turn::Move(movers) => movers,
                Turn::Chance | Turn::Over => PlayerSet::EMPTY,
            };
            if let Some(&player) = seated.players.iter().find(|&&player| player >= players.len()) {
                let count = players.len();
                return Err(TableError::UnknownPlayer { seed: seated.seed, player, count });
            }
        }
        for (index, player) in players.iter_mut().enumerate() {
            self.ask(index, player.as_mut())?;
        }
        for seated in &mut self.seated {
            seated.step(&self.game)?;
        }
        finished.append(&mut self.collect());
        Ok(finished)
    }

    /// Plays until no game is left.
    pub fn finish(
        &mut self,
        players: &mut [Box<dyn Player<G>>],
    ) -> Result<Vec<Finished<G::Config>>, TableError> {
        let mut finished = self.collect();
        while !self.is_empty() {
            finished.append(&mut self.advance(players)?);
        }
        Ok(finished)
    }

    /// Asks one player for all seats that wait for it.
    fn ask(&mut self, index: usize, player: &mut dyn Player<G>) -> Result<(), TableError> {
        let mut requests = Vec::new();
        for seated in &mut self.seated {
            let Seated { recorder, rngs, players, movers, .. } = seated;
            for (seat, rng) in rngs.iter_mut().enumerate() {
                if players[seat] == index && movers.contains(seat) {
                    requests.push(Request { state: recorder.state(), player: seat, rng });
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
            return Err(TableError::ChoiceCount { name, got, expected });
        }
        let mut choices = self.choices.iter();
        for seated in &mut self.seated {
            for seat in seated.movers.iter().filter(|&seat| seated.players[seat] == index) {
                let Some(choice) = choices.next() else { break };
                let probability = choice.probability;
                if !(probability > 0.0 && probability <= 1.0) {
                    let (name, value) = (player.name().to_owned(), probability.to_string());
                    return Err(TableError::Probability { name, value });
                }
                // Asked for here because a game may forgive an illegal action; a record that
                // says what was chosen must not hold one.
                self.game.legal(seated.recorder.state(), seat, &mut self.legal);
                if !self.legal.contains(choice.action) {
                    let action = choice.action.0;
                    let error = StepError::IllegalAction { player: seat, action };
                    let (seed, ply) = (seated.seed, seated.recorder.plies());
                    return Err(TableError::Step { seed, ply, error });
                }
                seated.joint[seat] = choice.action;
                seated.probabilities[seat] = probability;
            }
        }
        Ok(())
    }

    /// Takes the games that are over or at the limit off the table.
    fn collect(&mut self) -> Vec<Finished<G::Config>> {
        let (game, max_plies) = (&self.game, self.max_plies);
        let ended = |seated: &mut Seated<G>| {
            seated.recorder.plies() >= max_plies || game.turn(seated.recorder.state()) == Turn::Over
        };
        self.seated.extract_if(.., ended).map(|seated| seated.into_finished(game)).collect()
    }
}

impl<G: Game> Seated<G> {
    fn step(&mut self, game: &G) -> Result<(), TableError> {
        let (seed, ply) = (self.seed, self.recorder.plies());
        self.recorder.advance(game, &self.joint).map_err(|error| TableError::Step {
            seed,
            ply,
            error,
        })?;
        self.behaviour.push(self.movers.iter().map(|seat| self.probabilities[seat]).collect());
        Ok(())
    }

    fn into_finished(self, game: &G) -> Finished<G::Config> {
        let state = self.recorder.state();
        Finished {
            outcomes: (0..game.players()).map(|seat| game.outcome(state, seat)).collect(),
            scores: (0..game.players()).map(|seat| game.score(state, seat)).collect(),
            truncated: game.turn(state) != Turn::Over,
            record: self.recorder.into_record(game.config().clone()),
            behaviour: self.behaviour,
            players: self.players,
        }
    }
}
