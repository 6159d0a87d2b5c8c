//! A run in virtual time: actors, one learner, and an arena that sends weights.
//!
//! The simulation has the queues and the bounds of the real processes and the measured times of
//! their work. Nothing in it uses the formulas of [`limits`](super::limits), so it checks them. The
//! seed determines every event.
//!
//! * An actor finishes games at its rate until its outbox is full.
//! * A connection of the learner reads ahead by a few games. A pool of cores checks them.
//! * The journal writer takes games from a short queue while the replay has room, and commits in
//!   groups. A commit acknowledges its games.
//! * Training takes a step when enough positions are there. After some steps it publishes.
//! * Every actor that lacks the newest weights fetches them. Transfers share one link.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::costs::Costs;
use crate::random::Random;

pub(crate) use outcome::Outcome;

mod outcome;

/// Games of a connection between receipt and the journal writer (`learner::service::AHEAD`).
const AHEAD: usize = 8;
/// Capacity of the journal writer's queue (`learner::journal_writer::MAX_COMMANDS`).
const QUEUE: usize = 64;

/// A moment or a time, in nanoseconds.
type Nanoseconds = u64;

fn nanoseconds(seconds: f64) -> Nanoseconds {
    (seconds * 1e9).round().max(1.0) as Nanoseconds
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Game {
    actor: u32,
    /// Generation of the weights that played.
    generation: u32,
    sent: Nanoseconds,
    /// Whether the learner refuses the game because its weights are too old.
    is_stale: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An actor finishes a game.
    Finished {
        actor: u32,
    },
    Arrived(Game),
    Examined(Game),
    /// The delay of a group of games ends.
    Due {
        group: u64,
    },
    Committed,
    /// An acknowledgement of one game reaches its actor.
    Answered(Game),
    Stepped,
    /// A transfer of weights ends.
    Fetched {
        actor: u32,
        generation: u32,
    },
}

#[derive(Clone, Debug, Default)]
struct Actor {
    generation: u32,
    is_fetching: bool,
    /// The weights of the games in progress, oldest first.
    playing: VecDeque<u32>,
    unanswered: usize,
    /// Whether the outbox is full and no game is being played.
    is_blocked: bool,
    /// Games that have arrived and are not read yet.
    arrived: VecDeque<Game>,
    /// Games that were read and have not reached the journal writer's queue.
    ahead: usize,
}

struct Simulation<'a> {
    costs: &'a Costs,
    random: Random,
    now: Nanoseconds,
    events: BinaryHeap<Reverse<(Nanoseconds, u64, Event)>>,
    number: u64,
    actors: Vec<Actor>,
    // The learner.
    to_examine: VecDeque<Game>,
    busy_cores: usize,
    /// Checked games that wait for room in the queue.
    examined: VecDeque<Game>,
    queue: VecDeque<Game>,
    group: Vec<Game>,
    group_number: u64,
    is_due: bool,
    is_committing: bool,
    inserted: f64,
    sampled: f64,
    is_stepping: bool,
    steps: u64,
    generation: u32,
    // The arena.
    fetches: VecDeque<(u32, u32)>,
    is_sending: bool,
    // Figures.
    measured_from: Nanoseconds,
    outcome: Outcome,
    latencies: Vec<Nanoseconds>,
    accepted: u64,
    refused: u64,
    staleness: u64,
    commits: u64,
    committed: u64,
    syncing: Nanoseconds,
    examining: Nanoseconds,
    stepping: Nanoseconds,
    fetched: u64,
    held: usize,
}

/// Simulates `actors` actors for `seconds` of virtual time. The figures are those of its second
/// half.
pub(crate) fn simulate(costs: &Costs, actors: usize, seconds: f64, seed: u64) -> Outcome {
    let mut simulation = Simulation::new(costs, actors, seconds, seed);
    let end = nanoseconds(seconds);
    while let Some(Reverse((time, number, event))) = simulation.events.pop() {
        if time > end {
            break;
        }
        simulation.now = time;
        simulation.note(number, event);
        simulation.handle(event);
    }
    simulation.now = end;
    simulation.finish()
}

impl<'a> Simulation<'a> {
    fn new(costs: &'a Costs, actors: usize, seconds: f64, seed: u64) -> Self {
        let mut simulation = Self {
            costs,
            random: Random::new(seed),
            now: 0,
            events: BinaryHeap::new(),
            number: 0,
            actors: vec![
                Actor {
                    playing: vec![0; costs.games_at_once as usize].into(),
                    ..Actor::default()
                };
                actors
            ],
            to_examine: VecDeque::new(),
            busy_cores: 0,
            examined: VecDeque::new(),
            queue: VecDeque::new(),
            group: Vec::new(),
            group_number: 0,
            is_due: false,
            is_committing: false,
            inserted: 0.0,
            sampled: 0.0,
            is_stepping: false,
            steps: 0,
            generation: 0,
            fetches: VecDeque::new(),
            is_sending: false,
            measured_from: nanoseconds(seconds / 2.0),
            outcome: Outcome { fingerprint: 0xcbf2_9ce4_8422_2325, ..Outcome::default() },
            latencies: Vec::new(),
            accepted: 0,
            refused: 0,
            staleness: 0,
            commits: 0,
            committed: 0,
            syncing: 0,
            examining: 0,
            stepping: 0,
            fetched: 0,
            held: 0,
        };
        for actor in 0..actors as u32 {
            simulation.play(actor);
        }
        simulation
    }

