//! Plays one player against every possible reply.

use std::collections::BTreeSet;

use ouro_game::{Action, ActionMask, Game, PlayerSet, Rng, Turn};
use serde::Serialize;

use super::answers;
use crate::player::Player;

/// Most positions of one ply that are followed.
const MOST: usize = 1 << 16;

/// Reason why a game cannot be followed exhaustively.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExamError {
    /// The game has chance or simultaneous moves, or not two players.
    #[error(
        "{game} is not a game of two players with alternating moves and no chance; examine another"
    )]
    Unsuitable {
        /// The game's name.
        game: &'static str,
    },
    /// The game has too many positions.
    #[error("{game} has more than {MOST} positions after {plies} plies; play a match instead")]
    TooLarge {
        /// The game's name.
        game: &'static str,
        /// Plies followed so far.
        plies: usize,
    },
    /// The player chose an illegal action.
    #[error("the player chose action {answer} after {line}; it must choose a legal action")]
    Illegal {
        /// The action's number, or `nothing`.
        answer: String,
        /// The actions played before.
        line: String,
    },
}

/// Results of all lines of play for the player, counted by distinct final positions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// Positions in which the player chose.
    pub asked: usize,
    /// Won final positions.
    pub won: usize,
    /// Drawn final positions.
    pub drawn: usize,
    /// Lost final positions.
    pub lost: usize,
    /// Names of the actions that lead to the first lost position.
    pub first_loss: Option<Vec<String>>,
}

/// A position and one line of actions that leads to it.
struct ReachedPosition<S> {
    state: S,
    line: Vec<Action>,
}

/// Plays `player` from each of the two seats against every line of the opponent.
pub fn every_line<G: Game>(
    game: &G,
    player: &mut dyn Player<G>,
    seed: u64,
) -> Result<LineCounts, ExamError> {
    if game.players() != 2 {
        return Err(ExamError::Unsuitable { game: G::NAME });
    }
    let mut lines = LineCounts::default();
    for seat in 0..2 {
        let state = game.initial(&mut Rng::indexed(seed, "game", 0));
        let mut reached = vec![ReachedPosition { state, line: Vec::new() }];
        for plies in 0.. {
            if reached.is_empty() {
                break;
            }
            if reached.len() > MOST {
                return Err(ExamError::TooLarge { game: G::NAME, plies });
            }
            reached = ply(game, player, seat, reached, seed, &mut lines)?;
        }
    }
    Ok(lines)
}

/// Advances by one ply: the player's choice where it is to move, every action elsewhere.
fn ply<G: Game>(
    game: &G,
    player: &mut dyn Player<G>,
    seat: usize,
    reached: Vec<ReachedPosition<G::State>>,
    seed: u64,
    lines: &mut LineCounts,
) -> Result<Vec<ReachedPosition<G::State>>, ExamError> {
    let (mut asked, mut replied) = (Vec::new(), Vec::new());
    for position in reached {
        match game.turn(&position.state) {
            Turn::Move(movers) if movers == PlayerSet::one(seat) => asked.push(position),
            Turn::Move(movers) if movers.len() == 1 => replied.push(position),
            Turn::Move(_) | Turn::Chance => return Err(ExamError::Unsuitable { game: G::NAME }),
            Turn::Over => end(game, seat, &position, lines),
        }
    }
    let positions: Vec<_> = asked.iter().map(|position| (position.state.clone(), seat)).collect();
    let answers = answers(game, player, &positions, seed);
    lines.asked += asked.len();
    let mut next = NextPly { game, seen: BTreeSet::new(), reached: Vec::new() };
    for (at, position) in asked.iter().enumerate() {
        let answer = answers.get(at).copied();
        if !answer.is_some_and(|answer| next.add(position, answer)) {
            let answer = answer.map_or("nothing".to_owned(), |answer| answer.0.to_string());
            return Err(ExamError::Illegal { answer, line: names(game, &position.line).join(" ") });
        }
    }
    let mut legal = ActionMask::default();
    for position in &replied {
        game.legal(&position.state, 1 - seat, &mut legal);
        for reply in legal.iter() {
            next.add(position, reply);
        }
    }
    Ok(next.reached)
}

/// Collects the distinct positions of the next ply.
struct NextPly<'a, G: Game> {
    game: &'a G,
    seen: BTreeSet<u64>,
    reached: Vec<ReachedPosition<G::State>>,
}

impl<G: Game> NextPly<'_, G> {
    /// Adds the position after an action; returns whether the action is legal.
    fn add(&mut self, from: &ReachedPosition<G::State>, action: Action) -> bool {
        let mut state = from.state.clone();
        if self.game.step(&mut state, &[action; 2]).is_err() {
            return false;
        }
        if self.seen.insert(self.game.digest(&state)) {
            let line = from.line.iter().copied().chain([action]).collect();
            self.reached.push(ReachedPosition { state, line });
        }
        true
    }
}

fn end<G: Game>(
    game: &G,
    seat: usize,
    position: &ReachedPosition<G::State>,
    lines: &mut LineCounts,
) {
    let outcome = game.outcome(&position.state, seat);
    if outcome > 0.0 {
        lines.won += 1;
    } else if outcome == 0.0 {
        lines.drawn += 1;
    } else {
        lines.lost += 1;
        lines.first_loss.get_or_insert_with(|| names(game, &position.line));
    }
}

fn names<G: Game>(game: &G, line: &[Action]) -> Vec<String> {
    line.iter().map(|&action| game.action_name(action)).collect()
}
