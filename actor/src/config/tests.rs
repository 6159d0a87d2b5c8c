//! Every key has its default and its bounds.

use ouro_players::OpponentShares;
use ouro_search::SearchConfig;

use super::*;

fn config() -> ActorConfig {
    let game = GameConfig::TicTacToe(ouro_game::tic_tac_toe::Config::default());
    ActorConfig::new(game, "http://127.0.0.1:1".to_owned(), "http://127.0.0.1:2".to_owned())
}

#[test]
fn the_defaults_are_valid_and_each_bad_value_is_named() {
    config().validate().expect("the defaults are valid");
    let searching = || Some(exploring(32, 8));
    PlayConfig { search: searching(), ..PlayConfig::default() }
        .validate()
        .expect("so is the search");
    type Spoil = fn(&mut ActorConfig);
    let cases: [(&str, Spoil); 21] = [
        ("threads", |config| config.threads = 0),
        ("games_per_thread", |config| config.play.games_per_thread = 0),
        ("batch", |config| config.play.batch = 0),
        ("max_plies", |config| config.play.max_plies = 0),
        ("tree_memory_mib", |config| config.play.tree_memory_mib = 0),
        ("outbox_games", |config| config.outbox_games = 0),
        ("cohort", |config| config.play.cohort = Some(0)),
        ("remembered_positions", |config| config.play.remembered_positions = usize::MAX),
        ("opponents: self_play", |config| config.play.opponents.self_play = f64::NAN),
        ("opponents: prioritised", |config| config.play.opponents.prioritised = -1.0),
        ("opponents: self_play, prior", |config| {
            config.play.opponents = OpponentShares { self_play: 0.0, ..OpponentShares::SELF_PLAY };
        }),
        ("name", |config| config.name = String::new()),
        ("name", |config| config.name = "a".repeat(65)),
        ("name", |config| config.name = "two words".to_owned()),
        ("epsilon", |config| config.play.epsilon = f32::NAN),
        ("epsilon", |config| config.play.epsilon = 1.5),
        ("epsilon", |config| {
            (config.play.epsilon, config.play.search) = (0.1, Some(exploring(8, 8)))
        }),
        ("opening_plies", |config| config.play.opening_plies = 400),
        ("drain.seconds", |config| config.drain.seconds = f64::INFINITY),
        ("cache.mib", |config| config.cache.mib = 0),
        ("search", |config| {
            config.play.search = Some(SearchConfig { simulations: 0, ..exploring(8, 8) });
        }),
    ];
    for (field, spoil) in cases {
        let mut config = config();
        spoil(&mut config);
        let error = config.validate().expect_err("a bad value is refused").to_string();
        assert!(error.starts_with("actor config: ") && error.contains(field), "{error}");
    }
}

#[test]
fn a_file_of_three_lines_has_every_default() {
    let game = serde_json::json!({ "game": "tic_tac_toe" });
    let file = serde_json::json!({
        "game": game, "arena": "http://127.0.0.1:1", "learner": "http://127.0.0.1:2",
    });
    assert_eq!(serde_json::from_value::<ActorConfig>(file.clone()).unwrap(), config());
    let mut odd = file;
    odd["self_play_share"] = 0.5.into();
    let error = serde_json::from_value::<ActorConfig>(odd).expect_err("no such key").to_string();
    assert!(error.contains("self_play_share"), "{error}");
}
