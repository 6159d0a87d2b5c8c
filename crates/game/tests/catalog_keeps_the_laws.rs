//! Every game in the catalog keeps the laws, under all relevant configurations.

use ouro_game::catalog::GAMES;
use ouro_game::laws::{BrokenLaw, Coverage};
use ouro_game::{Game, GameConfig, GameVisitor, check_laws};

struct Check;

impl GameVisitor for Check {
    type Output = Result<Coverage, BrokenLaw>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        check_laws(&game, 7, 25)
    }
}

fn check(config: &GameConfig) -> Coverage {
    let coverage = config.visit(Check).expect("the configuration is in range");
    let coverage = coverage.unwrap_or_else(|broken| panic!("{config:?}: {broken}"));
    assert!(coverage.plies > 0 && coverage.refusals > 0, "{config:?}: {coverage:?}");
    coverage
}

#[test]
fn every_game_keeps_the_laws_in_its_default_configuration() {
    for info in GAMES {
        check(&GameConfig::by_name(info.name).expect("it is listed"));
    }
}

#[test]
fn games_keep_the_laws_under_other_configurations() {
    let configs = [
        r#"{"game": "connect_four", "width": 4, "height": 4}"#,
        r#"{"game": "connect_four", "width": 8, "height": 7}"#,
        r#"{"game": "connect_four", "width": 4, "height": 15}"#,
        r#"{"game": "connect_four", "width": 12, "height": 4}"#,
        r#"{"game": "snake", "size": 4, "time_limit": 300}"#,
        r#"{"game": "snake", "size": 11, "time_limit": 300}"#,
        r#"{"game": "snake", "size": 12, "time_limit": 300}"#,
        r#"{"game": "snake", "size": 21, "time_limit": 300}"#,
        r#"{"game": "maze_dash", "width": 9, "height": 5, "obstacles": 9}"#,
        r#"{"game": "maze_dash", "width": 8, "height": 8, "obstacles": 12, "start": "free"}"#,
        r#"{"game": "maze_dash", "width": 3, "height": 7, "obstacles": 2, "start": "free"}"#,
        r#"{"game": "maze_dash", "width": 15, "height": 15, "obstacles": 66, "style": "hard"}"#,
        r#"{"game": "maze_dash", "board": "x=3&y=2&board=S...X."}"#,
        r#"{"game": "maze_dash", "board": "x=3&y=3&board=....X...."}"#,
        r#"{"game": "maze_dash", "board": "x=2&y=1&board=S.", "start": "free"}"#,
    ];
    for json in configs {
        let coverage = check(&serde_json::from_str(json).expect(json));
        assert_eq!(coverage.ended, 25, "{json}");
    }
}

#[test]
fn battlesnake_keeps_the_laws_under_every_ruleset_and_in_both_size_classes() {
    let configs = [
        r#"{"game": "battlesnake", "width": 7, "height": 7, "snakes": 2}"#,
        r#"{"game": "battlesnake", "width": 10, "height": 10, "snakes": 1, "ruleset": "solo"}"#,
        r#"{"game": "battlesnake", "ruleset": "royale", "map": "royale",
            "shrink_every_n_turns": 3}"#,
        r#"{"game": "battlesnake", "width": 7, "height": 11, "snakes": 3, "ruleset": "wrapped"}"#,
        r#"{"game": "battlesnake", "ruleset": "constrictor", "map": "empty"}"#,
        r#"{"game": "battlesnake", "width": 7, "height": 7, "snakes": 2,
            "ruleset": "wrapped_constrictor", "map": "empty"}"#,
        r#"{"game": "battlesnake", "width": 19, "height": 21, "snakes": 8}"#,
    ];
    for json in configs {
        check(&serde_json::from_str(json).expect(json));
    }
}
