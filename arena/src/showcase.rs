//! One game of many, told move by move as it is played.
//!
//! A match plays its games side by side. The showcase follows one of them to its end, then takes
//! the next that has begun, so that somebody who watches sees whole games.

use ouro_game::{Action, GameConfig};
use ouro_players::{FinishedGame, GameInProgress};

use crate::player_id::PlayerId;
use crate::store::GameKey;

/// A game that is being shown.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveGame {
    /// What it will be called when it is kept.
    pub key: GameKey,
    /// Its rules.
    pub config: GameConfig,
    /// Its seed, which with the moves gives every position.
    pub seed: u64,
    /// Who sits at each seat.
    pub players: Vec<PlayerId>,
}

/// What happens in the game that is being shown.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveEvent {
    /// It begins to be shown; moves may have been played already, and follow.
    Started(LiveGame),
    /// A ply was played.
    Moved {
        /// The game.
        key: GameKey,
        /// Ply, from 0.
        ply: u32,
        /// Actions of the players that were to move, in seat order.
        actions: Vec<Action>,
    },
    /// It is over.
    Ended {
        /// The game.
        key: GameKey,
        /// Result of each seat, 1 win to −1 loss.
        outcomes: Vec<f32>,
    },
}

/// What a game at the table is called, and who sits where.
type Name<'a> = &'a dyn Fn(u64, &[usize]) -> Option<(GameKey, Vec<PlayerId>)>;

/// The game that is being followed.
#[derive(Debug, Default)]
pub(crate) struct Showcase {
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    key: GameKey,
    seed: u64,
    seats: Vec<usize>,
    told: usize,
}

impl Showcase {
    /// Looks at the table after a ply: what is new of the game that is shown.
    pub(crate) fn look<'t, C>(
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
                let mut shown = Shown { key, seed, seats: game.players.to_vec(), told: 0 };
                shown.tell(game.plies, &mut events);
                self.shown = Some(shown);
            }
            return events;
        };
        let ended = finished
            .iter()
            .find(|game| game.record.seed == shown.seed && game.players == shown.seats);
        if let Some(game) = ended {
            shown.tell(&game.record.plies, &mut events);
            events.push(LiveEvent::Ended { key: shown.key, outcomes: game.outcomes.clone() });
            self.shown = None;
        } else if let Some(game) =
            in_progress.find(|game| game.seed == shown.seed && game.players == shown.seats)
        {
            shown.tell(game.plies, &mut events);
        }
        events
    }
}

impl Shown {
    fn tell(&mut self, plies: &[Vec<Action>], events: &mut Vec<LiveEvent>) {
        for actions in plies.iter().skip(self.told) {
            let (key, ply, actions) = (self.key, self.told as u32, actions.clone());
            events.push(LiveEvent::Moved { key, ply, actions });
            self.told += 1;
        }
    }
}
