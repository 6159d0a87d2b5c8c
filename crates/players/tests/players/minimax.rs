//! `minimax` and `maxn`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ouro_game::battlesnake::{Config, DeadBodies, Point, Position, Small, Snake};
use ouro_game::catalog::GAMES;
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, Game, GameConfig, GameVisitor, Rng, Turn};
use ouro_net::{Architecture, Engine, NetSpec, ValueRange, Weights, WeightsMeta};
use ouro_players::{Clock, GameBatch, pairs};

use crate::support::{action, play, player, player_by, player_with, won};

fn battlesnake(snakes: u8) -> Small {
    Small::new(Config { snakes, ..Config::default() }).unwrap()
}

#[test]
fn searching_the_whole_of_tic_tac_toe_never_loses() {
    let game = TicTacToe::new(tic_tac_toe::Config {}).unwrap();
    for (name, rounds) in [("minimax{depth=9}", 20), ("maxn{depth=9}", 3)] {
        let finished = play(&game, &[name, "random"], rounds);
        let lost = finished.iter().filter(|game| {
            let seat = game.players.iter().position(|&player| player == 0).unwrap();
            game.outcomes[seat] < 0.0
        });
        assert_eq!(lost.count(), 0, "{name}");
        let (won, games) = (won(&finished), finished.len());
        assert!(3 * won > 2 * games, "{name} won {won} of {games}");
    }
}

#[test]
fn area_control_beats_greedy_in_duels() {
    let finished = play(&battlesnake(2), &["minimax{depth=4}", "greedy"], 20);
    assert!(won(&finished) >= 32, "won {} of 40", won(&finished));
}

#[test]
fn area_control_beats_three_greedy_snakes() {
    let names = ["minimax{depth=2}", "greedy", "greedy", "greedy"];
    let finished = play(&battlesnake(4), &names, 20);
    // A quarter would be 20, two deviations more 27.8.
    assert!(won(&finished) >= 28, "won {} of 80", won(&finished));
}

#[test]
fn maxn_at_depth_one_beats_three_random_snakes() {
    let names = ["maxn{depth=1}", "random", "random", "random"];
    let finished = play(&battlesnake(4), &names, 10);
    assert!(won(&finished) >= 30, "won {} of 40", won(&finished));
}

#[test]
fn a_certain_win_through_a_starving_snake_is_seen() {
    let snake = |health, cells: &[(i32, i32)]| {
        let body = cells.iter().map(|&cell| Point::from(cell)).collect();
        Snake { health, body, death: None }
    };
    // Up is the first snake's own neck. To the right is the body of a snake that starves this turn.
    let position = Position {
        width: 7,
        height: 7,
        turn: 30,
        snakes: vec![
            snake(90, &[(0, 0), (0, 1), (0, 2)]),
            snake(1, &[(1, 1), (1, 0), (2, 0), (3, 0)]),
        ],
        food: vec![Point { x: 6, y: 6 }],
        hazards: Vec::new(),
        shrunk: [0; 4],
    };
    let start = Some(position);
    let config = Config { width: 7, height: 7, snakes: 2, start, ..Config::default() };
    let game = Small::new(config).unwrap();
    let state = game.initial(&mut Rng::new(1, "game"));
    for name in ["minimax{depth=1}", "maxn{depth=1}", "greedy"] {
        let chosen = action(player(name, &game).as_mut(), &game, &state, 0);
        assert_eq!(chosen, Action(3), "{name}: {}", game.action_name(chosen));
    }
    let mut after = state;
    game.step(&mut after, &[Action(3), Action(0)]).unwrap();
    assert_eq!(game.outcome(&after, 0), 1.0);
}

#[test]
fn the_same_depth_gives_the_same_games() {
    let game = battlesnake(2);
    let names = ["minimax{depth=2}", "maxn{depth=2}"];
    assert_eq!(play(&game, &names, 3), play(&game, &names, 3));
}

