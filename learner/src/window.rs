//! What waits to be trained on, and what has been decided for each actor.
//!
//! REINFORCE is an on-policy method, so the sample-to-insert ratio is 1: every accepted move
//! is trained on once, first in, first out. A [`Window`] is a pure state machine: it is told
//! of decisions and asked for batches, and knows nothing of threads or streams.
//!
//! Actors number their games; a number that is not above the actor's *watermark* was decided
//! before and changes nothing, however often it is sent.

use std::collections::{BTreeMap, VecDeque};

use ouro_proto::ActorId;
use serde::{Deserialize, Serialize};

use crate::samples::{RowShape, Samples};

/// Actors remembered at most. Beyond it the one that has been silent longest is forgotten.
pub const MAX_ACTORS: usize = 4_096;

/// Highest sequence number decided for one life of an actor. Part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watermark {
    /// The actor's name.
    pub actor: String,
    /// Which life of it.
    pub epoch: u64,
    /// Highest sequence number decided.
    pub sequence: u64,
}

/// What became of an accepted game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It waits to be trained on.
    New,
    /// It was decided before; nothing changed.
    Duplicate,
}

/// The waiting moves and the watermarks. See the [module](self).
#[derive(Clone, Debug)]
pub struct Window {
    shape: RowShape,
    capacity: usize,
    games: VecDeque<Samples>,
    /// Rows of the first game that are already used.
    used: usize,
    moves: usize,
    /// Watermark and time of the last decision, counted in decisions.
    watermarks: BTreeMap<ActorId, (u64, u64)>,
    decisions: u64,
}

impl Window {
    /// An empty window for `capacity` moves that remembers `watermarks`.
    pub fn new(shape: RowShape, capacity: usize, watermarks: &[Watermark]) -> Self {
        let remembered = watermarks.iter().zip(0..).map(|(mark, age)| {
            let actor = ActorId { name: mark.actor.clone(), epoch: mark.epoch };
            (actor, (mark.sequence, age))
        });
        Self {
            shape,
            capacity,
            games: VecDeque::new(),
            used: 0,
            moves: 0,
            watermarks: remembered.collect(),
            decisions: watermarks.len() as u64,
        }
    }

    /// Moves that wait.
    pub fn moves(&self) -> usize {
        self.moves
    }

    /// Whether another game may be inserted. The last one may go over the capacity, so that
    /// a game larger than the window cannot block it for ever.
    pub fn has_room(&self) -> bool {
        self.moves < self.capacity
    }

    /// Highest sequence number decided for an actor; 0 if none.
    pub fn watermark(&self, actor: &ActorId) -> u64 {
        self.watermarks.get(actor).map_or(0, |&(sequence, _)| sequence)
    }

    /// The life that an actor goes on with: a new one unless it asks for its last. `None` if it
    /// asks for any other.
    pub fn begin(&mut self, name: &str, epoch: Option<u64>) -> Option<ActorId> {
        let lives = self.watermarks.keys().filter(|actor| actor.name == name);
        let last = lives.map(|actor| actor.epoch).max().unwrap_or(0);
        if let Some(epoch) = epoch {
            let goes_on = epoch == last && last > 0;
            return goes_on.then(|| ActorId { name: name.to_owned(), epoch });
        }
        let actor = ActorId { name: name.to_owned(), epoch: last + 1 };
        self.decisions += 1;
        self.watermarks.insert(actor.clone(), (0, self.decisions));
        Some(actor)
    }

    /// All watermarks, the longest silent first.
    pub fn watermarks(&self) -> Vec<Watermark> {
        let mut marks: Vec<_> = self.watermarks.iter().collect();
        marks.sort_by_key(|(_, (_, last))| *last);
        let mark = |(actor, &(sequence, _)): (&ActorId, &(u64, u64))| Watermark {
            actor: actor.name.clone(),
            epoch: actor.epoch,
            sequence,
        };
        marks.into_iter().map(mark).collect()
    }

    /// Adds an accepted game, unless it was decided before.
    pub fn insert(&mut self, actor: &ActorId, sequence: u64, samples: Samples) -> Inserted {
        if !self.decide(actor, sequence) {
            return Inserted::Duplicate;
        }
        self.moves += samples.rows();
        self.games.push_back(samples);
        Inserted::New
    }

    /// Raises an actor's watermark; `false` if the sequence number was decided before.
    pub fn decide(&mut self, actor: &ActorId, sequence: u64) -> bool {
        if sequence <= self.watermark(actor) {
            return false;
        }
        self.decisions += 1;
        self.watermarks.insert(actor.clone(), (sequence, self.decisions));
        if self.watermarks.len() > MAX_ACTORS {
            let silent = self.watermarks.iter().min_by_key(|(_, (_, last))| *last);
            if let Some(silent) = silent.map(|(actor, _)| actor.clone()) {
                self.watermarks.remove(&silent);
            }
        }
        true
    }

