//! Tests of both kinds of replay with a journal, training states and crashes.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::*;
use crate::journal::{Journal, Options, Record};
use crate::testing::{MemoryDisk, Survival};
use crate::window::{Deal, Growth};

mod purge;

#[derive(Debug)]
struct Game {
    number: u64,
    positions: u32,
    is_void: bool,
}

impl Game {
    fn new(number: u64) -> Self {
        Self { number, positions: (number * 37 % 23) as u32, is_void: false }
    }
}

impl Item for Game {
    fn positions(&self) -> u32 {
        self.positions
    }

    fn bytes(&self) -> usize {
        100
    }

    fn generation(&self) -> Generation {
        Generation((self.number / 16) as u32)
    }

    fn is_void(&self) -> bool {
        self.is_void
    }
}

fn window() -> ReplaySettings {
    let growth = Growth { start: 300, power: 0.75, slope: 0.4 };
    let ratio = Settings {
        samples_per_insert: 3.0,
        warmup: 60,
        tolerance: 120.0,
        largest_insert: 22,
        largest_sample: 32,
    };
    let window = WindowSettings { growth, max_bytes: 4_000, min_positions: 60, seed: 2 };
    ReplaySettings::Window { window, ratio }
}

fn fifo(deal: Deal) -> ReplaySettings {
    let (max_positions, max_bytes) = (200, 100_000);
    ReplaySettings::Fifo(FifoSettings { max_positions, max_bytes, batch: 32, deal, max_lag: 3 })
}

fn kinds() -> [ReplaySettings; 3] {
    let mixed = Deal { batches: 4, segment: 5, seed: 3 };
    [window(), fifo(Deal::default()), fifo(mixed)]
}

fn open(disk: &MemoryDisk) -> Journal<MemoryDisk> {
    let options = Options { segment_bytes: 400, ..Options::default() };
    Journal::open(disk.clone(), b"run", options).expect("opens").0
}

/// Resumes a replay from state and journal, as a learner does at its start.
fn start(
    settings: ReplaySettings,
    state: &ReplayState,
    journal: &Journal<MemoryDisk>,
) -> Replay<Game> {
    state.check(journal.oldest_record(), journal.records()).expect("the journal has it all");
    let mut replay = Replay::resume(settings, state).expect("possible");
    let each = |number, record: Record<'_>| {
        assert_eq!(record.payload.try_into().map(u64::from_le_bytes).ok(), Some(number));
        replay.insert(number, Game::new(number)).expect("in order");
        ControlFlow::<()>::Continue(())
    };
    journal.visit(state.cursor.first, each).expect("reads");
    replay
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Game,
    Batch,
    Save,
    Crash,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        20 => Just(Event::Game),
        20 => Just(Event::Batch),
        2 => Just(Event::Save),
        1 => Just(Event::Crash),
    ];
    proptest::collection::vec(event, 1..200)
}

proptest! {
    #[test]
    fn every_accepted_game_is_counted_once_whatever_crashes(
        events in events(),
        kind in 0..3_usize,
    ) {
        let settings = kinds()[kind];
        let mut disk = MemoryDisk::new();
        let mut journal = open(&disk);
        journal.greet("a", None).expect("a short name");
        journal.commit().expect("there is space");
        let mut saved = ReplayState::default();
        let mut replay = start(settings, &saved, &journal);
        for event in events {
            match event {
                Event::Game => {
                    let number = journal.records();
                    let game = Game::new(number);
                    if replay.may_insert(u64::from(game.positions), 0) {
                        let (payload, sequence) = (number.to_le_bytes(), number + 1);
                        let (actor, epoch, generation) = ("a", 1, Generation(0));
                        let record = Record { actor, epoch, sequence, generation, payload: &payload };
                        journal.append(record).expect("it fits");
                        journal.commit().expect("there is space");
                        replay.insert(number, game).expect("in order");
                    }
                }
                Event::Batch => {
                    let newest = Generation((journal.records() / 16) as u32);
                    if let Ok(batch) = replay.batch(32, newest) {
                        prop_assert_eq!(batch.draws.len(), 32);
                    }
                }
                Event::Save => {
                    let stored = serde_json::to_string(&replay.state()).expect("plain numbers");
                    saved = serde_json::from_str(&stored).expect("it was just written");
                    journal.release_before(saved.cursor.first).expect("the disk is sound");
                }
                Event::Crash => {
                    disk = disk.after_crash(Survival::Synced);
                    journal = open(&disk);
                    replay = start(settings, &saved, &journal);
                    prop_assert_eq!(replay.state().counters.samples, saved.counters.samples);
                }
            }
            let records = journal.records();
            let inserted: u64 = (0..records).map(|n| u64::from(Game::new(n).positions)).sum();
            prop_assert_eq!(replay.next(), records);
            prop_assert_eq!(replay.state().counters.inserts, inserted);
            let state = replay.state().cursor;
            let held: u64 = (state.first..records).map(|n| u64::from(Game::new(n).positions)).sum();
            prop_assert_eq!(state.before + held, inserted);
        }
    }
}

