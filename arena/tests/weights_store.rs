//! Weights in a folder and in object stores: the same tests on each, and what only object stores meet.
//!
//! The S3 server of the tests is moto's. Without it those tests are skipped, unless all checks are
//! required.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use ouro_arena::store::{WeightsError, WeightsFolder, WeightsObjects, WeightsStore};
use ouro_net::{ContentHash, RunId};
use ouro_testkit::s3::{BUCKET, S3Server};

/// The name of a file or object.
fn name_of(hash: ContentHash) -> String {
    format!("{hash}.safetensors")
}

/// Replaces the content of the object or file of a name.
type Damage = Box<dyn Fn(&str, &[u8])>;

/// A store, and another way to its content.
struct Case {
    weights: Box<dyn WeightsStore>,
    /// Opens the same place again.
    reopen: Box<dyn Fn() -> Box<dyn WeightsStore>>,
    /// Replaces the content of weights behind the store's back.
    damage: Damage,
}

fn in_a_folder() -> (Case, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let reopen = {
        let path = path.clone();
        move || -> Box<dyn WeightsStore> { Box::new(WeightsFolder::open(&path).unwrap()) }
    };
    let damage = move |name: &str, bytes: &[u8]| fs::write(path.join(name), bytes).unwrap();
    let case = Case { weights: reopen(), reopen: Box::new(reopen), damage: Box::new(damage) };
    (case, folder)
}

fn weights_are_whole_or_absent_and_damage_is_noticed(case: &Case) {
    let weights = &case.weights;
    weights.bind_run(RunId::of(b"run")).unwrap();
    let hash = ContentHash::of(b"weights");
    assert!(matches!(weights.read(hash), Err(WeightsError::Missing(_))));
    weights.write(hash, b"weights").unwrap();
    weights.write(hash, b"weights").unwrap();
    assert_eq!(weights.read(hash).unwrap(), b"weights");
    (case.damage)(&name_of(hash), b"weighty");
    let error = weights.read(hash).unwrap_err();
    assert!(matches!(error, WeightsError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(&name_of(hash)), "{error}");
    // Writing the weights again repairs them.
    weights.write(hash, b"weights").unwrap();
    assert_eq!((case.reopen)().read(hash).unwrap(), b"weights");
}

fn only_weights_are_listed_and_removed(case: &Case) {
    let weights = &case.weights;
    weights.bind_run(RunId::of(b"run")).unwrap();
    let large: Vec<u8> = (0..3_000_000_u32).map(|index| index as u8).collect();
    let mut contents = [&b"a"[..], b"b", &large].map(|bytes| (ContentHash::of(bytes), bytes));
    contents.sort_by_key(|(hash, _)| hash.to_string());
    assert_eq!(weights.hashes().unwrap(), []);
    for (hash, bytes) in contents {
        weights.write(hash, bytes).unwrap();
    }
    (case.damage)("notes.txt", b"mine");
    let listed = || {
        let mut hashes = (case.reopen)().hashes().unwrap();
        hashes.sort_by_key(ToString::to_string);
        hashes
    };
    assert_eq!(listed(), contents.map(|(hash, _)| hash));
    let kept = contents[1].0;
    for other in [contents[0].0, contents[2].0] {
        weights.remove(other).unwrap();
    }
    assert_eq!(listed(), [kept]);
    assert_eq!(weights.read(kept).unwrap(), contents[1].1);
    for (hash, _) in contents {
        // Weights that are gone are removed already.
        weights.remove(hash).unwrap();
    }
    assert_eq!(listed(), []);
    weights.recover().unwrap();
}

fn a_place_that_others_reach_belongs_to_one_run(case: &Case) {
    let [first, second] = [b"a", b"b"].map(|seed| RunId::of(seed));
    case.weights.bind_run(first).unwrap();
    (case.reopen)().bind_run(first).unwrap();
    let error = (case.reopen)().bind_run(second).unwrap_err();
    assert!(matches!(&error, WeightsError::OtherRun { found, .. } if *found == first.to_string()));
    assert_eq!(case.weights.hashes().unwrap(), []);
}

#[test]
fn a_folder_keeps_weights() {
    let (case, _folder) = in_a_folder();
    weights_are_whole_or_absent_and_damage_is_noticed(&case);
    let (case, _folder) = in_a_folder();
    only_weights_are_listed_and_removed(&case);
}

/// A case under `prefix` of an object store.
fn case(store: Arc<dyn ObjectStore>, prefix: &str) -> Case {
    let prefix = Path::parse(prefix).unwrap();
    let reopen = {
        let (store, prefix) = (store.clone(), prefix.clone());
        move || -> Box<dyn WeightsStore> {
            Box::new(WeightsObjects::on(store.clone(), prefix.clone(), "s3://bucket").unwrap())
        }
    };
    // Connections are shared with the other runtime, so this one must serve them at all times.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let damage = move |name: &str, bytes: &[u8]| {
        let path = prefix.clone().join(name);
        runtime.block_on(store.put(&path, bytes.to_vec().into())).map(drop).unwrap();
    };
    Case { weights: reopen(), reopen: Box::new(reopen), damage: Box::new(damage) }
}

