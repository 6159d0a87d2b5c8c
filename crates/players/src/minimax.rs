//! `minimax` and `maxn`: players that search the game tree to a depth or for a time.
//!
//! Battlesnake positions are evaluated by area control, whose weights are options (`food`, `hazard`,
//! `hungry`, `length`, `lead`). Positions of other games are evaluated by their outcome alone,
//! without these options. With `weights`, a network evaluates them instead, and with `duel` a second
//! network evaluates those in which two players are left. `minimax` has two options for a deeper
//! search in the same time: `best_reply` among more than two players, and `reductions`.
//!
//! With a depth in turns, the same position always gets the same action. With a time, every choice is
//! made within it, counted from the start of its search. The search ends earlier by 2 % of the time,
//! at least 1 ms but at most half of it. That covers the nodes until the next check of the clock. With a
//! network it has to cover one position: one evaluation in `minimax`, one for every living player in
//! `maxn`. If the time is too short to search a single action, it also has to cover one evaluation for
//! each action; the best of these is then played. A choice is late only with a network that is too slow
//! for this. A search ends at once when the outcome is proven, or when `minimax` has seen all actions but
//! one lose.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::Game;
use ouro_game::battlesnake;
use ouro_net::Engine;
use ouro_search::minimax::Replies;
use ouro_search::{
    AreaControl, Clock, Deadline, Heuristic, Limits, MaxN, OutcomeOnly, Paranoid, Query, Searcher,
};

use crate::game_specific::{BuildResult, build_for_game};
use crate::network_heuristic::NetworkHeuristic;
use crate::player::{Choice, Player, Request};
use crate::registry::{BuildContext, NameError, Options, PlayerSyntax};

/// Longest time per choice, in milliseconds: an hour.
const LONGEST_MS: u64 = 3_600_000;

/// Keys of the options: a limit, networks, and the weights of [`AreaControl`].
const OPTIONS: &[&str] =
    &["depth", "ms", "weights", "duel", "food", "hazard", "hungry", "length", "lead"];

/// The options of `minimax`.
const MINIMAX_OPTIONS: &[&str] = &[
    "depth",
    "ms",
    "best_reply",
    "reductions",
    "weights",
    "duel",
    "food",
    "hazard",
    "hungry",
    "length",
    "lead",
];

/// The weights of [`AreaControl`] that are options, and their values there.
const DEFAULTS: &[(&str, f64)] =
    &[("food", 20.0), ("hazard", 1.0), ("hungry", 60.0), ("length", 0.0), ("lead", 10.0)];

/// Largest value of a weight.
const MOST: f32 = 1_000.0;

/// Syntax of `minimax`: paranoid alpha-beta, which treats all other players as one opponent.
pub(crate) const SYNTAX: PlayerSyntax = PlayerSyntax {
    name: "minimax",
    options: MINIMAX_OPTIONS,
    defaults: DEFAULTS,
    usage: &[
        "minimax{depth=TURNS}",
        "minimax{ms=MILLISECONDS}",
        "minimax{ms=MILLISECONDS,best_reply,reductions}",
        "minimax{ms=MILLISECONDS,weights=NAME,duel=NAME}",
    ],
};

/// Builds a `minimax` player for any game.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    let best_reply = options.flag("best_reply")?;
    let reductions = options.flag("reductions")?;
    build_with(&ParanoidMethod { best_reply, reductions }, &SYNTAX, &options, context)
}

/// The player `maxn`: tree search in which every player maximises its own value.
pub(crate) mod maxn {
    use ouro_game::Game;

    use super::{DEFAULTS, MaxNMethod, OPTIONS, build_with};
    use crate::game_specific::BuildResult;
    use crate::registry::{BuildContext, Options, PlayerSyntax};

    /// Syntax of the name.
    pub(crate) const SYNTAX: PlayerSyntax = PlayerSyntax {
        name: "maxn",
        options: OPTIONS,
        defaults: DEFAULTS,
        usage: &[
            "maxn{depth=TURNS}",
            "maxn{ms=MILLISECONDS}",
            "maxn{ms=MILLISECONDS,weights=NAME,duel=NAME}",
        ],
    };

    /// Builds a player for any game.
    pub(crate) fn build<G: Game>(
        options: Options<'_>,
        context: &mut BuildContext<'_, G>,
    ) -> BuildResult<G> {
        build_with(&MaxNMethod, &SYNTAX, &options, context)
    }
}

