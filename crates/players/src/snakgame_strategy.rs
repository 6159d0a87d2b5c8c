//! `snakgame{strategy=NAME}`: the strategies of `ouro_snakgame` as players.
//!
//! A strategy was written for the first side against Chef, and keeps plans between its moves. The
//! player shows it each game from its own side, and the opponent's move since its last one. A game
//! that does not follow from what the strategy saw is shown anew; a strategy then plans as at the start
//! of a game, and its first move may be a new snake.

use std::collections::HashMap;

use ouro_game::snakgame::{self, Move, Position, Side, Snakgame, State, Strategy, Words};
use ouro_game::{ActionMask, Game};
use ouro_snakgame::Named;

use crate::game_specific::{BuildResult, build_for_game};
use crate::player::{Choice, Player, Request};
use crate::registry::{BuildContext, NameError, Options, PlayerSyntax};

/// Most games that one player follows. With more, all are shown anew.
const MOST_GAMES: usize = 4_096;

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

/// Plays a strategy, one instance for each game.
pub struct SnakgameStrategy {
    name: String,
    named: Named,
    /// Games in progress by their number, and the last one without.
    games: HashMap<Option<u64>, Followed>,
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
        Self { name: name.to_owned(), named, games: HashMap::new() }
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
            let mut followed = self
                .games
                .remove(&request.game)
                .and_then(|mut followed| followed.catch_up(state, own).then_some(followed))
                .unwrap_or_else(|| Followed {
                    strategy: self.named.player(request.rng.bits()),
                    position: state.seen_by(own),
                });
            let chosen = followed.strategy.choose(&followed.position);
            let action = game.move_action(state, chosen).unwrap_or_else(|| {
                // A variant of the rules may forbid a new snake.
                let mut legal = ActionMask::default();
                game.legal(state, request.player, &mut legal);
                legal.nth(0).unwrap_or_default()
            });
            choices.push(Choice { action, probability: 1.0 });
            let played = game.action_move(state, action).map(|made| followed.position.play(made));
            if let Some(Ok(())) = played {
                if self.games.len() >= MOST_GAMES {
                    self.games.clear();
                }
                self.games.insert(request.game, followed);
            }
        }
    }
}

/// The side of a seat.
fn side_of(player: usize) -> Side {
    if player == 0 { Side::First } else { Side::Second }
}

#[cfg(test)]
mod tests {
    use ouro_game::snakgame::{Config, Mode, Small};
    use ouro_game::{Rng, Turn};

    use super::*;

    /// Plays a strategy at a seat, with random moves at the other. Calls `each` with the position that
    /// the strategy sees after each of its moves, and the state.
    fn play(mode: Mode, own: usize, seed: u64, mut each: impl FnMut(&Position, &State<[u64; 16]>)) {
        let config = Config { mode, rows: 12, columns: 15, ..Config::default() };
        let game = Small::new(config).expect("in range");
        let mut rng = Rng::new(seed, "test");
        let mut player = SnakgameStrategy::new("snakgame{strategy=plan-repair}", Named::PlanRepair);
        let mut state = game.initial(&mut rng);
        game.settle(&mut state, &mut rng);
        let mut joint = vec![Default::default(); game.players()];
        while let Turn::Move(movers) = game.turn(&state) {
            let mover = movers.iter().next().expect("one side moves");
            if mover == own {
                let before = player.games.len();
                let mut choices = Vec::new();
                let request = Request { state: &state, player: own, rng: &mut rng, game: Some(7) };
                player.choose(&game, &mut [request], &mut choices);
                joint[own] = choices[0].action;
                assert!(before <= 1 && player.games.len() == 1);
            } else {
                let mut legal = ActionMask::default();
                game.legal(&state, mover, &mut legal);
                let drawn = rng.below(legal.count() as u32) as usize;
                joint[mover] = legal.nth(drawn).expect("a legal action");
            }
            game.step(&mut state, &joint).expect("legal");
            if mover == own {
                each(&player.games[&Some(7)].position, &state);
            }
            game.settle(&mut state, &mut rng);
        }
    }

    #[test]
    fn a_strategy_sees_the_game_from_its_own_side() {
        for (mode, own) in [(Mode::Duel, 0), (Mode::Duel, 1), (Mode::Official, 0)] {
            let mut seen = 0;
            play(mode, own, 3, |position, state| {
                let shown = state.seen_by(side_of(own));
                assert_eq!(position.board().contents(), shown.board().contents());
                for side in [Side::First, Side::Second] {
                    assert_eq!(position.snakes(side), shown.snakes(side));
                }
                seen += 1;
            });
            assert!(seen > 60, "{mode:?}: {seen}");
        }
    }

    #[test]
    fn every_move_of_the_other_side_is_recognised() {
        for (mode, own) in [(Mode::Duel, 0), (Mode::Duel, 1), (Mode::Official, 0)] {
            let game = Small::new(Config { mode, ..Config::default() }).expect("in range");
            let (mut rng, own) = (Rng::new(5, "test"), side_of(own));
            let mut followed: Option<Followed> = None;
            let (mut state, mut known) = (game.initial(&mut rng), 0);
            let mut joint = vec![Default::default(); game.players()];
            let mut legal = ActionMask::default();
            loop {
                game.settle(&mut state, &mut rng);
                let Turn::Move(movers) = game.turn(&state) else { break };
                let mover = movers.iter().next().expect("one side moves");
                game.legal(&state, mover, &mut legal);
                let drawn = rng.below(legal.count() as u32) as usize;
                joint[mover] = legal.nth(drawn).expect("a legal action");
                if side_of(mover) == own {
                    if let Some(followed) = &mut followed {
                        assert!(followed.catch_up(&state, own), "{mode:?} after {known} moves");
                        known += 1;
                    }
                    let followed = followed.get_or_insert_with(|| Followed {
                        strategy: Named::Random.player(1),
                        position: state.seen_by(own),
                    });
                    let made = game.action_move(&state, joint[mover]).expect("a move");
                    followed.position.play(made).expect("legal");
                }
                game.step(&mut state, &joint).expect("legal");
            }
            assert!(known > 30, "{mode:?}: {known}");
        }
    }
}
