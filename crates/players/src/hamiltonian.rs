//! `hamiltonian`: a player of Snake that follows one cycle through all cells and never dies.
//!
//! A board of even side has such a cycle: back and forth along the rows from the second column
//! on, and back along the first column. The cycle runs through the initial snake in its
//! direction. In other positions, where the body need not lie on the cycle, the player takes the
//! legal action that leads least far along the cycle.

use ouro_game::snake::{self, Snake, State};
use ouro_game::{Action, Game};

use crate::game_specific::{BuildResult, build_for_game};
use crate::player::{Choice, Player, Request};
use crate::registry::{BuildContext, Options, PlayerSyntax};

/// Syntax of the name.
pub(crate) const SYNTAX: PlayerSyntax = PlayerSyntax {
    name: Hamiltonian::NAME,
    options: &[],
    defaults: &[],
    usage: &[Hamiltonian::NAME],
};

/// Builds a player for Snake.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    fn seat<const W: usize>(game: &Snake<W>, options: &Options<'_>) -> BuildResult<Snake<W>> {
        let size = game.config().size;
        let player = Hamiltonian::new(size.into()).ok_or_else(|| {
            let problem = format!("a board of {size}x{size} has no cycle through all cells");
            options.unfit(problem, "use an even size")
        })?;
        Ok(Box::new(player))
    }
    let game = context.game;
    build_for_game(game, |game: &snake::Small| seat(game, &options))
        .or_else(|| build_for_game(game, |game: &snake::Large| seat(game, &options)))
        .unwrap_or_else(|| Err(options.other_game::<G>(snake::Small::NAME)))
}

/// Follows a fixed Hamiltonian cycle.
#[derive(Clone, Debug)]
pub struct Hamiltonian {
    /// Position of each cell along the cycle.
    order: Vec<usize>,
}

impl Hamiltonian {
    /// Name in the registry and in results.
    pub const NAME: &'static str = "hamiltonian";

    /// The player for boards of side `size`; `None` for an odd side, which has no cycle.
    pub fn new(size: usize) -> Option<Self> {
        if size == 0 || size % 2 == 1 {
            return None;
        }
        let cells = size * size;
        let mut order = vec![0; cells];
        let rows = (0..size).flat_map(|y| {
            let rightwards = y % 2 == 0;
            (1..size).map(move |x| (if rightwards { x } else { size - x }, y))
        });
        let back = (0..size).rev().map(|y| (0, y));
        for (place, (x, y)) in rows.chain(back).enumerate() {
            // The initial snake heads right in the middle row. If the cycle runs left there, it
            // is reversed.
            let backwards = size / 2 % 2 == 1;
            order[y * size + x] = if backwards { cells - 1 - place } else { place };
        }
        Some(Self { order })
    }

    /// The legal action that leads least far along the cycle.
    fn follow<const W: usize>(&self, game: &Snake<W>, state: &State<W>) -> Action {
        let cells = self.order.len();
        let place = |cell: usize| self.order.get(cell).copied().unwrap_or_default();
        let (head, moves) = (place(state.head()), game.free_moves(state));
        let way = |&direction: &usize| {
            (place(game.ahead(state.head(), direction)) + cells - head) % cells
        };
        let free = (0..4).filter(|direction| moves >> direction & 1 == 1);
        Action(free.min_by_key(way).unwrap_or_default() as u32)
    }
}

impl<const W: usize> Player<Snake<W>> for Hamiltonian {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn choose(
        &mut self,
        game: &Snake<W>,
        requests: &mut [Request<'_, Snake<W>>],
        choices: &mut Vec<Choice>,
    ) {
        for request in requests {
            let action = self.follow(game, request.state);
            choices.push(Choice { action, probability: 1.0 });
        }
    }
}
