//! Positions survive conversion to a request and back, and the game that is read equals the game
//! that was sent.

use ouro_game::battlesnake::api::{ApiError, GameState, Host, Identity, Setup};
use ouro_game::battlesnake::{
    Cause, Config, DeadBodies, Death, Large, Map, Point, Position, Ruleset, Small, Snake,
    StateError,
};
use ouro_game::{Action, Game, Rng, Turn};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A snake before it is placed: start, steps, stacked cells, health.
type Walk = ((u8, u8), Vec<u8>, usize, i32);

fn walk() -> impl Strategy<Value = Walk> {
    ((0..25_u8, 0..25_u8), prop::collection::vec(0..4_u8, 0..30), 0..3_usize, 1..=100)
}

fn cells(most: usize) -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((0..25_u8, 0..25_u8), 0..most)
}

prop_compose! {
    /// A valid position under a ruleset without moving hazards, with its configuration.
    fn games()(
        (width, height) in (3..=25_u8, 3..=25_u8),
        turn in 0..2_000_u32,
        ruleset in prop::sample::select(&[
            Ruleset::Standard,
            Ruleset::Solo,
            Ruleset::Wrapped,
            Ruleset::Constrictor,
            Ruleset::WrappedConstrictor,
        ][..]),
        walks in prop::collection::vec(walk(), 1..8),
        food in cells(10),
        hazards in cells(20),
        (food_spawn_chance, minimum_food) in (0..=100_u8, 0..10_u16),
        hazard_damage_per_turn in -100..=100_i16,
        map in prop::sample::select(&[Map::Standard, Map::Empty][..]),
    ) -> Config {
        let on_board = |(x, y): (u8, u8)| Point { x: (x % width).into(), y: (y % height).into() };
        let mut position = Position {
            width,
            height,
            turn,
            snakes: Vec::new(),
            food: food.into_iter().map(on_board).collect(),
            hazards: hazards.into_iter().map(on_board).collect(),
            shrunk: [0; 4],
        };
        let mut taken = Vec::new();
        for (start, steps, stack, health) in walks {
            let start = on_board(start);
            if taken.contains(&start) {
                continue;
            }
            let mut body = vec![start];
            taken.push(start);
            for step in steps {
                let next = ahead(*body.last().unwrap_or(&start), step, &position, ruleset);
                if position.cell_index(next).is_some() && !taken.contains(&next) {
                    taken.push(next);
                    body.push(next);
                }
            }
            body.extend(vec![*body.last().unwrap_or(&start); stack]);
            position.snakes.push(Snake { health, body, death: None });
        }
        Config {
            ruleset,
            map,
            solo: ruleset == Ruleset::Solo || position.snakes.len() < 2,
            width,
            height,
            snakes: u8::try_from(position.snakes.len()).unwrap_or_default(),
            food_spawn_chance,
            minimum_food,
            hazard_damage_per_turn,
            start: Some(position),
            ..Config::default()
        }
    }
}

fn ahead(from: Point, step: u8, position: &Position, ruleset: Ruleset) -> Point {
    let (dx, dy) = [(0, 1), (0, -1), (-1, 0), (1, 0)][usize::from(step)];
    let (x, y) = (from.x + dx, from.y + dy);
    if !ruleset.is_wrapped() {
        return Point { x, y };
    }
    Point { x: x.rem_euclid(position.width.into()), y: y.rem_euclid(position.height.into()) }
}

fn host(snakes: usize) -> Host {
    let identity = |seat: usize| Identity {
        id: format!("id-{seat}"),
        name: format!("Snake \"{seat}\" ☃"),
        latency_ms: 10 * seat as u32,
        ..Identity::default()
    };
    Host {
        game_id: "g".to_owned(),
        timeout_ms: 500,
        source: "custom".to_owned(),
        version: "1".to_owned(),
        snakes: (0..snakes).map(identity).collect(),
    }
}

