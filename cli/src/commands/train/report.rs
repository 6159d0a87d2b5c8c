//! Follows a run: observes its parts and emits events.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ouro_actor::{Actor, ActorCounters};
use ouro_arena::config::WeightsConfig;
use ouro_arena::event::Overtaken;
use ouro_arena::store::{self, Outcome};
use ouro_arena::web::Gauges;
use ouro_arena::{Arena, ArenaConfig, ArenaEvent, Condition};
use ouro_learner::{Learner, SharedReplay, SharedStatus};
use ouro_net::Generation;
use ouro_proto::Checkpoint;
use ouro_proto::pool::PoolSnapshot;
use ouro_rating::RatingTable;
use ouro_rating::gate::Verdict;
use ouro_service::Conditions;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, watch};

use super::curves;
use super::event::{Champion, Decision, End, Event, Match, Progress, Start};
use super::history::History;
use super::plan::Plan;
use super::ratings;
use super::screen::Screen;
use super::view::View;
use crate::commands::weights;
use crate::failure::Failure;

/// Interval between two progress events.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);
/// Interval between two drawings of the panel.
const REDRAW_EVERY: Duration = Duration::from_secs(1);
/// Longest time that the last events wait for the reader of the output.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Emits the events of a run to the screen, the history and the web page.
pub(super) struct Reporter {
    screen: Screen,
    view: View,
    start: Start,
    resume: String,
    started: Instant,
    progress: SharedStatus,
    replay: Arc<SharedReplay>,
    counters: Arc<ActorCounters>,
    events: broadcast::Receiver<ArenaEvent>,
    ratings: watch::Receiver<Arc<RatingTable>>,
    arena_conditions: watch::Receiver<Conditions<Condition>>,
    gauges: Gauges,
    /// The file of events; `None` if it cannot be opened.
    history: Option<History>,
    /// Seconds of training before this start.
    earlier: f64,
    pool: watch::Receiver<Arc<PoolSnapshot>>,
    /// Folder of the arena.
    arena: PathBuf,
    /// Where the arena keeps weights.
    weights: WeightsConfig,
    gate: Option<Match>,
    /// The reason of the current pause, as last reported.
    pause_reason: Option<String>,
    /// Time of the last progress event, with the moves and games up to that time.
    last: (Instant, u64, u64),
}

impl Reporter {
    /// Connects to the parts, which need not run yet.
    pub(super) fn new(
        screen: Screen,
        plan: &Plan,
        arena: &Arena,
        learner: &Learner,
        actor: &Actor,
    ) -> Self {
        let progress = learner.status();
        let now = Instant::now();
        let stands = progress.get();
        let start = Start {
            new: plan.is_new(),
            run: plan.folder().display().to_string(),
            game: plan.game().name().to_owned(),
            device: stands.device,
            arena: arena.local_addr().to_string(),
            learner: learner.address().to_string(),
            page: arena.web_addr().map(|address| plan.page(address)),
            metrics: None,
            generation: stands.generation,
            step: stands.step,
            games: stands.games,
            generation_steps: plan.generation_steps(),
            min_positions: plan.min_positions(),
        };
        let ArenaConfig { data, weights, .. } = plan.arena();
        let gauges = arena.gauges();
        let past = |seconds, progress: &Progress| curves::note(&gauges, seconds, progress);
        let opened = History::open(plan.folder(), past);
        let (history, earlier) = match opened {
            Ok((history, earlier)) => (Some(history), earlier),
            Err(error) => {
                tracing::warn!(%error, "the events of this run are not kept in its folder");
                (None, 0.0)
            }
        };
        Self {
            screen,
            view: View::default(),
            resume: plan.resume_command(),
            started: now,
            progress,
            replay: learner.replay(),
            counters: actor.counters(),
            events: arena.events(),
            ratings: arena.ratings(),
            arena_conditions: arena.conditions(),
            gauges,
            history,
            earlier,
            pool: arena.pool(),
            arena: data,
            weights,
            gate: None,
            pause_reason: None,
            last: (now, 0, start.games),
            start,
        }
    }

