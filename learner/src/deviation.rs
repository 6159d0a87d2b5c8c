//! Compares the games of each actor with those of all others, and flags an actor that deviates.
//!
//! The check of a game shows that it is possible, not that it was played as the actor states. An
//! actor that sends only wins, only short games or one game again and again passes that check. Its
//! outcomes or lengths then differ from those of the other actors.
//!
//! The method is that of fishtest, which compares the results of its workers (`get_chi2` and
//! `get_bad_workers`): a χ² test of homogeneity of one actor against all others, written as a normal
//! deviate ([`residual`]). Above [`RESIDUAL`] an actor deviates. The worst one is taken out, and
//! the rest is compared again, because the games of a deviating actor distort the comparison of the
//! others.
//!
//! - *Only like is compared with like.* Games are counted by the weights in each seat. Expected
//!   counts are sums over these strata. Games that no other actor played against the same weights
//!   are left out. Thread cohorts share opponents, so outcomes of other strata would not be
//!   independent.
//! - *Only settled generations are compared.* The short games of a generation arrive before its long
//!   ones. An actor that is slower, or has more games at once, shows more short games until all of
//!   them have arrived. A generation counts once there are games of the [second](SETTLED) one after
//!   it.
//! - *The window slides* by generations. The oldest is dropped as soon as the others hold
//!   [`GAMES_PER_ACTOR`].
//!
//! The module has no clock, no lock and no input or output.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ouro_net::Generation;
use ouro_replay::GameSummary;

use category::{length_category, outcome_category};
use chi_square::residual;
pub(crate) use watch::DeviationWatch;

mod category;
mod chi_square;
mod watch;

/// Residual above which an actor deviates, from fishtest. The probability that a normal deviate
/// exceeds it is 1.3e-12. Two tests of each of 100 actors exceed it by chance about once in four
/// billion evaluations.
pub(crate) const RESIDUAL: f64 = 7.0;
/// Generations after which the games of a generation have arrived.
const SETTLED: u32 = 2;
/// Games of an actor that can be compared, below which it is not judged.
const LEAST_GAMES: u64 = 200;
/// Mean games per actor that the window keeps.
const GAMES_PER_ACTOR: u64 = 1_024;
/// Pairs of stratum and actor in memory at most. Games beyond are not counted.
const MOST_CELLS: usize = 1 << 16;
/// Actors that one evaluation adds to the deviating ones at most.
const ROUNDS: usize = 16;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Who won.
    Outcome,
    /// The number of plies.
    Length,
}

impl Quantity {
    const ALL: [Self; 2] = [Self::Outcome, Self::Length];

    /// Its name in messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Outcome => "outcomes",
            Self::Length => "lengths",
        }
    }
}

/// The largest deviation of an actor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Deviation {
    /// What deviates most.
    pub(crate) quantity: Quantity,
    /// By how much, as a normal deviate.
    pub(crate) residual: f64,
    /// Games of the actor that were compared.
    pub(crate) games: u64,
}

/// The result of an evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Judgement {
    /// Actors with enough games to be compared.
    pub(crate) judged: usize,
    /// The actors that deviate.
    pub(crate) deviating: BTreeMap<Arc<str>, Deviation>,
}

/// The weights of each seat, and whether the seat learns.
type Stratum = Box<[(bool, Option<Generation>)]>;

/// Games by category.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts(Vec<u32>);

impl Counts {
    fn add(&mut self, category: usize) {
        if self.0.len() <= category {
            self.0.resize(category + 1, 0);
        }
        self.0[category] = self.0[category].saturating_add(1);
    }
}

/// The games of one actor in one stratum.
#[derive(Clone, Debug, Default)]
struct Cell {
    outcomes: Counts,
    lengths: Counts,
}

impl Cell {
    fn counts(&self, quantity: Quantity) -> &[u32] {
        match quantity {
            Quantity::Outcome => &self.outcomes.0,
            Quantity::Length => &self.lengths.0,
        }
    }

    fn games(&self) -> u64 {
        sum(&self.outcomes.0)
    }
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).sum()
}

/// The games of one generation.
#[derive(Clone, Debug, Default)]
struct GenerationGames {
    strata: BTreeMap<Stratum, BTreeMap<Arc<str>, Cell>>,
    games: u64,
}

impl GenerationGames {
    fn cells(&self) -> usize {
        self.strata.values().map(BTreeMap::len).sum()
    }
}

/// The games of all actors in the window. See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    generations: BTreeMap<Generation, GenerationGames>,
    cells: usize,
}

/// Sums over strata for one actor, by category.
#[derive(Default)]
struct Sums {
    observed: Vec<f64>,
    /// Expected if the actor played like all others.
    expected: Vec<f64>,
    /// The same for the others.
    expected_of_others: Vec<f64>,
    games: u64,
}

impl Tally {
    /// Counts an accepted game. Returns whether it is the first of a new generation, after which an
    /// evaluation has something new to compare.
    pub(crate) fn record(&mut self, actor: &Arc<str>, game: &GameSummary) -> bool {
        let generation = game.generation();
        let is_new = self.newest().is_some_and(|newest| generation > newest);
        self.generations.entry(generation).or_default();
        if is_new {
            self.slide();
        }
        // A late game of a dropped generation starts that generation anew.
        let of_generation = self.generations.entry(generation).or_default();
        let stratum: Stratum =
            game.seats.iter().map(|seat| (seat.learns, seat.generation)).collect();
        let is_full = self.cells >= MOST_CELLS;
        let is_known = |actors: &BTreeMap<Arc<str>, Cell>| actors.contains_key(actor);
        if !of_generation.strata.get(&stratum).is_some_and(is_known) {
            if is_full {
                return is_new;
            }
            self.cells += 1;
        }
        let actors = of_generation.strata.entry(stratum).or_default();
        let cell = actors.entry(Arc::clone(actor)).or_default();
        cell.outcomes.add(outcome_category(&game.seats));
        cell.lengths.add(length_category(game.plies));
        of_generation.games += 1;
        is_new
    }

