//! `ouro repair`, and runs that continue with damaged parts.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::small_run::{self, flip, ouro};
use ouro_arena::store::{EmbeddedStore, LogEntry, Store};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_testkit::process::{Ended, Process};

/// A folder with a run that has promoted checkpoints.
fn home_with_run() -> tempfile::TempDir {
    small_run::home_with_run("2s")
}

/// Continues the run.
fn train(home: &Path, length: &str) -> Ended {
    small_run::train(home, &["--run", "run", "--for", length])
}

/// Checks that the run is sound.
fn is_sound(home: &Path) {
    let checked = ouro(home, &["check", "run"]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
}

#[test]
fn damaged_results_are_named_repaired_and_trained_on() {
    let home = home_with_run();
    let log = home.path().join("run/arena/results.log");
    let content = fs::read(&log).expect("the log is there");
    flip(&log);
    let refused = train(home.path(), "1s");
    assert_eq!(refused.code, Some(69), "{}", refused.stderr);
    let text = &refused.stderr;
    assert!(
        text.contains("results.log is damaged at entry ") && text.contains("ouro repair"),
        "{text}"
    );

    let repaired = ouro(home.path(), &["repair", "run"]);
    assert_eq!(repaired.code, Some(0), "{}{}", repaired.stdout, repaired.stderr);
    assert!(repaired.stdout.contains("damaged entries taken out: 1"), "{}", repaired.stdout);
    let count = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count();
    let after = fs::read(&log).expect("the log is there");
    assert_eq!(count(&after), count(&content));
    is_sound(home.path());
    let trained = train(home.path(), "1s");
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    is_sound(home.path());
}

#[test]
fn a_damaged_name_of_the_run_is_named_and_repaired_from_the_results() {
    let home = home_with_run();
    let file = home.path().join("run/learner/run.json");
    let content = fs::read(&file).expect("it is there");
    fs::write(&file, "{\"bad").expect("it is written");
    let checked = ouro(home.path(), &["check", "run"]);
    assert_eq!(checked.code, Some(1), "{}", checked.stdout);
    assert!(
        checked.stdout.contains("run       NOT SOUND  run/learner/run.json: "),
        "{}",
        checked.stdout
    );
    let refused = train(home.path(), "1s");
    assert_eq!(refused.code, Some(69), "{}", refused.stderr);
    let text = &refused.stderr;
    assert!(text.contains("run/learner/run.json: ") && text.contains("`ouro repair`"), "{text}");
    let repaired = ouro(home.path(), &["repair", "run"]).success();
    assert!(repaired.contains("learner/run.json was damaged; it names run "), "{repaired}");
    assert_eq!(fs::read(&file).expect("it is there"), content);
    is_sound(home.path());
}

#[test]
fn training_continues_from_published_weights_if_its_states_are_lost() {
    for damage in ["removed", "damaged", "all"] {
        let home = home_with_run();
        let run = home.path().join("run");
        let states = run.join("learner/training-states");
        match damage {
            "removed" => fs::remove_dir_all(&states).expect("they are there"),
            "damaged" => {
                for state in fs::read_dir(&states).expect("a folder") {
                    flip(&state.expect("a state").path().join("training.safetensors"));
                }
            }
            _ => fs::remove_dir_all(run.join("learner")).expect("it is there"),
        }
        let refused = train(home.path(), "1s");
        assert_eq!(refused.code, Some(69), "{damage}: {}", refused.stderr);
        assert!(refused.stderr.contains("ouro repair"), "{damage}: {}", refused.stderr);
        let repaired = ouro(home.path(), &["repair", "run"]);
        assert_eq!(repaired.code, Some(0), "{damage}: {}{}", repaired.stdout, repaired.stderr);
        let said = "training  usable      training continues from generation-";
        assert!(repaired.stdout.contains(said), "{damage}: {}", repaired.stdout);
        let trained = train(home.path(), "1s");
        assert_eq!(trained.code, Some(0), "{damage}: {}", trained.stderr);
        is_sound(home.path());
        // Nothing is left to repair.
        let again = ouro(home.path(), &["repair", "run"]);
        assert!(again.stdout.contains(" entries are whole"), "{}", again.stdout);
        assert!(again.stdout.contains(" training states are whole"), "{}", again.stdout);
    }
}

#[test]
fn the_remedy_of_a_damaged_journal_makes_the_run_usable() {
    const REMEDY: &str = "without one, if the run has its results in files on this machine, move the folder of the learner away and run `ouro repair`";
    let home = home_with_run();
    let learner = home.path().join("run/learner");
    flip(&small_run::file_in(&learner.join("journal"), ".journal"));
    let refused = train(home.path(), "1s");
    assert_eq!(refused.code, Some(69), "{}", refused.stderr);
    let text = &refused.stderr;
    assert!(text.contains(".journal is damaged at byte ") && text.contains(REMEDY), "{text}");
    let repair = || ouro(home.path(), &["repair", "run"]);
    let left = repair();
    assert_eq!(left.code, Some(1), "{}{}", left.stdout, left.stderr);
    assert!(left.stdout.contains("training  NOT USABLE  "), "{}", left.stdout);
    assert!(left.stdout.contains(REMEDY), "{}", left.stdout);

    // Without the journal alone, the training states need games that are gone.
    let aside = |name: &str| home.path().join(name);
    fs::rename(learner.join("journal"), aside("journal")).expect("it is there");
    let left = repair();
    assert_eq!(left.code, Some(1), "{}{}", left.stdout, left.stderr);
    assert!(left.stdout.contains(" needs games "), "{}", left.stdout);

    fs::rename(&learner, aside("learner")).expect("it is there");
    let repaired = repair();
    assert_eq!(repaired.code, Some(0), "{}{}", repaired.stdout, repaired.stderr);
    let said = "training  usable      training continues from generation-";
    assert!(repaired.stdout.contains(said), "{}", repaired.stdout);
    let trained = train(home.path(), "1s");
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    is_sound(home.path());
}

#[test]
fn a_lost_part_of_the_arena_is_refused_and_a_part_of_another_run_too() {
    let [home, other] = [home_with_run(), home_with_run()];
    let run = |home: &tempfile::TempDir, part: &str| home.path().join("run").join(part);
    // The arena of another run of the same settings.
    fs::rename(run(&home, "arena"), home.path().join("aside")).expect("it is there");
    fs::rename(run(&other, "arena"), run(&home, "arena")).expect("it is there");
    let refused = train(home.path(), "1s");
    assert_eq!(refused.code, Some(69), "{}", refused.stderr);
    assert!(refused.stderr.contains("belongs to run "), "{}", refused.stderr);
    for command in ["check", "repair"] {
        let named = ouro(home.path(), &[command, "run"]);
        assert_eq!(named.code, Some(1), "{command}: {}", named.stdout);
        assert!(named.stdout.contains("belongs to run "), "{command}: {}", named.stdout);
    }
    // No arena at all.
    fs::remove_dir_all(run(&home, "arena")).expect("it is there");
    let refused = train(home.path(), "1s");
    assert_eq!(refused.code, Some(69), "{}", refused.stderr);
    assert!(refused.stderr.contains("has learner/ but not arena/"), "{}", refused.stderr);
    // The log without its weights names what is missing and gets copies back.
    fs::rename(home.path().join("aside"), run(&home, "arena")).expect("it is there");
    let log = run(&home, "arena/results.log");
    for empty in [true, false] {
        fs::remove_file(&log).expect("it is there");
        if empty {
            fs::write(&log, "").expect("it is written");
        }
        let refused = train(home.path(), "1s");
        assert_eq!(refused.code, Some(69), "{}", refused.stderr);
        assert!(refused.stderr.contains("results.log is missing or empty"), "{}", refused.stderr);
        for command in ["check", "repair"] {
            let named = ouro(home.path(), &[command, "run"]);
            assert_eq!(named.code, Some(1), "{command}: {}", named.stdout);
            assert!(named.stdout.contains("results.log is missing or empty"), "{}", named.stdout);
        }
    }
}

#[test]
fn damaged_weights_of_the_champion_are_returned_by_an_actor() {
    let home = small_run::home();
    // The learner has the weights of its last training states only, the cache has all.
    let train = |arguments: &[&str]| {
        let trained = small_run::train(
            home.path(),
            &[&["--run", "run", "--cache", "cache"], arguments].concat(),
        );
        assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    };
    let arena = home.path().join("run/arena");
    let champion = || {
        let store = EmbeddedStore::open(&arena).expect("its lock is free");
        let rows = store.checkpoints().expect("it can be read");
        rows.into_iter().find(|row| row.status == CheckpointStatus::Champion)
    };
    train(&["--config", "small.toml", "--for", "2s"]);
    // The arena promotes late on a loaded machine.
    let champion = (0..10).find_map(|_| {
        let found = champion();
        if found.is_none() {
            train(&["--for", "2s"]);
        }
        found
    });
    let champion = champion.expect("ten runs promote");
    let path = arena.join(format!("weights/{}.safetensors", champion.hash));
    flip(&path);
    assert_eq!(ouro(home.path(), &["check", "run"]).code, Some(1));
    train(&["--for", "3s"]);
    is_sound(home.path());
    let store = EmbeddedStore::open(&arena).expect("its lock is free");
    let entries = store.log(0, usize::MAX).expect("it can be read");
    let at = |is: &dyn Fn(&LogEntry) -> bool| entries.iter().position(is).expect("an entry");
    let generation = champion.generation;
    let aside = at(
        &|entry| matches!(entry, LogEntry::CheckpointSetAside { generation: other, .. } if *other == generation),
    );
    let restored = at(
        &|entry| matches!(entry, LogEntry::CheckpointRestored { generation: other, .. } if *other == generation),
    );
    assert!(aside < restored);
}

/// The newest member of the pool that is not the newest checkpoint: the newest weights are needed even if
/// they are set aside. Continues the run until there is one, since a loaded machine promotes late.
fn older_member(home: &Path) -> Checkpoint {
    let is_member = |row: &&Checkpoint| {
        matches!(row.status, CheckpointStatus::Champion | CheckpointStatus::Pool)
    };
    for _ in 0..10 {
        let rows = {
            let store = EmbeddedStore::open(&home.join("run/arena")).expect("its lock is free");
            store.checkpoints().expect("it can be read")
        };
        if let Some(member) = rows.iter().rev().skip(1).find(is_member) {
            return member.clone();
        }
        train(home, "2s").success();
    }
    panic!("ten runs have no member besides the newest checkpoint");
}

#[test]
fn lost_weights_are_named_and_copies_that_are_put_back_or_a_start_make_the_run_sound() {
    let home = home_with_run();
    let arena = home.path().join("run/arena");
    let store = || EmbeddedStore::open(&arena).expect("its lock is free");
    let member = older_member(home.path());
    let generation = member.generation;
    let file = arena.join(format!("weights/{}.safetensors", member.hash));
    let copy = fs::read(&file).expect("it is there");
    fs::remove_file(&file).expect("it is there");

    let check = || ouro(home.path(), &["check", "run"]);
    let lost = check();
    assert_eq!(lost.code, Some(1), "{}", lost.stdout);
    assert!(lost.stdout.contains(&format!("the weights of {generation}")), "{}", lost.stdout);
    assert!(lost.stdout.contains(" are not in run/arena/weights; put copies there"));
    if member.status == CheckpointStatus::Champion {
        let said = format!("champion  NOT SOUND  {generation}: run/arena/weights/");
        assert!(lost.stdout.contains(&said), "{}", lost.stdout);
    }
    let repaired = ouro(home.path(), &["repair", "run"]).success();
    let said = repaired.lines().find(|line| line.starts_with("weights   usable"));
    let said = said.expect("a line about weights");
    assert!(said.contains(&format!("those of {generation}")), "{said}");
    assert!(said.contains("cannot be repaired: a start gets back those"), "{said}");

    // As the start of an arena records it.
    assert!(store().set_aside(generation, "it is lost", 1.0).expect("a member of the pool"));
    let aside = check().success();
    let said = format!("set aside without weights: {generation}; a copy in run/arena/weights");
    assert!(aside.contains(&said), "{aside}");
    fs::write(&file, copy).expect("it is written");
    train(home.path(), "1s").success();
    assert!(!check().success().contains("set aside"), "the member is back");

    // Without any copy, a start gets back the newest weights, and records other members as lost once it
    // needs them. Its actor needs all of them; on a loaded machine a start may end before that.
    fs::remove_dir_all(arena.join("weights")).expect("it is there");
    assert_eq!(check().code, Some(1));
    assert!(!arena.join("weights").exists(), "a check creates nothing");
    let mut starts = 0..15;
    let is_sound_again = starts.any(|_| {
        train(home.path(), "1s").success();
        check().code == Some(0)
    });
    assert!(is_sound_again, "{}", check().stdout);
}

/// Starts a Redis server that loses nothing, with a password.
fn redis(port: u16, folder: &Path) -> Process {
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]).arg(folder);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    command.args(["--aof-load-truncated", "no", "--requirepass", "secret"]);
    Process::start(command.stdout(Stdio::null()))
}

