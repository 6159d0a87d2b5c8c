//! The state that the games of a worker share, and the steps of a single game.

use std::sync::Arc;

use ouro_game::{ActionMask, Game, GameConfig, PlayerSet, Rng};
use ouro_players::{Choice, NetPlayer, Player, Request};
use ouro_replay::{SearchTarget, Seat};
use ouro_search::mcts::Objective;
use ouro_settings::Swap;

use super::active_game::{ActiveGame, GameTree, TreeProgress};
use super::error::WorkerError;
use super::finished::{FinishedGame, WorkerStats};
use super::index::{Chooser, GameSlot, ScriptedId, SeatPolicyId};
use super::scripted::{Scripted, ScriptedGame};
use super::seat_policies::{PolicyKind, SeatPolicies, SeatPolicy};
use super::settings::{TreeLimits, WorkerSettings};
use crate::roster::{Entry, Roster};

/// Maximum plies that a kept tree follows without a search. Beyond them a new tree costs less than
/// replaying the plies in the old tree.
const MAX_PLIES_BEHIND: usize = 16;

/// The rules, the settings, the seat policies and the buffers of a worker.
pub(super) struct Shared<G: Game> {
    game: G,
    config: Arc<GameConfig>,
    settings: WorkerSettings,
    pub(super) policies: SeatPolicies<G>,
    scripted: Scripted<G>,
    pub(super) stats: WorkerStats,
    /// Buffer for the legal actions of a player.
    legal: ActionMask,
    /// Buffer for the choices of a batch.
    choices: Vec<Choice>,
    /// Buffer for the values of a search, one per player.
    values: Vec<f32>,
}

impl<G: Game> Shared<G> {
    pub(super) fn new(
        game: G,
        config: Arc<GameConfig>,
        settings: WorkerSettings,
    ) -> Result<Self, WorkerError> {
        Ok(Self {
            policies: SeatPolicies::new(&game, &settings)?,
            scripted: Scripted::new(&game, &settings)?,
            stats: WorkerStats::default(),
            legal: ActionMask::new(game.action_count()),
            choices: Vec::new(),
            values: vec![0.0; game.players()],
            game,
            config,
            settings,
        })
    }

    pub(super) fn limits(&self) -> Option<TreeLimits> {
        self.settings.limits(&self.game)
    }

    /// Whether a game is over or at the limit of plies.
    pub(super) fn has_ended(&self, active: &mut ActiveGame<G>) -> bool {
        active.has_ended(&self.game, self.settings.max_plies)
    }

    /// Starts the game with this number between networks of the roster. Each attempt has a seed of its
    /// own.
    pub(super) fn start(
        &mut self,
        number: u64,
        attempt: u32,
        roster: &Roster,
    ) -> Result<ActiveGame<G>, WorkerError> {
        let WorkerSettings { seed, index, opening_plies, cohort, .. } = self.settings;
        // The bits from 40 on hold the index, so workers share no number below 2^40.
        let cohort = (index << 40) | (number / cohort.max(1));
        let mut shared = Rng::indexed(seed, "cohort", cohort);
        let mut seed = Rng::indexed(seed, "self-play", index << 40 | number).bits();
        if attempt > 0 {
            seed = Rng::indexed(seed, "attempt", u64::from(attempt)).bits();
        }
        let mut own = Rng::new(seed, "seating");
        let scripted = self.scripted.draw(&self.game, &roster.newest, &mut own)?;
        // The choices of a demonstration are policy targets, as those of a search are.
        let is_searched =
            self.policies.has_search() || matches!(scripted, Some(ScriptedGame::Demonstration(_)));
        let seated = match scripted {
            Some(ScriptedGame::Demonstration(drawn)) => {
                let generation = roster.newest.generation;
                let seat = Seat { generation: Some(generation), learns: true, outcome: 0.0 };
                drawn.into_iter().map(|player| (Chooser::Scripted(player), seat)).collect()
            }
            Some(ScriptedGame::Opponents(drawn)) => self.seat_opponents(&drawn, &roster.newest)?,
            None => self.seat_weights(roster, &mut own, &mut shared)?,
        };
        Ok(ActiveGame::new(&self.game, number, seed, seated, opening_plies, is_searched))
    }

