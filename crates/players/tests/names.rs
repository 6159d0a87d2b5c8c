//! Players are built by name, and an invalid name gives a one-line error.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;
use std::time::Duration;

use ouro_game::Game;
use ouro_game::battlesnake::{self, Large, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::tic_tac_toe::{Config, TicTacToe};
use ouro_net::{Architecture, Engine, NetSpec, Weights, WeightsMeta};
use ouro_players::registry::{KNOWN, check_known};
use ouro_players::{BuildContext, Clock, NameError, Player, by_name};

/// A clock that stands still.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

fn engine<G: Game>(game: &G) -> Arc<Engine> {
    let architecture = Architecture::Conv { channels: 4, layers: 2, hidden: 8 };
    let spec = NetSpec { planes: game.planes(), actions: game.action_count(), architecture };
    Arc::new(Engine::new(&Weights::initialize(spec, WeightsMeta::default(), 1).unwrap()))
}

/// Builds a player with known weights `best`, and `foreign` weights of another game.
fn build<G: Game>(name: &str, game: &G) -> Result<Box<dyn Player<G>>, NameError> {
    let best = engine(game);
    let engines = &mut |name: &str| (name == "best").then(|| Arc::clone(&best));
    by_name(name, &mut BuildContext { game, engines, clock: Arc::new(Still) })
}

fn tic_tac_toe() -> TicTacToe {
    TicTacToe::new(Config {}).unwrap()
}

fn error(name: &str) -> String {
    build(name, &tic_tac_toe()).err().unwrap_or_else(|| panic!("{name} builds")).to_string()
}

#[test]
fn players_are_built_by_name_and_report_it() {
    for name in [
        "random",
        "net{weights=best}",
        "net{weights=best,temperature=0.5}",
        "net{argmax,weights=best}",
        "net{weights=best,temperature=0.5,symmetric}",
        "minimax{depth=3}",
        "minimax{ms=5}",
        "maxn{depth=128}",
        "maxn{ms=400}",
        "mcts{sims=20}",
        "mcts{sims=20,threads=3}",
        "mcts{sims=20,weights=best,threads=2,leaves=4}",
        "mcts{ms=5}",
        "mcts{sims=20,weights=rollout,returns,gamma=0.9}",
        "mcts{sims=20,weights=uniform,c=2,temperature=0.5}",
        "mcts{sims=20,weights=guided}",
        "mcts{sims=20,weights=best,gumbel,leaves=4}",
        "mcts{sims=20,weights=best,regret,cache=1000}",
    ] {
        assert_eq!(build(name, &tic_tac_toe()).unwrap().name(), name);
    }
}

#[test]
fn an_unknown_name_gets_the_nearest_known_one_and_the_names_of_all() {
    let known = "known are random, greedy, minimax, maxn, net, perfect, mcts, hamiltonian, tree, \
                 snakgame; docs/players.md has their options";
    for (name, hint) in [
        ("radnom", "did you mean random? "),
        ("MCTS{sims=8}", "did you mean mcts? "),
        ("minmax", "did you mean minimax? "),
        ("randm", "did you mean random? "),
        ("ner", "did you mean net? "),
        ("ncts", "did you mean mcts? "),
        ("perfet", "did you mean perfect? "),
        ("queen", ""),
        ("stockfish", ""),
        ("", ""),
    ] {
        assert_eq!(error(name), format!("player {name:?} is unknown; {hint}{known}"));
    }
}

#[test]
fn players_of_the_caller_are_among_the_known_ones() {
    for name in ["random", "minimax{depth=1}", "http{url=here}"] {
        assert_eq!(check_known(name, &["http"]), Ok(()));
    }
    let text = check_known("htp{url=here}", &["http"]).unwrap_err().to_string();
    assert!(text.contains("; did you mean http? known are random, "), "{text}");
    assert!(text.contains(", snakgame, http; docs/players.md"), "{text}");
    assert!(check_known("http{url=here}", &[]).is_err() && check_known("net{", &[]).is_err());
}

#[test]
fn every_form_starts_with_its_name_and_uses_its_options_only() {
    for syntax in KNOWN {
        assert!(!syntax.usage.is_empty());
        for usage in syntax.usage {
            let (name, options) = usage.split_once('{').unwrap_or((usage, "}"));
            assert_eq!(name, syntax.name);
            for option in options.trim_end_matches('}').split(',').filter(|key| !key.is_empty()) {
                let key = option.split('=').next().unwrap();
                assert!(syntax.options.contains(&key), "{key} in {usage}");
            }
        }
    }
    let mut names: Vec<&str> = KNOWN.iter().map(|syntax| syntax.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KNOWN.len());
}

#[test]
fn each_mistake_in_the_options_has_its_own_message() {
    let net = "net{weights=NAME} or net{weights=NAME,temperature=T} or net{weights=NAME,argmax} \
               or net{weights=NAME,argmax,symmetric}";
    for (name, expected) in [
        (
            "net{weights=best",
            "player \"net{weights=best\" has unbalanced braces; write net{option=value,...}"
                .to_owned(),
        ),
        (
            "net{weights=best,depth=3}",
            format!(
                "player \"net{{weights=best,depth=3}}\": option \"depth\" is unknown; write {net}"
            ),
        ),
        (
            "net{weights=best,weights=best}",
            "player \"net{weights=best,weights=best}\": option \"weights\" is given twice; \
             leave one out"
                .to_owned(),
        ),
        ("net{}", format!("player \"net{{}}\": weights is missing; write {net}")),
        ("net", format!("player \"net\": weights is missing; write {net}")),
        (
            "net{weights=}",
            "player \"net{weights=}\": option weights is \"\"; write weights=...".to_owned(),
        ),
        (
            "net{weights=best,temperature=hot}",
            "player \"net{weights=best,temperature=hot}\": option temperature is \"hot\"; \
             it is a number 0.000001 to 1000000"
                .to_owned(),
        ),
        (
            "net{weights=best,argmax,temperature=1}",
            "player \"net{weights=best,argmax,temperature=1}\": options temperature and argmax \
             exclude each other; leave one out"
                .to_owned(),
        ),
        (
            "net{weights=best,argmax=yes}",
            "player \"net{weights=best,argmax=yes}\": option argmax is \"yes\"; \
             a flag takes no value"
                .to_owned(),
        ),
        (
            "net{weights=worst}",
            "player \"net{weights=worst}\": no weights are called \"worst\"; name weights that exist".to_owned(),
        ),
    ] {
        assert_eq!(error(name), expected);
    }
    for name in ["net{weights=best,temperature=0}", "net{weights=best,temperature=NaN}"] {
        assert!(error(name).contains("it is a number"), "{name}");
    }
}

#[test]
fn conflicting_options_of_a_tree_search_are_refused() {
    for (options, first, second) in [
        ("sims=2,ms=9", "sims", "ms"),
        ("ms=9,gumbel", "ms", "gumbel"),
        ("sims=2,gumbel,regret", "gumbel", "regret"),
        ("sims=2,weights=best,cache=9,threads=2", "cache", "threads"),
        ("sims=2,gumbel,temperature=1", "gumbel", "temperature"),
        ("sims=2,regret,temperature=1", "regret", "temperature"),
    ] {
        let name = format!("mcts{{{options}}}");
        let reason = format!("options {first} and {second} exclude each other; leave one out");
        assert_eq!(error(&name), format!("player {name:?}: {reason}"));
    }
    assert!(error("mcts{sims=2,threads=0}").contains("it is a whole number"));
    for options in ["cache=100", "weights=rollout,cache=100", "weights=uniform,cache=100"] {
        let text = error(&format!("mcts{{sims=2,{options}}}"));
        assert!(text.ends_with("name weights of a network or leave it out"), "{text}");
    }
    // No memory is reserved for simulations that are never made.
    assert!(build("mcts{sims=268435456,gumbel}", &tic_tac_toe()).is_ok());
}

#[test]
fn a_cache_larger_than_the_memory_is_refused() {
    let config = battlesnake::Config { width: 25, height: 25, ..battlesnake::Config::default() };
    let large = Large::new(config).unwrap();
    assert!(build("mcts{sims=2,weights=best,cache=1000}", &large).is_ok());
    let error = build("mcts{sims=2,weights=best,cache=16777216}", &large).err().unwrap();
    let error = error.to_string();
    assert!(error.contains("option cache is \"16777216\"; at most "), "{error}");
    let most: usize = error
        .split("at most ")
        .nth(1)
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .unwrap();
    assert!((1_000..1 << 20).contains(&most), "{error}");
}

#[test]
fn minimax_players_require_a_depth_or_a_time() {
    for (player, best_reply) in
        [("minimax", " or minimax{ms=MILLISECONDS,best_reply,reductions}"), ("maxn", "")]
    {
        let usage = format!(
            "{player}{{depth=TURNS}} or {player}{{ms=MILLISECONDS}}{best_reply} or {player}{{ms=MILLISECONDS,weights=NAME,duel=NAME}}"
        );
        assert_eq!(
            error(player),
            format!("player \"{player}\": depth or ms is missing; write {usage}")
        );
        let name = format!("{player}{{depth=2,ms=9}}");
        assert_eq!(
            error(&name),
            format!("player {name:?}: options depth and ms exclude each other; leave one out")
        );
        for depth in ["0", "129", "-1", "2.5", "many"] {
            let name = format!("{player}{{depth={depth}}}");
            let expected = "it is a whole number 1 to 128";
            assert_eq!(
                error(&name),
                format!("player {name:?}: option depth is {depth:?}; {expected}")
            );
        }
    }
}

#[test]
fn weights_of_area_control_are_refused_outside_of_battlesnake() {
    let small = Small::new(battlesnake::Config::default()).unwrap();
    for player in ["minimax", "maxn"] {
        for key in ["food", "hazard", "hungry", "length", "lead"] {
            let name = format!("{player}{{depth=2,{key}=3}}");
            let expected = "it is an option for battlesnake alone; leave it out";
            assert_eq!(error(&name), format!("player {name:?}: option {key} is \"3\"; {expected}"));
            assert!(build(&name, &small).is_ok());
        }
    }
}

#[test]
fn a_worth_of_a_draw_is_refused_if_returns_count() {
    // The weights estimate returns.
    for options in ["returns", "weights=best"] {
        let text = error(&format!("mcts{{sims=2,{options},draw=0.5}}"));
        assert!(text.contains("option draw is \"0.5\""), "{text}");
        assert!(text.ends_with("in which no draw counts; leave it out"), "{text}");
    }
    assert!(build("mcts{sims=2,draw=0.5}", &tic_tac_toe()).is_ok());
}

#[test]
fn players_of_one_game_name_it_in_the_error_for_another() {
    for (name, plays) in [("greedy", "battlesnake"), ("perfect", "connect_four")] {
        let expected = format!("player {name:?} does not play tic_tac_toe; it plays {plays} only");
        assert_eq!(error(name), expected);
    }
    let config = battlesnake::Config::default();
    let small = Small::new(config.clone()).unwrap();
    let large = Large::new(battlesnake::Config { width: 25, height: 25, ..config }).unwrap();
    assert_eq!(build("greedy", &small).unwrap().name(), "greedy");
    assert_eq!(build("greedy", &large).unwrap().name(), "greedy");
    let connect_four = ConnectFour::new(connect_four::Config::default()).unwrap();
    assert_eq!(build("perfect", &connect_four).unwrap().name(), "perfect");
}

#[test]
fn an_invalid_name_gives_a_one_line_error_and_never_a_player() {
    for name in ["", "{", "}", "{}", "random{,}", "random}", "random{x}", "net{{}}", "net{,,}"] {
        let text = error(name);
        assert!(!text.is_empty() && !text.contains('\n'), "{name}: {text}");
    }
}
