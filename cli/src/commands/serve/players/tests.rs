use std::time::Instant;

use ouro_game::battlesnake::{Map, Ruleset};

use super::super::testing::{PLAYERS, request};
use super::*;

fn list(names: &[&str]) -> PlayerList {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    PlayerList::new(&names, Duration::from_millis(100)).expect("the names are valid")
}

#[test]
fn a_position_is_played_by_the_first_player_that_can() {
    let players = list(&PLAYERS);
    let small = Config { width: 7, height: 7, ..Config::default() };
    let crowd = Config { snakes: 8, ..Config::default() };
    let wide = Config { width: 25, height: 25, snakes: 16, ..Config::default() };
    let wrapped = Config { ruleset: Ruleset::Wrapped, ..Config::default() };
    let constrictor = Config { ruleset: Ruleset::Constrictor, ..Config::default() };
    let royale = Config { ruleset: Ruleset::Royale, ..Config::default() };
    let royale_map = Config { map: Map::Royale, ..Config::default() };
    for (config, missing, index, seats) in [
        (&Config::default(), 0, 1, 4),
        (&Config::default(), 1, 1, 4),
        (&Config::default(), 2, 0, 2),
        (&Config::default(), 3, 2, 1),
        (&small, 2, 2, 2),
        (&crowd, 0, 2, 8),
        (&crowd, 5, 1, 4),
        (&wide, 0, 2, 16),
        (&wrapped, 0, 2, 4),
        (&constrictor, 0, 2, 4),
        (&royale, 0, 2, 4),
        (&royale_map, 0, 2, 4),
    ] {
        let state = request(config, missing);
        let setup = state.setup().expect("a position");
        let chosen = players.choose(&state, &setup, None).expect("a player").expect("a new one");
        let what = format!("{config:?} without {missing}");
        assert_eq!((chosen.index, chosen.ids.len()), (index, seats), "{what}");
        assert!(chosen.name.starts_with("minimax{ms=200,"), "{}", chosen.name);
        let kept = players.choose(&state, &setup, Some(index)).expect("a player");
        assert!(kept.is_none(), "{what}");
        let Chosen { ids, draw, clock, mut player, .. } = chosen;
        let setup = state.setup_for(&ids).expect("seats");
        clock.start_at(Instant::now());
        let action = player.choose(Config { draw, ..setup.config }, setup.you).expect("a move");
        assert!(action.index() < 4, "{what}");
    }
}

#[test]
fn hazards_of_the_map_and_a_depth_that_is_too_large_leave_a_player_out() {
    let players = list(&[PLAYERS[0], "minimax{depth=6}"]);
    let index = |state: &GameState| {
        let setup = state.setup().expect("a position");
        players.choose(state, &setup, None).expect("a player").expect("a new one").index
    };
    let mut duel = request(&Config { snakes: 2, ..Config::default() }, 0);
    assert_eq!(index(&duel), 0);
    duel.board.hazards.push(duel.board.food[0]);
    assert_eq!(index(&duel), 1);
    let crowd = request(&Config { snakes: 8, ..Config::default() }, 0);
    assert_eq!(index(&crowd), 2, "a depth of 6 among 8 snakes takes too long");
}

#[test]
fn only_a_player_without_a_limit_gets_one() {
    for (name, expected) in [
        ("minimax", "minimax{ms=400}"),
        ("minimax{}", "minimax{ms=400}"),
        ("minimax{best_reply,food=3}", "minimax{ms=400,best_reply,food=3}"),
        ("minimax{weights=a}b}", "minimax{ms=400,weights=a}b}"),
        ("mcts{weights=guided}", "mcts{ms=400,weights=guided}"),
        ("mcts{sims=8}", "mcts{sims=8}"),
        ("mcts{gumbel}", "mcts{gumbel}"),
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
    let players = list(&[]);
    for (allowed, time) in
        [(None, 400), (Some(500), 400), (Some(120), 30), (Some(1), 1), (Some(u32::MAX), 4_900)]
    {
        assert_eq!(players.time(allowed).usual, Duration::from_millis(time), "{allowed:?}");
    }
}