#[test]
fn neither_kind_ever_waits_for_itself() {
    for settings in kinds() {
        let mut replay = Replay::resume(settings, &ReplayState::default()).unwrap();
        let (mut games, mut batches) = (0, 0);
        while batches < 2_000 {
            let game = Game::new(games);
            let may_insert = replay.may_insert(u64::from(game.positions), 0);
            if may_insert {
                replay.insert(games, game).unwrap();
                games += 1;
            }
            let batch = replay.batch(32, Generation((games / 16) as u32));
            batches += u64::from(batch.is_ok());
            assert!(may_insert || batch.is_ok(), "game {games}, batch {batches}");
        }
        let Status { counters, positions, capacity, bytes, .. } = replay.status();
        assert_eq!(counters.samples, 64_000);
        assert!(positions <= capacity && bytes <= 4_000, "{positions} of {capacity}");
        match settings {
            ReplaySettings::Window { ratio, .. } => {
                let inserts = (counters.inserts - ratio.warmup) as f64;
                let achieved = counters.samples as f64 / inserts;
                assert!((achieved - ratio.samples_per_insert).abs() < 0.05, "{achieved}");
            }
            ReplaySettings::Fifo(_) => assert_eq!(counters.inserts, counters.samples + positions),
        }
    }
}

#[test]
fn settings_that_change_between_starts_stall_neither_side() {
    let ReplaySettings::Window { window: was, ratio } = window() else { unreachable!("a window") };
    let with = |samples_per_insert, warmup| {
        let mut ratio = Settings { samples_per_insert, warmup, ..ratio };
        ratio.tolerance = ratio.least_tolerance();
        ReplaySettings::Window { window: WindowSettings { min_positions: warmup, ..was }, ratio }
    };
    let mut state = ReplayState::default();
    let mut games = 0;
    for (settings, wanted) in [(with(3.0, 60), 3.0), (with(0.5, 60), 0.5), (with(9.0, 20), 9.0)] {
        let mut replay = Replay::resume(settings, &state).unwrap();
        (state.cursor.first..state.cursor.next)
            .for_each(|number| replay.insert(number, Game::new(number)).unwrap());
        for _ in 0..4_000 {
            let game = Game::new(games);
            let may_insert = replay.may_insert(u64::from(game.positions), 0);
            if may_insert {
                replay.insert(games, game).unwrap();
                games += 1;
            }
            let batch = replay.batch(32, Generation(0));
            assert!(may_insert || batch.is_ok(), "{wanted}: {:?}", replay.state());
        }
        let (before, now) = (state.counters, replay.state().counters);
        let achieved =
            (now.samples - before.samples) as f64 / (now.inserts - before.inserts) as f64;
        assert!((achieved / wanted - 1.0).abs() < 0.1, "{wanted}: {achieved}");
        state = replay.state();
    }
}

#[test]
fn a_window_without_its_state_samples_at_once_or_after_the_rest_of_its_warm_up() {
    let ReplaySettings::Window { window: size, ratio } = window() else { unreachable!("a window") };
    let slower = Settings { samples_per_insert: 1.0, ..ratio };
    for (games, is_enough) in [(100..120, true), (100..103, false)] {
        let held: u64 = games.clone().map(|number| u64::from(Game::new(number).positions)).sum();
        assert_eq!(held >= ratio.warmup, is_enough);
        let state = ReplayState::refilled(&ratio, games.clone(), 1_100, held);
        for ratio in [ratio, slower] {
            let settings = ReplaySettings::Window { window: size, ratio };
            let mut replay = Replay::resume(settings, &state).expect("possible");
            let fill = |number| replay.insert(number, Game::new(number)).expect("in order");
            games.clone().for_each(fill);
            assert_eq!(replay.state().counters, Counters { inserts: 1_100 + held, samples: 0 });
            assert_eq!(replay.state().cursor, state.cursor);
            assert!(replay.may_insert(22, 0));
            assert_eq!(replay.batch(32, Generation(7)).is_ok(), is_enough);
        }
    }
}

#[test]
fn what_brings_no_positions_is_always_welcome() {
    for settings in kinds() {
        let mut replay = Replay::resume(settings, &ReplayState::default()).unwrap();
        let mut number = 0;
        while replay.may_insert(1, 0) {
            replay.insert(number, Game::new(number)).unwrap();
            number += 1;
        }
        assert!(replay.may_insert(0, 1_000));
    }
}

