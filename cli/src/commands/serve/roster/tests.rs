use ouro_game::Rng;
use ouro_game::battlesnake::api::{Host, Identity};
use ouro_game::battlesnake::{DeadBodies, Large, Ruleset};

use super::*;

/// Player of duels on 11×11, and player of four snakes there.
fn players() -> [String; 2] {
    let file = |name| format!("{}/../checkpoints/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
    let (duel, standard) = (file("duel-minimax"), file("standard-minimax"));
    [
        format!("minimax{{weights={duel}}}"),
        format!("minimax{{best_reply,weights={standard},duel={duel}}}"),
    ]
}

/// The first request of a game, to the first of its snakes, of whom the last `missing` are not on the
/// board.
fn request(config: &Config, missing: usize) -> GameState {
    let game = Large::new(config.clone()).expect("the configuration is playable");
    let state = game.initial(&mut Rng::new(1, "test"));
    let position = game.position(&state, &DeadBodies::new(game.players()));
    let identity = |seat| Identity { id: format!("snake-{seat}"), ..Identity::default() };
    let host = Host {
        game_id: "game".to_owned(),
        timeout_ms: 300,
        source: String::new(),
        version: String::new(),
        snakes: (0..game.players()).map(identity).collect(),
    };
    let mut request = host.request(config, &position, 0).expect("it has the seat");
    let left = request.board.snakes.len() - missing;
    request.board.snakes.truncate(left);
    request
}

#[test]
fn a_position_is_played_by_the_first_player_that_can() {
    let players = players();
    let roster = Roster::new(&players, Duration::from_millis(100)).expect("the files are included");
    let small = Config { width: 7, height: 7, ..Config::default() };
    let crowd = Config { snakes: 8, ..Config::default() };
    let wide = Config { width: 19, height: 19, ..Config::default() };
    let wrapped = Config { ruleset: Ruleset::Wrapped, ..Config::default() };
    for (config, missing, place, seats) in [
        (&Config::default(), 0, 1, 4),
        (&Config::default(), 1, 1, 4),
        (&Config::default(), 2, 0, 2),
        (&Config::default(), 3, 2, 1),
        (&small, 2, 2, 2),
        (&crowd, 0, 2, 8),
        (&crowd, 6, 0, 2),
        (&wide, 0, 2, 4),
        (&wrapped, 0, 2, 4),
    ] {
        let Fit { place: got, name, ids, mut mover, draw } =
            roster.fit(&request(config, missing)).expect("it can be played");
        assert_eq!((got, ids.len()), (place, seats), "{config:?} without {missing}");
        assert!(name.starts_with("minimax{ms=200"), "{name}");
        let setup = request(config, missing).setup_for(&ids).expect("seats");
        let config = Config { draw, ..setup.config };
        assert!(mover.choose(config, setup.you).expect("it can be played").index() < 4);
    }
}

#[test]
fn only_a_player_without_a_limit_gets_one() {
    for (name, expected) in [
        ("minimax", "minimax{ms=400}"),
        ("minimax{}", "minimax{ms=400}"),
        ("minimax{best_reply,food=3}", "minimax{ms=400,best_reply,food=3}"),
        ("mcts{weights=guided}", "mcts{ms=400,weights=guided}"),
        ("mcts{sims=8}", "mcts{sims=8}"),
        ("maxn{depth=2}", "maxn{depth=2}"),
        ("minimax{ms=50}", "minimax{ms=50}"),
        ("greedy", "greedy"),
        ("nobody", "nobody"),
    ] {
        assert_eq!(with_limit(name, Duration::from_millis(400)).unwrap(), expected);
    }
    assert!(with_limit("minimax{", Duration::ZERO).is_err());
}

#[test]
fn a_move_takes_what_the_game_allows_less_the_margin() {
    let roster = Roster::new(&[], Duration::from_millis(100)).unwrap();
    for (allowed, time) in
        [(None, 400), (Some(500), 400), (Some(120), 30), (Some(1), 1), (Some(u32::MAX), 9_900)]
    {
        assert_eq!(roster.time(allowed), Duration::from_millis(time), "{allowed:?}");
    }
}
