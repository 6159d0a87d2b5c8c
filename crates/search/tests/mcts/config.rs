//! Settings: valid ones, refused ones, and the error texts.

use ouro_game::Game;
use ouro_game::connect_four::{self, ConnectFour};
use ouro_search::mcts::{
    ChanceWidth, FastSearch, FirstPlay, Gumbel, Noise, SearchConfigError, Simultaneous,
    Temperature, ValueScale,
};
use ouro_search::{Search, SearchConfig};

#[test]
fn settings_read_back_from_json_and_unknown_ones_are_refused() {
    let config = SearchConfig {
        simulations: 64,
        exploration_base: Some(19_652.0),
        first_play: FirstPlay::ParentReduced { reduction: 0.2 },
        simultaneous: Simultaneous::RegretMatching { exploration: 0.5 },
        value_scale: ValueScale::Bounds { low: -10.0, high: 110.0 },
        noise: Some(Noise::default()),
        forced_playouts: Some(2.0),
        fast: Some(FastSearch { full_share: 0.25, simulations: 10 }),
        temperature: Temperature::Decay { start: 0.8, end: 0.2, half_life: 10.0 },
        ..SearchConfig::default()
    };
    assert_eq!(config.validate(), Ok(()));
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<SearchConfig>(&json).unwrap(), config);
    let partial: SearchConfig = serde_json::from_str(r#"{"simulations":7}"#).unwrap();
    assert_eq!(partial, SearchConfig { simulations: 7, ..SearchConfig::default() });
    let error = serde_json::from_str::<SearchConfig>(r#"{"c_puct":1.0}"#).unwrap_err();
    assert!(error.to_string().contains("unknown field `c_puct`"), "{error}");
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let good = SearchConfig::default;
    let cases = [
        ("simulations", SearchConfig { simulations: 0, ..good() }),
        ("exploration", SearchConfig { exploration: f32::NAN, ..good() }),
        ("exploration", SearchConfig { exploration: -1.0, ..good() }),
        ("exploration_base", SearchConfig { exploration_base: Some(0.0), ..good() }),
        (
            "first_play.reduction",
            SearchConfig { first_play: FirstPlay::ParentReduced { reduction: -0.1 }, ..good() },
        ),
        (
            "first_play.value",
            SearchConfig { first_play: FirstPlay::Constant { value: f32::INFINITY }, ..good() },
        ),
        (
            "simultaneous.exploration",
            SearchConfig {
                simultaneous: Simultaneous::RegretMatching { exploration: 0.0 },
                ..good()
            },
        ),
        ("tremble", SearchConfig { tremble: 1.5, ..good() }),
        ("draw", SearchConfig { draw: -1.1, ..good() }),
        ("discount", SearchConfig { discount: 0.0, ..good() }),
        ("discount", SearchConfig { discount: 1.01, ..good() }),
        (
            "value_scale.high",
            SearchConfig { value_scale: ValueScale::Bounds { low: 1.0, high: 1.0 }, ..good() },
        ),
        (
            "chance.enumerate",
            SearchConfig {
                chance: ChanceWidth { enumerate: 0, sample: 1, ignore: false },
                ..good()
            },
        ),
        (
            "chance.sample",
            SearchConfig {
                chance: ChanceWidth { enumerate: 1, sample: 0, ignore: false },
                ..good()
            },
        ),
        ("noise.total", SearchConfig { noise: Some(Noise { total: 0.0, share: 0.2 }), ..good() }),
        ("noise.share", SearchConfig { noise: Some(Noise { total: 1.0, share: 1.2 }), ..good() }),
        ("forced_playouts", SearchConfig { forced_playouts: Some(f32::NAN), ..good() }),
        (
            "fast.full_share",
            SearchConfig { fast: Some(FastSearch { full_share: 2.0, simulations: 1 }), ..good() },
        ),
        (
            "fast.full_share",
            SearchConfig { fast: Some(FastSearch { full_share: 0.0, simulations: 1 }), ..good() },
        ),
        (
            "fast.simulations",
            SearchConfig { fast: Some(FastSearch { full_share: 0.5, simulations: 0 }), ..good() },
        ),
        (
            "gumbel.considered",
            SearchConfig { gumbel: Some(Gumbel { considered: 0, ..Gumbel::default() }), ..good() },
        ),
        (
            "gumbel.scale",
            SearchConfig { gumbel: Some(Gumbel { scale: -1.0, ..Gumbel::default() }), ..good() },
        ),
        (
            "temperature.value",
            SearchConfig { temperature: Temperature::Constant { value: -1.0 }, ..good() },
        ),
        (
            "temperature.half_life",
            SearchConfig {
                temperature: Temperature::Decay { start: 1.0, end: 0.0, half_life: 0.0 },
                ..good()
            },
        ),
        ("leaves_in_flight", SearchConfig { leaves_in_flight: 0, ..good() }),
        ("virtual_value", SearchConfig { virtual_value: f32::NAN, ..good() }),
        ("max_nodes", SearchConfig { max_nodes: 1, ..good() }),
    ];
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    for (field, config) in cases {
        let error = config.validate().unwrap_err();
        assert!(
            matches!(error, SearchConfigError::Range { field: named, .. } if named == field),
            "{field}: {error}"
        );
        assert!(error.to_string().starts_with(&format!("search config: {field} is ")));
        assert_eq!(
            Search::new(config, &game).err().map(|same| same.to_string()),
            Some(error.to_string())
        );
    }
}

#[test]
fn settings_that_exclude_each_other_are_refused() {
    let gumbel = SearchConfig { gumbel: Some(Gumbel::default()), ..SearchConfig::default() };
    let cases = [
        SearchConfig { noise: Some(Noise::default()), ..gumbel.clone() },
        SearchConfig { forced_playouts: Some(2.0), ..gumbel.clone() },
        SearchConfig { tremble: 0.1, ..gumbel.clone() },
        SearchConfig {
            simultaneous: Simultaneous::RegretMatching { exploration: 0.5 },
            tremble: 0.1,
            ..SearchConfig::default()
        },
        SearchConfig { simultaneous: Simultaneous::RegretMatching { exploration: 0.5 }, ..gumbel },
    ];
    for config in cases {
        assert!(matches!(config.validate(), Err(SearchConfigError::Conflict { .. })));
    }
}

#[test]
fn temperatures_follow_their_schedules() {
    assert_eq!(Temperature::Constant { value: 0.5 }.at(100), 0.5);
    let until = Temperature::Until { time: 30, before: 1.0, after: 0.0 };
    assert_eq!([0, 29, 30, 31].map(|time| until.at(time)), [1.0, 1.0, 0.0, 0.0]);
    let decay = Temperature::Decay { start: 0.8, end: 0.2, half_life: 10.0 };
    for (time, expected) in [(0, 0.8), (10, 0.5), (20, 0.35), (1_000, 0.2)] {
        assert!((decay.at(time) - expected).abs() < 1e-6, "{time}");
    }
}
