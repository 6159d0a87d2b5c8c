//! The operations of a store, independent of its storage.

use std::fmt::Debug;

use ouro_net::{Generation, RunId};
use ouro_proto::Checkpoint;
use ouro_service::metrics::Histogram;

use super::error::StoreError;
use super::rows::{
    Decision, GameKey, LogEntry, MatchInfo, MatchSums, Promotion, Run, StoredCluster, StoredGame,
};
use crate::player_id::PlayerId;

/// The durable state of the arena, with a single writer.
///
/// Each method is one atomic, durable step: after it has returned, a `kill -9` loses nothing. Each
/// method is idempotent, so a step can be repeated after its result was lost. Methods block and are
/// not called on the async runtime.
pub trait Store: Debug + Send + Sync {
    /// Starts the run with this identifier in an empty store, or checks that the stored run has the
    /// same game and seed. Returns the identifier of the stored run.
    fn bind_run(&self, run: &Run, id: RunId) -> Result<RunId, StoreError>;

    /// Adds a checkpoint and returns it as stored. Changes nothing if the same weights are already
    /// stored under the same generation.
    fn add_checkpoint(&self, checkpoint: &Checkpoint) -> Result<Checkpoint, StoreError>;

    /// Every checkpoint, by generation.
    fn checkpoints(&self) -> Result<Vec<Checkpoint>, StoreError>;

    /// Stores the decision about a candidate and, in the same step, its promotion if it is
    /// promoted.
    ///
    /// A repeated decision changes nothing if both or neither promote the candidate; otherwise it
    /// is refused. A promotion over a player that is not the champion is refused.
    fn decide(&self, decision: &Decision) -> Result<(), StoreError>;

    /// Every decision, by generation.
    fn decisions(&self) -> Result<Vec<Decision>, StoreError>;

    /// The last decisions in the order of the log, newest first, at most `limit`. Their times do not
    /// count, because the clock may have been set back.
    fn last_decisions(&self, limit: usize) -> Result<Vec<Decision>, StoreError>;

    /// Every promotion, oldest first.
    fn promotions(&self) -> Result<Vec<Promotion>, StoreError>;

    /// Sets a member of the pool aside, or returns `false` if it is set aside already. The champion
    /// is then the last promoted checkpoint that is not set aside.
    fn set_aside(&self, generation: Generation, reason: &str, at: f64) -> Result<bool, StoreError>;

    /// Puts a member that was set aside back into the pool. Returns `false` if it is in the pool.
    fn restore(&self, generation: Generation, at: f64) -> Result<bool, StoreError>;

    /// The last promoted player that is not set aside; `random` if there is none.
    fn champion(&self) -> Result<PlayerId, StoreError>;

    /// Opens a match, or returns the open match with this key. The store assigns the number, so
    /// `info.number` is ignored.
    fn open_match(&self, info: &MatchInfo) -> Result<MatchInfo, StoreError>;

    /// Every match with the sums of its games, by number.
    fn matches(&self) -> Result<Vec<(MatchInfo, MatchSums)>, StoreError>;

    /// Adds results of a match and games to keep. Clusters that are already stored are not counted
    /// again. Returns the number of new clusters.
    fn record(
        &self,
        number: u32,
        results: &[StoredCluster],
        games: &[(GameKey, StoredGame)],
    ) -> Result<u32, StoreError>;

    /// The results of a match, by cluster.
    fn results(&self, number: u32) -> Result<Vec<StoredCluster>, StoreError>;

    /// A game, if it is still kept.
    fn game(&self, key: GameKey) -> Result<Option<StoredGame>, StoreError>;

    /// The kept games of a match.
    fn game_keys(&self, number: u32) -> Result<Vec<GameKey>, StoreError>;

    /// Removes every game for which `keep` is false and returns their number. Results stay.
    fn prune_games(&self, keep: &dyn Fn(GameKey) -> bool) -> Result<u32, StoreError>;

    /// Checks by a write that the store takes writes again after a [passing](StoreError::is_passing)
    /// error. Fails with a passing error while it does not.
    fn recover(&self) -> Result<(), StoreError>;

    /// Checks that no other arena has taken over the store. Writes nothing. What the store returns
    /// afterwards includes an entry whose append failed but took place.
    fn check_writer(&self) -> Result<(), StoreError>;

    /// Where the log is, `files` or `redis`, and the times that its appends took. Does not block.
    fn append_times(&self) -> (&'static str, &Histogram);

    /// Entries of the log from number `first` on, at most `limit`.
    fn log(&self, first: u64, limit: usize) -> Result<Vec<LogEntry>, StoreError>;
}