    /// Seats of a game between weights of the roster.
    fn seat_weights(
        &mut self,
        roster: &Roster,
        own: &mut Rng,
        shared: &mut Rng,
    ) -> Result<Vec<(Chooser, Seat)>, WorkerError> {
        let drawn = roster.draw(self.game.players(), &self.settings.shares, own, shared);
        let mut seated = Vec::with_capacity(drawn.len());
        for entry in drawn {
            let learns = entry.hash == roster.newest.hash;
            let policy = self.policies.take(&self.game, entry, learns)?;
            let generation = Some(entry.generation);
            seated.push((Chooser::Policy(policy), Seat { generation, learns, outcome: 0.0 }));
        }
        Ok(seated)
    }

    /// Seats of a game of the newest weights against scripted players.
    fn seat_opponents(
        &mut self,
        drawn: &[Option<ScriptedId>],
        newest: &Entry,
    ) -> Result<Vec<(Chooser, Seat)>, WorkerError> {
        let mut seated = Vec::with_capacity(drawn.len());
        for player in drawn {
            let (chooser, generation) = match player {
                Some(player) => (Chooser::Scripted(*player), None),
                None => {
                    let policy = self.policies.take(&self.game, newest, true)?;
                    (Chooser::Policy(policy), Some(newest.generation))
                }
            };
            let seat = Seat { generation, learns: player.is_none(), outcome: 0.0 };
            seated.push((chooser, seat));
        }
        Ok(seated)
    }

    /// Takes the moves of scripted players and starts the searches of the other movers.
    pub(super) fn start_search(
        &mut self,
        slot: GameSlot,
        active: &mut ActiveGame<G>,
        roster: &Roster,
    ) -> Result<(), WorkerError> {
        if self.settings.swap == Swap::Moves {
            self.swap_weights(slot, active, roster)?;
        }
        let is_searched = self.policies.has_search();
        for player in active.movers.iter() {
            let policy = match active.choosers[player] {
                Chooser::Policy(policy) if is_searched => policy,
                Chooser::Policy(_) => continue,
                Chooser::Scripted(id) => {
                    self.choose_scripted(id, player, active)?;
                    continue;
                }
            };
            let known = active.trees.iter().position(|tree| tree.policy == policy);
            let at = match known {
                Some(at) => at,
                None => {
                    self.policies.attach(&self.game, policy, slot)?;
                    let (progress, behind) = (TreeProgress::Blank, Vec::new());
                    active.trees.push(GameTree { policy, progress, behind });
                    active.trees.len() - 1
                }
            };
            let tree = &mut active.trees[at];
            let search = self.policies.tree(policy, slot)?;
            if tree.progress != TreeProgress::Searching {
                search.explore_for(learners(&active.choosers, &active.seats, policy));
            }
            match tree.progress {
                TreeProgress::Searching => continue,
                TreeProgress::Kept if !self.settings.fresh_trees => {
                    for (joint, state) in &tree.behind {
                        search.advance(&self.game, joint, state);
                    }
                }
                TreeProgress::Blank | TreeProgress::Kept => {
                    // A game has at most 16 players, so four bits hold the player.
                    let number = (active.playthrough.plies() as u64) << 4 | player as u64;
                    let rng = Rng::indexed(active.playthrough.seed(), "search", number);
                    search.start(&self.game, active.playthrough.state(), rng);
                }
            }
            tree.behind.clear();
            tree.progress = TreeProgress::Searching;
        }
        Ok(())
    }

    /// Stores the move of a scripted player.
    fn choose_scripted(
        &mut self,
        id: ScriptedId,
        player: usize,
        active: &mut ActiveGame<G>,
    ) -> Result<(), WorkerError> {
        let ActiveGame { playthrough, rngs, choices, seats, .. } = active;
        let (state, rng) = (playthrough.state(), &mut rngs[player]);
        // With a number, `mcts` would keep trees in a memory that all games share, and games would
        // depend on each other.
        let request = Request { state, player, rng, game: None };
        let choice = self.scripted.choose(id, &self.game, request);
        let (mut choice, value) = choice.ok_or(WorkerError::NoMove { player })?;
        let mut policy = Vec::new();
        if seats[player].learns {
            policy.push((choice.action, 1.0));
            choice = self.scripted.demonstrate(&self.game, state, player, choice, rng);
        }
        choices.actions[player] = choice.action;
        choices.probabilities[player] = choice.probability;
        choices.values[player] = value;
        choices.targets[player] = SearchTarget { policy, ..SearchTarget::default() };
        Ok(())
    }

