//! Features: a position as a short vector, for networks that evaluate each leaf of a fast search.
//!
//! Features are what a snake needs to know about space, food and rivals. They do not change under the
//! symmetries of the board. A vector has the block of the snake itself, then those of its two most
//! important rivals, as far as the game has them, then the features of the pair. The first rival is
//! the one with the most territory, the second the nearest other one. The block of a rival that does
//! not exist is 0. Territory and rounds are those of the [`flood`](fn@super::flood) over
//! [`ROUNDS`] rounds. Distances and neighbours reach across joined edges, except in features 25 and
//! 26, which are those of a plain board.
//!
//! | block of a snake | content |
//! |---|---|
//! | 0 | territory / cells of the board |
//! | 1 to 12 | cells that it reaches first in round 1 to 12, / 10 |
//! | 13, 14 | the same for rounds 13 to 20 together, and for later ones |
//! | 15 | food in its territory / 4, cut at 2 |
//! | 16, 17 | 1 / moves to the nearest food in its territory; 1 if there is any |
//! | 18 | health / 100 |
//! | 19 | (health − moves to that food) / 50; (health − 40) / 50 without any |
//! | 20 | 1 if health is below 30 |
//! | 21 | length / 32 |
//! | 22, 23 | 1 if it has at most one safe move; 1 if it has two |
//! | 24 | 1 if its territory touches its tail |
//! | 25 | moves from its head to the nearest edge / 5 |
//! | 26 | distance of its head from the centre along both axes, as a share of the largest |
//! | 27 | (territory − length) / 32, cut at −1 and 1 |
//! | 28 | hazards in its territory / cells of the board |
//! | 29 | cells of its territory next to that of a rival, / 10 |
//! | 30 | free cells that are connected with its head / 60 |
//! | 31 | moves to the farthest of them / 20: 1 to [`SPACE_STEPS`] moves; 1 if no cell is free |
//! | 32 | those of them that are next to a body / 40 |
//!
//! | features of the pair | content |
//! |---|---|
//! | 0 to 2 | lead in length over the longest rival / 8, cut at −1.5 and 1.5; 1 if longer; 1 if equal |
//! | 3, 4 | 1 if longer than the first rival; 1 if equal |
//! | 5 | distance of the two heads / 20 |
//! | 6 to 8 | 1 if it is even; 1 if it is 2; 1 if it is at most 4 |
//! | 9 | share of own territory in all territory; 0.5 if there is none |
//! | 10 | territory of all rivals / cells of the board |
//! | 11 | occupied cells / cells of the board |
//! | 12 | food / 8 |
//! | 13 | rivals / 3 |

use super::flood::{Territory, flood_each};
use super::rules::Battlesnake;
use super::state::{Cell, State};
use crate::game::PlaneShape;
use crate::grid::Bits;

/// Rounds of the flood.
pub const ROUNDS: u32 = 64;
/// Most steps in the measure of connected space.
pub const SPACE_STEPS: u32 = 40;

/// Features of one snake.
const OF_SNAKE: usize = 33;
/// Features of the pair.
const OF_PAIR: usize = 14;
/// Most rivals with a block of their own.
const RIVALS: usize = 2;
/// Territory by round: one number for each of the first rounds, and two for later ones.
const RINGS: usize = 14;

