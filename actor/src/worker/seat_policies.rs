//! The policies of the seats, and their search trees.
//!
//! A seat policy is one set of weights in one role, learning or opponent. Its trees in all games
//! are evaluated in common batches. Unused trees are kept for reuse, so their memory is allocated
//! once.

use std::sync::Arc;

use ouro_game::Game;
use ouro_net::{ContentHash, Generation};
use ouro_players::{NetEvaluator, NetPlayer, Selection};
use ouro_search::{Cached, Scheduler, Search, SearchConfig};

use super::error::WorkerError;
use super::finished::WorkerStats;
use super::index::{GameSlot, SeatPolicyId, TreeSlot};
use super::settings::WorkerSettings;
use crate::roster::Entry;

/// One set of weights in one role.
pub(super) struct SeatPolicy<G: Game> {
    pub(super) hash: ContentHash,
    generation: Generation,
    learns: bool,
    /// Number of seats that this policy holds in running games. At 0 the policy is dropped.
    held: usize,
    pub(super) kind: PolicyKind<G>,
}

/// How a seat policy chooses a move.
pub(super) enum PolicyKind<G: Game> {
    /// Samples from the network's policy.
    Network(Box<NetPlayer>),
    /// Searches a tree.
    Search(Box<Trees<G>>),
}

/// Trees with a common evaluator, at most one for each game.
pub(super) struct Trees<G: Game> {
    evaluator: Cached<G, NetEvaluator>,
    scheduler: Scheduler<G>,
    searches: Vec<Search<G>>,
    /// For each search, the slot of its game.
    games: Vec<GameSlot>,
    /// For each game slot, its search.
    slots: Vec<Option<TreeSlot>>,
}

impl<G: Game> Trees<G> {
    /// Evaluates one batch of leaves.
    pub(super) fn step(&mut self, game: &G, stats: &mut WorkerStats) {
        let Self { evaluator, scheduler, searches, .. } = self;
        let leaves = scheduler.step(game, searches, evaluator).leaves;
        if leaves > 0 {
            stats.evaluations += leaves as u64;
            stats.batches += 1;
            stats.room += scheduler.batch() as u64;
        }
    }

    fn tree(&mut self, game: GameSlot) -> Option<&mut Search<G>> {
        let slot = (*self.slots.get(game.0)?)?;
        self.searches.get_mut(slot.0)
    }

    fn attach(&mut self, game: GameSlot, search: Search<G>) {
        self.slots[game.0] = Some(TreeSlot(self.searches.len()));
        self.searches.push(search);
        self.games.push(game);
    }

    fn detach(&mut self, game: GameSlot) -> Option<Search<G>> {
        let slot = self.slots[game.0].take()?;
        let search = self.searches.swap_remove(slot.0);
        self.games.swap_remove(slot.0);
        if let Some(moved) = self.games.get(slot.0) {
            self.slots[moved.0] = Some(slot);
        }
        Some(search)
    }
}

/// All seat policies of a worker.
pub(super) struct SeatPolicies<G: Game> {
    list: Vec<Option<SeatPolicy<G>>>,
    /// Unused searches of learning seats, then of opponents.
    spare: [Vec<Search<G>>; 2],
    /// Settings of new searches, in the order of `spare`; `None` if moves are not searched.
    configs: Option<[SearchConfig; 2]>,
    /// Number of games at once.
    games: usize,
    batch: usize,
    epsilon: f32,
    /// Size of the evaluation cache of the newest learning policy, in positions.
    remembered: usize,
}

impl<G: Game> SeatPolicies<G> {
    /// An empty set of policies. Fails if the search does not fit the game or the memory.
    pub(super) fn new(game: &G, settings: &WorkerSettings) -> Result<Self, WorkerError> {
        let configs = settings.searches(game)?;
        if let Some(configs) = &configs {
            for config in configs {
                Search::new(config.clone(), game)?;
            }
        }
        Ok(Self {
            list: Vec::new(),
            spare: [Vec::new(), Vec::new()],
            configs,
            games: settings.games,
            batch: settings.batch,
            epsilon: settings.epsilon,
            remembered: settings.remembered,
        })
    }