#[test]
fn a_replay_that_is_ahead_says_so_and_is_not_counted() {
    let mut replay = Replay::resume(window(), &ReplayState::default()).unwrap();
    (0..8).for_each(|number| replay.insert(number, Game::new(number)).unwrap());
    let mut drawn = 0;
    let error = loop {
        match replay.batch(32, Generation(0)) {
            Ok(batch) => drawn += batch.draws.len() as u64,
            Err(error) => break error,
        }
    };
    assert_eq!(error.to_string(), "32 more samples would be too many for what was inserted");
    assert_eq!((replay.state().counters.samples, drawn > 0), (drawn, true));
    assert_eq!(replay.state().cursor.batches, drawn / 32);
}

#[test]
fn settings_that_would_wait_for_ever_are_refused_by_name() {
    let said = |settings: ReplaySettings| {
        let refused = Replay::<Game>::resume(settings, &ReplayState::default());
        refused.expect_err("impossible").to_string()
    };
    let mixed = Deal { batches: 4, ..Deal::default() };
    let (ReplaySettings::Window { window, ratio }, ReplaySettings::Fifo(fifo)) =
        (window(), fifo(mixed))
    else {
        unreachable!("one of each")
    };
    let with = |window, ratio| said(ReplaySettings::Window { window, ratio });
    let late = WindowSettings { min_positions: 61, ..window };
    assert_eq!(
        with(late, ratio),
        "min_positions is 61; with a warm-up of 60 it may be at most that"
    );
    let narrow = WindowSettings { growth: Growth::fixed(50), ..window };
    assert_eq!(
        with(narrow, ratio),
        "min_positions is 60; with a window of 50 it may be at most that"
    );
    assert_eq!(
        with(WindowSettings { growth: Growth::fixed(0), ..window }, ratio),
        "window: start is 0; it must be at least 1"
    );
    assert!(with(window, Settings { tolerance: 1.0, ..ratio }).starts_with("tolerance is 1"));
    assert_eq!(
        said(ReplaySettings::Fifo(FifoSettings { max_positions: 127, ..fifo })),
        "max_positions is 127; 128 positions are dealt together, and must fit"
    );
    let zero = Deal { segment: 0, ..mixed };
    assert_eq!(
        said(ReplaySettings::Fifo(FifoSettings { deal: zero, ..fifo })),
        "deal.segment is 0; it must be at least 1"
    );
}

#[test]
fn a_state_that_the_journal_cannot_bring_back_is_refused() {
    let cursor = Cursor { first: 5, next: 9, ..Cursor::default() };
    let state = ReplayState { cursor, ..ReplayState::default() };
    assert_eq!(state.check(5, 9), Ok(()));
    assert_eq!(state.check(0, 20), Ok(()));
    assert_eq!(
        state.check(6, 20).unwrap_err().to_string(),
        "replay state needs games 5 to 9 (the last not included); the journal holds 6 to 20: \
         restore the journal that belongs to this training state"
    );
    assert!(matches!(state.check(0, 8), Err(StateError::Journal { newest: 8, .. })));
    let backwards = Cursor { first: 9, next: 5, ..Cursor::default() };
    let refused = ReplayState { cursor: backwards, ..state }.check(0, 20);
    assert_eq!(refused, Err(StateError::Order { first: 9, next: 5 }));
    let newer = ReplayState { version: 4, ..state }.check(0, 20);
    assert_eq!(newer, Err(StateError::Version { got: 4 }));
    let json = serde_json::to_string(&state).unwrap();
    let first = json
        .replace("\"version\":3", "\"version\":1")
        .replace(",\"pace\":null", "")
        .replace(",\"dealt\":null", "");
    let first: ReplayState = serde_json::from_str(&first).unwrap();
    assert_eq!((first.version, first.check(0, 20)), (1, Ok(())));
    assert!(serde_json::from_str::<ReplayState>(&json.replace("batches", "btaches")).is_err());
}

#[test]
fn as_many_batches_are_held_as_can_be_drawn_in_a_row() {
    for settings in kinds() {
        let mut replay = Replay::resume(settings, &ReplayState::default()).expect("possible");
        let mut drawn = 0;
        for number in 0..60 {
            replay.insert(number, Game::new(number)).expect("in order");
            let newest = Generation((number / 16) as u32);
            let held = (1..).take_while(|&batches| replay.holds(batches, 32, newest)).count();
            // Only after every third game, so that there are enough positions to draw.
            if number % 3 == 2 {
                let can = (0..).take_while(|_| replay.batch(32, newest).is_ok()).count();
                assert_eq!(held, can, "{settings:?}, game {number}");
                drawn += can;
            }
        }
        assert!(drawn > 10, "{settings:?}");
    }
}
