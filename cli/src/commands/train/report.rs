//! What a person sees of a run: an opening, a line every few seconds, what the arena decides,
//! and the ratings at the end. With `--json`, one object per line.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use ouro_actor::{Actor, ActorCounters};
use ouro_arena::store::Promotion;
use ouro_arena::web::{Gauge, Gauges};
use ouro_arena::{Arena, ArenaEvent};
use ouro_learner::Learner;
use ouro_learner::progress::{Progress, SharedProgress};
use ouro_learner::replay::SharedReplay;
use ouro_proto::arena_client::RatingTable;
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use super::PROGRESS_EVERY;
use super::plan::Plan;
use crate::failure::Failure;
use crate::output::Output;

/// Rows of the rating table that are printed at the end.
const TABLE_ROWS: usize = 12;

/// The first thing printed.
struct Opening {
    text: String,
    value: Value,
}

/// Follows a run and prints what happens.
pub(super) struct Reporter {
    opening: Opening,
    started: Instant,
    progress: SharedProgress,
    replay: Arc<SharedReplay>,
    counters: Arc<ActorCounters>,
    events: broadcast::Receiver<ArenaEvent>,
    ratings: watch::Receiver<Arc<RatingTable>>,
    gauges: Gauges,
    pool: usize,
    /// When the last line was, and the moves and games by then.
    last: (Instant, u64, u64),
}

impl Reporter {
    /// Watches the parts; they need not run yet.
    pub(super) fn new(
        plan: &Plan,
        arena: &Arena,
        learner: &Learner,
        actor: &Actor,
    ) -> Result<Self, Failure> {
        let progress = learner.progress();
        let now = Instant::now();
        let start = progress.get();
        let page = arena.web_addr().map(|address| format!("http://{address}"));
        let opening = Opening {
            text: format!(
                "{} {} in {}\n  game     {}\n  device   {}\n  arena    {}\n  learner  {}\n  \
                 page     {}\n  from     generation {}, step {}, {} games\n",
                if plan.is_new() { "new run of" } else { "resuming the run of" },
                plan.game().name(),
                plan.folder().display(),
                serde_json::to_string(plan.game()).unwrap_or_default(),
                start.device,
                arena.local_addr(),
                learner.address(),
                page.as_deref().unwrap_or("off"),
                start.generation,
                start.step,
                start.games,
            ),
            value: json!({
                "event": "start",
                "new": plan.is_new(),
                "device": start.device,
                "arena": arena.local_addr().to_string(),
                "learner": learner.address().to_string(),
                "page": page,
                "generation": start.generation,
                "step": start.step,
                "games": start.games,
            }),
        };
        Ok(Self {
            opening,
            started: now,
            progress,
            replay: learner.replay(),
            counters: actor.counters(),
            events: arena.events(),
            ratings: arena.ratings(),
            gauges: arena.gauges(),
            pool: arena.pool_size().map_err(Failure::unavailable)?,
            last: (now, 0, start.games),
        })
    }

    pub(super) fn opening(&self, output: &mut Output) -> Result<(), Failure> {
        output.result(&self.opening.value, &self.opening.text)?;
        output.flush()
    }

    /// Prints until it is dropped; ends only when nobody reads any more.
    pub(super) async fn follow(&mut self, output: &mut Output) -> Result<(), Failure> {
        let mut tick = tokio::time::interval(PROGRESS_EVERY);
        tick.tick().await;
        loop {
            tokio::select! {
                _ = tick.tick() => self.line(output)?,
                event = self.events.recv() => match event {
                    Ok(ArenaEvent::Promoted(promotion)) => self.promoted(&promotion, output)?,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    // The arena ended; its own task says why.
                    Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
                },
            }
            output.flush()?;
        }
    }

    fn line(&mut self, output: &mut Output) -> Result<(), Failure> {
        let progress = self.progress.get();
        let (now, moves) = (Instant::now(), self.counters.moves());
        let seconds = now.duration_since(self.last.0).as_secs_f64().max(1e-9);
        let rate = moves.saturating_sub(self.last.1) as f64 / seconds;
        let games_rate = progress.games.saturating_sub(self.last.2) as f64 / seconds;
        self.last = (now, moves, progress.games);
        self.gauge(&progress, rate, games_rate);
        let best = self.ratings.borrow().ratings.first().map_or(0.0, |best| best.elo);
        let loss = progress.report.loss;
        let text = format!(
            "{}  generation {:>3}  step {:>5}  games {:>6}  {:>6.0} moves/s  loss {:>6.3}  \
             entropy {:>5.3}  return {:>+6.2}  pool {}  best Elo {:+.0}\n",
            clock(self.started),
            progress.generation,
            progress.step,
            progress.games,
            rate,
            loss.total,
            loss.entropy,
            progress.mean_return,
            self.pool,
            best,
        );
        let value = json!({
            "event": "progress",
            "seconds": self.started.elapsed().as_secs_f64(),
            "generation": progress.generation,
            "step": progress.step,
            "games": progress.games,
            "moves_per_second": rate,
            "loss": loss.total,
            "entropy": loss.entropy,
            "mean_return": progress.mean_return,
            "pool": self.pool,
            "best_elo": best,
        });
        output.result(&value, text)
    }

