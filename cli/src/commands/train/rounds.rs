//! `--deterministic`: the parts take turns, so that a run repeats bit for bit.
//!
//! Usually actor, learner and arena run at the same time. Their timing then decides which weights
//! play, which games are in the window when a batch is drawn, and which candidate is judged. A
//! deterministic run consists of rounds. In each round:
//!
//! 1. the arena judges the newest generation, plays it against the anchors, rates all players, and
//!    rests;
//! 2. the actor plays waves of games with the current pool, until the ratio of samples to inserts
//!    allows the steps of one generation. A wave has as many games as the thread plays at once;
//! 3. the learner takes these steps and publishes the next generation.
//!
//! The parts are the same as in other runs; this module only schedules them. Work that depends on
//! time is left out: spare games, and the pauses that limit matches to their share.
//!
//! The result of a round depends only on the run's folder at the start of the round. The seed of a
//! game is derived from its number in the journal, the seed of a batch from the number of the
//! batch. If a run ends within a round, the next start repeats the round with the same result.

use std::sync::Arc;

use ouro_actor::Waves;
use ouro_arena::Arena;
use ouro_learner::{Learner, SharedReplay, SharedStatus};
use ouro_net::Generation;
use ouro_players::registry::Options;
use ouro_proto::pool::PoolSnapshot;
use ouro_settings::{DeviceChoice, Settings};
use tokio::sync::watch;

use super::arguments::Arguments;
use super::plan::Plan;
use crate::failure::Failure;

/// Schedules the turns of the parts. See the [module](self).
pub(super) struct Rounds {
    waves: Waves,
    replay: Arc<SharedReplay>,
    progress: SharedStatus,
    idle_after: watch::Receiver<Option<Generation>>,
    pool: watch::Receiver<Arc<PoolSnapshot>>,
    /// Number of the next game.
    next_game: u64,
    /// Number of games in a wave.
    wave_games: u64,
    /// Number of positions in a training batch.
    batch: usize,
    generation_steps: u64,
    /// The generation after which the run ends; `None` runs until it is stopped.
    last: Option<u32>,
}

impl Rounds {
    /// Takes control of the parts. Call this before they run.
    pub(super) fn new(plan: &Plan, arena: &Arena, learner: &Learner, waves: Waves) -> Self {
        let (replay, progress) = (learner.replay(), learner.status());
        replay.lead();
        Self {
            waves,
            replay,
            idle_after: arena.idle_after(),
            pool: arena.pool(),
            // Every game of the run so far was accepted. At a game that is too long to be sent, the actor
            // ends before it sends the wave.
            next_game: progress.get().games,
            progress,
            wave_games: plan.wave_games(),
            batch: plan.batch(),
            generation_steps: plan.generation_steps(),
            last: plan.generations(),
        }
    }

    /// Runs rounds until the last generation is judged, if there is a last one. If a part ends
    /// before that, this never returns, and the end of the part gives the reason.
    pub(super) async fn lead(mut self) {
        if self.rounds().await.is_none() {
            std::future::pending().await
        }
    }

    /// Like [`lead`](Self::lead), but returns `None` if a part ended.
    async fn rounds(&mut self) -> Option<()> {
        let mut generation = self.progress.generation();
        loop {
            let is_judged = |idle_after: &Option<Generation>| *idle_after >= Some(generation);
            drop(self.idle_after.wait_for(is_judged).await.ok()?);
            if self.last.is_some_and(|last| generation.0 >= last) {
                return Some(());
            }
            let revision = self.pool.borrow().revision;
            let steps = self.generation_steps - self.progress.get().step % self.generation_steps;
            // An interrupted wave is completed first, even if the window holds enough. Waves then
            // end at the same games as without the interruption.
            while !self.is_between_waves() || !self.replay.holds(steps, self.batch) {
                let end = (self.next_game / self.wave_games + 1) * self.wave_games;
                self.waves.play(self.next_game..end, revision).await.ok()?;
                self.next_game = end;
            }
            self.replay.allow(steps);
            generation.0 += 1;
        }
    }

    fn is_between_waves(&self) -> bool {
        self.next_game.is_multiple_of(self.wave_games)
    }
}

/// Refuses arguments and settings that are not reproducible.
pub(super) fn check(arguments: &Arguments, settings: &Settings) -> Result<(), Failure> {
    if !arguments.deterministic {
        return match arguments.generations {
            None => Ok(()),
            Some(_) => Err(Failure::usage(
                "--generations counts rounds; add --deterministic, or use --for TIME",
            )),
        };
    }
    if !matches!(arguments.device.device, None | Some(DeviceChoice::Cpu)) {
        return Err(Failure::usage(
            "--deterministic trains on the CPU; leave --device out or give --device cpu",
        ));
    }
    if let Some(threads) = arguments.actor.threads.filter(|&threads| threads != 1) {
        return Err(Failure::usage(format_args!(
            "--threads is {threads}; --deterministic plays on one thread, leave it out"
        )));
    }
    let arena = &settings.arena;
    let players = std::iter::once(&arena.player).chain(arena.anchors.iter().flatten());
    for name in players {
        if Options::parse(name).is_ok_and(|options| options.has("ms")) {
            return Err(Failure::usage(format_args!(
                "{name} thinks by the clock, which does not repeat; give it a depth or simulations \
                 in [arena] of the settings for --deterministic"
            )));
        }
    }
    Ok(())
}