    /// Emits the first event, with the address of the metrics.
    pub(super) fn opening(&mut self, metrics: Option<SocketAddr>) {
        self.start.metrics = metrics.map(|address| format!("http://{address}/metrics"));
        // The panel of a resumed run shows its pool and its ratings before the first progress event.
        let stored = self.measure(Instant::now(), self.counters.moves());
        self.view.note(&Event::Progress(stored));
        self.emit(Event::Start(self.start.clone()));
    }

    /// Emits events until the future is dropped. Returns only if the output fails.
    pub(super) async fn follow(&mut self) -> Failure {
        let mut tick = tokio::time::interval(PROGRESS_EVERY);
        let mut redraw = tokio::time::interval(REDRAW_EVERY);
        tick.tick().await;
        loop {
            tokio::select! {
                _ = tick.tick() => self.emit_progress(),
                _ = redraw.tick() => {
                    self.emit_conditions();
                    self.draw();
                }
                failure = self.screen.failed() => return failure,
                event = self.events.recv() => match event {
                    Ok(event) => self.report(event),
                    // The match may have been decided in the missed events.
                    Err(RecvError::Lagged(_)) => self.gate = None,
                    // The arena ended; its task returns the reason.
                    Err(RecvError::Closed) => std::future::pending().await,
                },
            }
        }
    }

    /// Emits the event for an event of the arena, if there is one for it.
    fn report(&mut self, event: ArenaEvent) {
        match event {
            // These have one event together.
            ArenaEvent::Decided(decision) if decision.is_overtaken() => {}
            ArenaEvent::Decided(decision) => self.decided(decision),
            ArenaEvent::Overtaken(Overtaken { first, last, count, by }) => {
                self.emit(Event::Overtaken { first, last, count, by });
            }
            ArenaEvent::GateProgress { info, report } => {
                let (candidate, champion) = (info.key.first, info.key.second);
                let gate = Match::new(candidate.to_string(), champion.to_string(), &report);
                self.view.note_gate(gate.clone());
                self.gate = Some(gate);
            }
            _ => {}
        }
    }

    /// Emits the event at the start of the drain.
    pub(super) fn draining(&mut self) {
        self.emit(Event::Draining);
    }

    /// Emits what the arena decided during the drain, then the last event: the ratings, the champion, and
    /// the command that resumes the run. Returns an error of the output that [`follow`](Self::follow) did
    /// not return.
    pub(super) async fn closing(&mut self) -> Result<(), Failure> {
        for event in unreported(&mut self.events) {
            self.report(event);
        }
        let ratings = RatingTable::clone(&self.ratings.borrow());
        let champion =
            self.pool.borrow().champion.clone().map(|Checkpoint { generation, hash, .. }| {
                let weights = weights::published(&self.weights, &self.arena, hash);
                Champion { generation, weights }
            });
        self.emit(Event::End(End { ratings, champion, resume: self.resume.clone() }));
        self.screen.finish(LAST_WRITES).await
    }

    /// Applies an event to the view, the history and the output, in this order.
    fn emit(&mut self, event: Event) {
        self.view.note(&event);
        if let Some(history) = &mut self.history {
            history.note(&event);
        }
        let is_last = matches!(event, Event::End(_));
        self.screen.print(event);
        if !is_last {
            self.draw();
        }
    }

    fn draw(&self) {
        self.screen.draw(&self.view, self.seconds());
    }

    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Emits a progress event, with rates since the previous one.
    fn emit_progress(&mut self) {
        let (now, moves) = (Instant::now(), self.counters.moves());
        let progress = self.measure(now, moves);
        self.last = (now, moves, progress.games);
        curves::note(&self.gauges, self.earlier + progress.seconds, &progress);
        self.emit(Event::Progress(progress));
    }

