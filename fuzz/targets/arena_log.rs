//! Edited files of an arena's store open with an unchanged prefix of the log, or are refused in one
//! line. A store that opens answers every query, replays, takes further entries and opens again.
//!
//! The first byte selects what the rest edits: bytes of the log, bytes of the kept games, the entries
//! of the log, or the kept games. Edited entries and games get new checksums, so that they are read.
//! An input that starts with a printable character holds the entries of a log, one per line.
#![no_main]

mod byte_edits;
mod json_edits;

use std::fmt::Write;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ouro_arena::store::{
    Decision, EmbeddedStore, GameKey, LOG_FILE, LogEntry, MatchInfo, Outcome, Run, Store,
    StoreError, StoredCluster, StoredGame, replay,
};
use ouro_arena::{MatchKey, PlayerId};
use ouro_game::record::Recorder;
use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Action, GameConfig};
use ouro_net::{ContentHash, Generation, RunId};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Gate, GateConfig, Ranking};
use ouro_replay::testing::MemoryDisk;
use serde_json::Value;

const GAMES_FILE: &str = "games.log";
const SHAPE: ClusterShape = ClusterShape { seats: 2 };

type Opened = EmbeddedStore<MemoryDisk>;

/// The files of a store and what is in them.
struct Valid {
    log: Vec<u8>,
    games: Vec<u8>,
    entries: Vec<LogEntry>,
    kept: Vec<(GameKey, StoredGame)>,
    /// The texts of the entries and of the kept games.
    texts: [Value; 2],
}

fn checkpoint(generation: u32) -> Checkpoint {
    Checkpoint {
        hash: ContentHash::of(&generation.to_le_bytes()),
        generation: Generation(generation),
        step: 100,
        size_bytes: 4,
        status: CheckpointStatus::Candidate,
        published_at: 1.5,
        parent: generation.checked_sub(1).map(Generation),
    }
}

fn info(key: MatchKey, rule: Option<GateConfig>) -> MatchInfo {
    let player = "net{weights=self}".to_owned();
    MatchInfo { number: 0, key, shape: SHAPE, rule, player, opened_at: 0.5 }
}

/// A pair with this result of the first player.
fn pair(cluster: u32, result: f32) -> ClusterResult {
    let game = |index| GameResult {
        ranking: Ranking::new(result, &[0.0]),
        margin: 0.25,
        fingerprint: 2 * u64::from(cluster) + index,
    };
    ClusterResult { cluster, games: vec![game(0), game(1)] }
}

fn kept(number: u32, cluster: u32) -> (GameKey, StoredGame) {
    let game = TicTacToe::default();
    let mut recorder = Recorder::new(&game, 7);
    for action in [0, 3, 1, 4, 2] {
        recorder.advance(&game, &[Action(action); 2]).expect("it is legal");
    }
    let config = GameConfig::by_name("tic_tac_toe").expect("it is in the box");
    let game = StoredGame {
        record: recorder.into_record(config),
        players: vec![PlayerId::random(), Generation(0).into()],
        outcomes: vec![1.0, -1.0],
        scores: vec![1.0, -1.0],
        truncated: false,
    };
    (GameKey { number, cluster, game: 0 }, game)
}

/// Plays a match at the gate and decides by it.
fn decide(store: &dyn Store, candidate: u32, champion: PlayerId, result: f32) {
    let rule = GateConfig { games: 8, ..GateConfig::default() };
    let key = MatchKey::gate(Generation(candidate), champion.clone());
    let number = store.open_match(&info(key, Some(rule))).expect("it is new").number;
    let mut gate = Gate::new(rule, SHAPE).expect("it is valid");
    while gate.ruling().is_none() {
        let result = pair(gate.next_cluster(), result);
        let games = [kept(number, result.cluster)];
        let played = StoredCluster { counts: gate.fold(&result), result };
        store.record(number, &[played], &games).expect("there is space");
    }
    let outcome = Outcome::Ruled { number, champion, report: Box::new(gate.report()) };
    let (generation, explanation) = (Generation(candidate), "in words".to_owned());
    let decision = Decision { generation, decided_at: 2.5, explanation, outcome };
    store.decide(&decision).expect("it follows");
}

fn valid() -> &'static Valid {
    static VALID: OnceLock<Valid> = OnceLock::new();
    VALID.get_or_init(|| {
        let disk = MemoryDisk::new();
        let store = EmbeddedStore::on(disk.clone()).expect("it is new");
        let game = GameConfig::by_name("tic_tac_toe").expect("it is in the box");
        store.bind_run(&Run { game, seed: 1 }, RunId::of(b"run")).expect("it is new");
        for generation in 0..4 {
            store.add_checkpoint(&checkpoint(generation)).expect("it is new");
        }
        decide(&store, 0, PlayerId::random(), 1.0);
        decide(&store, 1, Generation(0).into(), 1.0);
        decide(&store, 2, Generation(1).into(), -1.0);
        let key = MatchKey::rating(Generation(1).into(), PlayerId::random());
        let number = store.open_match(&info(key, None)).expect("it is new").number;
        let played = StoredCluster { result: pair(0, 0.0), counts: true };
        store.record(number, &[played], &[kept(number, 0)]).expect("there is space");
        store.set_aside(Generation(1), "unreadable", 3.0).expect("it is in the pool");
        store.restore(Generation(1), 4.0).expect("it is set aside");
        let reason = "superseded".to_owned();
        let (generation, explanation) = (Generation(3), String::new());
        let outcome = Outcome::Dropped { reason, overtaken_by: Some(Generation(4)) };
        let dropped = Decision { generation, decided_at: 5.0, explanation, outcome };
        store.decide(&dropped).expect("it is undecided");

        let [log, games] = [LOG_FILE, GAMES_FILE].map(|name| disk.content(name).expect("a file"));
        assert!(replay(&store).is_ok(), "the log is consistent");
        let entries = store.log(0, usize::MAX).expect("it was just written");
        let texts = [&log, &games].map(|file| {
            let text = std::str::from_utf8(file).expect("it is text");
            let line = |line: &str| line.splitn(3, ' ').nth(2).map(serde_json::from_str::<Value>);
            text.lines().map(|one| line(one).expect("a line").expect("JSON")).collect()
        });
        Valid { log, games, entries, kept: kept_games(&store), texts }
    })
}

