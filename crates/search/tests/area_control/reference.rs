//! The flood against one that goes cell by cell, and what must hold on any board.

use std::collections::BTreeMap;

use ouro_game::battlesnake::{
    Battlesnake, Cell, Config, DeadBodies, Large, Position, Ruleset, Small, State, WALL,
};
use ouro_game::{Game, Rng, Turn};
use ouro_search::area_control::flood;
use ouro_search::{AreaControl, Heuristic};
use proptest::prelude::*;

const RULESETS: [Ruleset; 6] = [
    Ruleset::Standard,
    Ruleset::Solo,
    Ruleset::Royale,
    Ruleset::Wrapped,
    Ruleset::Constrictor,
    Ruleset::WrappedConstrictor,
];

/// A position of a random game some turns after its start.
fn played<G: Game>(
    game: &G,
    seed: u64,
    turns: u32,
    mut turn: impl FnMut(&mut G::State, &mut Rng),
) -> G::State {
    let mut rng = Rng::new(seed, "position");
    let mut state = game.initial(&mut rng);
    for _ in 0..turns {
        let before = state.clone();
        turn(&mut state, &mut rng);
        if !matches!(game.turn(&state), Turn::Move(_)) {
            return before;
        }
    }
    state
}

/// Who reaches each cell first, and when, by looking at one cell and one snake at a time.
fn owners<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    rounds: u32,
) -> BTreeMap<usize, (Option<usize>, u32)> {
    // The move with which a cell becomes free, if it ever does.
    let mut free: BTreeMap<usize, Option<u32>> = BTreeMap::new();
    for snake in state.living() {
        let stack = u32::from(state.tail_stack(snake));
        for (move_, cell) in (1..).zip(state.trail(snake)) {
            let at = match game.config().ruleset {
                // From the first move on, every tail is repeated after every move.
                Ruleset::Constrictor | Ruleset::WrappedConstrictor => {
                    (move_ == 1 && stack == 0).then_some(1)
                }
                _ => Some(move_ + stack),
            };
            free.insert(cell, at);
        }
    }
    let mut owned: BTreeMap<usize, (Option<usize>, u32)> = BTreeMap::new();
    for round in 1..=rounds {
        let mut claims: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for snake in state.living() {
            let mut sources: Vec<usize> = owned
                .iter()
                .filter(|(_, (owner, _))| *owner == Some(snake))
                .map(|(&cell, _)| cell)
                .collect();
            sources.push(state.head(snake));
            for source in sources {
                for next in game.geometry().ahead(source).into_iter().filter(|&next| next != WALL) {
                    let next = usize::from(next);
                    let open = free.get(&next).is_none_or(|at| at.is_some_and(|at| round >= at));
                    let claimed = claims.entry(next).or_default();
                    if open && !owned.contains_key(&next) && !claimed.contains(&snake) {
                        claimed.push(snake);
                    }
                }
            }
        }
        for (cell, claimants) in claims.into_iter().filter(|(_, claimants)| !claimants.is_empty()) {
            let longest = claimants.iter().map(|&snake| state.length(snake)).max().unwrap();
            let mut first = claimants.into_iter().filter(|&snake| state.length(snake) == longest);
            let owner = first.next().filter(|_| first.next().is_none());
            owned.insert(cell, (owner, round));
        }
    }
    owned
}

fn check<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    rounds: u32,
) {
    let territory = flood(game, state, rounds);
    let owners = owners(game, state, rounds);
    for snake in 0..game.players() {
        let mine = |owner: &Option<usize>| *owner == Some(snake);
        let cells: Vec<usize> =
            owners.iter().filter(|(_, (owner, _))| mine(owner)).map(|(&cell, _)| cell).collect();
        let held: Vec<usize> = territory.cells[snake].iter().collect();
        assert_eq!(held, cells, "snake {snake}\n{}", game.render(state));
        let nearest = owners
            .iter()
            .filter(|(cell, (owner, _))| mine(owner) && state.food_cells().contains(**cell))
            .map(|(_, &(_, round))| round)
            .min();
        assert_eq!(territory.food_distance[snake], nearest, "{}", game.render(state));
    }
}

/// Scores of all players.
fn scores<G: Game>(game: &G, state: &G::State, rounds: u32) -> Vec<f32>
where
    AreaControl: Heuristic<G>,
{
    let mut scores = vec![0.0; game.players()];
    AreaControl { rounds, ..AreaControl::default() }.evaluate(game, state, &mut scores);
    scores
}

/// The state with other healths of the living.
fn with_health<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    healths: &[i32; 8],
) -> State<C, W, S> {
    let mut position = game.position(state, &DeadBodies::new(game.players()));
    for (snake, &health) in position.snakes.iter_mut().zip(healths) {
        if snake.death.is_none() {
            snake.health = health;
        }
    }
    game.state(&position).unwrap()
}

proptest! {
    #[test]
    fn the_flood_equals_the_reference_and_scores_are_in_range(
        ruleset in 0..RULESETS.len(),
        (width, height) in (3_u8..13, 3_u8..13),
        snakes in 1_u8..=8,
        seed: u64,
        turns in 0_u32..40,
        rounds in 0_u32..70,
        healths in proptest::array::uniform8(1..=100),
    ) {
        let ruleset = RULESETS[ruleset];
        let config = Config {
            ruleset, width, height, snakes, shrink_every_n_turns: 5, ..Config::default()
        };
        // Not every board has room for every number of snakes.
        let Ok(large) = Large::new(config.clone()) else { return Ok(()) };
        let state = played(&large, seed, turns, |state, rng| large.random_turn(state, rng));
        let state = with_health(&large, &state, &healths);
        check(&large, &state, rounds);
        let all = scores(&large, &state, rounds);
        for snake in state.living() {
            prop_assert!(0.0 < all[snake] && all[snake] < 1.0, "{:?}", all);
        }
        if Small::fits(&config) {
            let small = Small::new(config).unwrap();
            let state = played(&small, seed, turns, |state, rng| small.random_turn(state, rng));
            let state = with_health(&small, &state, &healths);
            check(&small, &state, rounds);
            prop_assert_eq!(scores(&small, &state, rounds), all, "both size classes say the same");
        }
    }

    #[test]
    fn scores_are_invariant_under_symmetries(
        ruleset in 0..RULESETS.len(),
        snakes in 2_u8..=4,
        seed: u64,
        turns in 0_u32..40,
    ) {
        let config =
            Config { ruleset: RULESETS[ruleset], snakes, ..Config::default() };
        let game = Small::new(config).unwrap();
        let state = played(&game, seed, turns, |state, rng| game.random_turn(state, rng));
        for &symmetry in game.symmetries() {
            let image = game.transform(&state, symmetry);
            prop_assert_eq!(scores(&game, &image, 64), scores(&game, &state, 64));
        }
    }
}

/// A state from its portable form, on its own board.
pub(crate) fn place(ruleset: Ruleset, position: &Position) -> (Small, State<u8, 2, 8>) {
    let config = Config {
        ruleset,
        width: position.width,
        height: position.height,
        snakes: position.snakes.len() as u8,
        start: Some(position.clone()),
        ..Config::default()
    };
    let game = Small::new(config).unwrap();
    let state = game.state(position).unwrap();
    (game, state)
}