    fn note(&mut self, number: u64, event: Event) {
        self.outcome.events += 1;
        let kind = match event {
            Event::Finished { actor } | Event::Fetched { actor, .. } => u64::from(actor),
            Event::Arrived(game) | Event::Examined(game) | Event::Answered(game) => game.sent,
            Event::Due { group } => group,
            Event::Committed | Event::Stepped => 0,
        };
        for part in [self.now, number, kind] {
            // FNV-1a, word by word.
            self.outcome.fingerprint ^= part;
            self.outcome.fingerprint = self.outcome.fingerprint.wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn is_measuring(&self) -> bool {
        self.now >= self.measured_from
    }

    fn after(&mut self, delay: Nanoseconds, event: Event) {
        self.number += 1;
        self.events.push(Reverse((self.now + delay, self.number, event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Finished { actor } => self.finished(actor),
            Event::Arrived(game) => {
                self.actors[game.actor as usize].arrived.push_back(game);
                self.read(game.actor);
            }
            Event::Examined(mut game) => {
                self.busy_cores -= 1;
                // The age is judged here. A game may then wait for room and become older.
                let age = f64::from(self.generation - game.generation);
                game.is_stale = age > self.costs.max_staleness;
                self.examined.push_back(game);
                self.fill_queue();
                self.examine();
                self.write();
            }
            Event::Due { group } => {
                self.is_due |= group == self.group_number && !self.group.is_empty();
                self.write();
            }
            Event::Committed => self.committed(),
            Event::Answered(game) => self.answered(game),
            Event::Stepped => self.stepped(),
            Event::Fetched { actor, generation } => self.fetched(actor, generation),
        }
    }

    /// Plays until the next game is finished. The time varies by half of the mean to both sides.
    fn play(&mut self, actor: u32) {
        let mean = self.costs.positions_per_game / self.costs.actor_positions_per_second;
        let share = 0.5 + self.random.within(0, 1_000_000) as f64 / 1e6;
        self.after(nanoseconds(mean * share), Event::Finished { actor });
    }

    fn finished(&mut self, actor: u32) {
        let state = &mut self.actors[actor as usize];
        // The game that was started first ends, and another one starts in its place.
        state.playing.push_back(state.generation);
        let generation = state.playing.pop_front().unwrap_or_default();
        let game = Game { actor, generation, sent: self.now, is_stale: false };
        self.after(self.latency(), Event::Arrived(game));
        let state = &mut self.actors[actor as usize];
        state.unanswered += 1;
        if state.unanswered < self.costs.outbox_games as usize {
            self.play(actor);
        } else {
            state.is_blocked = true;
        }
    }

    fn latency(&self) -> Nanoseconds {
        nanoseconds(self.costs.latency_ms / 1e3)
    }

    /// Reads games of a connection, up to its bound.
    fn read(&mut self, actor: u32) {
        let state = &mut self.actors[actor as usize];
        while state.ahead < AHEAD
            && let Some(game) = state.arrived.pop_front()
        {
            state.ahead += 1;
            self.held += 1;
            self.to_examine.push_back(game);
        }
        self.outcome.most_held = self.outcome.most_held.max(self.held);
        self.examine();
    }

    /// Gives games to free cores.
    fn examine(&mut self) {
        let time = nanoseconds(self.costs.positions_per_game * self.costs.ingest_us / 1e6);
        while self.busy_cores < self.costs.ingest_cores as usize
            && let Some(game) = self.to_examine.pop_front()
        {
            self.busy_cores += 1;
            self.examining += if self.is_measuring() { time } else { 0 };
            self.after(time, Event::Examined(game));
        }
    }

    fn fill_queue(&mut self) {
        while self.queue.len() < QUEUE
            && let Some(game) = self.examined.pop_front()
        {
            self.queue.push_back(game);
            self.actors[game.actor as usize].ahead -= 1;
            self.read(game.actor);
        }
    }

    /// Samples by which training lags behind the ratio (`ouro_replay::Ratio`).
    fn error(&self, inserted: f64) -> f64 {
        (inserted - self.costs.warmup_positions) * self.costs.samples_per_insert - self.sampled
    }

    /// Whether the writer takes the next game: a refusal at once, a game if the replay has room.
    fn takes_next(&self) -> bool {
        let fresh = self.group.iter().filter(|game| !game.is_stale).count();
        let waiting = (fresh + 1) as f64 * self.costs.positions_per_game;
        self.queue.front().is_some_and(|game| {
            game.is_stale || self.error(self.inserted + waiting) <= self.costs.tolerance()
        })
    }

    /// Appends games to the group, and commits it when it is due or full.
    fn write(&mut self) {
        let most = self.costs.commit_games as usize;
        while !self.is_committing {
            while self.group.len() < most
                && self.takes_next()
                && let Some(game) = self.queue.pop_front()
            {
                if self.group.is_empty() {
                    self.group_number += 1;
                    let delay = nanoseconds(self.costs.commit_delay_ms / 1e3);
                    self.after(delay, Event::Due { group: self.group_number });
                }
                self.group.push(game);
                self.fill_queue();
            }
            if self.group.len() < most && (!self.is_due || self.group.is_empty()) {
                return;
            }
            self.is_committing = true;
            let time = nanoseconds(self.costs.sync_ms / 1e3);
            if self.is_measuring() {
                self.syncing += time;
                self.commits += 1;
            }
            self.after(time, Event::Committed);
        }
    }

    fn committed(&mut self) {
        (self.is_committing, self.is_due) = (false, false);
        let games = std::mem::take(&mut self.group);
        self.held -= games.len();
        let latency = self.latency();
        for game in games {
            let staleness = self.generation - game.generation;
            if self.is_measuring() {
                self.committed += 1;
                if game.is_stale {
                    self.refused += 1;
                } else {
                    self.accepted += 1;
                    self.staleness += u64::from(staleness);
                    let largest = &mut self.outcome.largest_staleness;
                    *largest = (*largest).max(staleness);
                }
            }
            if !game.is_stale {
                self.inserted += self.costs.positions_per_game;
            }
            self.after(latency, Event::Answered(game));
        }
        self.step();
        self.write();
    }

    fn answered(&mut self, game: Game) {
        if self.is_measuring() {
            self.latencies.push(self.now - game.sent);
        }
        let state = &mut self.actors[game.actor as usize];
        state.unanswered -= 1;
        if std::mem::take(&mut state.is_blocked) {
            self.play(game.actor);
        }
    }

    /// Starts a step if its samples are due.
    fn step(&mut self) {
        let costs = self.costs;
        let is_warm = self.inserted >= costs.warmup_positions;
        let is_due = self.error(self.inserted) - costs.batch >= -costs.tolerance();
        if self.is_stepping || !is_warm || !is_due {
            return;
        }
        self.is_stepping = true;
        let time = nanoseconds(costs.batch / costs.training_samples_per_second);
        self.stepping += if self.is_measuring() { time } else { 0 };
        self.after(time, Event::Stepped);
    }

    fn stepped(&mut self) {
        self.is_stepping = false;
        self.sampled += self.costs.batch;
        self.steps += 1;
        if self.steps.is_multiple_of(self.costs.generation_steps as u64) {
            self.publish();
        }
        self.step();
        self.write();
    }

    fn publish(&mut self) {
        self.generation += 1;
        self.outcome.generations += u32::from(self.is_measuring());
        for actor in 0..self.actors.len() as u32 {
            self.ask(actor);
        }
        self.send();
    }

    /// Queues a fetch for an actor that lacks the newest weights.
    fn ask(&mut self, actor: u32) {
        let state = &mut self.actors[actor as usize];
        if !state.is_fetching && state.generation < self.generation {
            state.is_fetching = true;
            self.fetches.push_back((actor, self.generation));
        }
    }

    fn send(&mut self) {
        if self.is_sending {
            return;
        }
        let Some((actor, generation)) = self.fetches.pop_front() else { return };
        self.is_sending = true;
        let time = nanoseconds(self.costs.weights_bytes / self.costs.link_bytes_per_second);
        self.after(time, Event::Fetched { actor, generation });
    }

    fn fetched(&mut self, actor: u32, generation: u32) {
        self.is_sending = false;
        self.fetched += u64::from(self.is_measuring());
        let state = &mut self.actors[actor as usize];
        (state.generation, state.is_fetching) = (generation, false);
        self.ask(actor);
        self.send();
    }

    fn finish(mut self) -> Outcome {
        let measured = self.now - self.measured_from;
        let seconds = measured as f64 / 1e9;
        let share = |busy: Nanoseconds| busy as f64 / measured as f64;
        self.latencies.sort_unstable();
        let quantile = |share: f64| {
            let index = (self.latencies.len() as f64 * share) as usize;
            self.latencies.get(index).map_or(0.0, |nanoseconds| *nanoseconds as f64 / 1e6)
        };
        let (accepted, positions) = (self.accepted as f64, self.costs.positions_per_game);
        Outcome {
            seconds,
            positions_per_second: accepted * positions / seconds,
            games_per_commit: self.committed as f64 / self.commits.max(1) as f64,
            sync_share: share(self.syncing),
            core_share: share(self.examining) / self.costs.ingest_cores,
            training_share: share(self.stepping),
            median_ms: quantile(0.5),
            p99_ms: quantile(0.99),
            mean_staleness: self.staleness as f64 / accepted.max(1.0),
            stale_share: self.refused as f64 / (accepted + self.refused as f64).max(1.0),
            fetches_per_second: self.fetched as f64 / seconds,
            ..self.outcome
        }
    }
}
