//! Results as counts of choices.
//!
//! Counts are integers until all of them are added. Sums of fractions would depend on the order of
//! the results.

use super::PairResults;
use super::solver::{Edge, Problem};
use super::stage::{Copies, Stage, stages};

/// What is known of two players, the one with the lower number first.
#[derive(Clone, Copy, Debug)]
enum Evidence<'a> {
    /// Results. They are reversed if the first player of the results has the higher number.
    Results { results: &'a PairResults, is_reversed: bool },
    /// Drawn games of the prior.
    Prior(f64),
}

/// All evidence, by pair of players.
#[derive(Debug, Default)]
pub(super) struct Counts<'a> {
    evidence: Vec<((u32, u32), Evidence<'a>)>,
}

impl<'a> Counts<'a> {
    /// Adds the results of two different players.
    pub(super) fn add_results(&mut self, (first, second): (u32, u32), results: &'a PairResults) {
        let evidence = Evidence::Results { results, is_reversed: first > second };
        self.evidence.push(((first.min(second), first.max(second)), evidence));
    }

    /// Adds drawn games of the prior.
    pub(super) fn add_prior(&mut self, (first, second): (u32, u32), draws: f64) {
        self.evidence.push(((first.min(second), first.max(second)), Evidence::Prior(draws)));
    }

    /// The problem of rating all players.
    pub(super) fn into_problem(mut self, players: usize) -> Problem {
        self.evidence.sort_unstable_by_key(|&(players, _)| players);
        let mut problem = Problem { players, ..Problem::default() };
        let mut counts = Vec::new();
        for pair in self.evidence.chunk_by(|a, b| a.0 == b.0) {
            let mut prior = 0.0;
            for (_, evidence) in pair {
                match *evidence {
                    // Small whole numbers, whose sums are exact.
                    Evidence::Prior(draws) => prior += draws,
                    Evidence::Results { results, is_reversed } => {
                        count(results, is_reversed, &mut counts);
                    }
                }
            }
            let stages = problem.add_stages(&mut counts);
            // Results without a game are no evidence, and must not change the order of elimination.
            if !stages.is_empty() || prior > 0.0 {
                problem.edges.push(Edge { players: pair[0].0, stages, prior });
            }
        }
        problem
    }
}

/// How often a set was chosen among some copies.
#[derive(Clone, Copy, Debug)]
struct Count {
    left: Copies,
    taken: Copies,
    times: u64,
}

/// Adds the choices of some results.
fn count(results: &PairResults, is_reversed: bool, counts: &mut Vec<Count>) {
    let turned = |(first, second)| if is_reversed { (second, first) } else { (first, second) };
    for (ranking, times) in results.rankings.iter().filter(|&&(_, times)| times > 0) {
        for (left, taken) in stages(ranking) {
            let (left, taken, times) = (turned(left), turned(taken), u64::from(*times));
            match counts.iter_mut().find(|one| (one.left, one.taken) == (left, taken)) {
                Some(known) => known.times += times,
                None => counts.push(Count { left, taken, times }),
            }
        }
    }
}

impl Problem {
    /// Takes the counts of two players. Returns where their stages are.
    fn add_stages(&mut self, counts: &mut Vec<Count>) -> std::ops::Range<usize> {
        let start = self.stages.len();
        counts.sort_unstable_by_key(|one| (one.left, one.taken));
        for counts in counts.chunk_by(|a, b| a.left == b.left) {
            let mut stage = Stage { left: self.left(counts[0].left), count: 0.0, firsts: 0.0 };
            for &Count { taken, times, .. } in counts {
                let (times, size) = (times as f64, taken.0 + taken.1);
                stage.count += times;
                stage.firsts += times * f64::from(taken.0) / f64::from(size.max(1));
                self.add_ties(size as usize, times);
            }
            self.stages.push(stage);
        }
        counts.clear();
        start..self.stages.len()
    }

    /// Index of the copies that remain.
    fn left(&mut self, left: Copies) -> usize {
        let known = self.left.iter().position(|&known| known == left);
        known.unwrap_or_else(|| {
            self.left.push(left);
            self.left.len() - 1
        })
    }

    fn add_ties(&mut self, size: usize, times: f64) {
        if self.ties.len() <= size {
            self.ties.resize(size + 1, 0.0);
        }
        self.ties[size] += times;
    }
}