/// Runs all tests, each under a prefix of its own, and beside objects of others.
fn conforms(store: &Arc<dyn ObjectStore>) {
    weights_are_whole_or_absent_and_damage_is_noticed(&case(store.clone(), ""));
    only_weights_are_listed_and_removed(&case(store.clone(), "runs/listed"));
    let bound = case(store.clone(), "runs/bound");
    a_place_that_others_reach_belongs_to_one_run(&bound);
    // A shorter prefix does not list the weights of a longer one.
    bound.weights.write(ContentHash::of(b"mine"), b"mine").unwrap();
    assert_eq!(case(store.clone(), "runs").weights.hashes().unwrap(), []);
    assert_eq!(case(store.clone(), "runs/bou").weights.hashes().unwrap(), []);
    assert_eq!(bound.weights.hashes().unwrap().len(), 1);
}

/// A bucket of the server. Requests are repeated for this time.
fn bucket(server: &S3Server, name: &str, patience: Duration) -> Arc<dyn ObjectStore> {
    let builder = AmazonS3Builder::new()
        .with_endpoint(server.url())
        .with_region("us-east-1")
        .with_access_key_id("tests")
        .with_secret_access_key("secret");
    Arc::new(WeightsObjects::bucket(builder, name, patience).unwrap())
}

#[test]
fn objects_in_memory_keep_weights() {
    conforms(&(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>));
}

#[test]
fn objects_in_files_keep_weights() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalFileSystem::new_with_prefix(folder.path()).unwrap().with_fsync(true);
    conforms(&(Arc::new(store) as Arc<dyn ObjectStore>));
    let url = format!("file://{}", folder.path().join("new").display());
    let weights = WeightsObjects::open(&url).unwrap();
    weights.write(ContentHash::of(b"a"), b"a").unwrap();
    assert_eq!(WeightsObjects::open(&url).unwrap().hashes().unwrap(), [ContentHash::of(b"a")]);
}

#[test]
fn objects_in_s3_keep_weights() {
    let Some(server) = S3Server::start() else { return };
    conforms(&bucket(&server, BUCKET, Duration::from_secs(10)));
}

#[test]
fn a_server_or_bucket_that_is_missing_does_not_look_like_lost_weights() {
    let Some(mut server) = S3Server::start() else { return };
    let hash = ContentHash::of(b"a");
    let missing = case(bucket(&server, "no-such-bucket", Duration::ZERO), "").weights;
    let error = missing.read(hash).unwrap_err();
    assert!(matches!(error, WeightsError::Unreachable { .. }), "{error}");
    let here = case(bucket(&server, BUCKET, Duration::ZERO), "run").weights;
    here.write(hash, b"a").unwrap();
    server.kill();
    for error in [
        here.read(hash).unwrap_err(),
        here.write(hash, b"a").unwrap_err(),
        here.hashes().unwrap_err(),
        here.remove(hash).unwrap_err(),
        here.bind_run(RunId::of(b"a")).unwrap_err(),
        here.recover().unwrap_err(),
    ] {
        assert!(error.is_passing(), "{error}");
        let text = error.to_string();
        assert!(text.contains("refused") && text.contains("s3://bucket"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    // Calls that are repeated succeed once the server is back.
    let patient = case(bucket(&server, BUCKET, Duration::from_secs(10)), "run").weights;
    let writer = std::thread::spawn(move || {
        loop {
            match patient.write(hash, b"a") {
                Err(error) if error.is_passing() => {}
                written => return written.and_then(|()| patient.read(hash)),
            }
        }
    });
    server.start_again();
    assert_eq!(writer.join().unwrap().unwrap(), b"a");
}

#[test]
fn a_place_that_is_filled_again_does_not_look_like_lost_weights() {
    // As after the bucket was lost and made anew while the arena runs.
    let Case { weights, damage, .. } = case(Arc::new(InMemory::new()), "runs/mine");
    let [back, away] = [b"a", b"b"].map(|bytes| ContentHash::of(bytes));
    for error in [weights.read(back).unwrap_err(), weights.recover().unwrap_err()] {
        assert!(error.is_passing(), "{error}");
        let text = error.to_string();
        assert!(text.contains("s3://bucket") && text.contains("object `run` is missing"), "{text}");
    }
    // Writes do not wait: they fill the place as well.
    weights.write(back, b"a").unwrap();
    assert_eq!(weights.read(back).unwrap(), b"a");
    assert!(weights.read(away).unwrap_err().is_passing());
    damage("run", RunId::of(b"run").to_string().as_bytes());
    weights.recover().unwrap();
    assert!(matches!(weights.read(away), Err(WeightsError::Missing(_))));
}

#[test]
fn a_place_that_cannot_be_used_is_refused_at_once() {
    for url in ["gs://bucket", "bucket", "s3://a/../b", "file:///dev/null/weights"] {
        let error = WeightsObjects::open(url).unwrap_err();
        assert!(matches!(error, WeightsError::Unusable { .. }), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}
