//! Plays many games at once and hands out the finished ones.
//!
//! A [`Worker`] is pure: each [`tick`](Worker::tick) fills its free places with new games
//! between networks of the roster it is given, plays one ply in all of them and returns those
//! that ended. A game is played to its end by the weights it began with, so that the
//! generations written beside a record are the ones that chose its actions.

use std::sync::Arc;

use ouro_game::{Game, GameConfig, Record, Stream};
use ouro_players::{Finished, FitError, NetPlayer, Player, Selection, Table, TableError};
use ouro_proto::{ContentHash, Searched};

use crate::roster::{Entry, Roster};

/// One finished game, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Configuration, seed, joint actions, fingerprints.
    pub record: Record<GameConfig>,
    /// Per ply, the probability with which each recorded action was chosen.
    pub behaviour: Vec<Vec<f32>>,
    /// What the search said before each action, in the same places; empty if none was made.
    pub searched: Vec<Vec<Searched>>,
    /// Who sat where.
    pub seats: Vec<PlayedSeat>,
    /// Result of each seat, 1 win to -1 loss.
    pub outcomes: Vec<f32>,
}

/// Who held a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayedSeat {
    /// Generation of the weights.
    pub generation: u32,
    /// Whether these were the newest weights when the game began.
    pub learns: bool,
}

/// A network that holds seats in running games.
struct Chair {
    hash: ContentHash,
    seat: PlayedSeat,
    /// Seats held in running games; at 0 the chair is free for other weights.
    held: usize,
}

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The weights are for another game.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A player broke the rules: a bug.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// How a worker plays.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Games at once.
    pub games: usize,
    /// See [`crate::ActorConfig::self_play_share`].
    pub self_play_share: f64,
    /// See [`crate::ActorConfig::max_plies`].
    pub max_plies: usize,
    /// Seed of game seeds and opponents.
    pub seed: u64,
    /// Number of this worker in its process.
    pub index: u64,
}

/// Plays games between networks. See the [module](self).
pub struct Worker<G: Game> {
    game: G,
    config: GameConfig,
    settings: WorkerSettings,
    table: Table<G>,
    players: Vec<Box<dyn Player<G>>>,
    /// Beside `players`, one each.
    chairs: Vec<Chair>,
    running: usize,
    rng: Stream,
}

impl<G: Game> Worker<G> {
    /// An idle worker. `config` is what the records of its games carry; `game` was built from it.
    pub fn new(game: G, config: GameConfig, settings: WorkerSettings) -> Self {
        let table = Table::new(game.clone(), settings.max_plies);
        let rng = Stream::indexed(settings.seed, "actor", settings.index);
        let (players, chairs) = (Vec::new(), Vec::new());
        Self { game, config, settings, table, players, chairs, running: 0, rng }
    }

    /// Starts games in free places, plays one ply in every game, returns those that ended.
    pub fn tick(&mut self, roster: &Roster) -> Result<Vec<Played>, WorkerError> {
        while self.running < self.settings.games {
            self.seat(roster)?;
        }
        let finished = self.table.advance(&mut self.players)?;
        Ok(finished.into_iter().map(|finished| self.finish(finished)).collect())
    }

    fn seat(&mut self, roster: &Roster) -> Result<(), WorkerError> {
        let share = self.settings.self_play_share;
        let drawn = roster.draw(self.game.players(), share, &mut self.rng);
        let mut seats = Vec::with_capacity(drawn.len());
        for entry in drawn {
            let learns = entry.hash == roster.newest.hash;
            let chair = self.chair(entry, learns)?;
            self.chairs[chair].held += 1;
            seats.push(chair);
        }
        let seed = self.rng.bits();
        self.table.seat(seed, &seats)?;
        self.running += 1;
        Ok(())
    }

    /// The chair of these weights, set up in a free place if they have none yet.
    fn chair(&mut self, entry: &Entry, learns: bool) -> Result<usize, FitError> {
        let seat = PlayedSeat { generation: entry.generation, learns };
        let same = |chair: &Chair| chair.hash == entry.hash && chair.seat == seat;
        if let Some(index) = self.chairs.iter().position(same) {
            return Ok(index);
        }
        let name = format!("generation-{}", entry.generation);
        let selection = Selection::Sample { temperature: 1.0 };
        let player = NetPlayer::new(name, Arc::clone(&entry.engine), selection, &self.game)?;
        let chair = Chair { hash: entry.hash, seat, held: 0 };
        let free = self.chairs.iter().position(|chair| chair.held == 0);
        let index = free.unwrap_or(self.chairs.len());
        if free.is_some() {
            self.players[index] = Box::new(player);
            self.chairs[index] = chair;
        } else {
            self.players.push(Box::new(player));
            self.chairs.push(chair);
        }
        Ok(index)
    }

    fn finish(&mut self, finished: Finished<G::Config>) -> Played {
        self.running -= 1;
        let seats = finished
            .players
            .iter()
            .map(|&index| {
                let chair = &mut self.chairs[index];
                chair.held -= 1;
                chair.seat
            })
            .collect();
        let Record { version, seed, plies, digests, config: _ } = finished.record;
        let record = Record { version, config: self.config.clone(), seed, plies, digests };
        Played {
            record,
            behaviour: finished.behaviour,
            searched: Vec::new(),
            seats,
            outcomes: finished.outcomes,
        }
    }
}

#[cfg(test)]
mod tests;
