//! A game that is an explicit tree of choices, chance and results.

use ouro_game::{
    Action, ActionMask, Chance, ConfigError, Game, PlaneShape, PlayerSet, Rng, StepError, Turn,
};
use serde::{Deserialize, Serialize};

/// A node; children are indices of later nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Node {
    /// A player picks a child.
    Choice(usize, Vec<usize>),
    /// Chance picks a child, with these weights.
    Chance(Vec<(f64, usize)>),
    /// The results of all players.
    End(Vec<f32>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Config {
    pub(crate) players: usize,
    /// The root first.
    pub(crate) nodes: Vec<Node>,
    /// Eliminated players by node.
    pub(crate) out: Vec<(usize, usize)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Tree(Config);

impl Tree {
    pub(crate) fn of(players: usize, nodes: Vec<Node>) -> Self {
        Self(Config { players, nodes, out: Vec::new() })
    }

    /// The same tree with players eliminated at nodes: `(node, player)`.
    pub(crate) fn with_out(mut self, out: &[(usize, usize)]) -> Self {
        self.0.out.extend(out);
        self
    }

    fn node(&self, state: &usize) -> &Node {
        &self.0.nodes[*state]
    }
}

impl Game for Tree {
    type Config = Config;
    type State = usize;

    const NAME: &'static str = "tree";

    fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn players(&self) -> usize {
        self.0.players
    }

    fn action_count(&self) -> usize {
        4
    }

    fn initial(&self, _rng: &mut Rng) -> usize {
        0
    }

    fn turn(&self, state: &usize) -> Turn {
        match self.node(state) {
            Node::Choice(player, _) => Turn::Move(PlayerSet::one(*player)),
            Node::Chance(_) => Turn::Chance,
            Node::End(_) => Turn::Over,
        }
    }

    fn legal(&self, state: &usize, player: usize, mask: &mut ActionMask) {
        mask.reset(4);
        if let Node::Choice(mover, children) = self.node(state)
            && *mover == player
        {
            (0..children.len() as u32).for_each(|action| mask.insert(Action(action)));
        }
    }

    fn step(&self, state: &mut usize, actions: &[Action]) -> Result<(), StepError> {
        let Node::Choice(player, children) = self.node(state) else {
            return Err(StepError::GameOver);
        };
        let action = actions[*player];
        let illegal = StepError::IllegalAction { player: *player, action: action.0 };
        *state = *children.get(action.index()).ok_or(illegal)?;
        Ok(())
    }

    fn chance(&self, state: &usize) -> Chance {
        match self.node(state) {
            Node::Chance(children) => Chance::Enumerable { count: children.len() as u32 },
            _ => Chance::Enumerable { count: 1 },
        }
    }

    fn chance_probability(&self, state: &usize, outcome: u32) -> f64 {
        match self.node(state) {
            Node::Chance(children) => {
                let total: f64 = children.iter().map(|(weight, _)| weight).sum();
                children.get(outcome as usize).map_or(0.0, |(weight, _)| weight / total)
            }
            _ => 0.0,
        }
    }

    fn apply_chance(&self, state: &mut usize, outcome: u32) -> Result<(), StepError> {
        let Node::Chance(children) = self.node(state) else {
            return Err(StepError::NotAChanceNode);
        };
        *state = children
            .get(outcome as usize)
            .map(|&(_, child)| child)
            .ok_or(StepError::ImpossibleOutcome { outcome })?;
        Ok(())
    }

    fn alive(&self, state: &usize) -> PlayerSet {
        let out = self.0.out.iter().filter(|(node, _)| node == state);
        let out = out.fold(0, |set, &(_, player)| set | PlayerSet::one(player).0);
        PlayerSet(PlayerSet::first(self.0.players).0 & !out)
    }

    fn elapsed(&self, _state: &usize) -> u32 {
        0
    }

    fn returns(&self, state: &usize, player: usize) -> f32 {
        self.outcome(state, player)
    }

    fn outcome(&self, state: &usize, player: usize) -> f32 {
        match self.node(state) {
            Node::End(results) => results[player],
            _ if !self.alive(state).contains(player) => -1.0,
            _ => 0.0,
        }
    }

    fn planes(&self) -> PlaneShape {
        PlaneShape { channels: 1, height: 1, width: 1 }
    }

    fn observe(&self, state: &usize, _player: usize, out: &mut [f32]) {
        out.fill(*state as f32);
    }

    fn render(&self, state: &usize) -> String {
        format!("{:?}\n", self.node(state))
    }

    fn action_name(&self, action: Action) -> String {
        ["up", "right", "down", "left"][action.index() & 3].to_owned()
    }
}