/// What the features of all snakes are derived from.
struct Survey<const W: usize, const S: usize> {
    territory: Territory<W, S>,
    counts: [u32; S],
    rings: [[u32; RINGS]; S],
    /// Territory of all snakes.
    all: Bits<W>,
    /// Cells without a body.
    free: Bits<W>,
    /// Cells next to a body.
    near_bodies: Bits<W>,
}

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    pub(super) fn feature_shape(&self) -> PlaneShape {
        let rivals = usize::from(self.config.snakes).saturating_sub(1).min(RIVALS);
        PlaneShape { channels: OF_SNAKE * (1 + rivals) + OF_PAIR, height: 1, width: 1 }
    }

    /// Writes the features of a snake. They are 0 for a snake that is dead.
    pub(super) fn write_features(&self, state: &State<C, W, S>, player: usize, out: &mut [f32]) {
        out.fill(0.0);
        if !state.is_alive(player) {
            return;
        }
        let survey = self.survey(state);
        let (blocks, pair) = out.split_at_mut(out.len().saturating_sub(OF_PAIR));
        let mut blocks = blocks.chunks_exact_mut(OF_SNAKE);
        let rivals = self.rivals(state, &survey, player);
        let shown = [Some(player), rivals[0], rivals[1]];
        for (snake, block) in shown.into_iter().zip(&mut blocks) {
            if let (Some(snake), Ok(block)) = (snake, block.try_into()) {
                self.describe(state, &survey, snake, block);
            }
        }
        if let Ok(pair) = pair.try_into() {
            self.compare(state, &survey, player, rivals[0], pair);
        }
    }

    fn survey(&self, state: &State<C, W, S>) -> Survey<W, S> {
        let mut rings = [[0; RINGS]; S];
        let territory = flood_each(self, state, ROUNDS, |round, snake, won| {
            let ring = match round as usize {
                round @ 1..=12 => round - 1,
                13..=20 => 12,
                _ => 13,
            };
            rings[snake][ring] += won.count();
        });
        let (mut counts, mut all) = ([0; S], Bits::EMPTY);
        for snake in state.living() {
            counts[snake] = rings[snake].iter().sum();
            all |= territory.cells[snake];
        }
        let occupied = state.occupied();
        let free = self.geometry.board().without(occupied);
        let near_bodies = self.geometry.spread(occupied);
        Survey { territory, counts, rings, all, free, near_bodies }
    }

    /// The rival with the most territory, and the nearest of the others.
    fn rivals(
        &self,
        state: &State<C, W, S>,
        survey: &Survey<W, S>,
        player: usize,
    ) -> [Option<usize>; RIVALS] {
        let rivals = || state.living().filter(|&snake| snake != player);
        // Of equals the first, so that the choice does not depend on the order of iteration.
        let first = rivals().min_by_key(|&snake| std::cmp::Reverse(survey.counts[snake]));
        let others = rivals().filter(|&snake| Some(snake) != first);
        [first, others.min_by_key(|&snake| self.apart(state, player, snake))]
    }

    /// Distance of two heads along both axes, across joined edges where that is shorter.
    fn apart(&self, state: &State<C, W, S>, one: usize, other: usize) -> u32 {
        let (one, other) = (self.point_of_head(state, one), self.point_of_head(state, other));
        let [x, y] = [0, 1].map(|axis| one[axis].abs_diff(other[axis]));
        if !self.geometry.is_wrapped() {
            return x + y;
        }
        let (width, height) = (self.geometry.width() as u32, self.geometry.height() as u32);
        // A state of another board may lie beyond the edges of this one.
        x.min(width.saturating_sub(x)) + y.min(height.saturating_sub(y))
    }

    fn point_of_head(&self, state: &State<C, W, S>, snake: usize) -> [u32; 2] {
        let (head, width) = (state.head(snake), self.geometry.width());
        [(head % width) as u32, (head / width) as u32]
    }

    fn describe(
        &self,
        state: &State<C, W, S>,
        survey: &Survey<W, S>,
        snake: usize,
        out: &mut [f32; OF_SNAKE],
    ) {
        let Survey { territory, counts, rings, all, free, near_bodies } = survey;
        let cells = self.geometry.cells() as f32;
        let held = territory.cells[snake];
        let (count, length) = (counts[snake] as f32, f32::from(state.length(snake)));
        out[0] = count / cells;
        for (value, &ring) in out[1..].iter_mut().zip(&rings[snake]) {
            *value = ring as f32 / 10.0;
        }

        let health = f32::from(state.health(snake));
        let food = territory.food_distance[snake].map(|moves| moves as f32);
        out[15] = ((held & territory.food).count() as f32 / 4.0).min(2.0);
        out[16] = food.map_or(0.0, |moves| 1.0 / moves);
        out[17] = flag(food.is_some());
        out[18] = health / 100.0;
        out[19] = (health - food.unwrap_or(40.0)) / 50.0;
        out[20] = flag(health < 30.0);
        out[21] = length / 32.0;

        let safe = self.safe_moves(state, snake).count_ones();
        out[22] = flag(safe <= 1);
        out[23] = flag(safe == 2);
        let tail = state.tail(snake);
        let near_tail = self.geometry.spread_from(tail);
        out[24] = flag(held.contains(tail) || !(held & near_tail).is_empty());
        let (width, height) = (self.geometry.width() as u32, self.geometry.height() as u32);
        let [x, y] = self.point_of_head(state, snake);
        let edge = x.min(y).min((width - 1).saturating_sub(x)).min((height - 1).saturating_sub(y));
        out[25] = edge as f32 / 5.0;
        let off_centre = (2 * x).abs_diff(width - 1) + (2 * y).abs_diff(height - 1);
        out[26] = off_centre as f32 / (width + height - 2) as f32;
        out[27] = ((count - length) / 32.0).clamp(-1.0, 1.0);
        out[28] = (held & territory.hazard).count() as f32 / cells;

        let rivals = self.geometry.spread(all.without(held));
        out[29] = (held & rivals).count() as f32 / 10.0;
        let (space, steps) = self.space(state, snake, free);
        out[30] = space.count() as f32 / 60.0;
        out[31] = steps as f32 / 20.0;
        out[32] = (space & *near_bodies).count() as f32 / 40.0;
    }

    /// Free cells that are connected with a head, as long as no body moves, and the moves to the
    /// farthest.
    fn space(&self, state: &State<C, W, S>, snake: usize, free: &Bits<W>) -> (Bits<W>, u32) {
        let mut space = self.geometry.spread_from(state.head(snake)) & *free;
        for steps in 1..=SPACE_STEPS {
            let next = space | (self.geometry.spread(space) & *free);
            if next == space {
                return (space, steps);
            }
            space = next;
        }
        (space, SPACE_STEPS)
    }

    fn compare(
        &self,
        state: &State<C, W, S>,
        survey: &Survey<W, S>,
        player: usize,
        first: Option<usize>,
        out: &mut [f32; OF_PAIR],
    ) {
        let cells = self.geometry.cells() as f32;
        let rivals = || state.living().filter(|&snake| snake != player);
        let length = state.length(player);
        if let Some(longest) = rivals().map(|snake| state.length(snake)).max() {
            let lead = f32::from(length) - f32::from(longest);
            out[0] = (lead / 8.0).clamp(-1.5, 1.5);
            out[1] = flag(length > longest);
            out[2] = flag(length == longest);
        }
        if let Some(first) = first {
            out[3] = flag(length > state.length(first));
            out[4] = flag(length == state.length(first));
            let apart = self.apart(state, player, first);
            out[5] = apart as f32 / 20.0;
            out[6] = flag(apart.is_multiple_of(2));
            out[7] = flag(apart == 2);
            out[8] = flag(apart <= 4);
        }
        let own = survey.counts[player] as f32;
        let others: u32 = rivals().map(|snake| survey.counts[snake]).sum();
        let others = others as f32;
        out[9] = if own + others > 0.0 { own / (own + others) } else { 0.5 };
        out[10] = others / cells;
        out[11] = state.occupied().count() as f32 / cells;
        out[12] = state.food_cells().count() as f32 / 8.0;
        out[13] = rivals().count() as f32 / 3.0;
    }
}