    /// Replaces older weights in learning seats by the newest weights.
    fn swap_weights(
        &mut self,
        slot: GameSlot,
        active: &mut ActiveGame<G>,
        roster: &Roster,
    ) -> Result<(), WorkerError> {
        let newest = &roster.newest;
        for player in 0..self.game.players() {
            let Chooser::Policy(old) = active.choosers[player] else { continue };
            let is_newest = self.policies.get(old).is_some_and(|old| old.hash == newest.hash);
            let seat = &mut active.seats[player];
            if !seat.learns || is_newest {
                continue;
            }
            let policy = self.policies.take(&self.game, newest, true)?;
            active.choosers[player] = Chooser::Policy(policy);
            seat.generation = seat.generation.min(Some(newest.generation));
            if !active.choosers.contains(&Chooser::Policy(old)) {
                let tree = active.trees.iter().position(|tree| tree.policy == old);
                if let Some(at) = tree {
                    active.trees.swap_remove(at);
                    self.policies.detach(old, slot);
                }
            }
            self.policies.release(old);
        }
        Ok(())
    }

    /// Evaluates one batch for each network: leaves of its trees, or the states in which it moves.
    pub(super) fn evaluate(&mut self, games: &mut [Option<ActiveGame<G>>]) {
        let Self { policies, game, stats, choices, .. } = self;
        for (policy, SeatPolicy { kind, .. }) in policies.iter_mut() {
            match kind {
                PolicyKind::Search(trees) => trees.step(game, stats),
                PolicyKind::Network(player) => {
                    draw_moves(game, policy, player, games, choices, stats);
                }
            }
        }
    }

    /// Plays the next ply of a game if all its moves are decided. Returns whether they were.
    pub(super) fn play(
        &mut self,
        slot: GameSlot,
        active: &mut ActiveGame<G>,
    ) -> Result<bool, WorkerError> {
        if active.movers.is_empty() {
            // The game is over before its first move.
            return Ok(true);
        }
        for tree in &active.trees {
            let searches = tree.progress == TreeProgress::Searching;
            if searches && !self.policies.tree(tree.policy, slot)?.is_done() {
                return Ok(false);
            }
        }
        let is_valued = self.decide(slot, active)?;
        let values = is_valued.then_some(self.values.as_slice());
        self.stats.moves += active.movers.len() as u64;
        active.play(&self.game, values, &mut self.legal)?;
        self.follow(slot, active);
        Ok(true)
    }

    /// Stores the decisions of a game's trees as its choices. Returns whether a tree valued the
    /// position.
    fn decide(&mut self, slot: GameSlot, active: &mut ActiveGame<G>) -> Result<bool, WorkerError> {
        let is_outcome =
            self.settings.search.as_ref().is_some_and(|it| it.objective == Objective::Outcome);
        let ActiveGame { trees, choosers, seats, choices, .. } = active;
        let mut is_valued = false;
        let searching = trees.iter_mut().filter(|it| it.progress == TreeProgress::Searching);
        for (index, tree) in searching.enumerate() {
            (tree.progress, is_valued) = (TreeProgress::Kept, true);
            let mut decision = self.policies.tree(tree.policy, slot)?.decide(&self.game);
            if is_outcome {
                decision.values.iter_mut().for_each(|value| *value = value.clamp(-1.0, 1.0));
            }
            self.stats.simulations += u64::from(decision.simulations);
            // The value of a player comes from its own tree, or from the first tree without one.
            for (player, value) in self.values.iter_mut().enumerate() {
                if index == 0 || choosers[player] == Chooser::Policy(tree.policy) {
                    *value = decision.values[player];
                }
            }
            for seat in &decision.seats {
                let player = seat.player;
                if choosers[player] != Chooser::Policy(tree.policy) {
                    continue;
                }
                choices.actions[player] = seat.action;
                choices.probabilities[player] = seat.probability.min(1.0);
                let target = &mut choices.targets[player];
                target.value = decision.values[player];
                (target.surprise, target.policy) = (0.0, Vec::new());
                if decision.full && seats[player].learns {
                    target.surprise = seat.surprise();
                    let shares = seat.actions.iter().copied().zip(seat.policy.iter().copied());
                    target.policy.extend(shares.filter(|&(_, share)| share > 0.0));
                }
            }
        }
        Ok(is_valued)
    }

