//! `greedy`: food, room, and no death that it can see.

use ouro_game::battlesnake::{Cause, Config, Point, Position, Ruleset, Small, Snake};
use ouro_game::{Action, Game, Rng, Turn};

use crate::support::{action, play, player, won};

fn snake(health: i32, body: &[(i32, i32)]) -> Snake {
    let body = body.iter().map(|&cell| Point::from(cell)).collect();
    Snake { health, body, death: None }
}

/// The move of snake 0.
fn moved(
    ruleset: Ruleset,
    snakes: Vec<Snake>,
    food: &[(i32, i32)],
    hazards: &[(i32, i32)],
) -> String {
    let points = |cells: &[(i32, i32)]| cells.iter().map(|&cell| Point::from(cell)).collect();
    let position = Position {
        width: 7,
        height: 7,
        turn: 10,
        food: points(food),
        hazards: points(hazards),
        shrunk: [0; 4],
        snakes,
    };
    let config = Config {
        ruleset,
        width: 7,
        height: 7,
        snakes: position.snakes.len() as u8,
        start: Some(position),
        ..Config::default()
    };
    let game = Small::new(config).unwrap();
    let state = game.initial(&mut Rng::new(1, "game"));
    game.action_name(action(player("greedy", &game).as_mut(), &game, &state, 0))
}

#[test]
fn it_goes_to_the_nearest_food() {
    let alone = |food: &[(i32, i32)]| {
        moved(Ruleset::Solo, vec![snake(90, &[(3, 3), (3, 2), (3, 1)])], food, &[])
    };
    assert_eq!(alone(&[(0, 3), (5, 3)]), "right");
    assert_eq!(alone(&[(1, 3), (5, 5)]), "left");
    assert_eq!(alone(&[(3, 6)]), "up");
}

#[test]
fn it_walks_around_bodies_and_across_joined_edges() {
    // Food right behind its own neck: the way round is free by the time it gets there.
    let body = [(3, 3), (3, 2), (2, 2), (1, 2), (0, 2)];
    let step = moved(Ruleset::Solo, vec![snake(90, &body)], &[(4, 2)], &[]);
    assert_eq!(step, "right");
    let edge = vec![snake(90, &[(0, 3), (1, 3), (2, 3)])];
    assert_eq!(moved(Ruleset::Wrapped, with_rival(edge), &[(6, 3)], &[]), "left");
}

/// A short rival far from everything.
fn with_rival(mut snakes: Vec<Snake>) -> Vec<Snake> {
    snakes.push(snake(90, &[(6, 6), (5, 6), (4, 6)]));
    snakes
}

#[test]
fn it_does_not_dispute_a_cell_with_a_snake_that_is_not_shorter() {
    let meet = |own: &[(i32, i32)]| {
        let snakes = vec![snake(90, own), snake(90, &[(5, 3), (6, 3), (6, 2), (6, 1)])];
        moved(Ruleset::Standard, snakes, &[(4, 3)], &[])
    };
    assert_ne!(meet(&[(3, 3), (2, 3), (1, 3), (0, 3)]), "right", "equals would both die");
    assert_eq!(meet(&[(3, 3), (2, 3), (1, 3), (0, 3), (0, 2)]), "right", "the longer may");
}

#[test]
fn it_does_not_follow_food_into_a_pocket_that_is_too_small() {
    // Up is a corner of three cells with food, closed by the body of a long rival.
    let rival = [(3, 5), (2, 5), (2, 6), (2, 6), (2, 6), (2, 6), (2, 6), (2, 6), (2, 6), (2, 6)];
    let own: Vec<(i32, i32)> = (0..7).map(|x| (x, 4)).collect();
    let snakes = vec![snake(90, &own), snake(90, &rival)];
    let step = moved(Ruleset::Standard, snakes, &[(0, 6)], &[]);
    assert_eq!(step, "down");
}

