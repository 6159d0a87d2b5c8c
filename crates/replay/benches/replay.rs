//! Throughput of the stages of replay, in positions per second.
//!
//! The stages are encoding, appending and committing a game; reading, decoding and inserting it;
//! and sampling and decoding a position.
//!
//! `cargo bench -p ouro-replay`
//!
//! The game is a duel of 40 plies: 80 positions, each with a policy target of three moves, 2.4 kB.
//! The journal is in the system's folder for temporary files (`TMPDIR`). Its syncs are real, so
//! the figures depend on that disk.

use std::ops::ControlFlow;
use std::sync::Arc;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use ouro_game::record::RECORD_VERSION;
use ouro_game::{Action, GameConfig, Rng};
use ouro_net::Generation;
use ouro_replay::{
    Cursor, EncodedTrajectory, FolderDisk, Growth, Journal, Move, Options, Ply, PositionRef,
    Record, RecordHeader, SearchTarget, Seat, Trajectory, Window, WindowSettings,
};
use tempfile::TempDir;

const PLIES: u16 = 40;
const POSITIONS: u64 = 2 * PLIES as u64;
/// Games in the journal of the benches that read.
const GAMES: u64 = 3_200;

fn main() {
    divan::main();
}

fn config() -> Arc<GameConfig> {
    Arc::new(GameConfig::by_name("battlesnake").expect("it is in the box"))
}

fn duel(seed: u64) -> Trajectory {
    let mut rng = Rng::new(seed, "duel");
    let mut draw = || rng.unit() as f32;
    let seat = |outcome| Seat { generation: Some(Generation(17)), learns: true, outcome };
    let plies = (0..PLIES).map(|_| {
        let moves = [3, 1].map(|action| {
            let behaviour = draw();
            let policy = (0..3).map(|action| (Action(action), draw())).collect();
            let search = Some(SearchTarget { policy, value: draw(), surprise: draw() });
            Move { action: Action(action), behaviour, search }
        });
        Ply { moves: moves.into() }
    });
    let plies = plies.collect();
    let digests = vec![!seed];
    let record = RecordHeader { version: RECORD_VERSION, config: config(), seed, digests };
    Trajectory { record, seats: vec![seat(1.0), seat(-1.0)], plies }
}

fn positions() -> Vec<PositionRef> {
    (0..PLIES).flat_map(|ply| [0, 1].map(|seat| PositionRef { ply, mover: seat, seat })).collect()
}

fn journal() -> (TempDir, Journal) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let disk = FolderDisk::open(folder.path()).expect("it is empty");
    let (mut journal, _) = Journal::open(disk, b"{}", Options::default()).expect("it is new");
    journal.greet("actor", None).expect("the name is short");
    journal.commit().expect("there is space");
    (folder, journal)
}

fn append(journal: &mut Journal, sequence: u64, payload: &[u8]) {
    let record = Record { actor: "actor", epoch: 1, sequence, generation: Generation(17), payload };
    journal.append(record).expect("it fits");
}

/// A journal of [`GAMES`] games.
fn filled() -> (TempDir, Journal) {
    let (folder, mut journal) = journal();
    for sequence in 1..=GAMES {
        append(&mut journal, sequence, &duel(sequence).encode().expect("it has a form"));
        if sequence % 64 == 0 {
            journal.commit().expect("there is space");
        }
    }
    (folder, journal)
}

fn window() -> Window<EncodedTrajectory> {
    let settings = WindowSettings {
        growth: Growth::fixed(GAMES * POSITIONS),
        max_bytes: usize::MAX,
        min_positions: 1,
        seed: 1,
    };
    Window::resume(settings, Cursor::default())
}

fn refill(journal: &Journal) -> Window<EncodedTrajectory> {
    let (mut window, positions, config) = (window(), positions(), config());
    let each = |number, record: Record<'_>| {
        let game = Trajectory::decode(record.payload, &config).expect("it was encoded here");
        let positions = &positions[..2 * game.plies.len()];
        let game = EncodedTrajectory::new(record.payload, record.generation, positions);
        window.insert(number, game).expect("records come in order");
        ControlFlow::<()>::Continue(())
    };
    journal.visit(0, each).expect("it was just written");
    window
}

#[divan::bench]
fn encode(bencher: Bencher<'_, '_>) {
    let game = duel(1);
    bencher.counter(ItemsCount::new(POSITIONS)).bench_local(|| black_box(&game).encode());
}

#[divan::bench]
fn decode(bencher: Bencher<'_, '_>) {
    let (bytes, config) = (duel(1).encode().expect("it has a form"), config());
    bencher
        .counter(ItemsCount::new(POSITIONS))
        .bench_local(|| Trajectory::decode(black_box(&bytes), &config));
}

/// Appends and commits encoded games, with one sync per `games` games.
#[divan::bench(args = [1, 8, 64], sample_count = 200, sample_size = 1)]
fn append_and_commit(bencher: Bencher<'_, '_>, games: u64) {
    let (_folder, mut journal) = journal();
    let (payload, mut sequence) = (duel(1).encode().expect("it has a form"), 0);
    bencher.counter(ItemsCount::new(games * POSITIONS)).bench_local(|| {
        for _ in 0..games {
            sequence += 1;
            append(&mut journal, sequence, &payload);
        }
        journal.commit().expect("there is space")
    });
}

/// Appends without a sync, which measures the CPU time.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn append_only(bencher: Bencher<'_, '_>) {
    let payload = duel(1).encode().expect("it has a form");
    bencher.with_inputs(journal).counter(ItemsCount::new(1_000 * POSITIONS)).bench_local_values(
        |(folder, mut journal)| {
            (1..=1_000).for_each(|sequence| append(&mut journal, sequence, &payload));
            (folder, journal)
        },
    );
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn open_and_verify(bencher: Bencher<'_, '_>) {
    let (folder, journal) = filled();
    let bytes = journal.size().1;
    drop(journal);
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        let disk = FolderDisk::open(folder.path()).expect("nobody holds it");
        Journal::open(disk, b"{}", Options::default()).expect("it is sound")
    });
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn visit_decode_and_insert(bencher: Bencher<'_, '_>) {
    let (_folder, journal) = filled();
    bencher.counter(ItemsCount::new(GAMES * POSITIONS)).bench_local(|| refill(&journal));
}

#[divan::bench]
fn sample_256(bencher: Bencher<'_, '_>) {
    let (_folder, journal) = filled();
    let mut window = refill(&journal);
    bencher
        .counter(ItemsCount::new(256_u64))
        .bench_local(|| window.sample(256, Generation(20)).expect("it is full"));
}

#[divan::bench]
fn sample_and_decode_256(bencher: Bencher<'_, '_>) {
    let (_folder, journal) = filled();
    let (mut window, config) = (refill(&journal), config());
    bencher.counter(ItemsCount::new(256_u64)).bench_local(|| {
        let batch = window.sample(256, Generation(20)).expect("it is full");
        batch.draws.iter().filter(|draw| draw.item.decode(&config).is_ok()).count()
    });
}