/// Positions at the horizon of `minimax{depth=TURNS}` in a game, without pruning
/// ([`ouro_search::minimax::largest_tree`]).
pub fn largest_tree<G: Game>(game: &G, turns: u32) -> f64 {
    tree_with(game, turns, Replies::All)
}

fn tree_with<G: Game>(game: &G, turns: u32, replies: Replies) -> f64 {
    let any: &dyn Any = game;
    let area = &mut AreaControl::default();
    if let Some(game) = any.downcast_ref::<battlesnake::Small>() {
        ouro_search::minimax::largest_tree(game, area, turns, replies)
    } else if let Some(game) = any.downcast_ref::<battlesnake::Large>() {
        ouro_search::minimax::largest_tree(game, area, turns, replies)
    } else {
        ouro_search::minimax::largest_tree(game, &mut OutcomeOnly, turns, replies)
    }
}

/// The depth of `minimax` or `maxn` in turns, and the number of positions that a choice visits at least;
/// `None` without a depth.
///
/// A tree has [`largest_tree`] positions at its horizon. Alpha-beta visits at least the square root of them
/// with two players (Knuth and Moore 1975) or with `best_reply`, and, as paranoid search, the power (n−1)/n
/// with n players (Sturtevant and Korf 2000). `maxn` visits more.
pub(crate) fn least_positions<G: Game>(
    game: &G,
    options: &Options<'_>,
) -> Result<Option<(u32, f64)>, NameError> {
    let Some(turns) = depth(options)? else { return Ok(None) };
    let players = game.players() as f64;
    let (replies, power) = if options.flag("best_reply")? {
        (Replies::Best, 0.5)
    } else {
        (Replies::All, if players > 1.0 { (players - 1.0) / players } else { 1.0 })
    };
    Ok(Some((turns, tree_with(game, turns, replies).powf(power))))
}

/// The option `depth`.
fn depth(options: &Options<'_>) -> Result<Option<u32>, NameError> {
    options.number("depth", 1..=Limits::DEEPEST)
}

/// A search method for any game.
trait Method {
    /// The method for one game.
    type For<G: Game>: Searcher<G> + 'static;

    /// A searcher of the method.
    fn searcher<G: Game>(&self) -> Self::For<G>;
}

/// [`Paranoid`] for any game.
struct ParanoidMethod {
    /// Whether at most one opponent replies in each turn.
    best_reply: bool,
    /// Whether late actions are searched less deeply at first.
    reductions: bool,
}

impl Method for ParanoidMethod {
    type For<G: Game> = Paranoid<G>;

    fn searcher<G: Game>(&self) -> Paranoid<G> {
        let searcher = if self.best_reply { Paranoid::best_reply() } else { Paranoid::new() };
        if self.reductions { searcher.with_reductions() } else { searcher }
    }
}

/// [`MaxN`] for any game.
struct MaxNMethod;

impl Method for MaxNMethod {
    type For<G: Game> = MaxN<G>;

    fn searcher<G: Game>(&self) -> MaxN<G> {
        MaxN::new()
    }
}

/// The limit of a search.
#[derive(Clone, Debug)]
enum SearchLimit {
    /// A depth in turns.
    Depth(u32),
    /// A time per choice.
    Time(Duration, Arc<dyn Clock>),
}

/// The part of the time per choice that the search may use.
fn to_search(time: Duration) -> Duration {
    let margin = (time / 50).max(Duration::from_millis(1)).min(time / 2);
    time.saturating_sub(margin)
}

/// A player that plays the result of a minimax search.
#[derive(Debug)]
pub struct MinimaxPlayer<S, E> {
    name: String,
    searcher: S,
    heuristic: E,
    limit: SearchLimit,
    /// Value of the last choice.
    value: Option<f32>,
}

