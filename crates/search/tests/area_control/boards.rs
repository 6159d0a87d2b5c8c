//! Boards drawn by hand, and what each snake holds on them.

use ouro_game::battlesnake::{Point, Position, Ruleset, Snake};
use ouro_game::{ActionMask, Game, Turn};
use ouro_search::area_control::flood;
use ouro_search::{AreaControl, Heuristic};

use crate::reference::place;

fn snake(health: i32, body: &[(i32, i32)]) -> Snake {
    let body = body.iter().map(|&cell| Point::from(cell)).collect();
    Snake { health, body, death: None }
}

fn position(side: u8, snakes: Vec<Snake>, food: &[(i32, i32)], hazards: &[(i32, i32)]) -> Position {
    let points = |cells: &[(i32, i32)]| cells.iter().map(|&cell| Point::from(cell)).collect();
    let (food, hazards) = (points(food), points(hazards));
    Position { width: side, height: side, turn: 10, snakes, food, hazards, shrunk: [0; 4] }
}

/// Cells that each snake holds.
fn cells(ruleset: Ruleset, position: &Position) -> Vec<u32> {
    let (game, state) = place(ruleset, position);
    let territory = flood(&game, &state, 64);
    (0..game.players()).map(|snake| territory.cells[snake].count()).collect()
}

fn scores(ruleset: Ruleset, position: &Position) -> Vec<f32> {
    scores_by(&mut AreaControl::default(), ruleset, position)
}

fn scores_by(area: &mut AreaControl, ruleset: Ruleset, position: &Position) -> Vec<f32> {
    let (game, state) = place(ruleset, position);
    let mut scores = vec![0.0; game.players()];
    area.evaluate(&game, &state, &mut scores);
    scores
}

/// Two snakes of the same length in the outer columns of a 5 by 5 board, heads in the middle.
fn facing(left: usize, right: usize) -> Vec<Snake> {
    let column = |x: i32, length: usize| {
        let body: Vec<(i32, i32)> = [(x, 2), (x, 1), (x, 0), (x, 0)][..length].to_vec();
        snake(100, &body)
    };
    vec![column(0, left), column(4, right)]
}

#[test]
fn contested_cells_belong_to_the_longer_snake_or_to_none_of_equals() {
    let even = cells(Ruleset::Standard, &position(5, facing(3, 3), &[], &[]));
    assert_eq!(even[0], even[1]);
    assert!(even[0] < 12, "the middle column is nobody's");
    let uneven = cells(Ruleset::Standard, &position(5, facing(4, 3), &[], &[]));
    assert!(uneven[0] >= even[0] + 5 && uneven[1] <= even[1], "{uneven:?} {even:?}");
}

#[test]
fn equal_territory_gives_equal_scores_and_food_decides() {
    let even = scores(Ruleset::Standard, &position(5, facing(3, 3), &[], &[]));
    assert_eq!(even[0], even[1]);
    let fed = scores(Ruleset::Standard, &position(5, facing(3, 3), &[(1, 4)], &[]));
    assert!(fed[0] > even[0] && fed[1] < even[1], "{fed:?}");
    let scorched = scores(Ruleset::Standard, &position(5, facing(3, 3), &[], &[(1, 4)]));
    assert!(scorched[0] < even[0] && scorched[1] > even[1], "{scorched:?}");
}

#[test]
fn a_lead_in_length_counts_as_territory_up_to_its_limit() {
    let by = |length: f32, lead: f32| {
        let mut area = AreaControl { length, lead, ..AreaControl::default() };
        scores_by(&mut area, Ruleset::Standard, &position(5, facing(4, 3), &[], &[]))
    };
    let (none, some, more) = (by(0.0, 10.0), by(20.0, 10.0), by(40.0, 10.0));
    assert_eq!(none, scores(Ruleset::Standard, &position(5, facing(4, 3), &[], &[])));
    assert!(none[0] < some[0] && some[0] < more[0], "{none:?} {some:?} {more:?}");
    assert!(none[1] > some[1] && some[1] > more[1], "{none:?} {some:?} {more:?}");
    // The lead is one cell, of which half counts.
    let (halved, half) = (by(40.0, 0.5), by(20.0, 1.0));
    assert!(halved.iter().zip(&half).all(|(one, other)| (one - other).abs() < 1e-6));
    // Scores stay between those of a draw and of a win.
    let extreme = by(1_000.0, 1_000.0);
    assert!(extreme.iter().all(|score| *score > 0.0 && *score < 1.0), "{extreme:?}");
}

#[test]
fn joined_edges_let_the_flood_through() {
    let plain = position(5, vec![snake(90, &[(0, 0), (0, 1), (0, 2)])], &[(4, 4)], &[]);
    let distance = |ruleset| {
        let (game, state) = place(ruleset, &plain);
        flood(&game, &state, 64).food_distance[0]
    };
    assert_eq!(distance(Ruleset::Solo), Some(8));
    // Left across the edge, then down across the other.
    assert_eq!(distance(Ruleset::Wrapped), Some(2));
}

#[test]
fn territory_behind_a_tail_opens_when_the_tail_has_passed() {
    // A wall of its own body shuts the snake into the left column; its tail is at the top.
    let wall = [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3), (1, 4)];
    let open = position(5, vec![snake(90, &wall)], &[], &[]);
    assert_eq!(cells(Ruleset::Solo, &open)[0], 25, "everything, in time");
    // A tail that stays for six moves shuts the pocket for six rounds, long after it is full.
    let mut stacked = wall.to_vec();
    stacked.extend([(1, 4); 6]);
    let shut = position(5, vec![snake(90, &stacked)], &[], &[]);
    let (game, state) = place(Ruleset::Solo, &shut);
    assert_eq!(flood(&game, &state, 6).cells[0].count(), 4);
    assert_eq!(flood(&game, &state, 64).cells[0].count(), 25);
}

