//! The command line of `ouro train`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ouro_settings::Preset;
use ouro_settings::arguments::{
    AccessArguments, ActorArguments, AddressArguments, DeviceArguments, FromArguments,
    MetricsArguments, StoreArguments, TraceArguments, WebArguments, WeightsArguments,
};

/// Train by self-play in one process, until Ctrl-C. `ouro` without a command does the same.
///
/// On a terminal a panel shows the state of the run. Elsewhere, and with --json, each event is a
/// line of JSON (docs/events.md).
///
/// The first start writes DIR/run.toml, and a second start in DIR resumes the run. Settings may
/// change between two starts, except game, network, seed and algorithm. docs/running.md shows how
/// to run the parts as processes of their own.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "Examples:
  ouro train                                  a Battlesnake duel 7x7, in runs/duel-7x7
  ouro train tictactoe --for 2m               another preset, for two minutes
  ouro train --run runs/mine --config my.toml settings of your own
  ouro train duel --from 7x7.safetensors      a larger board, with the layers trained on 7x7
  ouro train --deterministic --generations 9  a run that repeats bit for bit

While it runs:
  http://127.0.0.1:8080                       the run in a browser
  grpcurl -plaintext localhost:50061 ouro.arena.v1.ArenaService/GetRatings")]
pub(crate) struct Arguments {
    /// What to train [default: duel-7x7].
    #[arg(value_enum)]
    pub(super) preset: Option<Preset>,
    /// Folder of the run [default: runs/PRESET; with --config the folder of run.toml, or
    /// runs/NAME for a file NAME.toml].
    #[arg(long, value_name = "DIR", env = "OURO_RUN")]
    pub(super) run: Option<PathBuf>,
    /// Settings of the run (TOML), for new runs or the run.toml of the run itself; see
    /// `ouro config`.
    #[arg(long, value_name = "FILE", env = "OURO_CONFIG", conflicts_with = "preset")]
    pub(super) config: Option<PathBuf>,
    /// Seed of a new run [default: 1].
    #[arg(long)]
    pub(super) seed: Option<u64>,
    #[command(flatten)]
    pub(super) from: FromArguments,
    #[command(flatten)]
    pub(super) addresses: AddressArguments,
    #[command(flatten)]
    pub(super) web: WebArguments,
    #[command(flatten)]
    pub(super) metrics: MetricsArguments,
    #[command(flatten)]
    pub(super) store: StoreArguments,
    #[command(flatten)]
    pub(super) weights: WeightsArguments,
    #[command(flatten)]
    pub(super) traces: TraceArguments,
    #[command(flatten)]
    pub(super) access: AccessArguments,
    #[command(flatten)]
    pub(super) device: DeviceArguments,
    #[command(flatten)]
    pub(super) actor: ActorArguments,
    /// Drain after so long: 90s, 30m, 1h 30m.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(super) time: Option<Duration>,
    /// Play, train and judge in turns, one thread of each, on the CPU: the same settings and seed
    /// give the same games, weights and verdicts, bit for bit.
    #[arg(long)]
    pub(super) deterministic: bool,
    /// With --deterministic: end once generation N has a verdict.
    #[arg(long, value_name = "N")]
    pub(super) generations: Option<u32>,
}
