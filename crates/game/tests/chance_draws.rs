//! Random draws of the Battlesnake engine obey the rules of the conformance checker, which shares
//! no code with the engine.

use ouro_game::battlesnake::conform::{check_placement, check_spawn};
use ouro_game::battlesnake::{
    Battlesnake, Cell, Config, DeadBodies, Large, Map, Pending, Position, Ruleset, Small, State,
};
use ouro_game::{Action, Game, Rng, Turn};

const RULESETS: [Ruleset; 6] = [
    Ruleset::Standard,
    Ruleset::Solo,
    Ruleset::Royale,
    Ruleset::Wrapped,
    Ruleset::Constrictor,
    Ruleset::WrappedConstrictor,
];

/// Boards by width, height and snakes: every way of placing both.
const BOARDS: [(u8, u8, u8); 14] = [
    (3, 3, 2),
    (4, 3, 3),
    (6, 6, 8),
    (7, 7, 1),
    (7, 7, 4),
    (7, 7, 5),
    (7, 7, 10),
    (8, 8, 2),
    (10, 10, 6),
    (11, 11, 4),
    (11, 11, 8),
    (11, 11, 16),
    (13, 9, 5),
    (25, 25, 16),
];

fn configs() -> impl Iterator<Item = Config> {
    BOARDS.into_iter().flat_map(|(width, height, snakes)| {
        RULESETS.into_iter().flat_map(move |ruleset| {
            [Map::Standard, Map::Empty, Map::Royale].map(move |map| Config {
                ruleset,
                map,
                solo: snakes == 1,
                width,
                height,
                snakes,
                ..Config::default()
            })
        })
    })
}

fn position<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
) -> Position {
    game.position(state, &DeadBodies::new(game.players()))
}

fn check_setups<C: Cell, const W: usize, const S: usize>(game: &Battlesnake<C, W, S>) {
    let config = game.config();
    // Constrictor games start without the food that their map placed.
    let map = if config.ruleset.is_constrictor() { Map::Empty } else { config.map };
    for seed in 0..50 {
        let setup = position(game, &game.initial(&mut Rng::new(seed, "setup")));
        if let Err(problem) = check_placement(map, &setup) {
            panic!("{problem}: {config:?}, seed {seed}");
        }
    }
}

/// Plays at random and checks the food of every turn; returns the turns played.
fn check_food<C: Cell, const W: usize, const S: usize>(game: &Battlesnake<C, W, S>) -> u32 {
    let mut rng = Rng::new(7, "food");
    let mut turns = 0;
    for _ in 0..3 {
        let mut state = game.initial(&mut rng);
        while turns < 60 && matches!(game.turn(&state), Turn::Move(_)) {
            let actions: Vec<Action> = (0..game.players()).map(|_| Action(rng.below(4))).collect();
            game.step(&mut state, &actions).expect("any move of a living snake is legal");
            let before = position(game, &state);
            if game.turn(&state) == Turn::Chance && pending(&state) == Pending::Shrink {
                game.apply_chance(&mut state, rng.below(4)).expect("a board has four sides");
            }
            game.settle(&mut state, &mut rng);
            let food = position(game, &state).food;
            let (old, new) = food.split_at(before.food.len());
            assert_eq!(old, before.food, "food that lay there stays in order");
            if let Err(problem) = check_spawn(game.config(), &before, new) {
                panic!("{problem}: {:?}", game.config());
            }
            turns += 1;
        }
    }
    turns
}

/// The pending chance of a state, from its public form.
fn pending<C: Cell, const W: usize, const S: usize>(state: &State<C, W, S>) -> Pending {
    let json = serde_json::to_value(state).expect("states serialise");
    serde_json::from_value(json["pending"].clone()).expect("what was written can be read")
}

#[test]
fn set_ups_are_ones_that_the_official_map_could_make() {
    for config in configs() {
        check_setups(&Large::new(config.clone()).expect("the configuration is playable"));
        if Small::fits(&config) {
            check_setups(&Small::new(config).expect("the configuration is playable"));
        }
    }
}

#[test]
fn new_food_is_food_that_the_official_map_could_add() {
    let mut turns = 0;
    for (chance, minimum) in [(0, 0), (1, 0), (15, 1), (100, 0), (50, 7), (0, 600)] {
        for config in configs() {
            let config =
                Config { food_spawn_chance: chance, minimum_food: minimum, ..config.clone() };
            turns +=
                check_food(&Large::new(config.clone()).expect("the configuration is playable"));
            if Small::fits(&config) {
                turns += check_food(&Small::new(config).expect("the configuration is playable"));
            }
        }
    }
    assert!(turns > 5_000, "only {turns} turns were played");
}