    /// Appends the ply to the trees of a game and detaches the trees of eliminated players.
    fn follow(&mut self, slot: GameSlot, active: &mut ActiveGame<G>) {
        let ActiveGame { trees, choosers, choices, playthrough, .. } = active;
        let alive = self.game.alive(playthrough.state());
        trees.retain_mut(|tree| {
            let own = Chooser::Policy(tree.policy);
            let stays = alive.iter().any(|player| choosers[player] == own);
            if !stays {
                self.policies.detach(tree.policy, slot);
            } else if tree.progress == TreeProgress::Kept {
                if tree.behind.len() < MAX_PLIES_BEHIND {
                    tree.behind.push((choices.actions.clone(), playthrough.state().clone()));
                } else {
                    tree.progress = TreeProgress::Blank;
                    tree.behind.clear();
                }
            }
            stays
        });
    }

    /// Releases the trees and policies of a game and returns the finished game, unless nothing can be
    /// learned from it.
    pub(super) fn finish(&mut self, slot: GameSlot, active: ActiveGame<G>) -> Option<FinishedGame> {
        for tree in &active.trees {
            self.policies.detach(tree.policy, slot);
        }
        for &chooser in &active.choosers {
            match chooser {
                Chooser::Policy(policy) => self.policies.release(policy),
                Chooser::Scripted(player) => self.scripted.release(player),
            }
        }
        self.stats.games += 1;
        let WorkerSettings { demonstrations, search, .. } = &self.settings;
        let draw = search.as_ref().map_or(0.0, |search| search.draw);
        let finished =
            active.into_finished(&self.game, &self.config, demonstrations.discount, draw);
        self.stats.dropped += u64::from(finished.is_none());
        finished
    }
}

/// The players that learn from the searches of a policy.
fn learners(choosers: &[Chooser], seats: &[Seat], policy: SeatPolicyId) -> PlayerSet {
    let own = choosers.iter().zip(seats).enumerate();
    let own =
        own.filter(|(_, (chooser, seat))| **chooser == Chooser::Policy(policy) && seat.learns);
    own.fold(PlayerSet::EMPTY, |set, (player, _)| PlayerSet(set.0 | PlayerSet::one(player).0))
}

/// Draws the moves of this policy's seats in one ply of every game.
fn draw_moves<G: Game>(
    game: &G,
    policy: SeatPolicyId,
    player: &mut NetPlayer,
    games: &mut [Option<ActiveGame<G>>],
    choices: &mut Vec<Choice>,
    stats: &mut WorkerStats,
) {
    let mut requests = Vec::new();
    for active in games.iter_mut().flatten() {
        let ActiveGame { playthrough, rngs, choosers, movers, .. } = active;
        for (seat, rng) in rngs.iter_mut().enumerate() {
            if choosers[seat] == Chooser::Policy(policy) && movers.contains(seat) {
                requests.push(Request {
                    state: playthrough.state(),
                    player: seat,
                    rng,
                    game: None,
                });
            }
        }
    }
    if requests.is_empty() {
        return;
    }
    stats.evaluations += requests.len() as u64;
    stats.room += requests.len() as u64;
    stats.batches += 1;
    choices.clear();
    player.choose(game, &mut requests, choices);
    drop(requests);
    let mut choices = choices.iter();
    for active in games.iter_mut().flatten() {
        let ActiveGame { choosers, movers, choices: chosen, .. } = active;
        let own = Chooser::Policy(policy);
        for seat in movers.iter().filter(|&seat| choosers[seat] == own) {
            let Some(choice) = choices.next() else { break };
            chosen.actions[seat] = choice.action;
            chosen.probabilities[seat] = choice.probability;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_learning_seats_of_a_policy_explore_in_its_tree() {
        let (own, other) = (Chooser::Policy(SeatPolicyId(3)), Chooser::Policy(SeatPolicyId(5)));
        let choosers = [own, own, other, Chooser::Scripted(ScriptedId { cast: 0, player: 0 })];
        let seat = |learns| Seat { generation: None, learns, outcome: 0.0 };
        let seats = [true, false, true, false].map(seat);
        let players = |policy| -> Vec<usize> {
            learners(&choosers, &seats, SeatPolicyId(policy)).iter().collect()
        };
        assert_eq!((players(3), players(5)), (vec![0], vec![2]));
    }
}