/// Writes entries with their numbers and checksums.
fn lines(texts: impl Iterator<Item = String>) -> Vec<u8> {
    let mut file = String::new();
    for (number, text) in texts.enumerate() {
        let rest = format!("{number} {text}");
        writeln!(file, "{:08x} {rest}", crc32c::crc32c(rest.as_bytes())).expect("a string");
    }
    file.into_bytes()
}

/// The elements of a document, edited.
fn edited(document: &Value, edits: &[u8]) -> Vec<u8> {
    let mut document = document.clone();
    json_edits::apply(&mut document, edits);
    lines(document.as_array().into_iter().flatten().map(Value::to_string))
}

fn kept_games(store: &Opened) -> Vec<(GameKey, StoredGame)> {
    let matches = store.matches().expect("it is in memory");
    let keys = matches.iter().flat_map(|(info, _)| store.game_keys(info.number).expect("a list"));
    keys.filter_map(|key| Some((key, store.game(key).expect("the disk works")?))).collect()
}

/// Everything that the log determines.
fn state(store: &Opened) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        store.checkpoints().expect("it is in memory"),
        store.decisions().expect("it is in memory"),
        store.promotions().expect("it is in memory"),
        store.matches().expect("it is in memory"),
        store.log(0, usize::MAX).expect("it is readable"),
    )
}

/// Asks everything that is computed from the entries.
fn query(store: &Opened) {
    store.champion().expect("it is in memory");
    for (info, sums) in store.matches().expect("it is in memory") {
        let share = sums.share();
        assert!(share.low <= share.value && share.value <= share.high, "{share:?}");
        let results = store.results(info.number).expect("they are readable");
        assert_eq!(results.len(), sums.clusters as usize);
    }
    for promotion in store.promotions().expect("it is in memory") {
        assert!((0.0..=1.0).contains(&promotion.score.share()));
    }
    for (_, game) in kept_games(store) {
        if let Err(error) = game.record.verify() {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
    match replay(store) {
        Ok(replayed) => {
            assert_eq!(replayed.matches, store.matches().expect("it is in memory"));
            replayed.ratings();
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
}

/// Adds a checkpoint, a match and a game.
fn extend(store: &Opened) {
    let known = store.checkpoints().expect("it is in memory");
    let is_new = |number: &u32| known.iter().all(|row| row.generation.0 != *number);
    let matches = store.matches().expect("it is in memory");
    let is_first = |number: &u32| matches.iter().all(|(info, _)| info.key != key(*number));
    let number = (0..).filter(is_new).find(is_first).expect("there are few");
    store.add_checkpoint(&checkpoint(number)).expect("it is new");
    match store.open_match(&info(key(number), None)) {
        Ok(info) => {
            let played = StoredCluster { result: pair(0, 1.0), counts: true };
            let games = [kept(info.number, 0)];
            assert_eq!(store.record(info.number, &[played], &games).ok(), Some(1));
            assert_eq!(store.game(games[0].0).expect("the disk works"), Some(games[0].1.clone()));
        }
        // No number is left.
        Err(error) => assert!(matches!(error, StoreError::Contradiction { .. }), "{error}"),
    }
}

fn key(number: u32) -> MatchKey {
    MatchKey::rating(Generation(number).into(), PlayerId::random())
}

fuzz_target!(|bytes: &[u8]| {
    let valid = valid();
    let (mut log, mut games) = (valid.log.clone(), valid.games.clone());
    let (kind, edits) = match bytes.split_first() {
        Some((&first, edits)) if first < b'\t' => (first % 4, edits),
        _ => (4, bytes),
    };
    match kind {
        0 => byte_edits::apply(&mut log, edits),
        1 => byte_edits::apply(&mut games, edits),
        2 => log = edited(&valid.texts[0], edits),
        3 => games = edited(&valid.texts[1], edits),
        _ => {
            let Ok(text) = std::str::from_utf8(edits) else { return };
            log = lines(text.lines().map(str::to_owned));
        }
    }
    let disk = MemoryDisk::new();
    disk.put(LOG_FILE, &log);
    disk.put(GAMES_FILE, &games);
    let store = match EmbeddedStore::on(disk.clone()) {
        Ok(store) => store,
        Err(error) => {
            assert!(matches!(kind, 0 | 2 | 4), "games are left out, not refused: {error}");
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            return;
        }
    };
    if kind < 2 {
        let entries = store.log(0, usize::MAX).expect("it is readable");
        assert!(valid.entries.starts_with(&entries), "the log is an unchanged prefix");
        let unchanged = kept_games(&store).iter().all(|game| valid.kept.contains(game));
        assert!(unchanged, "no kept game has changed");
    }
    query(&store);
    extend(&store);
    let before = state(&store);
    drop(store);
    let again = EmbeddedStore::on(disk).expect("what was written opens again");
    assert_eq!(state(&again), before, "what was written reads back");
});