/// Whether a Redis server is installed.
fn has_redis() -> bool {
    let version = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
    let is_there = version.is_ok_and(|status| status.success());
    if !is_there {
        assert!(!ouro_testkit::requires_all_checks(), "redis-server is missing; install it");
        ouro_testkit::not_run("redis-server is not installed");
    }
    is_there
}

#[test]
#[cfg(not(feature = "object-store"))]
fn a_program_without_object_stores_says_how_to_build_one_with_them() {
    let home = small_run::home();
    let arguments = ["--run", "run", "--config", "small.toml", "--weights", "s3://bucket/run"];
    let refused = small_run::train(home.path(), &arguments);
    let parts = ["in s3://bucket/run: build it with `--features object-store`, or remove deploy."];
    refused.assert_refused(64, &parts);
    assert!(!home.path().join("run/arena").exists(), "nothing was created");
}

#[test]
fn a_run_keeps_its_results_in_redis() {
    let (home, data) = (small_run::home(), tempfile::tempdir().expect("a scratch folder"));
    if !has_redis() {
        return;
    }
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let (mut server, url) = (redis(port, data.path()), format!("redis://127.0.0.1:{port}/3"));
    fs::write(home.path().join("password"), "secret\n").expect("it is written");
    let deploy = format!(
        "\n[deploy]\nstore = \"{url}\"\nstore_name = \"mine\"\nstore_password_file = \"password\"\n"
    );
    let settings = small_run::SETTINGS.to_owned() + &deploy;
    fs::write(home.path().join("small.toml"), settings).expect("it is written");
    // The server may still start; the first start tries again until it answers.
    let arguments = ["--run", "run", "--config", "small.toml", "--for", "2s"];
    let trained = small_run::train(home.path(), &arguments);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    assert!(!home.path().join("run/arena/results.log").exists());
    let check = || {
        let checked = ouro(home.path(), &["check", "run"]);
        assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
        checked.stdout
    };
    let before = check();
    assert!(before.contains("as in ouro:{mine}:log of redis at 127.0.0.1:"), "{before}");
    assert!(!before.contains("secret"), "{before}");
    let again = train(home.path(), "1s");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_ne!(check(), before, "the run continues");
    let repaired = ouro(home.path(), &["repair", "run"]);
    repaired.assert_refused(64, &["the results of run are in Redis"]);

    let copy =
        |arguments: &[&str]| ouro(home.path(), &[&["store", "copy", "run"], arguments].concat());
    copy(&["--to", &url]).assert_refused(64, &["already keeps its results there"]);
    let copied = copy(&["--to", "files"]).success();
    assert!(copied.contains(" copied from ouro:{mine}:log of redis at 127.0.0.1:"), "{copied}");
    assert!(copied.contains("remove deploy.store") && !copied.contains("secret"), "{copied}");
    assert!(copy(&["--to", "files"]).success().starts_with("0 of "), "nothing is copied twice");
    let in_files = ouro(home.path(), &["check", "run", "--store", "files"]).success();
    let counts = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("results")).expect("a line");
        line.split(", as in").next().expect("its start").to_owned()
    };
    assert_eq!(counts(&in_files), counts(&check()));

    // An empty server is not a new run beside the weights of the old one.
    server.kill();
    let emptied = tempfile::tempdir().expect("a scratch folder");
    let _server = redis(port, emptied.path());
    let refused = train(home.path(), "1s");
    assert_eq!(refused.code, Some(69), "{}", refused.stderr);
    assert!(refused.stderr.contains("ouro:{mine}:log"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("the server has lost results; restore it"),
        "{}",
        refused.stderr
    );
    let copied = copy(&["--to", "files"]);
    copied.assert_refused(69, &["which this arena has stored: the server has lost results"]);
    // The copy in files fills it again.
    copy(&["--store", "files", "--to", &url]).success();
    let again = train(home.path(), "1s");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    copy(&["--to", "files"]).success();
}