fn flag(is: bool) -> f32 {
    f32::from(u8::from(is))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;
    use crate::battlesnake::{
        Cause, Config, DeadBodies, Death, Point, Position, Ruleset, Small, Snake,
    };
    use crate::game::Game;

    type Duel = (Small, <Small as Game>::State);

    fn snake(body: &[(i32, i32)], health: i32) -> Snake {
        let body = body.iter().map(|&(x, y)| Point { x, y }).collect();
        Snake { health, body, death: None }
    }

    /// Two snakes on 7×7.
    fn pair(ruleset: Ruleset, snakes: [Snake; 2], food: Vec<Point>) -> Duel {
        let config = Config { ruleset, width: 7, height: 7, snakes: 2, ..Config::default() };
        let game = Small::new(config).unwrap();
        let position = Position {
            width: 7,
            height: 7,
            turn: 9,
            snakes: snakes.into(),
            food,
            hazards: Vec::new(),
            shrunk: [0; 4],
        };
        let state = game.state(&position).unwrap();
        (game, state)
    }

    /// A long snake to the left, a short and hungry one to the right.
    fn duel() -> Duel {
        let left = snake(&[(1, 3), (1, 2), (1, 1), (0, 1), (0, 0)], 90);
        let right = snake(&[(5, 3), (5, 4), (5, 5)], 20);
        pair(Ruleset::Standard, [left, right], vec![Point { x: 6, y: 3 }])
    }

    fn features((game, state): &Duel, player: usize) -> Vec<f32> {
        let mut out = vec![f32::NAN; game.features().unwrap().len()];
        game.observe(state, player, &mut out);
        out
    }

    fn at<const N: usize>(features: &[f32], indices: [usize; N]) -> Vec<f32> {
        indices.map(|index| features[index]).to_vec()
    }

    #[test]
    fn a_position_has_the_documented_features() {
        let [left, right] = [0, 1].map(|player| features(&duel(), player));
        assert_eq!(left.len(), 2 * OF_SNAKE + OF_PAIR);
        // Health, hunger, length.
        assert_eq!(at(&left, [18, 20, 21]), [0.9, 0.0, 5.0 / 32.0]);
        assert_eq!(at(&right, [18, 20, 21]), [0.2, 1.0, 3.0 / 32.0]);
        // The food is one move from the short snake.
        assert_eq!(at(&right, [15, 16, 17, 19]), [0.25, 1.0, 1.0, 19.0 / 50.0]);
        assert_eq!(at(&left, [15, 16, 17, 19]), [0.0, 0.0, 0.0, 50.0 / 50.0]);
        // Three moves are safe for each; the heads are one move from an edge.
        assert_eq!(at(&left, [22, 23, 25]), [0.0, 0.0, 0.2]);
        // In round 1 the long snake reaches three cells.
        assert_eq!(at(&left, [1]), [0.3]);
        for (own, other) in [(&left, &right), (&right, &left)] {
            let cells: f32 = own[1..15].iter().map(|ring| ring * 10.0).sum();
            assert!((cells / 49.0 - own[0]).abs() < 1e-6);
            assert_eq!(own[OF_SNAKE..2 * OF_SNAKE], other[..OF_SNAKE]);
        }
        let [left, right] = [&left, &right].map(|all| &all[2 * OF_SNAKE..]);
        assert_eq!(left[..9], [0.25, 1.0, 0.0, 1.0, 0.0, 0.2, 1.0, 0.0, 1.0]);
        assert_eq!(right[..9], [-0.25, 0.0, 0.0, 0.0, 0.0, 0.2, 1.0, 0.0, 1.0]);
        assert!((left[9] + right[9] - 1.0).abs() < 1e-6);
        assert_eq!(left[11..], [8.0 / 49.0, 1.0 / 8.0, 1.0 / 3.0]);
    }

    #[test]
    fn space_and_distance_reach_across_joined_edges_only() {
        let seen = |ruleset| {
            // Its own body closes all ways of the first snake but the one across the left edge.
            let curled = snake(&[(0, 3), (0, 2), (1, 2), (1, 3), (1, 4), (0, 4)], 90);
            let other = snake(&[(5, 3), (5, 4), (5, 5)], 90);
            let all = features(&pair(ruleset, [curled, other], Vec::new()), 0);
            let of_pair = [5, 6, 7, 8].map(|index| 2 * OF_SNAKE + index);
            [at(&all, [30, 31, 32]), at(&all, of_pair)]
        };
        let [space, distance] = seen(Ruleset::Wrapped);
        assert_eq!(space, [40.0 / 60.0, 7.0 / 20.0, 16.0 / 40.0]);
        assert_eq!(distance, [2.0 / 20.0, 1.0, 1.0, 1.0]);
        let [space, distance] = seen(Ruleset::Standard);
        assert_eq!(space, [0.0, 1.0 / 20.0, 0.0]);
        assert_eq!(distance, [5.0 / 20.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_dead_snake_has_no_features_and_no_rival() {
        let (game, mut state) = duel();
        // The short snake moves off the board in its second turn to the right.
        for action in [Action(3), Action(3)] {
            game.settle(&mut state, &mut crate::Rng::new(1, "food"));
            game.step(&mut state, &[Action(0), action]).unwrap();
        }
        let dead = (game, state);
        assert!(features(&dead, 1).iter().all(|&value| value == 0.0));
        let alone = features(&dead, 0);
        assert!(alone[0] > 0.5);
        assert!(alone[OF_SNAKE..2 * OF_SNAKE].iter().all(|&value| value == 0.0));
    }

    #[test]
    fn two_snakes_left_of_four_have_the_features_of_a_duel() {
        let (duel, state) = duel();
        let two = duel.position(&state, &DeadBodies::new(2));
        let dead = |x| Snake {
            death: Some(Death { cause: Cause::WallCollision, by: None, on: 3 }),
            ..snake(&[(x, 6), (x, 5), (x, 4)], 50)
        };
        let [left, right] = two.snakes.clone().try_into().unwrap();
        let four = Position { snakes: vec![dead(0), left, dead(2), right], ..two };
        let game = Small::new(Config { snakes: 4, ..duel.config().clone() }).unwrap();
        assert_eq!(Small::duel(game.config()), Some(duel.config().clone()));
        let state_of_four = game.state(&four).unwrap();
        let mut out = vec![f32::NAN; duel.features().unwrap().len()];
        let pair = (duel, state);
        for (player, seat) in [(0, 1), (1, 3)] {
            out.fill(f32::NAN);
            pair.0.observe(&state_of_four, seat, &mut out);
            assert_eq!(out, features(&pair, player));
        }
        let solo = Config { solo: true, ..game.config().clone() };
        assert_eq!(Small::duel(&solo), None);
        // The start of a duel is another, but its fixed hazards are part of the rules.
        let start = |hazards| Some(Position { turn: 0, hazards, ..four.clone() });
        let fixed = |hazards| Config { start: start(hazards), ..game.config().clone() };
        assert_eq!(Small::duel(&fixed(vec![])), Some(pair.0.config().clone()));
        assert_eq!(Small::duel(&fixed(vec![Point { x: 3, y: 3 }])), None);
    }

    #[test]
    fn a_vector_has_a_block_for_each_of_two_rivals() {
        for (snakes, blocks) in [(1, 1), (2, 2), (3, 3), (4, 3), (8, 3)] {
            let solo = snakes == 1;
            let game = Small::new(Config { solo, snakes, ..Config::default() }).unwrap();
            assert_eq!(game.features().unwrap().channels, OF_SNAKE * blocks + OF_PAIR);
        }
    }
}