/// Through JSON and back.
fn sent(host: &Host, config: &Config, position: &Position, seat: usize) -> GameState {
    let request = host.request(config, position, seat).expect("the seat is in the game");
    let json = serde_json::to_vec(&request).expect("requests serialise");
    let read = GameState::parse(&json).expect("own requests are read");
    assert_eq!(read, request);
    read
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        rng_seed: RngSeed::Fixed(2),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_position_survives_the_way_to_a_request_and_back(config in games()) {
        let position = config.start.clone().expect("the strategy sets it");
        prop_assert_eq!(position.validate(config.ruleset.is_wrapped()), Ok(()));
        let host = host(position.snakes.len());
        for seat in 0..position.snakes.len() {
            let Setup { config: read, you, ids, timeout_ms } =
                sent(&host, &config, &position, seat).setup().expect("the position is valid");
            prop_assert_eq!(&read, &config);
            prop_assert_eq!(you, seat);
            prop_assert_eq!(&ids[seat], &host.snakes[seat].id);
            prop_assert_eq!(timeout_ms, Some(500));
        }
    }

    #[test]
    fn a_position_that_was_read_can_be_played(config in games()) {
        let game = Large::new(config.clone()).expect("whatever validates can be played");
        let mut state = game.initial(&mut Rng::new(0, "api"));
        let dead_bodies = DeadBodies::new(game.players());
        let start = config.start.expect("the strategy sets it");
        prop_assert_eq!(game.position(&state, &dead_bodies), start);
        if let Turn::Move(_) = game.turn(&state) {
            let up = vec![Action(0); game.players()];
            prop_assert_eq!(game.step(&mut state, &up), Ok(()));
        }
    }
}

#[test]
fn a_royale_game_is_read_with_the_sides_that_closed_in() {
    let config = Config {
        ruleset: Ruleset::Royale,
        width: 7,
        height: 7,
        snakes: 2,
        shrink_every_n_turns: 3,
        ..Config::default()
    };
    let game = Small::new(config.clone()).expect("the configuration is playable");
    let mut compared = 0;
    for seed in 0..20 {
        let mut rng = Rng::new(seed, "api");
        let mut state = game.initial(&mut rng);
        while let Turn::Move(movers) = game.turn(&state) {
            let position = game.position(&state, &DeadBodies::new(2));
            let setup = sent(&host(2), &config, &position, 0).setup().expect("both are alive");
            // A frame determines all counters, unless no cell is free.
            if position.hazards.len() < position.cells() {
                assert_eq!(setup.config.start, Some(position));
                assert_eq!(setup.config.ruleset, Ruleset::Royale);
                compared += 1;
            }
            let mut actions = [Action(0); 2];
            for player in movers.iter() {
                let safe = game.safe_moves(&state, player);
                let choices: Vec<u32> = (0..4).filter(|step| safe >> step & 1 == 1).collect();
                let choice = rng.below(choices.len() as u32) as usize;
                actions[player] = Action(choices.get(choice).copied().unwrap_or(0));
            }
            game.advance(&mut state, &actions, &mut rng).expect("every move is legal");
        }
    }
    assert!(compared > 100, "only {compared} positions were compared");
}

#[test]
fn hazards_of_another_origin_stay_in_place() {
    let snake = |x| Snake { health: 90, body: vec![Point { x, y: 1 }; 3], death: None };
    let position = Position {
        width: 7,
        height: 7,
        turn: 60,
        snakes: vec![snake(1), snake(5)],
        food: Vec::new(),
        hazards: vec![Point { x: 3, y: 3 }; 2],
        shrunk: [0; 4],
    };
    for (ruleset, map) in [(Ruleset::Royale, Map::Standard), (Ruleset::Standard, Map::Royale)] {
        let config = Config { ruleset, map, width: 7, height: 7, snakes: 2, ..Config::default() };
        let setup = sent(&host(2), &config, &position, 0).setup().expect("both are alive");
        assert_eq!((setup.config.ruleset, setup.config.map), (Ruleset::Standard, Map::Standard));
        assert_eq!(setup.config.start.map(|start| start.hazards), Some(position.hazards.clone()));
    }
}

