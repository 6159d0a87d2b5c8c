//! One player against every reply.

use std::collections::BTreeSet;

use ouro_game::{Action, ActionMask, Game, PlayerSet, Rng, Turn};
use serde::Serialize;

use super::answers;
use crate::Player;

/// Positions of one ply that are followed at most.
const MOST: usize = 1 << 16;

/// A game whose lines cannot all be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExamError {
    /// Chance, or players who move together.
    #[error("{game} is no game of two players who take turns without chance; examine another")]
    Unsuitable {
        /// Its name.
        game: &'static str,
    },
    /// There are too many.
    #[error("{game} has more than {MOST} positions after {plies} plies; play a match instead")]
    TooLarge {
        /// Its name.
        game: &'static str,
        /// Where following ended.
        plies: usize,
    },
    /// The player did something that the rules do not allow.
    #[error("the player answered {answer} after {line}; only legal actions are answers")]
    Illegal {
        /// The action's number, or nothing.
        answer: String,
        /// What was played before.
        line: String,
    },
}

/// How the lines of play end for the player, counted by final positions that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// Positions in which the player was asked.
    pub asked: usize,
    /// Final positions that are won.
    pub won: usize,
    /// Final positions that are drawn.
    pub drawn: usize,
    /// Final positions that are lost.
    pub lost: usize,
    /// A line to the first lost one, by the names of the actions.
    pub first_loss: Option<Vec<String>>,
}

/// A position, and one way to it.
struct ReachedPosition<S> {
    state: S,
    line: Vec<Action>,
}

/// Follows `player` from each of the two seats through every line that the opponent can choose.
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

/// One ply further: the player's answers where it moves, every action where it does not.
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
        if !answer.is_some_and(|answer| next.go(position, answer)) {
            let answer = answer.map_or("nothing".to_owned(), |answer| answer.0.to_string());
            return Err(ExamError::Illegal { answer, line: names(game, &position.line).join(" ") });
        }
    }
    let mut legal = ActionMask::default();
    for position in &replied {
        game.legal(&position.state, 1 - seat, &mut legal);
        for reply in legal.iter() {
            next.go(position, reply);
        }
    }
    Ok(next.reached)
}

/// Positions of the next ply, each once.
struct NextPly<'a, G: Game> {
    game: &'a G,
    seen: BTreeSet<u64>,
    reached: Vec<ReachedPosition<G::State>>,
}

impl<G: Game> NextPly<'_, G> {
    /// Takes an action; whether it is legal.
    fn go(&mut self, from: &ReachedPosition<G::State>, action: Action) -> bool {
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
