//! Replays that resume after a purge, from training states older and newer than it.

use std::collections::BTreeSet;

use super::*;
use crate::window::Draw;

const ACTORS: [&str; 3] = ["eve", "a", "b"];

fn is_of(number: u64, actor: &str) -> bool {
    ACTORS[(number % 3) as usize] == actor
}

/// Appends the game `number`; the actors take turns.
fn append(journal: &mut Journal<MemoryDisk>, number: u64) {
    let actor = ACTORS[(number % 3) as usize];
    if journal.watermark(actor).is_none() {
        journal.greet(actor, None).expect("a short name");
        journal.commit().expect("there is space");
    }
    let (epoch, watermark) = journal.watermark(actor).expect("it was greeted");
    let (payload, sequence) = (number.to_le_bytes(), watermark + 1);
    let record = Record { actor, epoch, sequence, generation: Generation(0), payload: &payload };
    assert_eq!(
        journal.append(record).expect("it fits"),
        crate::Appended::Uncommitted(Some(number))
    );
    journal.commit().expect("there is space");
}

/// Resumes a replay and leaves out what was purged, as a learner does.
fn start(
    settings: ReplaySettings,
    state: &ReplayState,
    journal: &Journal<MemoryDisk>,
) -> Replay<Game> {
    let mut replay = Replay::resume(settings, state).expect("possible");
    let each = |number, record: Record<'_>| {
        let is_void = journal.is_void(record.actor, number);
        replay.insert(number, Game { is_void, ..Game::new(number) }).expect("in order");
        ControlFlow::<()>::Continue(())
    };
    journal.visit(state.cursor.first, each).expect("reads");
    replay
}

/// Draws `batches` batches and plays on where the pace demands games. Returns the games drawn.
fn draw(
    replay: &mut Replay<Game>,
    journal: &mut Journal<MemoryDisk>,
    batches: usize,
    newest: Generation,
) -> BTreeSet<u64> {
    let (mut drawn, mut count) = (BTreeSet::new(), 0);
    while count < batches {
        let number = journal.records();
        let game = Game::new(number);
        let may_insert = replay.may_insert(u64::from(game.positions), 0);
        if may_insert {
            append(journal, number);
            replay.insert(number, game).expect("in order");
        }
        let batch = replay.batch(32, newest);
        assert!(may_insert || batch.is_ok(), "it waits for itself: {:?}", replay.state());
        if let Ok(batch) = batch {
            assert_eq!(batch.draws.len(), 32);
            let valid = |draw: &Draw<Game>| !draw.item.is_void && draw.number == draw.item.number;
            assert!(batch.draws.iter().all(valid));
            drawn.extend(batch.draws.iter().map(|draw| draw.number));
            count += 1;
        }
    }
    drawn
}

#[test]
fn no_purged_game_is_drawn_and_all_others_of_a_queue_are_whatever_state_is_resumed() {
    for settings in kinds() {
        // No game becomes too old for a queue.
        let newest = Generation(0);
        let mut journal = open(&MemoryDisk::new());
        let mut replay = Replay::resume(settings, &ReplayState::default()).expect("possible");
        let mut states = vec![ReplayState::default()];
        for _ in 0..12 {
            draw(&mut replay, &mut journal, 3, newest);
            states.push(replay.state());
        }
        let held = journal.records();
        let purges = journal.purge(&["eve"], "op", 7).expect("there is space");
        assert_eq!(purges.len(), 1);
        assert_eq!(
            purges[0].records,
            (0..held).filter(|&number| is_of(number, "eve")).count() as u64
        );
        for state in states {
            let mut replay = start(settings, &state, &journal);
            assert_eq!(replay.next(), journal.records());
            let cursor = replay.state().cursor;
            let drawn = draw(&mut replay, &mut journal, 40, newest);
            let is_void = |number: u64| number < held && is_of(number, "eve");
            assert!(drawn.iter().all(|&number| !is_void(number)));
            // A window drops old games while it draws; that it draws all of them is tested there.
            let ReplaySettings::Fifo(_) = settings else { continue };
            // In the middle of a deal, some positions of it may have been used before.
            let first = if cursor.dealt.is_some() { cursor.first + 32 } else { cursor.first };
            let has_positions = |number: &u64| Game::new(*number).positions > 0;
            let missing: Vec<u64> = (first..held)
                .filter(|number| has_positions(number) && !is_void(*number))
                .filter(|number| !drawn.contains(number))
                .collect();
            assert!(missing.is_empty(), "{settings:?}: {missing:?} of {first}..{held}");
        }
    }
}

#[test]
fn a_run_whose_games_were_all_purged_goes_on_with_new_ones() {
    for settings in kinds() {
        let mut journal = open(&MemoryDisk::new());
        let mut replay = Replay::resume(settings, &ReplayState::default()).expect("possible");
        for batches in [1, 20, 60] {
            draw(&mut replay, &mut journal, batches, Generation(0));
            let held = journal.records();
            journal.purge(&ACTORS, "op", 7).expect("there is space");
            replay = start(settings, &replay.state(), &journal);
            let drawn = draw(&mut replay, &mut journal, 20, Generation(0));
            assert!(drawn.iter().all(|&number| number >= held));
        }
    }
}
