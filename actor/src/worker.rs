//! Plays many games at once and hands out the finished ones.
//!
//! A [`Worker`] is pure: each [`tick`](Worker::tick) fills its free places with new games
//! between networks of the roster it is given, evaluates one batch for each network and goes on
//! with every game whose move is decided. With a search configured, every set of weights
//! searches one tree per game for all its seats, keeps it from move to move, and shares its
//! batches with all its trees of all games. Without one, moves are drawn from the policies, a
//! ply of every game per tick.
//!
//! Contract: a game depends on its seed, the weights in its seats and the settings alone, bit
//! for bit, not on the games beside it. Who sits where depends on the roster and the number of
//! the game; games of neighbouring numbers meet the same opponents, which then share batches. Every game replays with [`ouro_game::record::Replay`],
//! no action is illegal, and every policy target is a distribution over legal actions. Memory
//! is bounded: at most [`WorkerSettings::trees`] trees that together fit
//! [`WorkerSettings::tree_bytes`], used again from game to game.

mod chairs;
mod played;
mod seated;
mod settings;

use std::ops::Range;

use ouro_game::{ActionMask, Game, GameConfig, Rng, StepError};
use ouro_players::{Choice, FitError, Player, Request};
use ouro_search::mcts::{Objective, SearchConfigError};
use ouro_settings::Swap;

use self::chairs::{Chairs, Mind};
pub use self::played::{Played, PlayedSeat, WorkerStats};
use self::seated::{Progress, Seated, Tree};
pub use self::settings::{TreeLimits, WorkerSettings};
use crate::roster::Roster;

/// Plies after which a tree that was not asked is begun anew rather than led after the game.
const FOLLOWS: usize = 16;

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The weights are for another game.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The search does not fit the game.
    #[error(transparent)]
    Search(#[from] SearchConfigError),
    /// The trees do not fit their memory.
    #[error(
        "{trees} trees of {simulations} simulations need {needed} bytes; tree memory is {bytes}, \
         give more or play fewer games at once"
    )]
    Memory {
        /// Trees at once.
        trees: usize,
        /// Simulations per decision.
        simulations: u32,
        /// Bytes they may take.
        bytes: usize,
        /// Bytes they need.
        needed: usize,
    },
    /// A tree was asked of a player that has none: a bug.
    #[error("a player that searches no tree was asked for one")]
    NoTree,
    /// A move broke the rules: a bug.
    #[error("game {seed}, ply {ply}: {error}")]
    Step {
        /// Seed of the game.
        seed: u64,
        /// Ply, from 0.
        ply: usize,
        /// What the rules say.
        error: StepError,
    },
}

/// Plays games between networks. See the [module](self).
pub struct Worker<G: Game> {
    game: G,
    config: GameConfig,
    settings: WorkerSettings,
    chairs: Chairs<G>,
    /// The places of the table.
    games: Vec<Option<Seated<G>>>,
    /// Number of the next game.
    begun: u64,
    /// Number before which games are begun.
    until: u64,
    legal: ActionMask,
    choices: Vec<Choice>,
    values: Vec<f32>,
    stats: WorkerStats,
}

impl<G: Game> Worker<G> {
    /// An idle worker. `config` is what the records of its games carry; `game` was built from
    /// it. Fails if the search does not fit the game or the memory.
    pub fn new(game: G, config: GameConfig, settings: WorkerSettings) -> Result<Self, WorkerError> {
        Ok(Self {
            chairs: Chairs::new(&game, &settings)?,
            games: (0..settings.games).map(|_| None).collect(),
            begun: 0,
            until: u64::MAX,
            legal: ActionMask::new(game.action_count()),
            choices: Vec::new(),
            values: vec![0.0; game.players()],
            stats: WorkerStats::default(),
            game,
            config,
            settings,
        })
    }

    /// Counts so far.
    pub fn stats(&self) -> WorkerStats {
        self.stats
    }