    /// Shows the figures of a line on the web page.
    fn gauge(&self, progress: &Progress, moves_rate: f64, games_rate: f64) {
        let seconds = self.started.elapsed().as_secs_f64();
        let loss = progress.report.loss;
        let (replay, _) = self.replay.status();
        let (held, fit) = (replay.positions as f64, replay.capacity as f64);
        let window = |line| Gauge { chart: "replay window", line, unit: "positions" };
        let mut values = vec![
            (Gauge { chart: "positions played", line: "positions", unit: "/s" }, moves_rate),
            (Gauge { chart: "games learned from", line: "games", unit: "/s" }, games_rate),
            (window("held"), held),
            (window("fit"), fit),
        ];
        // Before the first step there is no loss.
        if progress.step > 0 {
            values.extend([
                (Gauge { chart: "loss", line: "policy", unit: "a position" }, loss.policy),
                (Gauge { chart: "loss", line: "value", unit: "a position" }, loss.value),
                (Gauge { chart: "entropy", line: "entropy", unit: "nats" }, loss.entropy),
                (Gauge { chart: "mean return", line: "return", unit: "" }, progress.mean_return),
                (
                    Gauge { chart: "staleness", line: "lag", unit: "generations" },
                    replay.staleness.lag,
                ),
            ]);
        }
        for (gauge, value) in values {
            self.gauges.note(gauge, seconds, value);
        }
    }

    fn promoted(&mut self, promotion: &Promotion, output: &mut Output) -> Result<(), Failure> {
        self.pool += 1;
        let score = promotion.score;
        let (low, high) = score.interval();
        let text = format!(
            "{}  PROMOTED {}: {} won, {} drawn, {} lost against {} = {:.1} % \
             (95 % interval {:.1} to {:.1}); pool {}\n",
            clock(self.started),
            promotion.generation,
            score.wins,
            score.draws,
            score.losses,
            promotion.beat,
            100.0 * score.share(),
            100.0 * low,
            100.0 * high,
            self.pool,
        );
        let value = json!({
            "event": "promotion",
            "seconds": self.started.elapsed().as_secs_f64(),
            "generation": promotion.generation.0,
            "beat": promotion.beat.to_string(),
            "wins": score.wins,
            "draws": score.draws,
            "losses": score.losses,
            "score": score.share(),
            "pool": self.pool,
        });
        output.result(&value, text)
    }

    pub(super) fn draining(&self, output: &mut Output) -> Result<(), Failure> {
        let text = format!("{}  draining\n", clock(self.started));
        output.result(&json!({ "event": "draining" }), text)?;
        output.flush()
    }

    /// The ratings as they stand.
    pub(super) fn closing(&self, output: &mut Output) -> Result<(), Failure> {
        let ratings = self.ratings.borrow().clone();
        let rows = ratings.ratings.iter().map(|row| {
            json!({ "player": row.player, "elo": row.elo, "elo_low": row.elo_low,
                    "elo_high": row.elo_high, "games": row.games, "score": row.score })
        });
        let value = json!({ "event": "end", "ratings": rows.collect::<Vec<_>>() });
        output.result(&value, table(&ratings))?;
        output.flush()
    }
}

fn table(ratings: &RatingTable) -> String {
    let mut text = String::from("player                Elo   95 % interval   games  score\n");
    for row in ratings.ratings.iter().take(TABLE_ROWS) {
        let interval = format!("{:+.0} to {:+.0}", row.elo_low, row.elo_high);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<18} {:>+6.0}  {:>15}  {:>5}  {:>4.0} %",
            row.player,
            row.elo,
            interval,
            row.games,
            100.0 * row.score
        );
    }
    let more = ratings.ratings.len().saturating_sub(TABLE_ROWS);
    if more > 0 {
        let _ = writeln!(text, "and {more} more; ask the arena's GetRatings for all");
    }
    text
}

fn clock(started: Instant) -> String {
    let seconds = started.elapsed().as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