    /// Removes the oldest `rows` moves, or none if fewer wait.
    pub fn take(&mut self, rows: usize) -> Option<Samples> {
        if self.moves < rows {
            return None;
        }
        let mut batch = Samples::with_capacity(self.shape, rows);
        while batch.rows() < rows {
            let game = self.games.front()?;
            let to = game.rows().min(self.used + rows - batch.rows());
            batch.append(game, self.used, to);
            self.used = to;
            if to == game.rows() {
                self.games.pop_front();
                self.used = 0;
            }
        }
        self.moves -= rows;
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: RowShape = RowShape { planes: 1, actions: 2 };

    fn actor(name: &str) -> ActorId {
        ActorId { name: name.into(), epoch: 9 }
    }

    /// Moves numbered `numbers`.
    fn game(numbers: std::ops::Range<u32>) -> Samples {
        let mut samples = Samples::new(SHAPE);
        for number in numbers {
            samples.planes.push(number as f32);
            samples.legal.extend([true, false]);
            samples.actions.push(number);
            samples.behaviour.push(1.0);
            samples.returns.push(0.0);
        }
        samples
    }

    #[test]
    fn every_accepted_move_leaves_once_and_in_order() {
        let mut window = Window::new(SHAPE, 100, &[]);
        let mut next = 0;
        for (sequence, moves) in (1..).zip([3, 1, 7, 2, 5]) {
            let inserted = window.insert(&actor("a"), sequence, game(next..next + moves));
            assert_eq!(inserted, Inserted::New);
            next += moves;
        }
        let mut seen = Vec::new();
        while let Some(batch) = window.take(4) {
            assert_eq!((batch.rows(), batch.legal.len()), (4, 8));
            seen.extend(batch.actions);
        }
        assert_eq!(seen, (0..16).collect::<Vec<_>>());
        assert_eq!(window.moves(), 2);
    }

    #[test]
    fn a_repeated_push_changes_nothing_even_after_a_restart() {
        let mut window = Window::new(SHAPE, 100, &[]);
        assert_eq!(window.insert(&actor("a"), 5, game(0..2)), Inserted::New);
        assert_eq!(window.insert(&actor("a"), 5, game(0..2)), Inserted::Duplicate);
        assert_eq!(window.insert(&actor("a"), 4, game(0..2)), Inserted::Duplicate);
        assert_eq!(window.moves(), 2);
        assert!(window.decide(&actor("b"), 1));

        let mut restarted = Window::new(SHAPE, 100, &window.watermarks());
        assert_eq!(restarted.insert(&actor("a"), 5, game(0..2)), Inserted::Duplicate);
        assert_eq!(restarted.insert(&actor("a"), 6, game(0..2)), Inserted::New);
        let reborn = ActorId { epoch: 10, ..actor("a") };
        assert_eq!(restarted.insert(&reborn, 1, game(0..2)), Inserted::New);
    }

    #[test]
    fn lives_are_numbered_and_an_old_one_is_not_gone_on_with() {
        let mut window = Window::new(SHAPE, 4, &[]);
        let epoch = |actor: Option<ActorId>| actor.map(|actor| actor.epoch);
        assert_eq!(epoch(window.begin("a", None)), Some(1));
        assert_eq!(epoch(window.begin("a", Some(1))), Some(1));
        assert_eq!(epoch(window.begin("a", None)), Some(2));
        assert_eq!(epoch(window.begin("a", Some(1))), None);
        assert_eq!(epoch(window.begin("b", Some(7))), None);
        let mut restarted = Window::new(SHAPE, 4, &window.watermarks());
        assert_eq!(epoch(restarted.begin("a", Some(2))), Some(2));
    }

    #[test]
    fn a_full_window_has_no_room_until_a_batch_leaves() {
        let mut window = Window::new(SHAPE, 4, &[]);
        window.insert(&actor("a"), 1, game(0..3));
        assert!(window.has_room());
        window.insert(&actor("a"), 2, game(0..9));
        assert!(!window.has_room());
        while window.take(4).is_some() {}
        assert!(window.has_room());
    }

    #[test]
    fn the_longest_silent_actor_is_forgotten_first() {
        let mut window = Window::new(SHAPE, 4, &[]);
        for number in 0..=MAX_ACTORS {
            window.decide(&actor(&number.to_string()), 1);
            window.decide(&actor("0"), number as u64 + 2);
        }
        assert_eq!(window.watermark(&actor("1")), 0);
        assert_eq!(window.watermark(&actor("0")), MAX_ACTORS as u64 + 2);
        assert_eq!(window.watermarks().len(), MAX_ACTORS);
    }
}