#[test]
fn it_keeps_out_of_a_hazard_that_would_kill_it_and_pays_for_food_in_one() {
    let own = |health| vec![snake(health, &[(3, 3), (3, 2), (3, 1)])];
    let hazard = [(3, 4), (3, 5)];
    assert_ne!(moved(Ruleset::Solo, own(10), &[(3, 6)], &hazard), "up");
    // Through both hazards is shorter, but costs 30 health instead of 4 more steps.
    assert_ne!(moved(Ruleset::Solo, own(90), &[(3, 6)], &hazard), "up");
    assert_eq!(moved(Ruleset::Solo, own(90), &[(3, 4)], &hazard), "up", "food shields");
}

/// Without a free cell, the body of a snake that starves is the way out.
#[test]
fn it_moves_into_the_body_of_a_starving_snake_rather_than_into_its_own() {
    let shut_in = snake(90, &[(0, 0), (0, 1), (0, 2)]);
    let starving = snake(1, &[(1, 1), (1, 0), (2, 0), (3, 0)]);
    assert_eq!(moved(Ruleset::Standard, vec![shut_in, starving], &[], &[]), "right");
}

#[test]
fn without_food_it_moves_to_the_most_room() {
    // Tails that stay put keep the board divided.
    let mut own = vec![(2, 3), (2, 2), (2, 1)];
    own.extend([(2, 0); 20]);
    let mut wall = vec![(2, 6), (2, 5)];
    wall.extend([(2, 4); 20]);
    let snakes = vec![snake(90, &own), snake(90, &wall)];
    assert_eq!(moved(Ruleset::Standard, snakes, &[], &[]), "right");
}

#[test]
fn where_every_snake_grows_it_expects_no_tail_to_move() {
    // Two bodies divide the board; a tail that moved away would join both sides again.
    let divided = |x: i32| {
        let own = [(x, 3), (x, 2), (x, 1), (x, 0), (x, 0)];
        let wall = [(x, 6), (x, 5), (x, 4), (x, 4)];
        moved(Ruleset::Constrictor, vec![snake(100, &own), snake(100, &wall)], &[], &[])
    };
    assert_eq!([divided(2), divided(4)], ["right", "left"]);
}

#[test]
fn it_dies_only_in_disputes_or_where_every_move_is_deadly() {
    let mut deaths = 0;
    for (ruleset, snakes) in
        [(Ruleset::Standard, 2), (Ruleset::Wrapped, 4), (Ruleset::Royale, 4), (Ruleset::Solo, 1)]
    {
        let config = Config { ruleset, snakes, shrink_every_n_turns: 10, ..Config::default() };
        let game = Small::new(config).unwrap();
        let mut greedy = player("greedy", &game);
        for seed in 0..30 {
            let mut rng = Rng::new(seed, "game");
            let mut state = game.initial(&mut rng);
            for _ in 0..300 {
                let Turn::Move(movers) = game.turn(&state) else { break };
                let before = state;
                let mut actions = [Action(0); 8];
                for seat in movers.iter() {
                    actions[seat] = action(greedy.as_mut(), &game, &state, seat);
                }
                game.advance(&mut state, &actions[..usize::from(snakes)], &mut rng).unwrap();
                for seat in movers.iter().filter(|&seat| !state.is_alive(seat)) {
                    deaths += 1;
                    let cause = state.death(seat).unwrap().cause;
                    let ahead = game.geometry().ahead(before.head(seat));
                    let health = i32::from(before.health(seat));
                    let survivable = (0..4).any(|direction| {
                        let cell = usize::from(ahead[direction]);
                        game.safe_moves(&before, seat) >> direction & 1 == 1
                            && (before.food_cells().contains(cell)
                                || health > game.move_cost(&before, cell))
                    });
                    assert!(
                        cause == Cause::HeadCollision || !survivable,
                        "seat {seat}, {cause:?}, {:?}\n{}",
                        actions[seat],
                        game.render(&before)
                    );
                }
            }
        }
    }
    assert!(deaths > 100, "{deaths} deaths");
}

#[test]
fn it_beats_random_play() {
    let game = Small::new(Config { snakes: 2, ..Config::default() }).unwrap();
    let finished = play(&game, &["greedy", "random"], 20);
    assert!(won(&finished) >= 39, "won {} of 40", won(&finished));
}
