//! The evaluator that costs nothing.

use ouro_game::Game;

use super::{Estimates, Evaluator, Leaf};

/// Uniform priors and value 0 for everybody. With the solver it leaves a search to what the
/// rules alone can prove; in benches it leaves the cost of the search itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uniform;

impl<G: Game> Evaluator<G> for Uniform {
    fn evaluate(&mut self, _game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        for _ in leaves {
            out.push_uniform();
        }
    }
}
