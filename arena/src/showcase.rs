//! Chooses the game that is shown live, and reports its moves.
//!
//! A match plays many games at the same time. The showcase follows one game to its end, then the
//! next game in progress, so that a viewer sees whole games.

use ouro_game::{Action, GameConfig};
use ouro_players::{FinishedGame, GameInProgress};

use crate::player_id::PlayerId;
use crate::store::GameKey;

/// A game that is shown live.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveGame {
    /// The key under which it is stored.
    pub key: GameKey,
    /// Its rules.
    pub config: GameConfig,
    /// Its seed. Seed and moves determine every position.
    pub seed: u64,
    /// The player of each seat.
    pub players: Vec<PlayerId>,
}

/// An event of the game that is shown live.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveEvent {
    /// A new game is shown. Moves that were already played follow.
    Started(LiveGame),
    /// A ply was played.
    Moved {
        /// The game.
        key: GameKey,
        /// Ply, from 0.
        ply: u32,
        /// Actions of the players to move, in seat order.
        actions: Vec<Action>,
    },
    /// The game is over.
    Ended {
        /// The game.
        key: GameKey,
        /// Result of each seat, 1 win to −1 loss.
        outcomes: Vec<f32>,
    },
}

/// Maps the seed and seating of a game to its key and players.
type Name<'a> = &'a dyn Fn(u64, &[usize]) -> Option<(GameKey, Vec<PlayerId>)>;

/// Follows one game at a time.
#[derive(Debug, Default)]
pub(crate) struct Showcase {
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    key: GameKey,
    seed: u64,
    seats: Vec<usize>,
    reported: usize,
}

impl Showcase {
    /// Updates the shown game after a ply and returns its events.
    pub(crate) fn update<'t, C>(
        &mut self,
        config: &GameConfig,
        mut in_progress: impl Iterator<Item = GameInProgress<'t>>,
        finished: &[FinishedGame<C>],
        name: Name<'_>,
    ) -> Vec<LiveEvent> {
        let mut events = Vec::new();
        let Some(shown) = &mut self.shown else {
            if let Some(game) = in_progress.next()
                && let Some((key, players)) = name(game.seed, game.players)
            {
                let seed = game.seed;
                events.push(LiveEvent::Started(LiveGame {
                    key,
                    config: config.clone(),
                    seed,
                    players,
                }));
                let mut shown = Shown { key, seed, seats: game.players.to_vec(), reported: 0 };
                shown.report(game.plies, &mut events);
                self.shown = Some(shown);
            }
            return events;
        };
        let ended = finished
            .iter()
            .find(|game| game.record.seed == shown.seed && game.players == shown.seats);
        if let Some(game) = ended {
            shown.report(&game.record.plies, &mut events);
            events.push(LiveEvent::Ended { key: shown.key, outcomes: game.outcomes.clone() });
            self.shown = None;
        } else if let Some(game) =
            in_progress.find(|game| game.seed == shown.seed && game.players == shown.seats)
        {
            shown.report(game.plies, &mut events);
        }
        events
    }
}

impl Shown {
    fn report(&mut self, plies: &[Vec<Action>], events: &mut Vec<LiveEvent>) {
        for actions in plies.iter().skip(self.reported) {
            let (key, ply, actions) = (self.key, self.reported as u32, actions.clone());
            events.push(LiveEvent::Moved { key, ply, actions });
            self.reported += 1;
        }
    }
}
