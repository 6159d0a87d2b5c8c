//! Measures what two hints of [`Game`] give tree search near the end of Battlesnake games:
//! [`is_decided`](Game::is_decided) and [`viable`](Game::viable).
//!
//! `cargo run --release -p ouro-bench --example endings -- [games] [seed] [simulations] [draw]`;
//! the defaults are 200, 1, 300 and 0. `draw` is the outcome of a drawn game, −1 in duel presets.
//!
//! Snakes of the player `greedy` with some random moves play `games` games on each board. Searches
//! with the evaluator [`Uniform`] start 1, 2, 3, 4 and 6 turns before the end; 1 is the last joint
//! move. Each search runs with both hints, without one of them and without both, and with each
//! value of the player setting `chance`.
//!
//! The program prints two Markdown tables per board:
//!
//! * The percentage of positions whose root is proven. A shorter game lacks the earlier positions.
//! * The mean percentage of a snake's visits at the root that go to surely fatal moves, which are
//!   legal and not viable. It is 0 if all moves are fatal. A proven root ends the search early.
//!
//! A hint that is off is the trait's default. If chance is ignored, `is_decided` cannot change a
//! search: the search skips the pending food and finds the end of the game behind it.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::error::Error;

use ouro_game::battlesnake::{Config, Small};
use ouro_game::{
    Action, ActionMask, Chance, ConfigError, Game, PlaneShape, PlayerSet, Rng, RolloutBuffer,
    StepError, Symmetry, Turn,
};
use ouro_players::{Greedy, Player, Request};
use ouro_search::mcts::{ChanceWidth, SearchConfigError, SeatResult};
use ouro_search::{Scheduler, Search, SearchConfig, Uniform};

/// Name, side length and snakes of each board.
const BOARDS: [(&str, u8, u8); 3] =
    [("duel, 7×7", 7, 2), ("duel, 11×11", 11, 2), ("four snakes, 11×11", 11, 4)];
/// Turns before the end of a game.
const TURNS: [usize; 5] = [1, 2, 3, 4, 6];
/// Name of each variant, and whether it has `is_decided` and `viable`.
const VARIANTS: [(&str, bool, bool); 4] = [
    ("both hints", true, true),
    ("no `is_decided`", false, true),
    ("no `viable`", true, false),
    ("neither", false, false),
];
/// Values of the player setting `chance`, and their `enumerate` and `ignore`.
const CHANCES: [(&str, u32, bool); 3] =
    [("ignore", 1_024, true), ("enumerate", 1_024, false), ("sample", 1, false)];
/// One in so many moves is a random viable one.
const RANDOM: u32 = 10;

type State = <Small as Game>::State;

/// A game without some of its hints.
#[derive(Clone, Debug)]
struct Without<G> {
    game: G,
    /// Whether the game's own `is_decided` and `viable` are used.
    decided: bool,
    viable: bool,
}

/// Implements methods by those of the inner game.
macro_rules! delegate {
    ($($name:ident($($argument:ident: $kind:ty),*) $(-> $output:ty)?;)*) => {
        $(fn $name(&self, $($argument: $kind),*) $(-> $output)? {
            self.game.$name($($argument),*)
        })*
    };
}

impl<G: Game> Game for Without<G> {
    type Config = G::Config;
    type State = G::State;

    const NAME: &'static str = G::NAME;

    fn new(config: G::Config) -> Result<Self, ConfigError> {
        Ok(Self { game: G::new(config)?, decided: true, viable: true })
    }

    fn is_decided(&self, state: &G::State) -> bool {
        if self.decided { self.game.is_decided(state) } else { self.turn(state) == Turn::Over }
    }

    fn viable(&self, state: &G::State, player: usize, mask: &mut ActionMask) {
        if self.viable {
            self.game.viable(state, player, mask);
        } else {
            self.legal(state, player, mask);
        }
    }

    fn duel(config: &G::Config) -> Option<G::Config> {
        G::duel(config)
    }

    delegate! {
        config() -> &G::Config;
        players() -> usize;
        action_count() -> usize;
        initial(rng: &mut Rng) -> G::State;
        turn(state: &G::State) -> Turn;
        legal(state: &G::State, player: usize, mask: &mut ActionMask);
        movers(state: &G::State, actions: &[Action]) -> Result<PlayerSet, StepError>;
        step(state: &mut G::State, actions: &[Action]) -> Result<(), StepError>;
        chance(state: &G::State) -> Chance;
        chance_probability(state: &G::State, outcome: u32) -> f64;
        sample_chance(state: &G::State, rng: &mut Rng) -> u32;
        apply_chance(state: &mut G::State, outcome: u32) -> Result<(), StepError>;
        skip_chance(state: &mut G::State) -> bool;
        settle(state: &mut G::State, rng: &mut Rng);
        advance(state: &mut G::State, actions: &[Action], rng: &mut Rng) -> Result<(), StepError>;
        rollout(state: &mut G::State, limit: u32, buffer: &mut RolloutBuffer, rng: &mut Rng);
        weigh(state: &G::State, player: usize, legal: &mut ActionMask, weights: &mut [u32]);
        guided_rollout(state: &mut G::State, limit: u32, buffer: &mut RolloutBuffer, rng: &mut Rng);
        alive(state: &G::State) -> PlayerSet;
        collapse_forced() -> bool;
        state_bytes() -> usize;
        elapsed(state: &G::State) -> u32;
        returns(state: &G::State, player: usize) -> f32;
        outcome(state: &G::State, player: usize) -> f32;
        score(state: &G::State, player: usize) -> f32;
        planes() -> PlaneShape;
        earlier_channels() -> &'static [usize];
        features() -> Option<PlaneShape>;
        accepts(planes: PlaneShape) -> bool;
        observe(state: &G::State, player: usize, out: &mut [f32]);
        symmetries() -> &'static [Symmetry];
        transform(state: &G::State, symmetry: Symmetry) -> G::State;
        transform_action(action: Action, symmetry: Symmetry) -> Action;
        render(state: &G::State) -> String;
        action_name(action: Action) -> String;
        digest(state: &G::State) -> u64;
    }
}

