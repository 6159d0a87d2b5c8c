//! The player of Snake that never dies and never hurries: it follows one cycle through all
//! cells, for ever.
//!
//! A board of even side has such a cycle: up and down the rows from the second column on, and
//! back along the first. It runs through the snake of the start in the direction that this
//! heads. In positions from elsewhere, where the body does not lie on the cycle, the player takes
//! the legal action that leads least far along it.

use ouro_game::snake::{self, Snake, State};
use ouro_game::{Action, Game};

use crate::game_specific::{BuildResult, build_for_game};
use crate::registry::{BuildContext, Options, PlayerSyntax};
use crate::{Choice, Player, Request};

/// How it is written.
pub(crate) const SYNTAX: PlayerSyntax =
    PlayerSyntax { name: Hamiltonian::NAME, options: &[], usage: &[Hamiltonian::NAME] };

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
    /// Place of each cell along the cycle.
    places: Vec<usize>,
}

impl Hamiltonian {
    /// Its name, in the registry and in results.
    pub const NAME: &'static str = "hamiltonian";

    /// The player for boards of this side; none if it is odd, for then there is no cycle.
    pub fn new(size: usize) -> Option<Self> {
        if size == 0 || size % 2 == 1 {
            return None;
        }
        let cells = size * size;
        let mut places = vec![0; cells];
        let rows = (0..size).flat_map(|y| {
            let rightwards = y % 2 == 0;
            (1..size).map(move |x| (if rightwards { x } else { size - x }, y))
        });
        let back = (0..size).rev().map(|y| (0, y));
        for (place, (x, y)) in rows.chain(back).enumerate() {
            // The start heads right in the middle row; where that row runs left, all runs back.
            let backwards = size / 2 % 2 == 1;
            places[y * size + x] = if backwards { cells - 1 - place } else { place };
        }
        Some(Self { places })
    }

    /// The legal action that leads least far along the cycle.
    fn follow<const W: usize>(&self, game: &Snake<W>, state: &State<W>) -> Action {
        let cells = self.places.len();
        let place = |cell: usize| self.places.get(cell).copied().unwrap_or_default();
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
