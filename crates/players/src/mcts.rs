//! `mcts`: a player that runs Monte Carlo tree search for every move.
//!
//! * `mcts{sims=800,weights=champion}` evaluates leaves with a network.
//! * `mcts{sims=800}` evaluates leaves with random rollouts.
//! * `mcts{sims=800,weights=guided}` uses rollouts and priors from the game's rollout policy.
//! * `mcts{sims=800,weights=uniform}` uses only the rules and the solver.
//!
//! `ms=N` limits the time per move instead of the simulations.
//!
//! A tree is kept between the moves of a game if the request [names the game](Request::game). A move
//! then has `sims` more simulations, or `ms` more time, than the tree has already. `fresh` starts
//! every move with a new tree. A proven position ends a search at once.
//!
//! `leaves=N` evaluates up to N leaves of a tree at once. `threads=N` evaluates a batch on N threads;
//! without `leaves`, it also sets `leaves=N`. One thread searches the tree itself. More leaves at once
//! make a search faster and, for the same number of simulations, weaker.
//!
//! Contract: with `sims`, a choice depends only on the earlier requests of its game and seat, on the
//! position and on the generator of its request, bit for bit, whatever other requests are in the call.
//! The number of games must fit the memory of the trees. With `ms`, a choice is late by at most one
//! batch of leaves: one call of the network, or `leaves` rollouts, or some tenths of a millisecond.

mod clock_poller;
mod kept_trees;
mod threads;

use std::sync::Arc;
use std::time::Duration;

use ouro_game::{Action, Game, snake};
use ouro_net::{Engine, ValueRange};
use ouro_search::mcts::{
    ChanceWidth, Gumbel, MAX_SIMULATIONS, Objective, Simultaneous, Temperature, ValueScale,
};
use ouro_search::{
    Cached, Clock, Evaluator, Rollout, Scheduler, Search, SearchConfig, SearchResult, Uniform,
};

use self::clock_poller::{ClockPoller, MOST};
use self::kept_trees::KeptTrees;
use self::threads::Threaded;
use crate::game_specific::BuildResult;
use crate::net_evaluator::NetEvaluator;
use crate::player::{Choice, Player, Request};
use crate::registry::NameError;
use crate::registry::{BuildContext, Options, PlayerSyntax};

/// Syntax of the name.
pub(crate) const SYNTAX: PlayerSyntax = PlayerSyntax {
    name: "mcts",
    options: &[
        "sims",
        "ms",
        "weights",
        "c",
        "temperature",
        "gumbel",
        "regret",
        "tremble",
        "returns",
        "gamma",
        "draw",
        "chance",
        "fresh",
        "leaves",
        "cache",
        "threads",
    ],
    defaults: &[],
    usage: &[
        "mcts{sims=N}",
        "mcts{ms=N}",
        "mcts{sims=N,weights=NAME}",
        "mcts{sims=N,weights=uniform}",
        "mcts{sims=N,weights=guided}",
        "mcts{sims=N,weights=NAME,c=C,temperature=T|gumbel|regret,tremble=E,returns,gamma=G,draw=D,\
         chance=ignore|sample|enumerate,fresh,leaves=N,cache=N,threads=N}",
    ],
};

/// Estimated memory limit of the trees of one player, in bytes. Its cache has the same limit.
const MEMORY: usize = 512 << 20;

/// Limit of the trees that are searched together, and that of the trees kept meanwhile. A tree that is
/// searched alone may take more.
const SHARE: usize = MEMORY / 2;

/// Most trees that share a batch of the network.
const BATCH: usize = 256;

