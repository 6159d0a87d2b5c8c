//! `snakgame{strategy=NAME}`: the strategies of `ouro_snakgame` as players.
//!
//! A strategy was written for the first side against Chef, and keeps plans between its moves. The
//! player shows it each game from its own side, and the opponent's move since its last one. A new
//! strategy joins a position that does not follow from what the last one saw, and plans from the
//! ends of the current snake.
//!
//! Contract: without the [number](Request::game) of its game, every request takes a new strategy. A
//! choice then depends on the position and the generator of the request alone.

use std::collections::BTreeMap;

use ouro_game::snakgame::{self, Move, Position, Side, Snakgame, State, Strategy, Words};
use ouro_game::{ActionMask, Game};
use ouro_snakgame::Named;

use crate::game_specific::{BuildResult, build_for_game};
use crate::player::{Choice, Player, Request};
use crate::registry::{BuildContext, NameError, Options, PlayerSyntax};

/// Most seats that one player follows. With more, that of the lowest number makes room: its game
/// was started first, so the caller may have dropped it without a report.
const MOST_SEATS: usize = 4_096;

/// Syntax of the name.
pub(crate) const SYNTAX: PlayerSyntax = PlayerSyntax {
    name: "snakgame",
    options: &["strategy"],
    defaults: &[],
    usage: &["snakgame{strategy=NAME}"],
};

/// Builds a player for SNAKGAME.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    fn seat<W: Words>(options: &Options<'_>, named: Named) -> BuildResult<Snakgame<W>>
    where
        Snakgame<W>: Game<State = State<W>>,
    {
        Ok(Box::new(SnakgameStrategy::new(options.name(), named)))
    }
    let named = strategy(&options)?;
    build_for_game(context.game, |_: &snakgame::Small| seat(&options, named))
        .or_else(|| build_for_game(context.game, |_: &snakgame::Large| seat(&options, named)))
        .unwrap_or_else(|| Err(options.other_game::<G>(snakgame::Small::NAME)))
}

/// The strategy that the options name.
fn strategy(options: &Options<'_>) -> Result<Named, NameError> {
    let Some(name) = options.text("strategy")? else {
        return Err(options.missing("strategy", &SYNTAX));
    };
    let known = || Named::ALL.map(Named::name).join(", ");
    Named::find(name)
        .ok_or_else(|| options.invalid("strategy", name, format!("known are {}", known())))
}

/// Plays a strategy, one instance for each seat of each game.
pub struct SnakgameStrategy {
    name: String,
    named: Named,
    /// Games in progress, by their number and the seat.
    games: BTreeMap<(u64, usize), Followed>,
}

/// A game as its strategy has seen it.
struct Followed {
    strategy: Box<dyn Strategy + Send>,
    /// The position after the strategy's last move, with the strategy as the first side.
    position: Position,
}

impl SnakgameStrategy {
    /// A player called `name`.
    pub fn new(name: &str, named: Named) -> Self {
        Self { name: name.to_owned(), named, games: BTreeMap::new() }
    }
}

impl Followed {
    /// Shows the move that led to `state`. Returns whether there is one.
    fn catch_up<W: Words>(&mut self, state: &State<W>, own: Side) -> bool {
        let Some(reply) = reply(&self.position, state, own) else { return false };
        if self.position.play(reply).is_err() || !is_same(&self.position, state, own) {
            return false;
        }
        self.strategy.observe(&self.position, reply);
        true
    }
}

/// The one move of the other side that leads from `position` to `state`, if there is one.
fn reply<W: Words>(position: &Position, state: &State<W>, own: Side) -> Option<Move> {
    let (before, after) = (position.snakes(Side::Second), state.snakes(own.other()));
    let new = after.current();
    if after.count() != before.count() {
        return Some(Move::New(new?.ends[0]));
    }
    if before != after {
        let (old, new) = (before.current()?, new?);
        let grown = (0..2).find(|&end| old.ends[end] != new.ends[end])?;
        return Some(Move::Extend { from: old.ends[grown], to: new.ends[grown] });
    }
    (state.frozen_turns() > 0).then(|| Move::Freeze(state.frozen_turns()))
}

/// Whether the sides and the number of empty cells agree.
fn is_same<W: Words>(position: &Position, state: &State<W>, own: Side) -> bool {
    position.to_move() == Side::First
        && position.snakes(Side::First) == state.snakes(own)
        && position.snakes(Side::Second) == state.snakes(own.other())
        && position.board().empty_count() == state.empty_count()
}

impl<W: Words> Player<Snakgame<W>> for SnakgameStrategy
where
    Snakgame<W>: Game<State = State<W>>,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(
        &mut self,
        game: &Snakgame<W>,
        requests: &mut [Request<'_, Snakgame<W>>],
        choices: &mut Vec<Choice>,
    ) {
        for request in requests {
            let (state, own) = (request.state, side_of(request.player));
            let seat = request.game.map(|number| (number, request.player));
            let mut followed = seat
                .and_then(|seat| self.games.remove(&seat))
                .and_then(|mut followed| followed.catch_up(state, own).then_some(followed))
                .unwrap_or_else(|| Followed {
                    strategy: self.named.player(request.rng.bits()),
                    position: state.seen_by(own),
                });
            let chosen = followed.strategy.choose(&followed.position);
            let Some(action) = game.move_action(state, chosen) else {
                // A variant of the rules may forbid a new snake. The strategy plans from that
                // snake, so it is followed no further.
                let mut legal = ActionMask::default();
                game.legal(state, request.player, &mut legal);
                let action = legal.nth(0).unwrap_or_default();
                choices.push(Choice { action, probability: 1.0 });
                continue;
            };
            choices.push(Choice { action, probability: 1.0 });
            if let Some(seat) = seat
                && followed.position.play(chosen).is_ok()
            {
                if self.games.len() >= MOST_SEATS {
                    self.games.pop_first();
                }
                self.games.insert(seat, followed);
            }
        }
    }

    fn game_ended(&mut self, _game: &Snakgame<W>, number: u64, _state: &State<W>) {
        self.games.retain(|&(game, _), _| game != number);
    }
}

/// The side of a seat.
fn side_of(player: usize) -> Side {
    if player == 0 { Side::First } else { Side::Second }
}

#[cfg(test)]
mod tests;
