//! Which roles may call which methods.

use ouro_service::access::Permissions;
use ouro_service::access::Role::{Actor, Learner, Reader, Worker};

/// Ratings, matches and games: questions that change nothing.
pub(crate) const ARENA_PERMISSIONS: Permissions = &[
    ("/ouro.arena.v1.ArenaService/GetRatings", &[Reader, Learner]),
    ("/ouro.arena.v1.ArenaService/ComparePlayers", &[Reader]),
    // The learner and the actors read from it which weights the arena lacks.
    ("/ouro.arena.v1.ArenaService/ListCheckpoints", &[Reader, Learner, Actor, Worker]),
    ("/ouro.arena.v1.ArenaService/ListMatches", &[Reader]),
    ("/ouro.arena.v1.ArenaService/GetMatch", &[Reader]),
    ("/ouro.arena.v1.ArenaService/GetGame", &[Reader]),
    ("/ouro.arena.v1.ArenaService/GetGate", &[Reader]),
    ("/ouro.arena.v1.ArenaService/WatchEvents", &[Reader]),
    ("/ouro.arena.v1.ArenaService/GetStatus", &[Reader]),
];

/// The pool. An actor may offer weights only as copies of ones that the arena lost: the arena
/// accepts them by their hash.
pub(crate) const POOL_PERMISSIONS: Permissions = &[
    ("/ouro.arena.v1.PoolService/PublishCheckpoint", &[Learner, Actor]),
    ("/ouro.arena.v1.PoolService/FetchCheckpoint", &[Actor, Learner, Worker, Reader]),
    ("/ouro.arena.v1.PoolService/DrawOpponents", &[Actor, Reader]),
    ("/ouro.arena.v1.PoolService/WatchPool", &[Actor, Learner, Worker, Reader]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths of the methods that a .proto file declares.
    fn methods(file: &str, service: &str) -> Vec<String> {
        let path = format!("../proto/proto/ouro/arena/v1/{file}");
        let text = std::fs::read_to_string(path).expect("the file is there");
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("rpc "));
        let names = names.filter_map(|line| line.split_once('('));
        names.map(|(name, _)| format!("/ouro.arena.v1.{service}/{name}")).collect()
    }

    #[test]
    fn every_method_has_its_roles() {
        for (file, service, permissions) in [
            ("arena.proto", "ArenaService", ARENA_PERMISSIONS),
            ("pool.proto", "PoolService", POOL_PERMISSIONS),
        ] {
            let listed: Vec<_> = permissions.iter().map(|(path, _)| (*path).to_owned()).collect();
            assert_eq!(listed, methods(file, service));
        }
    }
}
