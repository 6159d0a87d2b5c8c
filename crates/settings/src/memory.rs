//! An estimate of the memory that settings need, compared with the memory of the machine.
//!
//! Each estimate is an upper bound of the memory that scales with one setting. Fixed costs are left
//! out, so settings that pass can still run out of memory. The check runs before anything starts,
//! because an allocation that fails ends the process.

use ouro_game::{Game, GameVisitor};
use ouro_net::{Architecture, NetSpec, Trunk};
use ouro_search::{Cached, Uniform};

use crate::error::SettingError;
use crate::learner::AlgorithmConfig;
use crate::settings::Settings;

/// Bytes of a ply in a recorded or finished game: actions, probabilities, digests, targets.
const PLY_BYTES: u128 = 256;
/// Batches that a learner holds at once: assembled, in transfer and in training.
const BATCHES: u128 = 4;
/// Copies of each parameter, rounded up: weights, gradient, two optimiser moments, the moving
/// average and the export.
const VALUE_COPIES: u128 = 8;

/// A process of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// An actor.
    Actor,
    /// The learner.
    Learner,
    /// The arena.
    Arena,
}

/// The memory that one key needs.
struct Part {
    key: &'static str,
    value: String,
    bytes: u128,
}

/// Sizes that the game determines.
struct Sizes {
    state: u128,
    /// A position in the evaluation cache, with its estimate, in bytes.
    cached: u128,
    /// Inputs of the network for one position, in bytes.
    planes: u128,
}

impl GameVisitor for Sizes {
    type Output = Self;

    fn visit<G: Game>(self, game: G) -> Self {
        let planes = game.planes();
        let state = game.state_bytes() as u128;
        let cached = (Cached::<G, Uniform>::slot_bytes(&game) as u128).max(state + PLY_BYTES);
        Self { state, cached, planes: 4 * planes.len() as u128 }
    }
}

impl Settings {
    /// Calls [`check_memory`](Self::check_memory) with the memory of this machine. Accepts all
    /// settings if the system does not report its memory.
    pub fn check_machine(&self, processes: &[Process]) -> Result<(), SettingError> {
        machine_memory().map_or(Ok(()), |memory| self.check_memory(processes, memory))
    }

    /// Refuses settings if `processes` together may need more than `memory` bytes. The error names
    /// the key that needs the most.
    pub fn check_memory(&self, processes: &[Process], memory: u64) -> Result<(), SettingError> {
        let start = Sizes { state: 0, cached: 0, planes: 0 };
        let sizes = self.game.visit(start).map_err(SettingError::of_game)?;
        let spec = self.net_spec()?;
        let mut parts = Vec::new();
        for process in processes {
            match *process {
                Process::Actor => self.actor_memory(&sizes, &mut parts),
                Process::Learner => self.learner_memory(&spec, &sizes, &mut parts),
                Process::Arena => self.arena_memory(&sizes, &mut parts),
            }
        }
        check_parts(parts, memory)
    }

    fn actor_memory(&self, sizes: &Sizes, parts: &mut Vec<Part>) {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.deploy.threads.unwrap_or_else(cores) as u128;
        let play = &self.actor;
        let game = sizes.state + PLY_BYTES * play.max_plies as u128;
        let mut add = |key, value: usize, bytes| parts.push(part(key, value, bytes));
        add(
            "actor.games_per_thread",
            play.games_per_thread,
            threads * play.games_per_thread as u128 * game,
        );
        add("actor.batch", play.batch, threads * play.batch as u128 * 2 * sizes.planes);
        add("actor.cached_evaluations", play.cached_evaluations, {
            threads * play.cached_evaluations as u128 * sizes.cached
        });
        if play.search.is_some() {
            let bytes = (play.tree_memory_mib as u128) << 20;
            add("actor.tree_memory_mib", play.tree_memory_mib, bytes);
        }
        let outbox = self.deploy.outbox_games;
        add("deploy.outbox_games", outbox, outbox as u128 * game);
    }