    fn newest(&self) -> Option<Generation> {
        self.generations.keys().next_back().copied()
    }

    /// The games of settled generations.
    fn settled(&self) -> impl Iterator<Item = &GenerationGames> {
        let newest = self.newest().unwrap_or_default().0;
        let settled = self.generations.iter();
        settled.take_while(move |(one, _)| one.0 + SETTLED <= newest).map(|(_, games)| games)
    }

    /// Drops the oldest generations as long as the others hold enough games.
    fn slide(&mut self) {
        let strata = self.settled().flat_map(|one| one.strata.values());
        let actors: BTreeSet<&Arc<str>> = strata.flat_map(BTreeMap::keys).collect();
        let enough = GAMES_PER_ACTOR * actors.len() as u64;
        let mut games: u64 = self.settled().map(|one| one.games).sum();
        loop {
            let oldest = self.settled().next().map(|one| (one.games, one.cells()));
            let Some((oldest, cells)) = oldest else { return };
            if games - oldest < enough && self.cells < MOST_CELLS {
                return;
            }
            games -= oldest;
            self.cells -= cells;
            self.generations.pop_first();
        }
    }

    /// Compares all actors. `known` are those that deviated before.
    pub(crate) fn judge<'a>(&self, known: impl IntoIterator<Item = &'a Arc<str>>) -> Judgement {
        let mut apart: BTreeSet<Arc<str>> = known.into_iter().map(Arc::clone).collect();
        let mut found = self.compare(&apart);
        // Whoever is not compared any more was taken out, or plays no more.
        apart.retain(|actor| found.contains_key(actor));
        for _ in 0..ROUNDS {
            found = self.compare(&apart);
            // Of two actors that differ, nothing says which one deviates. So those that do must be
            // fewer than the others.
            if 2 * (apart.len() + 1) >= found.len() {
                break;
            }
            let others = found.iter().filter(|(actor, _)| !apart.contains(*actor));
            let worst = others.max_by(|a, b| a.1.residual.total_cmp(&b.1.residual));
            match worst.filter(|(_, deviation)| deviation.residual > RESIDUAL) {
                Some((actor, _)) => apart.insert(Arc::clone(actor)),
                None => break,
            };
        }
        let judged = found.len();
        let deviates = |actor: &Arc<str>, deviation: &mut Deviation| {
            apart.contains(actor) && deviation.residual > RESIDUAL
        };
        let deviating = found.extract_if(.., deviates).collect();
        Judgement { judged, deviating }
    }

    /// The deviation of each actor with enough games from all others that are not `apart`.
    fn compare(&self, apart: &BTreeSet<Arc<str>>) -> BTreeMap<Arc<str>, Deviation> {
        let mut found = BTreeMap::<Arc<str>, Deviation>::new();
        for quantity in Quantity::ALL {
            for (actor, sums) in self.sums(quantity, apart) {
                let games = sums.games;
                if games < LEAST_GAMES {
                    continue;
                }
                let residual = residual(&sums.observed, &sums.expected, &sums.expected_of_others);
                let deviation = Deviation { quantity, residual, games };
                match found.get_mut(actor) {
                    Some(known) if known.residual >= residual => {}
                    Some(known) => *known = deviation,
                    None => drop(found.insert(Arc::clone(actor), deviation)),
                }
            }
        }
        found
    }

    fn sums(&self, quantity: Quantity, apart: &BTreeSet<Arc<str>>) -> BTreeMap<&Arc<str>, Sums> {
        let mut sums = BTreeMap::<&Arc<str>, Sums>::new();
        for actors in self.settled().flat_map(|one| one.strata.values()) {
            let mut totals = Vec::new();
            for (_, cell) in actors.iter().filter(|(actor, _)| !apart.contains(*actor)) {
                add(&mut totals, cell.counts(quantity), 1.0);
            }
            for (actor, cell) in actors {
                let (own, games) = (cell.counts(quantity), cell.games());
                let mut all = totals.clone();
                if apart.contains(actor) {
                    add(&mut all, own, 1.0);
                }
                let total: f64 = all.iter().sum();
                let others = total - games as f64;
                if others <= 0.0 {
                    continue;
                }
                let sums = sums.entry(actor).or_default();
                add(&mut sums.observed, own, 1.0);
                add(&mut sums.expected, &all, games as f64 / total);
                add(&mut sums.expected_of_others, &all, others / total);
                sums.games += games;
            }
        }
        for sums in sums.values_mut() {
            sums.observed.resize(sums.expected.len(), 0.0);
        }
        sums
    }
}

/// Adds `factor` times `counts` to `sums`.
fn add<N: Copy + Into<f64>>(sums: &mut Vec<f64>, counts: &[N], factor: f64) {
    if sums.len() < counts.len() {
        sums.resize(counts.len(), 0.0);
    }
    for (sum, &count) in sums.iter_mut().zip(counts) {
        *sum += factor * count.into();
    }
}

#[cfg(test)]
mod tests;