    /// What the trees can take at most; `None` where none is searched.
    pub fn limits(&self) -> Option<TreeLimits> {
        self.settings.limits(&self.game)
    }

    /// Games in play.
    pub fn running(&self) -> usize {
        self.games.iter().flatten().count()
    }

    /// Begins no game any more; those in play go on.
    pub fn close(&mut self) {
        self.until = self.begun;
    }

    /// Begins the games of these numbers next and no others. The number is what seeds a game, so
    /// those of one number are the same game, if they meet the same roster.
    pub fn play_only(&mut self, numbers: Range<u64>) {
        (self.begun, self.until) = (numbers.start, numbers.end);
    }

    /// Whether every game that may be begun has ended.
    pub fn is_done(&self) -> bool {
        self.begun >= self.until && self.running() == 0
    }

    /// Starts games in free places, evaluates a batch for each network, and goes on with the
    /// games that it decides. Returns those that ended.
    pub fn tick(&mut self, roster: &Roster) -> Result<Vec<Played>, WorkerError> {
        let mut finished = Vec::new();
        for place in 0..self.games.len() {
            if self.games[place].is_none() {
                self.go_on(place, roster, &mut finished)?;
            }
        }
        if self.chairs.search() {
            let Self { chairs, game, stats, .. } = self;
            for (_, chair) in chairs.iter_mut() {
                if let Mind::Search(trees) = &mut chair.mind {
                    trees.step(game, stats);
                }
            }
        } else {
            self.draw_from_policies();
        }
        for place in 0..self.games.len() {
            if self.play(place)? {
                self.go_on(place, roster, &mut finished)?;
            }
        }
        Ok(finished)
    }

    /// Ends the game at a place if it is over, begins another in its stead, and lets the next
    /// move be thought about.
    fn go_on(
        &mut self,
        place: usize,
        roster: &Roster,
        finished: &mut Vec<Played>,
    ) -> Result<(), WorkerError> {
        if let Some(seated) = &mut self.games[place] {
            if !seated.has_ended(&self.game, self.settings.max_plies) {
                return self.think(place, roster);
            }
            finished.extend(self.finish(place));
        }
        if self.begun >= self.until {
            return Ok(());
        }
        self.begin(place, roster)?;
        let max_plies = self.settings.max_plies;
        let begun = self.games[place].as_mut();
        // A game that is over before its first move waits for the next tick.
        if begun.is_none_or(|seated| seated.has_ended(&self.game, max_plies)) {
            return Ok(());
        }
        self.think(place, roster)
    }

    fn begin(&mut self, place: usize, roster: &Roster) -> Result<(), WorkerError> {
        let WorkerSettings { seed, index, opening_plies, cohort, .. } = self.settings;
        let number = self.begun;
        self.begun += 1;
        let cohort = (index << 40) | (number / cohort.max(1));
        let mut shared = Rng::indexed(seed, "cohort", cohort);
        let seed = Rng::indexed(seed, "self-play", index << 40 | number).bits();
        let mut own = Rng::new(seed, "seating");
        let shares = &self.settings.shares;
        let drawn = roster.draw(self.game.players(), shares, &mut own, &mut shared);
        let (mut chairs, mut seats) = (Vec::with_capacity(drawn.len()), Vec::new());
        for entry in drawn {
            let learns = entry.hash == roster.newest.hash;
            chairs.push(self.chairs.take(&self.game, entry, learns)?);
            seats.push(PlayedSeat { generation: entry.generation, learns });
        }
        let search = self.chairs.search();
        let mut seated = Seated::new(&self.game, seed, chairs, seats, opening_plies, search);
        seated.number = number;
        self.games[place] = Some(seated);
        Ok(())
    }