#[test]
fn the_territory_of_an_enclosed_snake_does_not_depend_on_other_regions() {
    // Its tail opens the pocket in round 9; the other one's territory is beyond a wall of its own.
    let mut shut = vec![(0, 0), (1, 0), (1, 1), (0, 1)];
    shut.extend([(0, 1); 8]);
    let held_beside = |other: &[(i32, i32)]| {
        let snakes = vec![snake(90, &shut), snake(90, other)];
        let (game, state) = place(Ruleset::Standard, &position(7, snakes, &[], &[]));
        let territory = flood(&game, &state, 10).cells;
        (territory[0].count(), territory[1].count())
    };
    let mut pocket = vec![(6, 6), (5, 6), (5, 5), (6, 5)];
    pocket.extend([(6, 5); 20]);
    let (beside_a_shut_one, nothing) = held_beside(&pocket);
    assert_eq!(nothing, 0);
    let (beside_a_free_one, much) = held_beside(&[(6, 6), (6, 5), (6, 4)]);
    assert!(much > 30, "{much}");
    assert!(beside_a_shut_one > 0 && beside_a_free_one > 0, "{beside_a_shut_one}");
}

#[test]
fn where_every_snake_grows_bodies_stay_for_good() {
    let wall = [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3), (1, 4)];
    let mut stacked = wall.to_vec();
    stacked.push((1, 4));
    let shut = position(5, vec![snake(100, &stacked)], &[], &[]);
    assert_eq!(cells(Ruleset::Solo, &shut)[0], 25);
    assert_eq!(cells(Ruleset::Constrictor, &shut)[0], 4, "the pocket");
    // A tail that is not stacked yet moves once more.
    let open = position(5, vec![snake(100, &wall)], &[], &[]);
    assert_eq!(cells(Ruleset::Constrictor, &open)[0], 20, "all but the other five of its body");
}

#[test]
fn a_starving_snake_without_food_or_territory_still_scores_above_a_draw() {
    let mut shut = vec![(0, 0), (0, 1), (1, 1), (1, 0)];
    shut.extend([(1, 0); 70]);
    let alone = scores(Ruleset::Solo, &position(5, vec![snake(1, &shut)], &[], &[]));
    assert!(0.0 < alone[0] && alone[0] < 0.1, "{alone:?}");
    let snakes = vec![snake(1, &shut), snake(100, &[(4, 4), (4, 3), (4, 2)])];
    let beside = scores(Ruleset::Standard, &position(5, snakes, &[], &[]));
    assert!(0.0 < beside[0] && beside[0] < 0.1, "{beside:?}");
}

#[test]
fn a_hungry_snake_prefers_food_to_territory() {
    let at = |health, head: (i32, i32), neck, tail| {
        let snakes =
            vec![snake(health, &[head, neck, tail]), snake(100, &[(10, 10), (10, 9), (10, 8)])];
        scores(Ruleset::Standard, &position(11, snakes, &[(0, 0)], &[]))[0]
    };
    let near = |health| at(health, (1, 0), (2, 0), (3, 0));
    let far = |health| at(health, (4, 4), (4, 5), (4, 6));
    assert!(near(59) > far(59), "{} {}", near(59), far(59));
    assert!(near(60) < far(60), "{} {}", near(60), far(60));
    assert!(near(60) > near(59), "being fed is better");
}

#[test]
fn only_moves_into_walls_and_bodies_are_left_out_of_the_search() {
    let boxed = position(
        5,
        vec![
            snake(90, &[(0, 0), (0, 1), (0, 2)]),
            snake(90, &[(1, 1), (1, 0), (2, 0), (3, 0), (3, 0)]),
        ],
        &[],
        &[],
    );
    let (game, state) = place(Ruleset::Standard, &boxed);
    assert!(matches!(game.turn(&state), Turn::Move(_)));
    let mut mask = ActionMask::default();
    let mut candidates = |snake| {
        AreaControl::default().candidates(&game, &state, snake, &mut mask);
        mask.iter().map(|action| game.action_name(action)).collect::<Vec<_>>()
    };
    assert_eq!(candidates(0), ["up"], "shut in, one move stands for all");
    assert_eq!(candidates(1), ["up", "right"]);
}

#[test]
fn without_a_free_cell_the_body_of_a_starving_snake_is_left_in() {
    let snakes = |health| {
        let rival = snake(health, &[(1, 1), (1, 0), (2, 0), (3, 0)]);
        position(7, vec![snake(90, &[(0, 0), (0, 1), (0, 2)]), rival], &[], &[])
    };
    let candidates = |health, player| {
        let (game, state) = place(Ruleset::Standard, &snakes(health));
        let mut mask = ActionMask::default();
        AreaControl::default().candidates(&game, &state, player, &mut mask);
        mask.iter().map(|action| game.action_name(action)).collect::<Vec<_>>()
    };
    assert_eq!(candidates(1, 0), ["right"], "it is removed before collisions");
    assert_eq!(candidates(2, 0), ["up"], "one move stands for all");
    assert_eq!(candidates(1, 1), ["up", "right"], "free cells only");
}