#[test]
fn dead_snakes_get_the_end_request_but_no_move_request_and_are_not_on_the_board() {
    let config = Config { width: 7, height: 7, snakes: 2, ..Config::default() };
    let dead = Death { cause: Cause::WallCollision, by: None, on: 3 };
    let position = Position {
        width: 7,
        height: 7,
        turn: 3,
        snakes: vec![
            Snake { health: 97, body: vec![Point { x: -1, y: 1 }], death: Some(dead) },
            Snake { health: 97, body: vec![Point { x: 5, y: 1 }], death: None },
        ],
        food: Vec::new(),
        hazards: Vec::new(),
        shrunk: [0; 4],
    };
    let message = sent(&host(2), &config, &position, 0);
    assert_eq!(message.board.snakes.len(), 1);
    assert_eq!(message.seat(), None);
    assert_eq!(message.setup(), Err(ApiError::NotOnBoard { id: "id-0".to_owned() }));
    let winner = sent(&host(2), &config, &position, 1).setup().expect("the winner is asked");
    assert!(winner.config.solo, "the answer no longer matters, but there must be one");
    let error = host(2).request(&config, &position, 2).expect_err("there are seats 0 and 1");
    assert_eq!(error.field().as_deref(), Some("seat"));
}

#[test]
fn snakes_that_left_the_board_keep_their_seats_as_dead_ones() {
    let snake = |x| Snake { health: 90, body: vec![Point { x, y: 1 }; 3], death: None };
    let position = Position {
        width: 7,
        height: 7,
        turn: 0,
        snakes: vec![snake(1), snake(5)],
        food: Vec::new(),
        hazards: Vec::new(),
        shrunk: [0; 4],
    };
    let config = Config { width: 7, height: 7, snakes: 2, ..Config::default() };
    let request = sent(&host(2), &config, &position, 1);
    let ids = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let seats = ids(&["id-1", "gone", "id-0"]);
    let Setup { config: read, you, ids: read_ids, .. } = request.setup_for(&seats).expect("seats");
    assert_eq!((you, read.snakes, read.solo, &read_ids), (0, 3, false, &seats));
    let game = Small::new(read.clone()).expect("it can be played");
    let state = game.initial(&mut Rng::new(0, "api"));
    assert_eq!(game.alive(&state).iter().collect::<Vec<_>>(), [0, 2]);
    assert_eq!(read.start.map(|start| start.snakes[0].clone()), Some(position.snakes[1].clone()));

    let all = ids(&["id-0", "id-1"]);
    assert_eq!(request.setup_for(&all), request.setup());
    let strange = request.setup_for(&ids(&["id-1", "gone"]));
    assert_eq!(strange, Err(ApiError::NoSeat { snake: 0, id: "id-0".to_owned() }));
    let crowd: Vec<String> = (0..17).map(|seat| format!("id-{seat}")).collect();
    assert_eq!(request.setup_for(&crowd), Err(ApiError::SnakeCount { count: 17 }));
    let twice = ids(&["id-0", "id-1", "id-0"]);
    let twice = request.setup_for(&twice).expect("the second seat is empty");
    assert!(Small::new(twice.config).is_ok());
}

