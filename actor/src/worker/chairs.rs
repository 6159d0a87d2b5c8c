//! The networks that hold seats, and the trees that they think with.
//!
//! A chair is one set of weights in one role. All its trees, of all games, share its batches.
//! Trees that no game needs are kept aside and used again, so that memory is taken once.

use std::sync::Arc;

use ouro_game::Game;
use ouro_net::ContentHash;
use ouro_players::{NetEvaluator, NetPlayer, Selection};
use ouro_search::{Cached, Evaluator, Scheduler, Search, SearchConfig};

use super::{PlayedSeat, WorkerError, WorkerSettings, WorkerStats};
use crate::roster::Entry;

/// Weights in a role.
pub(super) struct Chair<G: Game> {
    pub(super) hash: ContentHash,
    pub(super) seat: PlayedSeat,
    /// Seats held in running games; at 0 the chair is given up.
    held: usize,
    pub(super) mind: Mind<G>,
}

/// How a chair chooses.
pub(super) enum Mind<G: Game> {
    /// By the network's policy.
    Policy(Box<NetPlayer>),
    /// By searching trees.
    Search(Box<Trees<G>>),
}

/// Trees with one evaluator.
pub(super) struct Trees<G: Game> {
    evaluator: Box<dyn Evaluator<G>>,
    scheduler: Scheduler<G>,
    pub(super) searches: Vec<Search<G>>,
    /// For each search, the place of its game at the table.
    owners: Vec<usize>,
}

impl<G: Game> Trees<G> {
    /// Evaluates one batch of leaves.
    pub(super) fn step(&mut self, game: &G, stats: &mut WorkerStats) {
        let Self { evaluator, scheduler, searches, .. } = self;
        let leaves = scheduler.step(game, searches, evaluator.as_mut()).leaves;
        if leaves > 0 {
            stats.evaluations += leaves as u64;
            stats.batches += 1;
            stats.room += scheduler.batch() as u64;
        }
    }
}

/// All chairs of a worker.
pub(super) struct Chairs<G: Game> {
    /// An index stays as long as its chair is held.
    list: Vec<Option<Chair<G>>>,
    /// Searches without a game: of learning seats, then of others.
    spare: [Vec<Search<G>>; 2],
    /// Likewise what new ones are made from; none if no tree is searched.
    configs: Option<[SearchConfig; 2]>,
    batch: usize,
    epsilon: f32,
    /// Positions whose evaluation is remembered for each set of weights that learns.
    remembered: usize,
}

impl<G: Game> Chairs<G> {
    /// No chairs yet.
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
            batch: settings.batch,
            epsilon: settings.epsilon,
            remembered: settings.remembered,
        })
    }

    /// Whether moves are searched.
    pub(super) fn search(&self) -> bool {
        self.configs.is_some()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Chair<G>)> {
        let chairs = self.list.iter_mut().enumerate();
        chairs.filter_map(|(index, chair)| Some((index, chair.as_mut()?)))
    }

    pub(super) fn get(&self, chair: usize) -> Option<&Chair<G>> {
        self.list.get(chair)?.as_ref()
    }

    /// The search in a slot of a chair.
    pub(super) fn tree(&mut self, chair: usize, slot: usize) -> Option<&mut Search<G>> {
        match &mut self.list.get_mut(chair)?.as_mut()?.mind {
            Mind::Search(trees) => trees.searches.get_mut(slot),
            Mind::Policy(_) => None,
        }
    }

    /// Takes one seat for these weights, in a chair that is set up if they have none yet.
    pub(super) fn take(
        &mut self,
        game: &G,
        entry: &Entry,
        learns: bool,
    ) -> Result<usize, WorkerError> {
        let seat = PlayedSeat { generation: entry.generation, learns };
        let same = |chair: &Chair<G>| chair.hash == entry.hash && chair.seat == seat;
        let found = self.list.iter().position(|chair| chair.as_ref().is_some_and(same));
        if let Some(index) = found
            && let Some(chair) = &mut self.list[index]
        {
            chair.held += 1;
            return Ok(index);
        }
        let mind = self.mind(game, entry, learns)?;
        let chair = Some(Chair { hash: entry.hash, seat, held: 1, mind });
        if let Some(index) = self.list.iter().position(Option::is_none) {
            self.list[index] = chair;
            return Ok(index);
        }
        self.list.push(chair);
        Ok(self.list.len() - 1)
    }

    fn mind(&self, game: &G, entry: &Entry, learns: bool) -> Result<Mind<G>, WorkerError> {
        let name = entry.generation.to_string();
        let engine = Arc::clone(&entry.engine);
        if self.search() {
            return Ok(Mind::Search(Box::new(Trees {
                evaluator: self.evaluator(NetEvaluator::new(&name, engine, game)?, learns),
                scheduler: Scheduler::new(self.batch),
                searches: Vec::new(),
                owners: Vec::new(),
            })));
        }
        let selection = if learns {
            Selection::Mixture { epsilon: self.epsilon }
        } else {
            Selection::Sample { temperature: 1.0 }
        };
        Ok(Mind::Policy(Box::new(NetPlayer::new(name, engine, selection, game)?)))
    }

    /// Learning seats, which many games share, remember what the network said.
    fn evaluator(&self, net: NetEvaluator, learns: bool) -> Box<dyn Evaluator<G>> {
        if learns && self.remembered > 0 {
            return Box::new(Cached::new(net, self.remembered));
        }
        Box::new(net)
    }

    /// Gives one seat back; the last one takes the chair away.
    pub(super) fn release(&mut self, chair: usize) {
        let Some(place) = self.list.get_mut(chair) else { return };
        if let Some(held) = place {
            held.held -= 1;
            if held.held == 0 {
                *place = None;
            }
        }
    }

    /// A tree of this chair for the game at `place`; its slot. It holds nothing of use yet.
    pub(super) fn attach(
        &mut self,
        game: &G,
        chair: usize,
        place: usize,
    ) -> Result<usize, WorkerError> {
        let Some(Some(Chair { seat, mind: Mind::Search(trees), .. })) = self.list.get_mut(chair)
        else {
            return Err(WorkerError::NoTree);
        };
        let Some(configs) = &self.configs else { return Err(WorkerError::NoTree) };
        let role = usize::from(!seat.learns);
        let search = match self.spare[role].pop() {
            Some(search) => search,
            None => Search::new(configs[role].clone(), game)?,
        };
        trees.searches.push(search);
        trees.owners.push(place);
        Ok(trees.searches.len() - 1)
    }

    /// Takes a tree from its chair. If another one moves into its slot: the place of that
    /// one's game.
    pub(super) fn detach(&mut self, chair: usize, slot: usize) -> Option<usize> {
        let Chair { seat, mind, .. } = self.list.get_mut(chair)?.as_mut()?;
        let Mind::Search(trees) = mind else { return None };
        self.spare[usize::from(!seat.learns)].push(trees.searches.swap_remove(slot));
        trees.owners.swap_remove(slot);
        trees.owners.get(slot).copied()
    }
}

#[cfg(test)]
impl<G: Game> Chairs<G> {
    /// Chairs, trees in them, and trees aside.
    pub(super) fn census(&self) -> (usize, usize, usize) {
        let chairs = self.list.iter().flatten();
        let trees = chairs.clone().map(|chair| match &chair.mind {
            Mind::Search(trees) => trees.searches.len(),
            Mind::Policy(_) => 0,
        });
        (chairs.clone().count(), trees.sum(), self.spare.iter().map(Vec::len).sum())
    }
}