/// Builds a player from its options.
fn build_with<M: Method, G: Game>(
    method: &M,
    syntax: &PlayerSyntax,
    options: &Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    options.exclusive("depth", "ms")?;
    let depth = depth(options)?;
    let time = options.number("ms", 1..=LONGEST_MS)?.map(Duration::from_millis);
    let limit = match (depth, time) {
        (Some(turns), _) => SearchLimit::Depth(turns),
        (None, Some(time)) => SearchLimit::Time(time, Arc::clone(&context.clock)),
        (None, None) => return Err(options.missing("depth or ms", syntax)),
    };
    let area = area_control(options)?;
    let engine = match options.text("weights")? {
        None => None,
        Some(weights) => {
            for (key, _) in DEFAULTS {
                options.exclusive("weights", key)?;
            }
            Some(context.engine(options, weights)?)
        }
    };
    let duel = match options.text("duel")? {
        None => None,
        Some(_) if engine.is_none() => return Err(options.missing("weights", syntax)),
        Some(weights) => Some(context.engine(options, weights)?),
    };
    let seat = Seat { name: options.name(), method, limit, engine, duel };
    build_for_game(context.game, |game: &battlesnake::Small| seat.build(game, area))
        .or_else(|| {
            build_for_game(context.game, |game: &battlesnake::Large| seat.build(game, area))
        })
        .unwrap_or_else(|| {
            refuse_area_control(options)?;
            seat.build(context.game, OutcomeOnly)
        })
}

/// Refuses the weights of [`AreaControl`], which have no effect outside of Battlesnake.
fn refuse_area_control(options: &Options<'_>) -> Result<(), NameError> {
    for &(key, _) in DEFAULTS {
        if let Some(value) = options.text(key)? {
            let remedy = "it is an option for battlesnake alone; leave it out";
            return Err(options.invalid(key, value, remedy));
        }
    }
    Ok(())
}

/// The heuristic with the weights of the options. An empty cell weighs as much as always, because
/// only the ratios of the weights matter.
fn area_control(options: &Options<'_>) -> Result<AreaControl, NameError> {
    let default = AreaControl::default();
    let weight = |key, default| -> Result<f32, NameError> {
        Ok(options.number(key, 0.0..=MOST)?.unwrap_or(default))
    };
    Ok(AreaControl {
        food: weight("food", default.food)?,
        hazard: weight("hazard", default.hazard)?,
        length: weight("length", default.length)?,
        lead: weight("lead", default.lead)?,
        hungry_below: options.number("hungry", 0..=100)?.unwrap_or(default.hungry_below),
        ..default
    })
}

/// What a player is built from, whatever its game.
struct Seat<'a, M> {
    name: &'a str,
    method: &'a M,
    limit: SearchLimit,
    engine: Option<Arc<Engine>>,
    /// The network for positions with two players left.
    duel: Option<Arc<Engine>>,
}

impl<M: Method> Seat<'_, M> {
    /// The player with the heuristic `base`, or with the networks in its place.
    fn build<G: Game, E: Heuristic<G> + 'static>(&self, game: &G, base: E) -> BuildResult<G> {
        let (name, limit) = (self.name.to_owned(), self.limit.clone());
        let (searcher, value) = (self.method.searcher(), None);
        match &self.engine {
            None => Ok(Box::new(MinimaxPlayer { name, searcher, heuristic: base, limit, value })),
            Some(engine) => {
                let engine = Arc::clone(engine);
                let mut heuristic = NetworkHeuristic::new(self.name, engine, game, base)?;
                if let Some(duel) = &self.duel {
                    heuristic = heuristic.with_duel(self.name, Arc::clone(duel), game)?;
                }
                Ok(Box::new(MinimaxPlayer { name, searcher, heuristic, limit, value }))
            }
        }
    }
}

impl<G: Game, S: Searcher<G>, E: Heuristic<G>> Player<G> for MinimaxPlayer<S, E> {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        for &mut Request { state, player, .. } in requests {
            let limits = match &self.limit {
                SearchLimit::Depth(turns) => Limits::turns(*turns),
                SearchLimit::Time(time, clock) => {
                    let at = clock.monotonic().saturating_add(to_search(*time));
                    Limits {
                        deadline: Some(Deadline { clock: clock.as_ref(), at }),
                        ..Limits::FULL
                    }
                }
            };
            let query = Query { game, state, player, limits };
            // An error means that the seat is not to move. Then the missing choice is an error of
            // the batch.
            if let Ok(found) = self.searcher.search(query, &mut self.heuristic) {
                choices.push(Choice { action: found.action, probability: 1.0 });
                self.value = Some(found.value);
            }
        }
    }

    fn last_value(&self) -> Option<f32> {
        self.value.filter(|_| self.heuristic.estimates_outcome())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_options_are_those_of_area_control() {
        let written: Vec<String> =
            DEFAULTS.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let name = format!("minimax{{depth=1,{}}}", written.join(","));
        let options = Options::parse(&name).unwrap();
        assert_eq!(area_control(&options).unwrap(), AreaControl::default());
        assert!(DEFAULTS.iter().all(|(key, _)| OPTIONS.contains(key)));
    }
}