/// Search trees are kept from request to request by comparing states.
#[test]
fn the_state_of_a_request_is_that_which_follows_from_the_last_one() {
    let mut compared = [0; 2];
    for (seed, ruleset) in (0..400)
        .zip([Ruleset::Standard, Ruleset::Wrapped, Ruleset::Constrictor].into_iter().cycle())
    {
        // No food appears, but the first is there to be eaten.
        let (map, chance) = if seed % 2 == 0 { (Map::Empty, 15) } else { (Map::Standard, 0) };
        let config = Config {
            food_spawn_chance: chance,
            minimum_food: 0,
            width: 7,
            height: 7,
            snakes: 3,
            ..Config { ruleset, map, ..Config::default() }
        };
        let game = Small::new(config.clone()).expect("the configuration is playable");
        let seats: Vec<String> = (0..3).map(|seat| format!("id-{seat}")).collect();
        let mut rng = Rng::new(seed, "api");
        let mut state = game.initial(&mut rng);
        // The state that follows from the last request, and the snakes that were alive there.
        let mut expected = None;
        while let Turn::Move(movers) = game.turn(&state) {
            let you = movers.iter().next().expect("somebody is to move");
            let position = game.position(&state, &DeadBodies::new(3));
            let setup = sent(&host(3), &config, &position, you).setup_for(&seats).expect("seats");
            let read = Small::new(setup.config).expect("it can be played").initial(&mut rng);
            if let Some((follows, before)) = expected
                && before == movers
            {
                assert_eq!(read, follows, "{ruleset:?}");
                compared[usize::from(movers.iter().count() < 3)] += 1;
            }
            let mut actions = [Action(0); 3];
            for player in movers.iter() {
                let safe = game.safe_moves(&state, player);
                let choices: Vec<u32> = (0..4).filter(|step| safe >> step & 1 == 1).collect();
                let choice = rng.below(choices.len().max(1) as u32) as usize;
                actions[player] = Action(choices.get(choice).copied().unwrap_or(0));
            }
            let mut follows = read;
            game.step(&mut follows, &actions).expect("every move is legal");
            game.settle_idle(&mut follows);
            expected = Some((follows, movers));
            game.advance(&mut state, &actions, &mut rng).expect("every move is legal");
        }
    }
    assert!(compared[0] > 100 && compared[1] > 100, "{compared:?}");
}

#[test]
fn a_request_with_more_repeated_food_than_a_state_holds_is_refused() {
    let setup = |repeated: i32| {
        let food = (0..repeated).flat_map(|x| [Point { x, y: 9 }; 2]).collect();
        let snake = Snake { health: 90, body: vec![Point { x: 1, y: 1 }; 3], death: None };
        let (width, height) = (25, 25);
        let position = Position {
            width,
            height,
            turn: 7,
            snakes: vec![snake],
            food,
            hazards: Vec::new(),
            shrunk: [0; 4],
        };
        let config = Config { width, height, snakes: 1, solo: true, ..Config::default() };
        sent(&host(1), &config, &position, 0).setup()
    };
    // A state has 640 entries for food, 15 more than this board has cells.
    let fits = setup(15).expect("the food just fits");
    assert!(Large::new(fits.config).is_ok());
    let error = setup(16).expect_err("the food does not fit");
    assert_eq!(error, ApiError::State(StateError::Food { count: 16, limit: 15 }));
    assert_eq!(error.field().as_deref(), Some("board.food"));
}

#[test]
fn a_food_chance_above_100_counts_as_100() {
    let snake = |x| Snake { health: 90, body: vec![Point { x, y: 1 }; 3], death: None };
    let position = Position {
        width: 7,
        height: 7,
        turn: 0,
        snakes: vec![snake(1), snake(5)],
        food: Vec::new(),
        hazards: Vec::new(),
        shrunk: [0; 4],
    };
    let config = Config { width: 7, height: 7, snakes: 2, ..Config::default() };
    let mut request = host(2).request(&config, &position, 0).expect("the seat is in the game");
    for (given, read) in [(i64::MIN, 0), (-1, 0), (100, 100), (101, 100), (i64::MAX, 100)] {
        request.game.ruleset.settings.food_spawn_chance = given;
        let setup = request.setup().expect("whatever it says, an answer is expected");
        assert_eq!(setup.config.food_spawn_chance, read, "{given}");
        assert!(Small::new(setup.config).is_ok(), "{given}");
    }
}
