//! Random games and random crowded positions for the property tests.

use std::collections::BTreeSet;

use ouro_game::Rng;
use ouro_game::battlesnake::{Cause, Config, Death, Map, Point, Position, Ruleset, Snake};
use proptest::prelude::*;

/// All rulesets.
pub(crate) const RULESETS: [Ruleset; 6] = [
    Ruleset::Standard,
    Ruleset::Solo,
    Ruleset::Royale,
    Ruleset::Wrapped,
    Ruleset::Constrictor,
    Ruleset::WrappedConstrictor,
];

/// Configurations of every ruleset, map, board and number of snakes; half of them start in the
/// middle of a crowded game. Not all can be placed.
pub(crate) fn configs() -> impl Strategy<Value = Config> {
    let side = || prop_oneof![3 => 3_u8..=8, 2 => 9_u8..=12, 1 => 13_u8..=25];
    (
        (0..RULESETS.len(), 0..3_usize, side(), side(), any::<bool>(), 1_u8..=16),
        (
            0_u8..=100,
            0_u16..=6,
            -30_i16..=60,
            1_u32..=12,
            any::<bool>(),
            any::<bool>(),
            any::<u64>(),
        ),
    )
        .prop_map(|((ruleset, map, width, side, square, snakes), rest)| {
            let (chance, minimum, damage, every, solo, middle, seed) = rest;
            let mut config = Config {
                ruleset: RULESETS[ruleset],
                map: [Map::Standard, Map::Empty, Map::Royale][map],
                solo,
                width,
                height: if square { width } else { side },
                snakes,
                food_spawn_chance: chance,
                minimum_food: minimum,
                hazard_damage_per_turn: damage,
                shrink_every_n_turns: every,
                ..Config::default()
            };
            if middle {
                let start = crowded(&config, &mut Rng::new(seed, "crowded"));
                config.snakes = start.snakes.len() as u8;
                config.start = Some(start);
            }
            config
        })
}

/// A position in the middle of a game: short and long snakes, stacked tails, low health,
/// stacked food and hazards, hazards off the board, snakes long dead.
fn crowded(config: &Config, rng: &mut Rng) -> Position {
    let (width, height) = (i32::from(config.width), i32::from(config.height));
    let any_cell = |rng: &mut Rng| Point {
        x: rng.below(width as u32) as i32,
        y: rng.below(height as u32) as i32,
    };
    let turn = 1 + rng.below(40);
    let mut taken = BTreeSet::new();
    let mut snakes = Vec::new();
    for _ in 0..config.snakes {
        let head = any_cell(rng);
        let most = if rng.below(2) == 0 { 4 } else { 100 };
        let health = 1 + rng.below(most) as i32;
        if taken.contains(&head) {
            let death = Death { cause: Cause::WallCollision, by: None, on: 1 + rng.below(turn) };
            snakes.push(Snake { health, body: vec![head; 3], death: Some(death) });
            continue;
        }
        let mut body = vec![head];
        taken.insert(head);
        let longest = if rng.below(4) == 0 { 1 } else { 9 };
        for _ in 0..rng.below(longest) {
            let last = body[body.len() - 1];
            let (dx, dy) = [(0, 1), (0, -1), (-1, 0), (1, 0)][rng.below(4) as usize];
            let mut next = Point { x: last.x + dx, y: last.y + dy };
            if matches!(config.ruleset, Ruleset::Wrapped | Ruleset::WrappedConstrictor) {
                next = Point { x: (next.x + width) % width, y: (next.y + height) % height };
            }
            let inside = (0..width).contains(&next.x) && (0..height).contains(&next.y);
            if inside && taken.insert(next) {
                body.push(next);
            }
        }
        let tail = body[body.len() - 1];
        body.extend(std::iter::repeat_n(tail, rng.below(4) as usize));
        snakes.push(Snake { health, body, death: None });
    }
    let several = |rng: &mut Rng, most: u32| -> Vec<Point> {
        (0..rng.below(most)).map(|_| any_cell(rng)).collect()
    };
    let mut food = several(rng, 6);
    food.extend_from_within(..food.len().min(2));
    // Food next to a head, sometimes under a body.
    let beside = |head: Point| Point { x: head.x, y: (head.y + 1).min(height - 1) };
    food.extend(snakes.iter().take(2).map(|snake: &Snake| beside(snake.body[0])));
    let mut hazards = several(rng, 12);
    hazards.extend_from_within(..);
    hazards.push(Point { x: -1, y: 0 });
    let shrunk = if turn > 4 { [1, 0, rng.below(2) as u16, 0] } else { [0; 4] };
    let (width, height) = (config.width, config.height);
    Position { width, height, turn, snakes, food, hazards, shrunk }
}
