//! The hosts of a simulation: an arena, a learner and three actors, and what outlives their ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ouro_actor::{ActorConfig, ActorCounters, SimulatedActor};
use ouro_arena::SimulatedArena;
use ouro_arena::store::Run;
use ouro_game::GameConfig;
use ouro_learner::{Config, SimulatedLearner};
use ouro_net::{Architecture, ContentHash, Generation};
use ouro_rating::GateConfig;
use ouro_rating::gate::SprtConfig;
use ouro_replay::journal::{Options, Policy};
use ouro_replay::testing::MemoryDisk;
use ouro_settings::{AlgorithmConfig, MatchConfig, PlayConfig, ReinforceConfig};
use tonic::transport::Endpoint;

use crate::determinism::SimulatedClock;
use crate::fault::{HOSTS, WITH_DISK};
use crate::log::Log;
use crate::network::{Port, arena, dial};

/// The port of every service.
const PORT: u16 = 9_000;
/// Pause of an actor between games.
const PACE: Duration = Duration::from_millis(300);
/// Size of a segment of the journal: a simulation has several.
const SEGMENT_BYTES: u64 = 16 << 10;

/// What a host leaves when it ends, and what it has announced.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) seed: u64,
    pub(crate) log: Log,
    folder: PathBuf,
    /// The disks of arena and learner.
    disks: [Mutex<MemoryDisk>; WITH_DISK],
    announcements: Mutex<Announcements>,
}

