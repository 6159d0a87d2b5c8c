//! Compares the shape of every event with its documented example.

use std::collections::BTreeMap;

use ouro_net::Generation;
use ouro_rating::{ClusterShape, Estimate, GateReport, Score};
use serde_json::Value;

use super::*;

const DOCUMENTED: &str = include_str!("../../../../../docs/events.md");

fn at_gate() -> Match {
    let report = GateReport {
        shape: ClusterShape { seats: 2 },
        threshold: 0.55,
        max_games: 400,
        games: 96,
        duplicates: 0,
        score: Score { wins: 61, draws: 3, losses: 32 },
        share: 0.651,
        low: 0.556,
        high: 0.746,
        margin: None,
        sprt: None,
        ruling: None,
    };
    Match::new("generation-2".to_owned(), "generation-1".to_owned(), &report)
}

fn rating() -> Rating {
    let (elo, elo_low, elo_high) = (540.1, 497.0, 583.2);
    let to_champion = Some(Estimate { value: -12.0, low: -40.5, high: 16.5 });
    let player = "generation-2".to_owned();
    Rating { player, elo, elo_low, elo_high, games: 416, score: 0.77, to_champion }
}

fn decision() -> Decision {
    let explanation = "It won.".to_owned();
    Decision { seconds: 70.2, generation: Generation(2), played: at_gate(), pool: 3, explanation }
}

/// One event of each kind.
fn all() -> Vec<Event> {
    let best = Some(Rated::from(&rating()));
    let loss = Some(1.5);
    let ratings = RatingTable { ratings: vec![rating()], ..RatingTable::default() };
    let weights = "runs/mine/arena/weights/9f86d081.safetensors".to_owned();
    let champion = Some(Champion { generation: Generation(2), weights });
    vec![
        Event::Start(Start { page: Some(String::new()), ..Start::default() }),
        Event::Progress(Progress {
            loss,
            policy_loss: loss,
            value_loss: loss,
            entropy: loss,
            best,
            gate: Some(at_gate()),
            ..Progress::default()
        }),
        Event::Promotion(decision()),
        Event::Rejection(decision()),
        Event::Dropped { generation: Generation(3), reason: "too old".to_owned() },
        Event::Overtaken { first: Generation(3), last: Generation(7), count: 5, by: Generation(8) },
        Event::Pause { reason: "no space left".to_owned() },
        Event::Resumed,
        Event::Draining,
        Event::End(End { ratings, champion, resume: "ouro train --run runs/mine".to_owned() }),
    ]
}

/// Replaces every number and text in a value by its kind.
fn shape(value: &Value) -> Value {
    match value {
        Value::Number(_) => "number".into(),
        Value::String(_) => "text".into(),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), shape(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn the_documentation_shows_the_shape_of_every_event() {
    let documented: BTreeMap<String, Value> = DOCUMENTED
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str::<Value>(line).expect("an example is JSON"))
        .map(|value| (value["event"].as_str().expect("it is named").to_owned(), value))
        .collect();
    let mut shown = 0;
    for event in all() {
        let value = serde_json::to_value(&event).expect("events are plain data");
        let name = value["event"].as_str().expect("it is named");
        let example = documented.get(name).unwrap_or_else(|| panic!("{name} is not documented"));
        // The example of a start is free to show a new or a resumed run.
        let (mut ours, mut theirs) = (shape(&value), shape(example));
        for side in [&mut ours, &mut theirs] {
            side.as_object_mut().expect("an object").remove("new");
        }
        assert_eq!(ours, theirs, "{name}");
        shown += 1;
    }
    assert_eq!(shown, documented.len());
}

#[test]
fn what_scrolls_by_is_told_in_words() {
    let texts: Vec<String> = all().iter().map(ToString::to_string).collect();
    assert!(texts[0].starts_with("resuming the run of "), "{texts:?}");
    assert_eq!(texts[1], "", "progress is for the panel");
    assert_eq!(texts[2], "00:01:10  PROMOTED It won.");
    assert_eq!(
        texts[5],
        "dropped 5 candidates, generation-3 to generation-7: overtaken by generation-8"
    );
    assert_eq!(texts[6], "PAUSED: no space left");
    let row = "generation-2         +540     +497 to +583        -12 ± 28    416    77 %";
    assert!(texts[9].contains(row), "{}", texts[9]);
    let last = "\nchampion generation-2: runs/mine/arena/weights/9f86d081.safetensors\n\
                resume with: ouro train --run runs/mine";
    assert!(texts[9].ends_with(last), "{texts:?}");
    let none = Event::End(End::default()).to_string();
    assert!(none.ends_with("\nno champion\nresume with: "), "{none}");
}

#[test]
fn a_loss_that_was_not_read_is_null_and_a_line_with_a_loss_is_read_back() {
    let value = serde_json::to_value(Progress::default()).expect("plain data");
    for key in ["loss", "policy_loss", "value_loss", "entropy"] {
        assert!(value[key].is_null(), "{key}: {value}");
    }
    let read = |text| serde_json::from_str::<Progress>(text).expect("a line of the history").loss;
    assert_eq!([read("{\"loss\":1.5}"), read("{\"loss\":null}")], [Some(1.5), None]);
}
