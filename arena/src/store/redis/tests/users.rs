//! The user of the arena in the containers: it may do what the store does, and nothing else.

use std::collections::BTreeSet;

use ouro_testkit::redis::USERS;

use super::*;
use crate::store::conformance::CLAIMS;
use crate::workers::job::JobId;
use crate::workers::queue::arena::{ArenaQueue, Presence};

/// Commands that Redis lets everyone run, and the one by which the test waits for the server.
const OF_EVERYONE: [&str; 3] = ["auth", "hello", "ping"];

#[test]
fn the_user_has_the_commands_that_the_store_runs_and_no_others() {
    let Some(server) = Server::start() else { return };
    for (number, claim) in CLAIMS.iter().enumerate() {
        let address = server.address_of(&number.to_string());
        claim(&RedisStore::open(&address).unwrap());
        RedisStore::open_to_read(&address).unwrap();
    }
    // An append whose answer was lost is repeated.
    filled(&server).with_mut(|log| {
        log.entries -= 1;
        let text = log.read_lines(log.entries, 1).unwrap().remove(0);
        log.append(&text).unwrap();
    });
    // A match that workers may help with, on another connection.
    let address = server.address_of("test");
    let mut queue = ArenaQueue::new(&address, server.open().epoch()).unwrap();
    let session = queue.open().unwrap();
    queue.issue(&[(JobId { session, cluster: 0 }, "job".to_owned())]).unwrap();
    assert_eq!(queue.withdraw(1).unwrap().len(), 1);
    assert!(queue.read().unwrap().is_empty());
    assert!(Presence::new(&address).unwrap().active().unwrap().is_empty());
    // Scripts count like their commands. A refused command has no calls.
    let statistics: String = server.command(&["INFO", "commandstats"]);
    let called = statistics.lines().filter_map(|line| {
        let (name, counts) = line.strip_prefix("cmdstat_")?.split_once(':')?;
        (!counts.starts_with("calls=0,")).then_some(name)
    });
    let called: BTreeSet<&str> = called.filter(|name| !OF_EVERYONE.contains(name)).collect();
    let line = USERS.lines().find(|line| line.starts_with("user arena ")).unwrap();
    let granted: BTreeSet<&str> =
        line.split(' ').filter_map(|rule| rule.strip_prefix('+')).collect();
    assert_eq!(granted, called);
}

/// Redis replays a script of several writes as a transaction of the user `default`.
#[test]
fn a_script_of_several_writes_survives_a_restart_without_a_default_user() {
    let Some(mut server) = Server::start() else { return };
    let store = filled(&server);
    let keys: Vec<String> = (0..3).map(|game| format!("field-{game}")).collect();
    store.with_mut(|log| {
        let arguments: Vec<&[u8]> = keys.iter().flat_map(|key| [key.as_bytes(), b"{}"]).collect();
        let games = log.keys.games.clone();
        log.write(KEEP_GAMES, &games, &arguments).unwrap();
    });
    server.server.restart();
    let mut found: Vec<String> = server.command(&["HKEYS", "ouro:{test}:games"]);
    found.sort();
    assert_eq!(found, keys);
}

#[test]
fn the_user_is_refused_foreign_keys_and_commands_of_an_operator() {
    let Some(server) = Server::start() else { return };
    drop(filled(&server));
    let _: () = server.command(&["SET", "foreign", "1"]);
    let arena = |words: &[&str]| server.command_as::<redis::Value>("arena", PASSWORD, words);
    arena(&["LLEN", "ouro:{test}:log"]).unwrap();
    let script = "return redis.call('FLUSHALL')";
    let load: String = server.command(&["SCRIPT", "LOAD", script]);
    for words in [
        &["FLUSHALL"][..],
        &["FLUSHDB"],
        &["CONFIG", "SET", "appendonly", "no"],
        &["CONFIG", "REWRITE"],
        &["KEYS", "*"],
        &["SCAN", "0"],
        &["GET", "foreign"],
        &["DEL", "ouro:{test}:log"],
        &["LTRIM", "ouro:{test}:log", "1", "0"],
        &["LSET", "ouro:{test}:log", "0", "x"],
        &["RENAME", "ouro:{test}:log", "ouro:{test}:other"],
        &["EVAL", script, "0"],
        &["EVALSHA", &load, "0"],
        &["SCRIPT", "FLUSH"],
        &["ACL", "LIST"],
        &["ACL", "SETUSER", "arena", "+@all"],
        &["CLIENT", "LIST"],
        &["MONITOR"],
        &["MODULE", "LIST"],
        &["REPLICAOF", "127.0.0.1", "1"],
        &["SHUTDOWN"],
    ] {
        let error = arena(words).unwrap_err().to_string();
        // The second is the error of a command in a script.
        let refusals = ["NoPerm", "NOPERM", "The user executing the script can't run this command"];
        assert!(refusals.iter().any(|refusal| error.contains(refusal)), "{words:?}: {error}");
    }
    // The health check can do nothing else, and the user without a name nothing at all.
    let health = |words: &[&str]| server.command_as::<redis::Value>("health", "any", words);
    health(&["PING"]).unwrap();
    health(&["INFO"]).unwrap_err();
    health(&["GET", "ouro:{test}:writer"]).unwrap_err();
    server.command_as::<redis::Value>("default", "", &["PING"]).unwrap_err();
    assert_eq!(entries(&server.open()).len(), 3);
}