/// What hosts have announced, which must stay true.
#[derive(Clone, Debug, Default)]
pub(crate) struct Announcements {
    /// Weights that the arena has acknowledged.
    pub(crate) published: Vec<(Generation, ContentHash)>,
    /// Decisions that the arena has announced, and whether they promoted.
    pub(crate) decided: Vec<(Generation, bool)>,
    /// The counters of each running actor.
    pub(crate) actors: BTreeMap<usize, Arc<ActorCounters>>,
    /// Starts of each host.
    starts: BTreeMap<usize, u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cluster {
    /// A cluster with empty disks, whose real files are in `folder`.
    pub(crate) fn new(seed: u64, folder: &Path) -> Arc<Self> {
        let (log, folder) = (Log::default(), folder.to_owned());
        Arc::new(Self {
            seed,
            log,
            folder,
            disks: Default::default(),
            announcements: Mutex::default(),
        })
    }

    /// The game of the run.
    pub(crate) fn game() -> GameConfig {
        GameConfig::TicTacToe(ouro_game::tic_tac_toe::Config::default())
    }

    /// The disk of a host now.
    pub(crate) fn disk(&self, host: usize) -> MemoryDisk {
        lock(&self.disks[host]).clone()
    }

    /// Replaces the disk of a host, which has ended.
    pub(crate) fn replace_disk(&self, host: usize, change: impl FnOnce(&MemoryDisk) -> MemoryDisk) {
        if let Some(disk) = self.disks.get(host) {
            let mut disk = lock(disk);
            *disk = change(&disk);
        }
    }

    /// What hosts have announced so far.
    pub(crate) fn announcements(&self) -> Announcements {
        lock(&self.announcements).clone()
    }

    /// Folder of the weights of the arena.
    pub(crate) fn weights(&self) -> PathBuf {
        self.folder.join("weights")
    }

    /// A folder for the final check.
    pub(crate) fn checked(&self) -> PathBuf {
        self.folder.join("checked")
    }

    /// The log of sent and acknowledged games of an actor.
    pub(crate) fn records(&self, host: usize) -> PathBuf {
        self.folder.join(HOSTS[host]).join("records.log")
    }

    /// Runs the software of a host once. An end counts as an error, unless the machine was switched off
    /// meanwhile.
    pub(crate) async fn run(self: Arc<Self>, host: usize) -> turmoil::Result {
        let start = *lock(&self.announcements)
            .starts
            .entry(host)
            .and_modify(|start| *start += 1)
            .or_default();
        self.log.note(&format!("{} starts", HOSTS[host]));
        let disk = self.disks.get(host).map(|disk| lock(disk).clone());
        let ended = match host {
            0 => self.arena(disk.clone().unwrap_or_default()).await,
            1 => self.learner(disk.clone().unwrap_or_default()).await,
            _ => self.actor(host, start).await,
        };
        if disk.is_some_and(|disk| disk.has_crashed()) {
            // The machine is off; the simulation notices within a tick.
            std::future::pending::<()>().await;
        }
        let why = ended.err().map_or_else(|| "no error".to_owned(), |error| format!("{error:#}"));
        Err(format!("{} ended by itself: {why}", HOSTS[host]).into())
    }

    async fn arena(self: &Arc<Self>, disk: MemoryDisk) -> anyhow::Result<()> {
        let cluster = Arc::clone(self);
        let arena = SimulatedArena {
            run: Run { game: Self::game(), seed: self.seed },
            matches: MatchConfig {
                anchors: Some(vec!["random".to_owned()]),
                champion_games: 2,
                anchor_games: 2,
                max_plies: 9,
                opening_plies: Some(2),
                parallel: 4,
                spare_share: 0.02,
                spare_games: 2,
                kept_matches: 2,
                // Untrained networks are about as strong as each other, so some are promoted.
                gate: GateConfig {
                    games: 12,
                    threshold: 0.5,
                    sequential: false,
                    sprt: SprtConfig { low: 0.4, high: 0.6, ..SprtConfig::default() },
                },
                ..MatchConfig::default()
            },
            disk,
            weights: self.weights(),
            connections: Port::open(PORT).await?,
            clock: Arc::new(SimulatedClock::default()),
            decided: Box::new(move |decision| {
                let (generation, is_promoted) =
                    (decision.generation, decision.promotion().is_some());
                cluster.log.note(&format!("arena decides {generation}, promoted: {is_promoted}"));
                lock(&cluster.announcements).decided.push((generation, is_promoted));
            }),
        };
        Ok(arena.run().await?)
    }

    async fn learner(self: &Arc<Self>, disk: MemoryDisk) -> anyhow::Result<()> {
        let cluster = Arc::clone(self);
        let mut config = Config {
            seed: self.seed,
            game: Self::game(),
            net: Architecture::Conv { channels: 2, layers: 1, hidden: 4 },
            ..Config::default()
        };
        config.train.batch_moves = 32;
        config.train.algorithm = AlgorithmConfig::Reinforce(ReinforceConfig::default());
        config.replay.queue_positions = 256;
        config.training_states.directory = self.folder.join("learner");
        config.training_states.every_steps = 4;
        let learner = SimulatedLearner {
            config,
            disk,
            options: Options { segment_bytes: SEGMENT_BYTES, ..Options::default() },
            commits: Policy { delay: self.commit_delay(), ..Policy::default() },
            connections: Port::open(PORT).await?,
            arena: arena(&format!("http://{}:{PORT}", HOSTS[0]))?,
            published: Box::new(move |generation, hash| {
                cluster.log.note(&format!("arena acknowledges {generation}"));
                lock(&cluster.announcements).published.push((generation, hash));
            }),
        };
        Ok(learner.run().await?)
    }

    /// A fault rarely falls into the few milliseconds of a commit, so two seeds of three stretch them.
    fn commit_delay(&self) -> Duration {
        Duration::from_millis([5, 50, 500][(self.seed % 3) as usize])
    }

    async fn actor(self: &Arc<Self>, host: usize, start: u64) -> anyhow::Result<()> {
        let arena_url = format!("http://{}:{PORT}", HOSTS[0]);
        let learner_url = format!("http://{}:{PORT}", HOSTS[1]);
        let counters = Arc::<ActorCounters>::default();
        lock(&self.announcements).actors.insert(host, Arc::clone(&counters));
        let actor = SimulatedActor {
            config: ActorConfig {
                name: HOSTS[host].to_owned(),
                threads: 1,
                play: PlayConfig { games_per_thread: 2, max_plies: 9, ..PlayConfig::default() },
                outbox_games: 16,
                log_records: Some(self.records(host)),
                seed: (self.seed << 20) + ((host as u64) << 12) + start,
                deterministic: true,
                ..ActorConfig::new(Self::game(), arena_url.clone(), learner_url.clone())
            },
            learner: Endpoint::from_shared(learner_url)?,
            arena: arena(&arena_url)?,
            dial: dial(),
            counters,
            pace: PACE,
        };
        Ok(actor.run().await?)
    }
}
