//! Evaluates the leaves of a batch on several threads.

use std::fmt::{self, Debug, Formatter};

use ouro_game::Game;
use ouro_search::{Estimates, Evaluator, Leaf};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Most threads of one player.
pub(super) const MOST: usize = 256;

/// Splits each batch evenly among evaluators that work at the same time.
///
/// Estimates are those of a single evaluator, in the same order, since the estimate of a leaf depends on
/// that leaf alone.
pub(super) struct Threaded<G: Game> {
    parts: Vec<Part<G>>,
    /// Threads for all parts but the first, which the calling thread evaluates.
    pool: ThreadPool,
}

struct Part<G: Game> {
    evaluator: Box<dyn Evaluator<G>>,
    answers: Estimates,
}

impl<G: Game> Debug for Threaded<G> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threaded").field("threads", &self.parts.len()).finish_non_exhaustive()
    }
}

impl<G: Game> Threaded<G> {
    /// One thread per evaluator, the calling one included.
    pub(super) fn new(
        evaluators: Vec<Box<dyn Evaluator<G>>>,
    ) -> Result<Self, ThreadPoolBuildError> {
        let others = evaluators.len().saturating_sub(1).max(1);
        let pool = ThreadPoolBuilder::new()
            .num_threads(others)
            .thread_name(|index| format!("evaluate-{}", index + 1))
            .build()?;
        let part = |evaluator| Part { evaluator, answers: Estimates::new() };
        Ok(Self { parts: evaluators.into_iter().map(part).collect(), pool })
    }
}

impl<G: Game> Evaluator<G> for Threaded<G> {
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        let share = leaves.len().div_ceil(self.parts.len().max(1)).max(1);
        let used = leaves.len().div_ceil(share);
        let mut parts = leaves.chunks_mut(share).zip(&mut self.parts);
        let Some(first) = parts.next() else { return };
        let evaluate = |(leaves, part): (&mut [Leaf<G>], &mut Part<G>)| {
            part.answers.reset(game);
            part.evaluator.evaluate(game, leaves, &mut part.answers);
        };
        self.pool.in_place_scope(|scope| {
            for part in parts {
                scope.spawn(move |_| evaluate(part));
            }
            evaluate(first);
        });
        self.parts[..used].iter().for_each(|part| out.append(&part.answers));
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::tic_tac_toe::TicTacToe;
    use ouro_game::{Rng, Symmetry, Turn};
    use ouro_search::{Rollout, Uniform};

    use super::*;

    /// Draws uniform priors, an exact value or a guided rollout for each leaf, so that rows of all kinds
    /// occur.
    #[derive(Debug)]
    struct Mixed(Rollout);

    impl Evaluator<TicTacToe> for Mixed {
        fn evaluate(
            &mut self,
            game: &TicTacToe,
            leaves: &mut [Leaf<TicTacToe>],
            out: &mut Estimates,
        ) {
            for leaf in leaves {
                match leaf.rng.clone().below(3) {
                    0 => out.push_uniform().fill(0.5),
                    1 => out.push_exact().fill(1.0),
                    _ => self.0.evaluate(game, std::slice::from_mut(leaf), out),
                }
            }
        }
    }

    fn leaves(count: u64) -> Vec<Leaf<TicTacToe>> {
        let game = TicTacToe::default();
        let state = game.initial(&mut Rng::new(1, "test"));
        let Turn::Move(movers) = game.turn(&state) else { panic!("the first player moves") };
        let rng = |index| Rng::indexed(1, "leaf", index);
        let symmetry = Symmetry::Identity;
        (0..count).map(|index| Leaf { state, movers, symmetry, rng: rng(index) }).collect()
    }

    #[test]
    fn the_estimates_are_those_of_one_thread_in_the_same_order() {
        let game = TicTacToe::default();
        let mixed = || Box::new(Mixed(Rollout::new().guided())) as Box<dyn Evaluator<TicTacToe>>;
        for (threads, count) in [(1, 5), (2, 1), (3, 0), (3, 7), (4, 40), (5, 3)] {
            let (mut one, mut several) = (Estimates::new(), Estimates::new());
            one.reset(&game);
            several.reset(&game);
            mixed().evaluate(&game, &mut leaves(count), &mut one);
            let evaluators = (0..threads).map(|_| mixed()).collect();
            let mut threaded = Threaded::new(evaluators).expect("threads");
            threaded.evaluate(&game, &mut leaves(count), &mut several);
            assert_eq!(several.len(), count as usize);
            for index in 0..one.len() {
                let [one, several] =
                    [&one, &several].map(|all| all.get(index).expect("one per leaf"));
                assert_eq!(one.values, several.values);
                assert_eq!((one.priors, one.is_exact), (several.priors, several.is_exact));
            }
        }
        assert!(Threaded::new(vec![Box::new(Uniform) as Box<dyn Evaluator<TicTacToe>>]).is_ok());
    }
}
