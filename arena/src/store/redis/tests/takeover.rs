//! Which arena may write: epochs after a loss, and the start for another run.

use super::*;

/// The key that holds the epoch of the writer.
const EPOCH: &str = "ouro:{test}:writer";

fn set_epoch(server: &Server, epoch: &str) {
    let _: redis::Value = server.command(&["SET", EPOCH, epoch]);
}

#[test]
fn an_epoch_that_the_server_has_lost_is_not_given_again() {
    let Some(server) = Server::start() else { return };
    drop(filled(&server));
    let before: String = server.command(&["GET", EPOCH]);
    let second = server.open();
    second.add_checkpoint(&checkpoint(2)).unwrap();
    let known = entries(&second).len();
    // The end of the file held the entry and the epoch.
    server.lose_entry();
    set_epoch(&server, &before);
    // Epochs count milliseconds. A server needs longer than one to start again.
    std::thread::sleep(Duration::from_millis(2));
    let third = server.open();
    assert!(third.epoch() > second.epoch());
    third.add_checkpoint(&checkpoint(7)).unwrap();
    assert_eq!(entries(&third).len(), known);
    let error = second.add_checkpoint(&checkpoint(3)).unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
    assert_eq!(entries(&server.open()), entries(&third));
}

#[test]
fn an_epoch_is_the_time_of_the_server_or_above_the_last_one() {
    let Some(server) = Server::start() else { return };
    let (seconds, _): (u64, u64) = server.command(&["TIME"]);
    let first = server.open().epoch();
    assert!(first >= 1_000 * seconds);
    // Earlier versions counted the starts.
    set_epoch(&server, "7");
    assert!(server.open().epoch() >= first);
    // The clock of the server is behind.
    set_epoch(&server, "9000000000000000");
    let ahead = server.open();
    assert_eq!(ahead.epoch(), 9_000_000_000_000_001);
    ahead.bind_run(&run(), RunId::of(b"run")).unwrap();
    assert_eq!(entries(&ahead).len(), 1);
}

#[test]
fn the_error_of_a_user_that_may_not_set_the_epoch_names_the_rules() {
    let Some(server) = Server::start() else { return };
    // As with the rules of an earlier version.
    let _: redis::Value = server.command(&["ACL", "SETUSER", "arena", "-set", "+incr"]);
    let error = RedisStore::open(&server.address_of("test")).unwrap_err().to_string();
    assert!(error.contains("give the user the rules of deploy/redis/users.acl"), "{error}");
}

#[test]
fn a_start_for_another_run_does_not_end_the_arena_of_the_log() {
    let Some(server) = Server::start() else { return };
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [folder, elsewhere] = folders.each_ref().map(|folder| folder.path());
    let (address, other) = (server.address_of("test"), Run { seed: 2, ..run() });
    let healthy = filled(&server);
    let refused = RedisStore::open_for(&address, folder, &other).unwrap_err();
    assert!(matches!(refused, StoreError::OtherRun { .. }), "{refused}");
    let later = healthy.bind_run(&other, RunId::of(b"other")).unwrap_err();
    assert_eq!(refused.to_string(), later.to_string());
    healthy.add_checkpoint(&checkpoint(2)).unwrap();
    // An arena of the same run takes over.
    let next = RedisStore::open_for(&address, folder, &run()).unwrap();
    assert_eq!(entries(&next).len(), 4);
    let error = healthy.add_checkpoint(&checkpoint(3)).unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
    // An empty log is that of any run.
    let empty = RedisStore::open_for(&server.address_of("empty"), elsewhere, &other).unwrap();
    empty.bind_run(&other, RunId::of(b"other")).unwrap();
}
