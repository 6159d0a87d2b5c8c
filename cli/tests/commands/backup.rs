//! `ouro backup` and `ouro restore`: a run is copied while it trains, destroyed, and trained on.
#![cfg(unix)]

use std::fs;
use std::path::Path;

use crate::support::cluster::Cluster;
use crate::support::small_run;
use ouro_testkit::redis::RedisServer;

/// Copies of the running cluster. The last one is restored.
const COPIES: u32 = 3;

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The complete lines of a file.
fn lines(path: &Path) -> Vec<u8> {
    let mut bytes = read(path);
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    bytes
}

/// Lines of acknowledged games in a log of an actor.
fn acknowledged(log: &[u8]) -> usize {
    String::from_utf8_lossy(log).lines().filter(|line| line.contains("\"acked\":true")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_training_run_is_restored_elsewhere_without_a_lost_result() {
    let cluster = Cluster::new();
    let services = ["arena", "learner"].map(|service| cluster.start(service, "run", &[]));
    let actor = cluster.start("actor", "run", &["--log-records"]);
    let mut newest = cluster.generation(2).await;

    // What is acknowledged before the last copy must be in it.
    let (mut results, mut games) = (Vec::new(), Vec::new());
    for copy in 1..=COPIES {
        newest = cluster.generation(newest + 1).await;
        results = lines(&cluster.path("run/arena/results.log"));
        games = lines(&cluster.path("run/actor/records.log"));
        let backup = format!("backup-{copy}");
        let copied = cluster.ouro(&["backup", "run", &backup]);
        assert_eq!(copied.code, Some(0), "{}{}", copied.stdout, copied.stderr);
        assert!(copied.stdout.contains(" acknowledged games of actors are there once"));
        let again = cluster.ouro(&["backup", "run", &backup]);
        again.assert_refused(64, &[&backup, "is not empty"]);
    }
    // The run goes on unharmed, and then everything is lost.
    cluster.generation(newest + 2).await;
    services.into_iter().chain([actor]).for_each(|mut process| process.kill());
    fs::remove_dir_all(cluster.path("run")).expect("it is there");

    let backup = format!("backup-{COPIES}");
    let restored = cluster.ouro(&["restore", &backup, "elsewhere"]);
    assert_eq!(restored.code, Some(0), "{}{}", restored.stdout, restored.stderr);
    let again = cluster.ouro(&["restore", &backup, "elsewhere"]);
    again.assert_refused(64, &["elsewhere", "is not empty", "move this folder away"]);
    assert!(lines(&cluster.path("elsewhere/arena/results.log")).starts_with(&results));
    // `ouro check` compares the journal with this log of the actor, which has what was acknowledged
    // when the copy started.
    let log = lines(&cluster.path("elsewhere/actor/records.log"));
    assert!(log.starts_with(&games) && acknowledged(&games) > 100, "{}", acknowledged(&games));
    let checked = cluster.ouro(&["check", "elsewhere"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);

    let mut services = ["arena", "learner"].map(|service| cluster.start(service, "elsewhere", &[]));
    let before = cluster.generation(newest).await;
    let mut actor = cluster.start("actor", "elsewhere", &["--log-records"]);
    cluster.generation(before + 3).await;
    for process in [&mut actor].into_iter().chain(services.iter_mut().rev()) {
        process.signal("-TERM");
        assert_eq!(process.wait().code(), Some(0), "a clean end");
    }
    let checked = cluster.ouro(&["check", "elsewhere"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    assert!(lines(&cluster.path("elsewhere/arena/results.log")).starts_with(&results));
}

#[test]
fn results_move_between_files_and_redis_with_a_copy() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let Some(server) = RedisServer::start(folder.path()) else { return };
    let home = small_run::home_with_run("2s");
    let url = server.url("arena");
    let ouro = |arguments: &[&str]| small_run::ouro(home.path(), arguments);
    let entries = |folder: &str| lines(&home.path().join(folder).join("arena/results.log"));
    ouro(&["backup", "run", "first"]).success();
    assert_eq!(entries("first"), entries("run"));
    let restored = ouro(&["restore", "first", "served", "--store", &url]).success();
    assert!(restored.contains(" matches, as in ouro:{ouro}:log of redis at "), "{restored}");
    assert!(!home.path().join("served/arena/results.log").exists(), "one place has the results");
    let again = ["restore", "first", "again", "--store", &url];
    ouro(&again).assert_refused(64, &["entries of results under the name ouro", "--store-name"]);
    assert!(!home.path().join("again").exists(), "nothing is left");
    // A run in Redis becomes files again.
    ouro(&["backup", "served", "second", "--store", &url]).success();
    assert_eq!(entries("second"), entries("first"));
    ouro(&["restore", "second", "files"]).success();
    let trained = small_run::train(home.path(), &["--run", "files", "--for", "1s"]);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    assert!(entries("files").starts_with(&entries("first")));
    ouro(&["check", "files"]).success();
}

#[test]
fn what_cannot_be_copied_or_restored_is_refused_with_the_remedy() {
    let cluster = Cluster::new();
    cluster.ouro(&["backup", "run", "to"]).assert_refused(66, &["neither a learner nor an arena"]);
    cluster.ouro(&["backup", "none", "to"]).assert_refused(66, &["none/run.toml"]);
    // A copy in the run would be a part of the run.
    std::os::unix::fs::symlink(cluster.path("run"), cluster.path("link")).expect("a new link");
    for to in ["run/sub", "run/arena/weights/x", "./run/../run/new/folder", "link/sub"] {
        let refused = cluster.ouro(&["backup", "run", to]);
        refused.assert_refused(64, &[to, "is in the folder of the run run", "outside it"]);
    }
    let names = fs::read_dir(cluster.path("run")).expect("a folder");
    assert_eq!(names.count(), 1, "only the settings are there");
    // A folder without the file that is written last is no backup.
    let refused = cluster.ouro(&["restore", "run", "to"]);
    refused.assert_refused(66, &["run/backup.json is missing", "interrupted"]);
    fs::write(cluster.path("run/backup.json"), "{\"version\":9}").expect("it is written");
    cluster.ouro(&["restore", "run", "to"]).assert_refused(65, &["backup.json cannot be used"]);
    assert!(!cluster.path("to").exists(), "nothing is left");
}

#[test]
fn a_restore_replaces_no_log_of_an_actor_and_leaves_the_backup() {
    let home = small_run::home();
    let path = |name: &str| home.path().join(name);
    for folder in ["backup/actor", "run/actor"] {
        fs::create_dir_all(path(folder)).expect("a new folder");
    }
    let manifest = r#"{"version":1,"program":"ouro","started_at":0,"learner":false,"arena":false}"#;
    fs::write(path("backup/backup.json"), manifest).expect("it is written");
    fs::write(path("backup/run.toml"), small_run::SETTINGS).expect("it is written");
    fs::write(path("backup/actor/records.log"), "older\n").expect("it is written");
    fs::write(path("run/actor/records.log"), "newer\n").expect("it is written");
    let restore = |to: &str| small_run::ouro(home.path(), &["restore", "backup", to]);
    restore("run").assert_refused(64, &["run/actor/records.log is there already", "move"]);
    assert_eq!(read(&path("run/actor/records.log")), b"newer\n");
    assert!(!path("run/run.toml").exists(), "nothing is copied");
    std::os::unix::fs::symlink(path("backup"), path("link")).expect("a new link");
    for to in ["backup", "backup/run", "./backup/../backup/new/run", "link/run"] {
        restore(to).assert_refused(64, &[to, "is in the folder of the backup backup", "outside"]);
    }
    assert_eq!(fs::read_dir(path("backup")).expect("a folder").count(), 3);
    assert_eq!(read(&path("backup/actor/records.log")), b"older\n");
}