    /// Whether moves are searched.
    pub(super) fn has_search(&self) -> bool {
        self.configs.is_some()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (SeatPolicyId, &mut SeatPolicy<G>)> {
        let policies = self.list.iter_mut().enumerate();
        policies.filter_map(|(index, policy)| Some((SeatPolicyId(index), policy.as_mut()?)))
    }

    pub(super) fn get(&self, policy: SeatPolicyId) -> Option<&SeatPolicy<G>> {
        self.list.get(policy.0)?.as_ref()
    }

    fn trees(&mut self, policy: SeatPolicyId) -> Result<&mut Trees<G>, WorkerError> {
        match self.list.get_mut(policy.0) {
            Some(Some(SeatPolicy { kind: PolicyKind::Search(trees), .. })) => Ok(trees),
            _ => Err(WorkerError::NoTree),
        }
    }

    /// The tree of a policy for a game.
    pub(super) fn tree(
        &mut self,
        policy: SeatPolicyId,
        game: GameSlot,
    ) -> Result<&mut Search<G>, WorkerError> {
        self.trees(policy)?.tree(game).ok_or(WorkerError::NoTree)
    }

    /// Takes one seat for these weights. Creates their policy if it is missing.
    pub(super) fn take(
        &mut self,
        game: &G,
        entry: &Entry,
        learns: bool,
    ) -> Result<SeatPolicyId, WorkerError> {
        let same = |policy: &SeatPolicy<G>| {
            (policy.hash, policy.generation, policy.learns)
                == (entry.hash, entry.generation, learns)
        };
        let found = self.list.iter().position(|policy| policy.as_ref().is_some_and(same));
        if let Some(index) = found
            && let Some(policy) = &mut self.list[index]
        {
            policy.held += 1;
            return Ok(SeatPolicyId(index));
        }
        if learns {
            self.free_caches();
        }
        let kind = self.kind(game, entry, learns)?;
        let Entry { hash, generation, .. } = *entry;
        let policy = Some(SeatPolicy { hash, generation, learns, held: 1, kind });
        if let Some(index) = self.list.iter().position(Option::is_none) {
            self.list[index] = policy;
            return Ok(SeatPolicyId(index));
        }
        self.list.push(policy);
        Ok(SeatPolicyId(self.list.len() - 1))
    }

    fn kind(&self, game: &G, entry: &Entry, learns: bool) -> Result<PolicyKind<G>, WorkerError> {
        let name = entry.generation.to_string();
        let engine = Arc::clone(&entry.engine);
        if let Some([config, _]) = &self.configs {
            let net = NetEvaluator::new(&name, engine, game)?.with_draw(config.draw);
            // Only policies of learning seats get an evaluation cache, because many games share them.
            let remembered = if learns { self.remembered } else { 0 };
            return Ok(PolicyKind::Search(Box::new(Trees {
                evaluator: Cached::new(net, remembered),
                scheduler: Scheduler::new(self.batch),
                searches: Vec::new(),
                games: Vec::new(),
                slots: vec![None; self.games],
            })));
        }
        let selection = if learns {
            Selection::Mixture { epsilon: self.epsilon }
        } else {
            Selection::Sample { temperature: 1.0 }
        };
        Ok(PolicyKind::Network(Box::new(NetPlayer::new(name, engine, selection, game)?)))
    }

    /// Frees the evaluation caches. The check of memory counts one per thread, and it goes to the newest
    /// weights. The last games of older weights evaluate every leaf instead.
    fn free_caches(&mut self) {
        for policy in self.list.iter_mut().flatten() {
            if let PolicyKind::Search(trees) = &mut policy.kind {
                trees.evaluator.free();
            }
        }
    }

    /// Releases one seat. The last release drops the policy.
    pub(super) fn release(&mut self, policy: SeatPolicyId) {
        let Some(entry) = self.list.get_mut(policy.0) else { return };
        if let Some(held) = entry {
            held.held -= 1;
            if held.held == 0 {
                *entry = None;
            }
        }
    }

    /// Attaches a tree of this policy to a game. The tree may hold nodes of an earlier game.
    pub(super) fn attach(
        &mut self,
        rules: &G,
        policy: SeatPolicyId,
        game: GameSlot,
    ) -> Result<(), WorkerError> {
        let Some(learns) = self.get(policy).map(|policy| policy.learns) else {
            return Err(WorkerError::NoTree);
        };
        let Some(configs) = &self.configs else { return Err(WorkerError::NoTree) };
        let role = usize::from(!learns);
        let search = match self.spare[role].pop() {
            Some(search) => search,
            None => Search::new(configs[role].clone(), rules)?,
        };
        self.trees(policy)?.attach(game, search);
        Ok(())
    }

    /// Detaches the tree of this policy from a game and keeps it for reuse.
    pub(super) fn detach(&mut self, policy: SeatPolicyId, game: GameSlot) {
        let Some(learns) = self.get(policy).map(|policy| policy.learns) else { return };
        let search = self.trees(policy).ok().and_then(|trees| trees.detach(game));
        self.spare[usize::from(!learns)].extend(search);
    }
}

#[cfg(test)]
impl<G: Game> SeatPolicies<G> {
    /// Numbers of policies, attached trees and unused trees.
    pub(super) fn census(&self) -> (usize, usize, usize) {
        let policies = self.list.iter().flatten();
        let trees = policies.clone().map(|policy| match &policy.kind {
            PolicyKind::Search(trees) => trees.searches.len(),
            PolicyKind::Network(_) => 0,
        });
        (policies.clone().count(), trees.sum(), self.spare.iter().map(Vec::len).sum())
    }

    /// Generations of the policies with an evaluation cache, and its slots.
    pub(super) fn caches(&self) -> Vec<(Generation, usize)> {
        let policies = self.list.iter().flatten();
        let slots = policies.filter_map(|policy| match &policy.kind {
            PolicyKind::Search(trees) => Some((policy.generation, trees.evaluator.slots())),
            PolicyKind::Network(_) => None,
        });
        slots.filter(|&(_, slots)| slots > 0).collect()
    }
}