/// What one variant's searches found, by turns before the end where there are several figures.
#[derive(Debug, Default)]
struct Found {
    positions: [u32; TURNS.len()],
    proven: [u32; TURNS.len()],
    /// Snakes to move in all positions, and the sum of [`fatal_share`] over them.
    snakes: u32,
    fatal: f64,
}

/// The share of a snake's visits at the root that go to fatal moves.
fn fatal_share(rules: &Small, state: &State, seat: &SeatResult) -> f64 {
    let mut viable = ActionMask::default();
    rules.viable(state, seat.player, &mut viable);
    let moves = seat.actions.iter().zip(&seat.visits);
    let fatal = moves.filter(|(action, _)| !viable.contains(**action)).map(|(_, visits)| visits);
    f64::from(fatal.sum::<u32>()) / f64::from(seat.visits.iter().sum::<u32>().max(1))
}

/// Plays one game and returns the positions before each of its joint moves.
fn play(rules: &Small, mut rng: Rng) -> Result<Vec<State>, StepError> {
    let mut greedy = Greedy::new();
    let mut state = rules.initial(&mut rng);
    let (mut positions, mut choices) = (Vec::new(), Vec::new());
    let mut joint = vec![Action::default(); rules.players()];
    let mut viable = ActionMask::default();
    while let Turn::Move(movers) = rules.turn(&state) {
        positions.push(state);
        for player in movers.iter() {
            joint[player] = if rng.below(RANDOM) == 0 {
                rules.viable(&state, player, &mut viable);
                let draw = rng.below(viable.count() as u32) as usize;
                viable.nth(draw).expect("the draw is below the count")
            } else {
                let request = Request { state: &state, player, rng: &mut rng, game: None };
                greedy.choose(rules, &mut [request], &mut choices);
                choices.pop().expect("one choice per request").action
            };
        }
        rules.advance(&mut state, &joint, &mut rng)?;
    }
    Ok(positions)
}

/// Searches the last positions of all games. All variants search with the same generators.
fn measure(
    game: &Without<Small>,
    config: SearchConfig,
    games: &[Vec<State>],
    seed: u64,
) -> Result<Found, SearchConfigError> {
    let mut search = Search::new(config, game)?;
    let mut scheduler = Scheduler::new(1);
    let mut found = Found::default();
    for (number, positions) in (0..).zip(games) {
        for (row, turns) in TURNS.into_iter().enumerate() {
            let Some(state) = positions.iter().nth_back(turns - 1) else { continue };
            search.start(game, state, Rng::indexed(seed, "search", number));
            scheduler.run(game, std::slice::from_mut(&mut search), &mut Uniform);
            let result = search.decide(game);
            found.positions[row] += 1;
            found.proven[row] += u32::from(result.proven);
            found.snakes += result.seats.len() as u32;
            let shares = result.seats.iter().map(|seat| fatal_share(&game.game, state, seat));
            found.fatal += shares.sum::<f64>();
        }
    }
    Ok(found)
}

fn percent(part: f64, whole: u32) -> String {
    format!(" {:.1} |", 100.0 * part / f64::from(whole.max(1)))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let games: u64 = arguments.next().map_or(Ok(200), |text| text.parse())?;
    let seed = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let simulations = arguments.next().map_or(Ok(300), |text| text.parse())?;
    let draw = arguments.next().map_or(Ok(0.0), |text| text.parse())?;
    let names = VARIANTS.map(|(name, ..)| name).join(" | ");
    for (board, side, snakes) in BOARDS {
        let config = Config { width: side, height: side, snakes, draw, ..Config::default() };
        let rules = Small::new(config)?;
        let play = |game| play(&rules, Rng::indexed(seed, "endings", game));
        let played = (0..games).map(play).collect::<Result<Vec<_>, _>>()?;
        println!("### Battlesnake, {board}: proven roots, %\n");
        println!("| chance | turns before the end | positions | {names} |");
        println!("|---|---|---|---|---|---|---|");
        let mut shares = String::new();
        for (name, enumerate, ignore) in CHANCES {
            let chance = ChanceWidth { enumerate, ignore, ..ChanceWidth::default() };
            let config = SearchConfig { simulations, chance, ..SearchConfig::default() };
            let variant = |(_, decided, viable)| {
                let game = Without { game: rules.clone(), decided, viable };
                measure(&game, config.clone(), &played, seed)
            };
            let columns = VARIANTS.into_iter().map(variant).collect::<Result<Vec<_>, _>>()?;
            for (row, turns) in TURNS.into_iter().enumerate() {
                let cell = |found: &Found| percent(found.proven[row].into(), found.positions[row]);
                let cells: String = columns.iter().map(cell).collect();
                println!("| {name} | {turns} | {} |{cells}", columns[0].positions[row]);
            }
            let cell = |found: &Found| percent(found.fatal, found.snakes);
            let cells: String = columns.iter().map(cell).collect();
            shares += &format!("| {name} |{cells}\n");
        }
        println!("\n### Battlesnake, {board}: visits of fatal moves, %\n");
        println!("| chance | {names} |\n|---|---|---|---|---|\n{shares}");
    }
    Ok(())
}