/// A clock that moves by half a millisecond with every reading.
#[derive(Debug, Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn monotonic(&self) -> Duration {
        Duration::from_micros(500 * self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[test]
fn a_timed_search_leaves_a_margin_of_its_time() {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let state = game.initial(&mut Rng::new(1, "game"));
    for name in ["minimax", "maxn"] {
        for (ms, searched) in [(1, 500), (2, 1_000), (20, 19_000), (200, 196_000)] {
            let clock = Arc::new(Ticking::default());
            let name = format!("{name}{{ms={ms}}}");
            let mut player = player_by(&name, &game, Arc::clone(&clock) as Arc<dyn Clock>);
            action(player.as_mut(), &game, &state, 0);
            // The last look, which ended the search; the first, at 0, started it.
            let last = 500 * (clock.0.load(Ordering::Relaxed) - 1);
            assert_eq!(last, searched, "{name}");
        }
    }
}

#[test]
fn every_built_in_game_can_be_searched() {
    struct Play;
    impl GameVisitor for Play {
        type Output = usize;

        fn visit<G: Game>(self, game: G) -> usize {
            let names = ["minimax{depth=2}", "maxn{depth=1}", "random"];
            let mut players: Vec<_> = names.iter().map(|name| player(name, &game)).collect();
            let mut batch = GameBatch::new(game.clone(), 12);
            for seed in 0..3 {
                let seats: Vec<usize> =
                    (0..game.players()).map(|seat| (seat + seed as usize) % names.len()).collect();
                batch.start_game(seed, &seats).unwrap();
            }
            batch.finish(&mut players).unwrap().len()
        }
    }
    for info in GAMES {
        let config = GameConfig::by_name(info.name).unwrap();
        assert_eq!(config.visit(Play).unwrap(), 3, "{}", info.name);
    }
}

/// A network whose value grows with a snake's share of all territory, or falls with it.
fn by_territory(game: &Small, weight: f32) -> Arc<Engine> {
    let planes = game.features().unwrap();
    let share = planes.channels - 14 + 9;
    let architecture = Architecture::Mlp { layers: 1, hidden: 1, value: ValueRange::Tanh };
    let spec = NetSpec { planes, actions: 4, architecture };
    let tensors = spec.tensors().into_iter().map(|tensor| {
        let mut values = vec![0.0; tensor.len()];
        match tensor.name.as_str() {
            "hidden.0.weight" => values[share] = 1.0,
            "value.weight" => values[0] = weight,
            "value.bias" => values[0] = -weight / 2.0,
            _ => {}
        }
        values
    });
    let tensors = tensors.collect();
    Arc::new(Engine::new(&Weights::from_tensors(spec, WeightsMeta::default(), tensors).unwrap()))
}

#[test]
fn a_network_that_sees_territory_plays_for_it() {
    let game = battlesnake(2);
    let network = |weight| {
        let engine = by_territory(&game, weight);
        player_with("minimax{depth=2,weights=it}", &game, move |_| Some(Arc::clone(&engine)))
            .unwrap()
    };
    let mut players = vec![network(2.0), network(-2.0)];
    let mut batch = GameBatch::new(game.clone(), 2_000);
    for game in pairs(5, 10, 2) {
        batch.start_game(game.seed, &game.seats).unwrap();
    }
    let finished = batch.finish(&mut players).unwrap();
    assert!(won(&finished) >= 16, "won {} of 20", won(&finished));
}

#[test]
fn a_network_for_duels_evaluates_the_positions_with_two_snakes_left() {
    let (game, duel) = (battlesnake(4), battlesnake(2));
    let (expands, retreats) = (by_territory(&game, 2.0), by_territory(&duel, -2.0));
    let build = |options| {
        let name = format!("minimax{{depth=2,weights=expands{options}}}");
        let (expands, retreats) = (Arc::clone(&expands), Arc::clone(&retreats));
        player_with(&name, &game, move |name| {
            Some(Arc::clone(if name == "expands" { &expands } else { &retreats }))
        })
        .unwrap()
    };
    let (mut both, mut one) = (build(",duel=retreats"), build(""));
    let mut alone = {
        let retreats = Arc::clone(&retreats);
        let engines = move |_: &str| Some(Arc::clone(&retreats));
        player_with("minimax{depth=2,weights=it}", &duel, engines).unwrap()
    };
    let (mut seen, mut differ) = (0, 0);
    for seed in 0..20 {
        let mut rng = Rng::new(seed, "game");
        let mut state = game.initial(&mut rng);
        while game.alive(&state).len() > 2 {
            game.random_turn(&mut state, &mut rng);
        }
        while let (Turn::Move(movers), 2) = (game.turn(&state), game.alive(&state).len()) {
            let mut left = game.position(&state, &DeadBodies::new(4));
            left.snakes.retain(|snake| snake.death.is_none());
            let left = duel.state(&left).unwrap();
            for (place, seat) in movers.iter().enumerate() {
                let chosen = action(both.as_mut(), &game, &state, seat);
                assert_eq!(chosen, action(alone.as_mut(), &duel, &left, place));
                seen += 1;
                differ += usize::from(chosen != action(one.as_mut(), &game, &state, seat));
            }
            game.random_turn(&mut state, &mut rng);
        }
    }
    assert!(seen >= 100 && differ >= 10, "{differ} of {seen}");
}

#[test]
fn networks_for_duels_that_do_not_fit_are_refused() {
    let (game, solo) = (battlesnake(4), Config { solo: true, ..Config::default() });
    let (own, duel) = (by_territory(&game, 1.0), by_territory(&battlesnake(2), 1.0));
    let engines = |name: &str| Some(Arc::clone(if name == "own" { &own } else { &duel }));
    let refused = |name: &str, game: &Small| {
        player_with(name, game, engines).err().expect("refused").to_string()
    };
    let text = refused("minimax{depth=2,duel=two}", &game);
    assert!(text.contains("weights is missing"), "{text}");
    let text = refused("maxn{depth=2,weights=own,duel=own}", &game);
    assert!(
        text.ends_with("use weights trained in duels with observation = \"features\""),
        "{text}"
    );
    let text = refused("minimax{depth=2,weights=own,duel=two}", &Small::new(solo).unwrap());
    assert!(text.ends_with("leave duel out"), "{text}");
}

#[test]
fn networks_that_do_not_fit_are_refused() {
    let game = battlesnake(2);
    let foreign = by_territory(&battlesnake(4), 1.0);
    let mut engines = |name: &str| (name == "foreign").then(|| Arc::clone(&foreign));
    let mut refused =
        |name: &str| player_with(name, &game, &mut engines).err().expect("refused").to_string();
    assert!(refused("minimax{depth=2,weights=nothing}").contains("nothing"));
    let unfit = refused("minimax{depth=2,weights=foreign}");
    assert!(unfit.contains("use weights trained for this board"), "{unfit}");
    // A return is no outcome.
    let architecture = Architecture::Mlp { layers: 1, hidden: 1, value: ValueRange::Unbounded };
    let spec = NetSpec { planes: game.features().unwrap(), actions: 4, architecture };
    let weights = Weights::initialize(spec, WeightsMeta::default(), 1).unwrap();
    let returns = Arc::new(Engine::new(&weights));
    for name in ["minimax{depth=2,weights=it}", "maxn{depth=2,weights=it}"] {
        let built = player_with(name, &game, |_| Some(Arc::clone(&returns)));
        let unfit = built.err().expect("refused").to_string();
        assert!(unfit.contains("estimates returns") && unfit.contains("net.value"), "{unfit}");
    }
    // Options of area control have no effect with a network.
    let both = refused("minimax{depth=2,weights=foreign,food=3}");
    assert!(both.contains("weights") && both.contains("food"), "{both}");
}

#[test]
fn selective_search_is_an_option_of_minimax_alone() {
    let game = battlesnake(4);
    let names = ["minimax{depth=3,best_reply,reductions}", "greedy", "greedy", "greedy"];
    let finished = play(&game, &names, 5);
    assert!(won(&finished) >= 10, "won {} of 20", won(&finished));
    for option in ["best_reply", "reductions"] {
        let name = format!("maxn{{depth=3,{option}}}");
        let error = player_with(&name, &game, |_| None).err().expect("refused");
        assert!(error.to_string().contains(option), "{error}");
    }
}
