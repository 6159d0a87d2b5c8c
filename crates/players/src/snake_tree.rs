//! `tree`: a naive breadth-first tree search for Snake without learning.
//!
//! The tree grows level by level from the current position until it has N states. Each free
//! direction gives one child. Forced moves are played through, and every step on the way counts
//! as a state. The next apple is unknown, so the search continues without an apple once the
//! current one is eaten. A node's value is the best over its children of reward plus discounted
//! value; a leaf has value 0. Ties between directions are broken at random. The player keeps
//! nothing from move to move.
//!
//! The table of the `AlphaSnake` paper (Du, Gemp, Wu and Wu 2022, arXiv 2211.09622) has such a
//! search with a mean size of 59.09 for 10,000 states, but the paper does not describe it.
//! `docs/snake-table.md` has the figures of other interpretations.

use ouro_game::snake::{self, DISCOUNT, Ending, Snake, State};
use ouro_game::{Action, Game, Rng};

use crate::game_specific::{BuildResult, build_for_game};
use crate::player::{Choice, Player, Request};
use crate::registry::{BuildContext, Options, PlayerSyntax};

/// Syntax of the name.
pub(crate) const SYNTAX: PlayerSyntax =
    PlayerSyntax { name: "tree", options: &["states"], defaults: &[], usage: &["tree{states=N}"] };

/// Most states per move. Memory for them is kept between moves.
const MAX_STATES: usize = 1_000_000;

/// Values this close count as equal, since they differ by rounding only.
const TIE: f64 = 1e-9;

/// Builds a player for Snake.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    fn seat<const W: usize>(options: &Options<'_>) -> BuildResult<Snake<W>> {
        let states = options.number("states", 1..=MAX_STATES)?;
        let states = states.ok_or_else(|| options.missing("states=N", &SYNTAX))?;
        Ok(Box::new(SnakeTreeSearch::<W>::new(options.name(), states)))
    }
    build_for_game(context.game, |_: &snake::Small| seat(&options))
        .or_else(|| build_for_game(context.game, |_: &snake::Large| seat(&options)))
        .unwrap_or_else(|| Err(options.other_game::<G>(snake::Small::NAME)))
}

/// Searches a number of states breadth first and takes the best direction.
#[derive(Debug)]
pub struct SnakeTreeSearch<const W: usize> {
    name: String,
    states: usize,
    nodes: Vec<Node<W>>,
}

/// A state in the tree.
#[derive(Debug)]
struct Node<const W: usize> {
    state: State<W>,
    parent: usize,
    /// The direction that led here from the parent.
    direction: usize,
    /// Rewards since the parent, discounted to its time.
    reward: f64,
    /// Discount for the time since the parent.
    discount: f64,
    /// Best value over the children so far; `None` for a leaf.
    best: Option<f64>,
}

impl<const W: usize> Node<W> {
    fn new(state: State<W>, parent: usize, direction: usize) -> Self {
        Self { state, parent, direction, reward: 0.0, discount: 1.0, best: None }
    }

    /// Value of the node at its parent's time.
    fn value(&self) -> f64 {
        self.reward + self.discount * self.best.unwrap_or(0.0)
    }

    /// Moves in the node's direction, then through forced moves, for at most `most` steps.
    /// Returns the number of steps.
    fn run(&mut self, game: &Snake<W>, most: usize) -> usize {
        let rewards = game.config().rewards;
        let (mut direction, mut steps) = (self.direction, 0);
        loop {
            let length = self.state.length();
            game.advance_head(&mut self.state, direction);
            steps += 1;
            if self.state.length() > length {
                self.reward += self.discount * f64::from(rewards.apple);
            }
            let ending = game.ending(&self.state);
            self.reward += self.discount
                * match ending {
                    Some(Ending::Won) => f64::from(rewards.win),
                    Some(Ending::Stuck) => f64::from(rewards.loss),
                    Some(Ending::OutOfTime) | None => 0.0,
                };
            self.discount *= DISCOUNT;
            let moves = game.free_moves(&self.state);
            // Bounded, since a snake without an apple may be forced to circle forever.
            if ending.is_some() || moves.count_ones() > 1 || steps >= most {
                return steps;
            }
            direction = moves.trailing_zeros() as usize;
        }
    }
}

impl<const W: usize> SnakeTreeSearch<W> {
    /// A player that searches about `states` states per move.
    pub fn new(name: impl Into<String>, states: usize) -> Self {
        Self { name: name.into(), states, nodes: Vec::new() }
    }

    /// The best direction, and the number of equally good ones that it was drawn from.
    fn search(&mut self, game: &Snake<W>, root: &State<W>, rng: &mut Rng) -> (usize, usize) {
        let nodes = &mut self.nodes;
        nodes.clear();
        nodes.push(Node::new(*root, 0, 0));
        let (mut next, mut seen) = (0, 1);
        // The root is expanded for any N, since the choice is among its children.
        while next < nodes.len() && (seen < self.states || next == 0) {
            let state = nodes[next].state;
            let moves = if game.ending(&state).is_none() { game.free_moves(&state) } else { 0 };
            for direction in (0..4).filter(|direction| moves >> direction & 1 == 1) {
                let mut node = Node::new(state, next, direction);
                seen += node.run(game, self.states);
                nodes.push(node);
            }
            next += 1;
        }
        for index in (1..nodes.len()).rev() {
            let (value, parent) = (nodes[index].value(), nodes[index].parent);
            let best = &mut nodes[parent].best;
            *best = Some(best.map_or(value, |best| best.max(value)));
        }
        let best = nodes[0].best.unwrap_or_default();
        let children = nodes[1..].iter().take_while(|node| node.parent == 0);
        let ties = children.filter(|node| node.value() >= best - TIE);
        let count = ties.clone().count();
        let chosen = ties.clone().nth(rng.below(count as u32) as usize);
        (chosen.map_or(0, |node| node.direction), count)
    }
}

impl<const W: usize> Player<Snake<W>> for SnakeTreeSearch<W> {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(
        &mut self,
        game: &Snake<W>,
        requests: &mut [Request<'_, Snake<W>>],
        choices: &mut Vec<Choice>,
    ) {
        for request in requests {
            let moves = game.free_moves(request.state);
            let (direction, ties) = if moves.count_ones() == 1 {
                (moves.trailing_zeros() as usize, 1)
            } else {
                self.search(game, request.state, request.rng)
            };
            let probability = 1.0 / ties.max(1) as f32;
            choices.push(Choice { action: Action(direction as u32), probability });
        }
    }
}