    fn learner_memory(&self, spec: &NetSpec, sizes: &Sizes, parts: &mut Vec<Part>) {
        let values: u128 = spec.tensors().iter().map(|tensor| tensor.len() as u128).sum();
        let mut add = |key, value: usize, bytes| parts.push(part(key, value, bytes));
        add("net", values as usize, 4 * VALUE_COPIES * values);
        let rows = self.train.batch_moves;
        let row = row_bytes(spec);
        add("train.batch_moves", rows, rows as u128 * row);
        let (plies, threads) = (self.intake.max_plies, self.replay.assembly_threads as u128);
        // A game is checked in one state at a time. Batches are made from all states of a game.
        let decoded = PLY_BYTES * (self.intake.replay_threads as u128 + threads);
        let ply = decoded + sizes.state * threads;
        add("intake.max_plies", plies, plies as u128 * ply);
        match self.train.algorithm {
            AlgorithmConfig::AlphaZero(_) => {
                let mebibytes = self.replay.max_mib;
                add("replay.max_mib", mebibytes, (mebibytes as u128) << 20);
            }
            AlgorithmConfig::Reinforce(_) => {
                let positions = self.replay.queue_positions;
                add("replay.queue_positions", positions, positions as u128 * PLY_BYTES);
            }
        }
    }

    fn arena_memory(&self, sizes: &Sizes, parts: &mut Vec<Part>) {
        let parallel = self.arena.parallel;
        let game = sizes.state + PLY_BYTES * self.arena.max_plies as u128;
        parts.push(part("arena.parallel", parallel, parallel as u128 * game));
    }
}

/// Refuses batches of `rows` positions if training `spec` on them may need more memory than this machine
/// has. The error names `key`. Accepts all if the system does not report its memory.
///
/// With `on_gpu` the activations are in the memory of the GPU, whose size is not known.
pub fn check_batch(
    key: &'static str,
    spec: &NetSpec,
    rows: usize,
    on_gpu: bool,
) -> Result<(), SettingError> {
    let parts = batch_parts(key, spec, rows, on_gpu);
    machine_memory().map_or(Ok(()), |memory| check_parts(parts, memory))
}

fn batch_parts(key: &'static str, spec: &NetSpec, rows: usize, on_gpu: bool) -> Vec<Part> {
    let values: u128 = spec.tensors().iter().map(|tensor| tensor.len() as u128).sum();
    let row = if on_gpu { BATCHES * plane_bytes(spec) } else { row_bytes(spec) };
    let network = part("net", values as usize, 4 * VALUE_COPIES * values);
    vec![network, part(key, rows, rows as u128 * row)]
}

/// Refuses parts that together need more than `memory` bytes. The error names the largest.
fn check_parts(parts: Vec<Part>, memory: u64) -> Result<(), SettingError> {
    let total: u128 = parts.iter().map(|part| part.bytes).sum();
    let largest = parts.into_iter().max_by_key(|part| part.bytes);
    let Some(Part { key, value, bytes }) = largest.filter(|_| total > u128::from(memory)) else {
        return Ok(());
    };
    let remedy = format!(
        "it takes up to {} of memory, all together {}, and this machine has {}; lower it",
        gibibytes(bytes),
        gibibytes(total),
        gibibytes(memory.into())
    );
    Err(SettingError::new(key, value, remedy))
}

/// Bytes of a position in training on the CPU.
fn row_bytes(spec: &NetSpec) -> u128 {
    let cells = spec.planes.height * spec.planes.width;
    let trunk = Trunk::row_bytes(spec).unwrap_or_default() as u128;
    BATCHES * plane_bytes(spec) + trunk.max(2 * activations(&spec.architecture, cells))
}

/// Bytes of the inputs of a network for one position.
fn plane_bytes(spec: &NetSpec) -> u128 {
    4 * spec.planes.len() as u128
}

fn part(key: &'static str, value: usize, bytes: u128) -> Part {
    Part { key, value: value.to_string(), bytes }
}