    /// Lets the trees of those who are to move begin.
    fn think(&mut self, place: usize, roster: &Roster) -> Result<(), WorkerError> {
        if self.settings.swap == Swap::Moves {
            self.swap(place, roster)?;
        }
        let Some(seated) = &mut self.games[place] else { return Ok(()) };
        if !self.chairs.search() {
            return Ok(());
        }
        for player in seated.movers.iter() {
            let chair = seated.chairs[player];
            let known = seated.trees.iter().position(|tree| tree.chair == chair);
            let at = match known {
                Some(at) => at,
                None => {
                    let slot = self.chairs.attach(&self.game, chair, place)?;
                    let (progress, behind) = (Progress::Blank, Vec::new());
                    seated.trees.push(Tree { chair, slot, progress, behind });
                    seated.trees.len() - 1
                }
            };
            let tree = &mut seated.trees[at];
            let search = self.chairs.tree(chair, tree.slot).ok_or(WorkerError::NoTree)?;
            match tree.progress {
                Progress::Thinking => continue,
                Progress::Blank => {
                    let number = (seated.recorder.plies() as u64) << 4 | player as u64;
                    let rng = Rng::indexed(seated.seed, "search", number);
                    search.start(&self.game, seated.recorder.state(), rng);
                }
                Progress::Kept => {
                    for (joint, state) in &tree.behind {
                        search.advance(&self.game, joint, state);
                    }
                }
            }
            tree.behind.clear();
            tree.progress = Progress::Thinking;
        }
        Ok(())
    }

    /// Seats the newest weights in place of older ones that learn.
    fn swap(&mut self, place: usize, roster: &Roster) -> Result<(), WorkerError> {
        let newest = &roster.newest;
        for player in 0..self.game.players() {
            let Some(seated) = &mut self.games[place] else { return Ok(()) };
            let old = seated.chairs[player];
            let is_newest = self.chairs.get(old).is_some_and(|chair| chair.hash == newest.hash);
            if !seated.seats[player].learns || is_newest {
                continue;
            }
            let new = self.chairs.take(&self.game, newest, true)?;
            seated.chairs[player] = new;
            let seat = &mut seated.seats[player];
            seat.generation = seat.generation.min(newest.generation);
            if !seated.chairs.contains(&old) {
                let tree = seated.trees.iter().position(|tree| tree.chair == old);
                if let Some(tree) = tree.map(|at| seated.trees.swap_remove(at)) {
                    self.detach(&tree);
                }
            }
            self.chairs.release(old);
        }
        Ok(())
    }

    /// Draws the moves of one ply in every game.
    fn draw_from_policies(&mut self) {
        let Self { chairs, games, game, stats, choices, .. } = self;
        for (index, chair) in chairs.iter_mut() {
            let Mind::Policy(player) = &mut chair.mind else { continue };
            let mut requests = Vec::new();
            for seated in games.iter_mut().flatten() {
                let Seated { recorder, rngs, chairs, movers, .. } = seated;
                for (seat, rng) in rngs.iter_mut().enumerate() {
                    if chairs[seat] == index && movers.contains(seat) {
                        requests.push(Request { state: recorder.state(), player: seat, rng });
                    }
                }
            }
            if requests.is_empty() {
                continue;
            }
            stats.evaluations += requests.len() as u64;
            stats.room += requests.len() as u64;
            stats.batches += 1;
            choices.clear();
            player.choose(game, &mut requests, choices);
            drop(requests);
            let mut choices = choices.iter();
            for seated in games.iter_mut().flatten() {
                for seat in seated.movers.iter().filter(|&seat| seated.chairs[seat] == index) {
                    let Some(choice) = choices.next() else { break };
                    seated.joint[seat] = choice.action;
                    seated.probabilities[seat] = choice.probability;
                }
            }
        }
    }

    /// Plays the next ply at a place if it is decided; whether it was.
    fn play(&mut self, place: usize) -> Result<bool, WorkerError> {
        let Some(seated) = &mut self.games[place] else { return Ok(false) };
        if seated.movers.is_empty() {
            // Over before its first move.
            return Ok(true);
        }
        let search = self.chairs.search();
        if search {
            for tree in seated.trees.iter().filter(|tree| tree.progress == Progress::Thinking) {
                let search = self.chairs.tree(tree.chair, tree.slot);
                if !search.ok_or(WorkerError::NoTree)?.is_done() {
                    return Ok(false);
                }
            }
            self.decide(place)?;
        }
        let Some(seated) = &mut self.games[place] else { return Ok(false) };
        let values = search.then_some(self.values.as_slice());
        self.stats.moves += seated.movers.len() as u64;
        seated.play(&self.game, values, &mut self.legal)?;
        self.follow(place);
        Ok(true)
    }

