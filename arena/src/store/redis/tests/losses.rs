//! A server that lacks entries which were read, or that may lose what it acknowledges.

use super::*;
use crate::store::CopyError;

/// Starts the server again with this value of `appendfsync`.
fn restart_with(server: &mut Server, value: &str) {
    let path = server.folder.path().join("redis.conf");
    let settings = std::fs::read_to_string(&path).unwrap();
    let changed = settings.replace("\nappendfsync always\n", &format!("\nappendfsync {value}\n"));
    assert_ne!(changed, settings);
    std::fs::write(&path, changed).unwrap();
    server.server.restart();
}

#[test]
fn a_server_that_comes_back_with_another_setting_is_refused_until_it_is_corrected() {
    let Some(mut server) = Server::start() else { return };
    let store = filled(&server);
    let reader = RedisStore::open_to_read(&server.address_of("test")).unwrap();
    restart_with(&mut server, "everysec");
    for _ in 0..2 {
        let error = store.add_checkpoint(&checkpoint(2)).unwrap_err();
        assert!(matches!(error, StoreError::Server { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains("appendfsync is \"everysec\""), "{error}");
        assert!(error.contains("CONFIG SET appendfsync always"), "{error}");
    }
    assert!(!store.recover().unwrap_err().is_passing());
    // A store that is only read loses nothing.
    assert_eq!(entries(&reader).len(), 3);
    let _: redis::Value = server.command(&["CONFIG", "SET", "appendfsync", "always"]);
    store.add_checkpoint(&checkpoint(2)).unwrap();
    assert_eq!(entries(&store).len(), 4);
    assert_eq!(entries(&server.open()), entries(&store));
}

#[test]
fn entries_that_were_read_and_are_lost_are_an_error() {
    let Some(server) = Server::start() else { return };
    drop(filled(&server));
    let reader = RedisStore::open_to_read(&server.address_of("test")).unwrap();
    assert_eq!(reader.log(1, 9).unwrap().len(), 2);
    server.lose_entry();
    for (first, limit) in [(0, usize::MAX), (1, 2), (2, 1)] {
        let error = reader.log(first, limit).unwrap_err();
        assert!(matches!(error, StoreError::LostEntry { entry: 2, .. }), "{error}");
        // The store has no `store.known`, so the error names no file to remove.
        assert!(error.to_string().ends_with("restore it from a backup"), "{error}");
    }
    assert_eq!(reader.log(0, 2).unwrap().len(), 2);
    assert!(reader.log(3, 1).unwrap().is_empty());
}

#[test]
fn entries_that_are_lost_while_a_reader_loads_the_log_are_missed() {
    let Some(server) = Server::start() else { return };
    let (folder, address) = (tempfile::tempdir().unwrap(), server.address_of("test"));
    drop(filled(&server));
    // Of a folder without a memory nothing is missed, and none is made.
    RedisStore::open_to_read_in(&address, folder.path()).unwrap();
    assert!(!folder.path().join("store.known").exists());
    drop(RedisStore::open_in(&address, folder.path()).unwrap());
    let known = remembered(folder.path());
    assert!(known.is_some());
    let opened = RedisLog::to_read(&address, folder.path()).unwrap();
    server.lose_entry();
    let error = RedisStore::load(opened).unwrap_err();
    assert!(matches!(error, StoreError::LostEntry { entry: 2, .. }), "{error}");
    assert!(error.to_string().contains("store.known to continue without"), "{error}");
    assert_eq!(remembered(folder.path()), known);
}

#[test]
fn a_copy_from_or_to_a_server_that_has_lost_entries_is_an_error() {
    let Some(server) = Server::start() else { return };
    let store = || EmbeddedStore::on(MemoryDisk::new()).unwrap();
    let (redis, files) = (filled(&server), store());
    assert_eq!(copy(&redis, &files).unwrap().entries, 3);
    server.lose_entry();
    for copied in [copy(&redis, &store()), copy(&files, &redis)] {
        let error = copied.unwrap_err();
        let is_loss = matches!(error, CopyError::Store(StoreError::LostEntry { entry: 2, .. }));
        assert!(is_loss, "{error}");
    }
}
