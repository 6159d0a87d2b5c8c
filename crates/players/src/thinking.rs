//! Players that search the tree: what `minimax` and `maxn` share.
//!
//! Battlesnake positions are judged by area control, those of other games by their outcome
//! alone. A player thinks to a depth in turns or for a time; with a depth the same position
//! always gets the same answer. With a time every position is answered within it, counted from
//! when its search starts: the search ends earlier by 2 % of the time, at least 1 ms but at most
//! half of it, which is left for the nodes until the next look at the clock.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::Game;
use ouro_game::battlesnake;
use ouro_search::{
    AreaControl, Clock, Deadline, Heuristic, Limits, MaxN, OutcomeOnly, Paranoid, Query, Searcher,
};

use crate::game_specific::{BuildResult, build_for_game};
use crate::registry::{BuildContext, Options, PlayerSyntax};
use crate::{Choice, Player, Request};

/// Longest time to think, in milliseconds: an hour.
const LONGEST_MS: u64 = 3_600_000;

/// A search method for any game.
pub(crate) trait Method {
    /// The method for one game.
    type For<G: Game>: Searcher<G> + Default + 'static;
}

/// [`Paranoid`] for any game.
pub(crate) struct ParanoidMethod;

impl Method for ParanoidMethod {
    type For<G: Game> = Paranoid<G>;
}

/// [`MaxN`] for any game.
pub(crate) struct MaxNMethod;

impl Method for MaxNMethod {
    type For<G: Game> = MaxN<G>;
}

/// When to stop thinking.
#[derive(Clone, Debug)]
enum Effort {
    /// After this many turns ahead.
    Depth(u32),
    /// In time to answer within this one.
    Time(Duration, Arc<dyn Clock>),
}

/// The part of the time to answer in which the search may use.
fn to_search(time: Duration) -> Duration {
    let margin = (time / 50).max(Duration::from_millis(1)).min(time / 2);
    time.saturating_sub(margin)
}

/// A player that plays what a search finds.
#[derive(Debug)]
pub struct MinimaxPlayer<S, E> {
    name: String,
    searcher: S,
    heuristic: E,
    effort: Effort,
}

/// Builds a player from its options `depth` or `ms`.
pub(crate) fn build<M: Method, G: Game>(
    syntax: &PlayerSyntax,
    options: &Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    options.exclusive("depth", "ms")?;
    let depth = options.number("depth", 1..=Limits::DEEPEST)?;
    let time = options.number("ms", 1..=LONGEST_MS)?.map(Duration::from_millis);
    let effort = match (depth, time) {
        (Some(turns), _) => Effort::Depth(turns),
        (None, Some(time)) => Effort::Time(time, Arc::clone(&context.clock)),
        (None, None) => return Err(options.missing("depth or ms", syntax)),
    };
    let name = options.name();
    build_for_game(context.game, |_: &battlesnake::Small| {
        seat::<M, _, _>(name, &effort, AreaControl::default())
    })
    .or_else(|| {
        build_for_game(context.game, |_: &battlesnake::Large| {
            seat::<M, _, _>(name, &effort, AreaControl::default())
        })
    })
    .unwrap_or_else(|| seat::<M, G, _>(name, &effort, OutcomeOnly))
}

fn seat<M: Method, G: Game, E: Heuristic<G> + 'static>(
    name: &str,
    effort: &Effort,
    heuristic: E,
) -> BuildResult<G> {
    let searcher = M::For::<G>::default();
    Ok(Box::new(MinimaxPlayer {
        name: name.to_owned(),
        searcher,
        heuristic,
        effort: effort.clone(),
    }))
}

impl<G: Game, S: Searcher<G>, E: Heuristic<G>> Player<G> for MinimaxPlayer<S, E> {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        for &mut Request { state, player, .. } in requests {
            let limits = match &self.effort {
                Effort::Depth(turns) => Limits::turns(*turns),
                Effort::Time(time, clock) => {
                    let at = clock.monotonic().saturating_add(to_search(*time));
                    Limits {
                        deadline: Some(Deadline { clock: clock.as_ref(), at }),
                        ..Limits::FULL
                    }
                }
            };
            let query = Query { game, state, player, limits };
            // Who is asked is to move; a table reports a choice that is not given.
            if let Ok(found) = self.searcher.search(query, &mut self.heuristic) {
                choices.push(Choice { action: found.action, probability: 1.0 });
            }
        }
    }
}
