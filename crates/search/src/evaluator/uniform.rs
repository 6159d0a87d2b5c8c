//! The evaluator without any knowledge.

use ouro_game::Game;

use super::{Estimates, Evaluator, Leaf};

/// Uniform priors and value 0 for all players.
///
/// With the solver, a search then finds what the rules alone prove. In benchmarks, the cost of the
/// search itself remains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uniform;

impl<G: Game> Evaluator<G> for Uniform {
    fn evaluate(&mut self, _game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        for _ in leaves {
            out.push_uniform();
        }
    }
}