    /// Returns the state of the run after so many moves, with rates since the last progress event. Also
    /// updates the difference between checkpoints that the panel shows.
    fn measure(&mut self, now: Instant, moves: u64) -> Progress {
        let stands = self.progress.get();
        let seconds = now.duration_since(self.last.0).as_secs_f64().max(1e-9);
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        // The report of a learner that has read no loss yet is empty.
        let loss = (stands.report != Default::default()).then_some(stands.report.loss);
        let (replay, _) = self.replay.status();
        let table = self.ratings.borrow().clone();
        let promoted: Vec<Generation> =
            self.pool.borrow().members.iter().map(|member| member.checkpoint.generation).collect();
        self.view.note_difference(ratings::difference(&table, &promoted));
        Progress {
            seconds: self.seconds(),
            generation: stands.generation,
            step: stands.step,
            games: stands.games,
            positions: stands.moves,
            games_per_second: rate(stands.games, self.last.2),
            moves_per_second: rate(moves, self.last.1),
            loss: loss.map(|loss| loss.total),
            policy_loss: loss.map(|loss| loss.policy),
            value_loss: loss.map(|loss| loss.value),
            entropy: loss.map(|loss| loss.entropy),
            mean_return: stands.mean_return,
            window_positions: replay.positions,
            window_capacity: replay.capacity,
            staleness: replay.staleness.lag,
            pool: self.pool_size(),
            best: ratings::best(&table),
            gate: self.gate.clone(),
        }
    }

    /// Emits an event when a condition blocks the learner or the arena, and when none is left.
    fn emit_conditions(&mut self) {
        let learner = self.progress.get().conditions.describe();
        let arena = self.arena_conditions.borrow().describe();
        let parts: Vec<String> = [learner, arena].into_iter().flatten().collect();
        let pause_reason = (!parts.is_empty()).then(|| parts.join("; "));
        if pause_reason == self.pause_reason {
            return;
        }
        self.pause_reason.clone_from(&pause_reason);
        self.emit(pause_reason.map_or(Event::Resumed, |reason| Event::Pause { reason }));
    }

    /// Checkpoints in the pool. The pool shows a promotion before the decision is reported.
    fn pool_size(&self) -> usize {
        self.pool.borrow().members.len()
    }

    /// Emits the event of a decision, and clears the gate match.
    fn decided(&mut self, decision: store::Decision) {
        self.gate = None;
        let generation = decision.generation;
        let (champion, report) = match decision.outcome {
            Outcome::Ruled { champion, report, .. } => (champion, report),
            Outcome::Dropped { reason, .. } => {
                return self.emit(Event::Dropped { generation, reason });
            }
        };
        let promoted = report.ruling.is_some_and(|ruling| ruling.verdict == Verdict::Promote);
        let event = Decision {
            seconds: self.seconds(),
            generation,
            played: Match::new(decision.generation.to_string(), champion.to_string(), &report),
            pool: self.pool_size(),
            explanation: decision.explanation,
        };
        self.emit(if promoted { Event::Promotion(event) } else { Event::Rejection(event) });
    }
}

/// Takes the events that wait. The channel has lost the oldest ones if they were too many.
fn unreported(events: &mut broadcast::Receiver<ArenaEvent>) -> Vec<ArenaEvent> {
    let mut left = Vec::new();
    loop {
        match events.try_recv() {
            Ok(event) => left.push(event),
            Err(TryRecvError::Lagged(_)) => {}
            Err(TryRecvError::Empty | TryRecvError::Closed) => return left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_of_the_drain_wait_for_the_end_even_if_older_events_are_lost() {
        let (arena, mut events) = broadcast::channel(2);
        let decided = |generation| {
            let outcome = Outcome::Dropped { reason: "too old".to_owned(), overtaken_by: None };
            let (decided_at, explanation) = (0.0, String::new());
            let generation = Generation(generation);
            ArenaEvent::Decided(store::Decision { generation, decided_at, explanation, outcome })
        };
        for generation in 1..=3 {
            arena.send(decided(generation)).expect("it has a receiver");
        }
        drop(arena);
        assert_eq!(unreported(&mut events), [decided(2), decided(3)]);
        assert!(unreported(&mut events).is_empty());
    }
}