/// Builds a player for any game.
///
/// The search maximises returns on a running scale if values are unbounded: with a network whose
/// value head is unbounded, and for a single player, who has no opponent to beat. The option
/// `returns` selects it elsewhere. Returns are discounted by `gamma`, by default the discount of
/// the game: 0.98 in Snake, 1 elsewhere.
///
/// With returns, no value is known to be the maximum. A position is then proven only if all its
/// continuations have been visited, whereas one winning move is enough with outcomes. A player
/// that maximises returns therefore benefits little from the solver. The option `draw` is refused
/// with returns, unless the network has outcome classes.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    options.exclusive("sims", "ms")?;
    options.exclusive("gumbel", "regret")?;
    options.exclusive("gumbel", "tremble")?;
    options.exclusive("regret", "tremble")?;
    // Sequential halving needs a number of simulations that is known in advance.
    options.exclusive("ms", "gumbel")?;
    options.exclusive("gumbel", "temperature")?;
    options.exclusive("regret", "temperature")?;
    let sims = options.number("sims", 1..=MAX_SIMULATIONS)?;
    let ms = options.number("ms", 1..=3_600_000_u64)?;
    let leaf_evaluator = leaf_evaluator(&options, context)?;
    let config = config(&options, &leaf_evaluator, context.game)?;
    let node_bytes = config.node_bytes(context.game);
    let config = SearchConfig {
        simulations: sims.unwrap_or(MAX_SIMULATIONS),
        max_nodes: nodes_that_fit(MEMORY, node_bytes),
        ..config
    };
    let cheap = !matches!(leaf_evaluator, LeafEvaluator::Net(..));
    let evaluator = evaluators(&options, &leaf_evaluator, context.game, &config)?;
    let budget = match (sims, ms) {
        (Some(_), _) => Budget::Simulations,
        (None, Some(ms)) => Budget::Time(Duration::from_millis(ms), Arc::clone(&context.clock)),
        (None, None) => return Err(options.missing("sims or ms", &SYNTAX)),
    };
    let first = Search::new(config, context.game)
        .map_err(|error| options.invalid("sims", options.name(), error))?;
    let trees = match (&budget, cheap) {
        // Trees that need no batch are searched one by one, so each stays in the CPU cache.
        (Budget::Time(..), _) | (_, true) => 1,
        (Budget::Simulations, false) => trees_that_fit(node_bytes, first.config().simulations),
    };
    Ok(Box::new(Mcts {
        name: options.name().to_owned(),
        scheduler: Scheduler::new(trees * first.config().leaves_in_flight as usize),
        config: first.config().clone(),
        searches: Vec::new(),
        spare: vec![first],
        kept: (!options.flag("fresh")?)
            .then(|| KeptTrees::new(nodes_that_fit(SHARE, node_bytes) as usize)),
        evaluator,
        budget,
        // A reading of the clock costs next to nothing beside a network, and the cost of its leaves
        // varies: a cache has some of them.
        leaves_per_poll: if cheap { MOST } else { 1 },
        trees,
    }))
}

/// Values of the option `weights` that do not name a network.
pub const WITHOUT_NETWORK: &[&str] = &["rollout", "guided", "uniform"];

/// The evaluator of leaves.
enum LeafEvaluator {
    Rollout,
    Guided,
    Uniform,
    Net(Arc<Engine>),
}