    /// Writes down what the trees of a game have decided.
    fn decide(&mut self, place: usize) -> Result<(), WorkerError> {
        let Some(seated) = &mut self.games[place] else { return Ok(()) };
        let is_outcome =
            self.settings.search.as_ref().is_some_and(|it| it.objective == Objective::Outcome);
        let mut is_first = true;
        for tree in &mut seated.trees {
            if tree.progress != Progress::Thinking {
                continue;
            }
            tree.progress = Progress::Kept;
            let search = self.chairs.tree(tree.chair, tree.slot).ok_or(WorkerError::NoTree)?;
            let mut decision = search.decide(&self.game);
            if is_outcome {
                decision.values.iter_mut().for_each(|value| *value = value.clamp(-1.0, 1.0));
            }
            self.stats.simulations += u64::from(decision.simulations);
            // Each player's value is that of its own tree, where it has one.
            for (player, value) in self.values.iter_mut().enumerate() {
                if is_first || seated.chairs[player] == tree.chair {
                    *value = decision.values[player];
                }
            }
            is_first = false;
            for seat in &decision.seats {
                let player = seat.player;
                if seated.chairs[player] != tree.chair {
                    continue;
                }
                seated.joint[player] = seat.action;
                seated.probabilities[player] = seat.probability.min(1.0);
                let thought = &mut seated.thoughts[player];
                thought.value = decision.values[player];
                (thought.surprise, thought.policy) = (0.0, Vec::new());
                if decision.full && seated.seats[player].learns {
                    thought.surprise = seat.surprise();
                    let shares = seat.actions.iter().copied().zip(seat.policy.iter().copied());
                    thought.policy.extend(shares.filter(|&(_, share)| share > 0.0));
                }
            }
        }
        Ok(())
    }

    /// Notes for the trees of a game what was played, and gives up those of players who are
    /// out.
    fn follow(&mut self, place: usize) {
        let Some(seated) = &mut self.games[place] else { return };
        let alive = self.game.alive(seated.recorder.state());
        let mut gone = Vec::new();
        let Seated { trees, chairs, joint, recorder, .. } = seated;
        trees.retain_mut(|tree| {
            let stays = alive.iter().any(|player| chairs[player] == tree.chair);
            if !stays {
                let behind = Vec::new();
                gone.push(Tree { behind, ..*tree });
            } else if tree.progress == Progress::Kept {
                if tree.behind.len() < FOLLOWS {
                    tree.behind.push((joint.clone(), recorder.state().clone()));
                } else {
                    tree.progress = Progress::Blank;
                    tree.behind.clear();
                }
            }
            stays
        });
        gone.iter().for_each(|tree| self.detach(tree));
    }

    /// Puts a tree aside, and tells the game whose tree takes its slot.
    fn detach(&mut self, gone: &Tree<G>) {
        let Some(place) = self.chairs.detach(gone.chair, gone.slot) else { return };
        let trees = self.games[place].iter_mut().flat_map(|seated| &mut seated.trees);
        for tree in trees.filter(|tree| tree.chair == gone.chair) {
            tree.slot = gone.slot;
        }
    }

    fn finish(&mut self, place: usize) -> Option<Played> {
        let mut seated = self.games[place].take()?;
        for tree in std::mem::take(&mut seated.trees) {
            self.detach(&tree);
        }
        seated.chairs.iter().for_each(|&chair| self.chairs.release(chair));
        self.stats.games += 1;
        Some(seated.into_played(&self.game, &self.config))
    }
}

#[cfg(test)]
mod tests;
