//! Times of the embedded store in a run of 10,000 generations and a million games:
//! `cargo bench -p ouro-arena --bench store`.

#![expect(clippy::print_stderr, reason = "the bench prints the size of its store")]

use std::sync::LazyLock;

use ouro_arena::player_id::{MatchKey, PlayerId};
use ouro_arena::store::{EmbeddedStore, MatchInfo, Run, Store, StoredCluster, replay};
use ouro_game::GameConfig;
use ouro_net::{ContentHash, Generation, RunId};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Ranking};

/// Candidates, each with one match.
const GENERATIONS: u32 = 10_000;

/// Pairs of games in a match.
const CLUSTERS: u32 = 50;

/// A folder with a store of all generations.
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let store = EmbeddedStore::open(folder.path()).expect("a new store");
    let game = GameConfig::by_name("tic_tac_toe").expect("it is in the box");
    store.bind_run(&Run { game, seed: 1 }, RunId::of(b"bench")).expect("a new run");
    for generation in 0..GENERATIONS {
        publish(&store, generation);
        play(&store, generation);
    }
    folder
});

fn main() {
    LazyLock::force(&FOLDER);
    let log = FOLDER.path().join("results.log");
    let bytes = std::fs::metadata(log).expect("it is written").len();
    let games = 2 * GENERATIONS * CLUSTERS;
    eprintln!("{games} games, {:.0} MB of results", bytes as f64 / 1e6);
    divan::main();
}

fn publish(store: &EmbeddedStore, generation: u32) {
    let checkpoint = Checkpoint {
        hash: ContentHash::of(&generation.to_le_bytes()),
        generation: Generation(generation),
        step: 1,
        size_bytes: 4,
        status: CheckpointStatus::Candidate,
        published_at: 1.5,
        parent: None,
    };
    store.add_checkpoint(&checkpoint).expect("there is space");
}

fn play(store: &EmbeddedStore, generation: u32) {
    let key = MatchKey::rating(Generation(generation).into(), PlayerId::random());
    let shape = ClusterShape { seats: 2 };
    let player = "net{weights=self}".to_owned();
    let info = MatchInfo { number: 0, key, shape, rule: None, player, opened_at: 0.5 };
    let number = store.open_match(&info).expect("there is space").number;
    let results: Vec<StoredCluster> = (0..CLUSTERS).map(|cluster| pair(number, cluster)).collect();
    store.record(number, &results, &[]).expect("there is space");
}

fn pair(number: u32, cluster: u32) -> StoredCluster {
    let game = |seat: u64| {
        let result = [1.0, 0.0, -1.0][(u64::from(cluster) + seat) as usize % 3];
        let fingerprint = (u64::from(number) << 32 | u64::from(cluster) << 1 | seat)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        GameResult { ranking: Ranking::new(result, &[-result]), margin: 0.25, fingerprint }
    };
    StoredCluster { result: ClusterResult { cluster, games: vec![game(0), game(1)] }, counts: true }
}

/// A start: reads and verifies the log and builds all tables.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn open() -> EmbeddedStore {
    EmbeddedStore::open(FOLDER.path()).expect("a sound store")
}

/// One call with a pair of games, synced to the disk.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn record(bencher: divan::Bencher<'_, '_>) {
    let store = EmbeddedStore::open(FOLDER.path()).expect("a sound store");
    let mut cluster = store.results(0).expect("it can be read").len() as u32;
    bencher.bench_local(|| {
        cluster += 1;
        store.record(0, &[pair(0, cluster)], &[]).expect("there is space")
    });
}

/// The results of one match, read from the log, as when the match resumes.
#[divan::bench]
fn results(bencher: divan::Bencher<'_, '_>) {
    let store = EmbeddedStore::open(FOLDER.path()).expect("a sound store");
    bencher.bench_local(|| store.results(GENERATIONS - 1).expect("it can be read"));
}

/// The whole replay of `ouro check`, with the gates.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn replay_all(bencher: divan::Bencher<'_, '_>) {
    let store = EmbeddedStore::open(FOLDER.path()).expect("a sound store");
    bencher.bench_local(|| replay(&store).expect("a sound log"));
}