fn leaf_evaluator<G: Game>(
    options: &Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> Result<LeafEvaluator, NameError> {
    Ok(match options.text("weights")?.unwrap_or("rollout") {
        "rollout" => LeafEvaluator::Rollout,
        "guided" => LeafEvaluator::Guided,
        "uniform" => LeafEvaluator::Uniform,
        weights => LeafEvaluator::Net(context.engine(options, weights)?),
    })
}

/// The search configuration from the options, except for its size.
fn config<G: Game>(
    options: &Options<'_>,
    leaf_evaluator: &LeafEvaluator,
    game: &G,
) -> Result<SearchConfig, NameError> {
    let range = match leaf_evaluator {
        LeafEvaluator::Net(engine) => Some(engine.spec().architecture.value_range()),
        LeafEvaluator::Rollout | LeafEvaluator::Guided | LeafEvaluator::Uniform => None,
    };
    let unbounded = range.map_or(game.players() == 1, |range| range == ValueRange::Unbounded);
    let returns = options.flag("returns")? || unbounded;
    let draw = options.number::<f32>("draw", -1.0..=1.0)?;
    if let Some(draw) = draw
        && returns
        && range != Some(ValueRange::Outcome)
    {
        let remedy = "the player maximises returns, in which no draw counts; leave it out";
        return Err(options.invalid("draw", draw, remedy));
    }
    let objective = if returns { Objective::Returns } else { Objective::Outcome };
    let regret = options.flag("regret")?;
    let defaults = SearchConfig::default();
    Ok(SearchConfig {
        exploration: options.number("c", 0.0..=1e6)?.unwrap_or(defaults.exploration),
        temperature: Temperature::Constant {
            value: options.number("temperature", 0.0..=100.0)?.unwrap_or(0.0),
        },
        gumbel: options.flag("gumbel")?.then(Gumbel::default),
        simultaneous: if regret {
            Simultaneous::RegretMatching { exploration: 0.5 }
        } else {
            defaults.simultaneous
        },
        tremble: options.number("tremble", 0.0..=1.0)?.unwrap_or(defaults.tremble),
        draw: draw.unwrap_or(defaults.draw),
        chance: chance_width(options)?,
        objective,
        value_scale: if returns { ValueScale::Running } else { ValueScale::Raw },
        discount: options
            .number("gamma", 0.01..=1.0)?
            .unwrap_or_else(|| usual_discount::<G>(objective)),
        random_symmetry: matches!(leaf_evaluator, LeafEvaluator::Net(..)),
        leaves_in_flight: match options.number("leaves", 1..=1_024)? {
            Some(leaves) => leaves,
            None => threads(options)? as u32,
        },
        ..defaults
    })
}

/// The treatment of chance: `ignore` where the game can, `sample` (drawn outcomes only) or
/// `enumerate`.
fn chance_width(options: &Options<'_>) -> Result<ChanceWidth, NameError> {
    let default = ChanceWidth::default();
    Ok(match options.text("chance")? {
        None | Some("ignore") => default,
        Some("sample") => ChanceWidth { enumerate: 1, ignore: false, ..default },
        Some("enumerate") => ChanceWidth { ignore: false, ..default },
        Some(other) => {
            return Err(options.invalid("chance", other, "it is enumerate, sample or ignore"));
        }
    })
}

/// The discount of a game's returns, which is also that of a network's values.
fn usual_discount<G: Game>(objective: Objective) -> f32 {
    let is_snake = G::NAME == <snake::Small as Game>::NAME;
    if is_snake && objective == Objective::Returns { snake::DISCOUNT as f32 } else { 1.0 }
}

/// Threads that evaluate leaves.
fn threads(options: &Options<'_>) -> Result<usize, NameError> {
    Ok(options.number("threads", 1..=threads::MOST)?.unwrap_or(1))
}

/// The evaluator, on as many threads as the options say.
fn evaluators<G: Game>(
    options: &Options<'_>,
    leaf_evaluator: &LeafEvaluator,
    game: &G,
    config: &SearchConfig,
) -> Result<Box<dyn Evaluator<G>>, NameError> {
    let threads = threads(options)?;
    if threads == 1 {
        return evaluator(options, leaf_evaluator, game, config);
    }
    // Each thread would have a cache of its own.
    options.exclusive("cache", "threads")?;
    let evaluators = (0..threads).map(|_| evaluator(options, leaf_evaluator, game, config));
    let threaded = Threaded::new(evaluators.collect::<Result<_, _>>()?);
    let threaded = threaded.map_err(|error| options.invalid("threads", threads, error))?;
    Ok(Box::new(threaded))
}

fn evaluator<G: Game>(
    options: &Options<'_>,
    leaf_evaluator: &LeafEvaluator,
    game: &G,
    config: &SearchConfig,
) -> Result<Box<dyn Evaluator<G>>, NameError> {
    let slots = options.number("cache", 1..=1 << 24_usize)?;
    if let Some(slots) = slots {
        if !matches!(leaf_evaluator, LeafEvaluator::Net(..)) {
            return Err(options.invalid(
                "cache",
                slots,
                "it caches a network's evaluations; name weights of a network or leave it out",
            ));
        }
        let most = MEMORY / Cached::<G, NetEvaluator>::slot_bytes(game);
        if slots > most {
            return Err(options.invalid(
                "cache",
                slots,
                format_args!("at most {most} positions of this game fit its memory"),
            ));
        }
    }
    let rollout = Rollout::for_objective(config.objective, config.discount).with_draw(config.draw);
    Ok(match leaf_evaluator {
        LeafEvaluator::Rollout => Box::new(rollout),
        LeafEvaluator::Guided => Box::new(rollout.guided()),
        LeafEvaluator::Uniform => Box::new(Uniform),
        LeafEvaluator::Net(engine) => {
            let engine = Arc::clone(engine);
            let net = NetEvaluator::new(options.name(), engine, game)?.with_draw(config.draw);
            match slots {
                Some(slots) => Box::new(Cached::new(net, slots)),
                None => Box::new(net),
            }
        }
    })
}

/// Nodes that fit so many bytes.
fn nodes_that_fit(bytes: usize, node_bytes: usize) -> u32 {
    (bytes / node_bytes.max(1)).clamp(1 << 10, 1 << 24) as u32
}

/// Number of trees of so many simulations that fit their [`SHARE`] together.
fn trees_that_fit(node_bytes: usize, simulations: u32) -> usize {
    let tree = (simulations as usize).saturating_mul(node_bytes);
    (SHARE / tree.max(1)).clamp(1, BATCH)
}

/// The limit that ends a search.
#[derive(Debug)]
enum Budget {
    /// The simulations of the configuration.
    Simulations,
    /// A time per move.
    Time(Duration, Arc<dyn Clock>),
}

impl Budget {
    /// When a search that starts now has to end; `None` without a time limit.
    fn end(&self) -> Option<Duration> {
        match self {
            Self::Simulations => None,
            Self::Time(time, clock) => Some(clock.monotonic().saturating_add(*time)),
        }
    }
}

/// Monte Carlo tree search as a player. See the [module](self).
#[derive(Debug)]
struct Mcts<G: Game> {
    name: String,
    scheduler: Scheduler<G>,
    config: SearchConfig,
    /// One per request of the current chunk, at most `trees`.
    searches: Vec<Search<G>>,
    /// Trees for games without one.
    spare: Vec<Search<G>>,
    /// The trees of games in progress; `None` if every move starts a new tree.
    kept: Option<KeptTrees<G>>,
    evaluator: Box<dyn Evaluator<G>>,
    budget: Budget,
    /// Most leaves between two readings of the clock.
    leaves_per_poll: usize,
    /// Trees searched together.
    trees: usize,
}

impl<G: Game> Mcts<G> {
    /// A search that has started at the position of a request: that of its game, if there is one.
    fn started(&mut self, game: &G, request: &mut Request<'_, G>) -> Option<Search<G>> {
        let rng = request.rng.fork();
        let place = request.game.map(|game| (game, request.player));
        let kept = self.kept.as_mut().zip(place).and_then(|(kept, place)| kept.take(place));
        let is_kept = kept.is_some();
        let mut search = match kept.or_else(|| self.spare.pop()) {
            // At the start of a game, the tree under its number is that of an earlier game.
            Some(mut kept) if is_kept && game.elapsed(request.state) > 0 => {
                kept.resume(game, request.state, rng);
                return Some(kept);
            }
            Some(search) => search,
            None => Search::new(self.config.clone(), game).ok()?,
        };
        search.start(game, request.state, rng);
        Some(search)
    }

    /// Keeps the tree of a request that names its game.
    fn keep(&mut self, request: &Request<'_, G>, search: Search<G>) {
        match (&mut self.kept, request.game) {
            (Some(kept), Some(game)) => {
                let dropped = kept.put((game, request.player), search);
                self.reuse(dropped);
            }
            _ => self.spare.push(search),
        }
    }

    /// Keeps unneeded trees for reuse of their memory, at most `self.trees`.
    fn reuse(&mut self, trees: Vec<Search<G>>) {
        self.spare.extend(trees);
        self.spare.truncate(self.trees);
    }

    /// Searches a chunk of requests, at most `trees`.
    fn search(&mut self, game: &G, requests: &mut [Request<'_, G>]) {
        // Finding the position in a kept tree takes part of the time.
        let end = self.budget.end();
        for request in requests {
            let Some(search) = self.started(game, request) else { return };
            self.searches.push(search);
        }
        let searches = &mut self.searches[..];
        match (&self.budget, end) {
            (Budget::Time(_, clock), Some(end)) => {
                let mut poller = ClockPoller::new(clock.monotonic(), self.leaves_per_poll);
                loop {
                    let step = self.scheduler.step(game, searches, self.evaluator.as_mut());
                    if step.is_idle() {
                        break;
                    }
                    if poller.is_due(step) {
                        let now = clock.monotonic();
                        if now >= end {
                            break;
                        }
                        poller.record_poll(now);
                    }
                }
            }
            _ => self.scheduler.run(game, searches, self.evaluator.as_mut()),
        }
    }
}

impl<G: Game> Player<G> for Mcts<G> {
    fn name(&self) -> &str {
        &self.name
    }

    fn batches(&self) -> bool {
        self.trees > 1
    }

    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        for chunk in requests.chunks_mut(self.trees) {
            self.search(game, chunk);
            let searches = std::mem::take(&mut self.searches);
            for (request, mut search) in chunk.iter().zip(searches) {
                choices.push(choice(&search.decide(game), request.player));
                self.keep(request, search);
            }
        }
    }

    /// Drops the trees of the game, whose number may be used for another one.
    fn game_ended(&mut self, _game: &G, number: u64, _state: &G::State) {
        let ended = self.kept.as_mut().map(|kept| kept.take_game(number));
        self.reuse(ended.unwrap_or_default());
    }
}

/// The choice of one seat. A seat that is not to move gets action 0, which a
/// [`GameBatch`](crate::GameBatch) refuses.
fn choice(decision: &SearchResult, player: usize) -> Choice {
    let seat = decision.seats.iter().find(|seat| seat.player == player);
    seat.map_or(Choice { action: Action(0), probability: 1.0 }, |seat| Choice {
        action: seat.action,
        probability: seat.probability.min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use ouro_game::tic_tac_toe::{self, TicTacToe};

    use super::*;

    fn discount<G: Game>(name: &str, config: G::Config) -> f32 {
        let game = G::new(config).expect("in range");
        let options = Options::parse(name).expect("it is well-formed");
        super::config(&options, &LeafEvaluator::Rollout, &game).expect("in range").discount
    }

    #[test]
    fn returns_of_snake_are_discounted_as_the_game_is_scored() {
        let small = || snake::Config { size: 4, ..snake::Config::default() };
        let large = || snake::Config { size: 10, ..snake::Config::default() };
        assert_eq!(discount::<snake::Small>("mcts{sims=1}", small()), 0.98);
        assert_eq!(discount::<snake::Large>("mcts{sims=1}", large()), 0.98);
        assert_eq!(discount::<snake::Small>("mcts{sims=1,gamma=0.9}", small()), 0.9);
        let config = || tic_tac_toe::Config {};
        assert_eq!(discount::<TicTacToe>("mcts{sims=1}", config()), 1.0);
        assert_eq!(discount::<TicTacToe>("mcts{sims=1,returns}", config()), 1.0);
    }
}
