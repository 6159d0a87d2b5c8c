//! Tests of the defaults and bounds of every field.

use ouro_players::OpponentShares;
use ouro_search::SearchConfig;
use ouro_settings::exploring;

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
        ("actor.games_per_thread", |config| config.play.games_per_thread = 0),
        ("actor.batch", |config| config.play.batch = 0),
        ("actor.max_plies", |config| config.play.max_plies = 0),
        ("actor.tree_memory_mib", |config| config.play.tree_memory_mib = 0),
        ("outbox_games", |config| config.outbox_games = 0),
        ("actor.cohort", |config| config.play.cohort = Some(0)),
        ("actor.cached_evaluations", |config| config.play.cached_evaluations = usize::MAX),
        ("actor.opponents.self_play", |config| config.play.opponents.self_play = f64::NAN),
        ("actor.opponents.prioritised", |config| config.play.opponents.prioritised = -1.0),
        ("actor.opponents is 0 for", |config| {
            config.play.opponents = OpponentShares { self_play: 0.0, ..OpponentShares::SELF_PLAY };
        }),
        ("name", |config| config.name = String::new()),
        ("name", |config| config.name = "a".repeat(65)),
        ("name", |config| config.name = "two words".to_owned()),
        ("actor.epsilon", |config| config.play.epsilon = f32::NAN),
        ("actor.epsilon", |config| config.play.epsilon = 1.5),
        ("actor.epsilon", |config| {
            (config.play.epsilon, config.play.search) = (0.1, Some(exploring(8, 8)))
        }),
        ("actor.opening_plies", |config| config.play.opening_plies = 400),
        ("drain.seconds", |config| config.drain.seconds = f64::INFINITY),
        ("cache.mib", |config| config.cache.mib = 0),
        ("actor.search", |config| {
            config.play.search = Some(SearchConfig { simulations: 0, ..exploring(8, 8) });
        }),
    ];
    for (field, spoil) in cases {
        let mut config = config();
        spoil(&mut config);
        let error = config.validate().expect_err("a bad value is refused").to_string();
        assert!(error.starts_with(field), "{error}");
    }
}

#[test]
fn an_actor_of_a_run_has_its_settings_and_a_folder_of_its_own() {
    let mut settings = Settings { discount: 0.5, ..Settings::default() };
    settings.deploy.threads = Some(3);
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let actor = ActorConfig::of_run(&settings, Path::new("run"), url(1), url(2));
    actor.validate().expect("the defaults are valid");
    assert_eq!((actor.name.as_str(), actor.threads, actor.seed), ("actor", 3, settings.seed));
    assert_eq!((actor.arena, actor.learner), (url(1), url(2)));
    assert_eq!(actor.play.search.expect("it searches").discount, 0.5);
    assert_eq!(actor.dead_letters.as_deref(), Some(Path::new("run/actor/refused.jsonl")));
    settings.deploy.name = "b".to_owned();
    settings.deploy.log_records = true;
    let actor = ActorConfig::of_run(&settings, Path::new("run"), url(1), url(2));
    assert_eq!(actor.log_records.as_deref(), Some(Path::new("run/actor-b/records.log")));
}