/// Bytes of activations per position that training keeps for the backward pass.
fn activations(net: &Architecture, cells: usize) -> u128 {
    let values = match net {
        Architecture::Conv { channels, layers, hidden } => channels * layers * cells + hidden,
        Architecture::Residual { channels, blocks, value_hidden, .. } => {
            channels * (1 + 4 * blocks) * cells + value_hidden
        }
        Architecture::TwoConv { channels, hidden, .. } => 2 * channels * cells + 4 * hidden,
        Architecture::Mlp { layers, hidden, .. } => layers * hidden,
    };
    4 * values as u128
}

fn gibibytes(bytes: u128) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// Memory that this process may use, in bytes: the memory of the machine, or the limit of its
/// container if that is lower. `None` if the system reports neither.
fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let machine = text.lines().find_map(|line| {
        let kibibytes = line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?;
        kibibytes.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
    })?;
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|text| text.trim().parse().ok());
    Some(limit.map_or(machine, |limit: u64| limit.min(machine)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    const ALL: [Process; 3] = [Process::Actor, Process::Learner, Process::Arena];

    #[test]
    fn every_preset_fits_a_laptop() {
        for preset in Preset::ALL {
            let mut settings = preset.settings();
            settings.deploy.threads = Some(8);
            let fits = settings.check_memory(&ALL, 8 << 30);
            assert_eq!(fits, Ok(()), "{}", preset.name());
        }
    }

    #[test]
    fn a_setting_that_takes_too_much_memory_is_named_with_what_it_takes() {
        type Change = fn(&mut Settings);
        let cases: [(&str, Change); 8] = [
            ("actor.games_per_thread", |one| one.actor.games_per_thread = usize::MAX),
            ("actor.games_per_thread", |one| one.actor.games_per_thread = 1_000_000),
            ("actor.cached_evaluations", |one| one.actor.cached_evaluations = 1 << 30),
            ("actor.tree_memory_mib", |one| one.actor.tree_memory_mib = 1 << 20),
            ("deploy.outbox_games", |one| one.deploy.outbox_games = 1 << 40),
            ("train.batch_moves", |one| one.train.batch_moves = 1 << 20),
            ("intake.max_plies", |one| one.intake.max_plies = 1 << 30),
            ("replay.max_mib", |one| one.replay.max_mib = 1 << 20),
        ];
        for (key, change) in cases {
            let mut settings = Preset::Duel7x7.settings();
            change(&mut settings);
            let error = settings.check_memory(&ALL, 64 << 30).expect_err(key);
            assert_eq!(error.key, key);
            assert!(error.to_string().contains("this machine has 64.0 GiB; lower it"), "{error}");
        }
    }

    #[test]
    fn a_batch_takes_as_much_as_in_the_settings_and_less_beside_a_gpu() {
        let mut settings = Preset::Duel7x7.settings();
        settings.train.batch_moves = 1 << 20;
        let spec = settings.net_spec().expect("a preset has a network");
        let check = |on_gpu, memory| {
            check_parts(batch_parts("--batch", &spec, settings.train.batch_moves, on_gpu), memory)
        };
        let as_setting = settings.check_memory(&[Process::Learner], 1 << 30).expect_err("refused");
        let error = check(false, 1 << 30).expect_err("it is too large");
        assert!(error.to_string().starts_with("--batch is 1048576; it takes up to "), "{error}");
        let bytes =
            |error: &SettingError| error.remedy.split(" of memory").next().map(str::to_owned);
        assert_eq!((&*as_setting.key, bytes(&as_setting)), ("train.batch_moves", bytes(&error)));
        assert!(check(false, 32 << 30).is_err() && check(true, 32 << 30).is_ok());
        assert!(check(true, 1 << 30).is_err());
    }

    #[test]
    fn the_machine_says_how_much_memory_it_has() {
        if cfg!(target_os = "linux") {
            assert!(machine_memory().is_some_and(|bytes| bytes > 1 << 28));
        }
    }
}
