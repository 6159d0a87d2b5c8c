//! `greedy`: a Battlesnake that goes for the nearest food along a survivable path.
//!
//! Moves are classified by danger, and only the least dangerous class is considered:
//!
//! 1. moves into room for the whole body, onto cells that no rival's head can enter;
//! 2. other moves into room for the whole body;
//! 3. other moves onto cells that no rival can enter;
//! 4. other moves that are not certain death;
//! 5. moves into the body of a rival that may be removed first, as when it starves.
//!
//! Within that class the player takes the first step of the cheapest path to food (A*). If no
//! path exists, it takes the move with the most reachable cells. Of the last class it takes the first
//! move.

mod route;

use ouro_game::battlesnake::{self, Battlesnake, Bits, Cell, State, WALL};
use ouro_game::{Action, Game};

use crate::game_specific::{BuildResult, build_for_game};
use crate::player::{Choice, Player, Request};
use crate::registry::{BuildContext, Options, PlayerSyntax};

use route::Router;

/// Syntax of the name.
pub(crate) const SYNTAX: PlayerSyntax =
    PlayerSyntax { name: "greedy", options: &[], defaults: &[], usage: &["greedy"] };

/// Builds a player for Battlesnake.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    let game = context.game;
    build_for_game(game, |_: &battlesnake::Small| Ok(Box::new(Greedy::new()) as Box<_>))
        .or_else(|| {
            build_for_game(game, |_: &battlesnake::Large| Ok(Box::new(Greedy::new()) as Box<_>))
        })
        .unwrap_or_else(|| Err(options.other_game::<G>(battlesnake::NAME)))
}

/// The greedy player. Deterministic.
#[derive(Debug, Default)]
pub struct Greedy {
    router: Router,
}

impl Greedy {
    /// A greedy snake.
    pub fn new() -> Self {
        Self::default()
    }

    /// The move of a living snake.
    fn decide<C: Cell, const W: usize, const S: usize>(
        &mut self,
        game: &Battlesnake<C, W, S>,
        state: &State<C, W, S>,
        snake: usize,
    ) -> u8 {
        let survivable = survivable(game, state, snake);
        self.router.survey(game, state);
        let room = self.room(game, state, snake, survivable);
        let length = u32::from(state.length(snake));
        let roomy = moves(|direction| room[direction] >= length) & survivable;
        let calm = survivable & !contested(game, state, snake);
        let kinds = [roomy & calm, roomy, calm, survivable];
        let Some(&open) = kinds.iter().find(|&&kind| kind != 0) else {
            let viable = game.viable_moves(state, snake);
            // If every move is certain death, any will do.
            return if viable == 0 { 0 } else { viable.trailing_zeros() as u8 };
        };
        let to_food = self.router.first_step_to_food(game, state, snake, open);
        to_food.unwrap_or_else(|| {
            let open = (0..4_u8).filter(|direction| open >> direction & 1 == 1);
            // Reversed, because `max_by_key` takes the last of equals.
            open.rev().max_by_key(|&direction| room[usize::from(direction)]).unwrap_or(0)
        })
    }

    /// Cells that can still be reached after each of `moves`.
    fn room<C: Cell, const W: usize, const S: usize>(
        &mut self,
        game: &Battlesnake<C, W, S>,
        state: &State<C, W, S>,
        snake: usize,
        moves: u8,
    ) -> [u32; 4] {
        let ahead = game.geometry().ahead(state.head(snake));
        std::array::from_fn(|direction| {
            if moves >> direction & 1 == 1 {
                self.router.room(game, ahead[direction].into())
            } else {
                0
            }
        })
    }
}

/// A set of moves from a test of each direction.
fn moves(test: impl Fn(usize) -> bool) -> u8 {
    (0..4).fold(0, |set, direction| set | u8::from(test(direction)) << direction)
}

/// Moves that the snake survives unless it collides with another head: no wall, body,
/// starvation or deadly hazard.
fn survivable<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    snake: usize,
) -> u8 {
    let ahead = game.geometry().ahead(state.head(snake));
    let health = i32::from(state.health(snake));
    let lives = |direction: usize| {
        let cell = usize::from(ahead[direction]);
        state.food_cells().contains(cell) || health > game.move_cost(state, cell)
    };
    let safe = game.safe_moves(state, snake);
    safe & moves(|direction| safe >> direction & 1 == 1 && lives(direction))
}

/// Moves onto cells that the head of a rival of the same length or longer can enter too.
fn contested<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    snake: usize,
) -> u8 {
    let mut heads = Bits::EMPTY;
    for rival in state.living().filter(|&rival| rival != snake) {
        if state.length(rival) >= state.length(snake) {
            heads.insert(state.head(rival));
        }
    }
    let reach = game.geometry().spread(heads);
    let ahead = game.geometry().ahead(state.head(snake));
    moves(|direction| ahead[direction] != WALL && reach.contains(ahead[direction].into()))
}

impl<C: Cell, const W: usize, const S: usize> Player<Battlesnake<C, W, S>> for Greedy {
    fn name(&self) -> &str {
        SYNTAX.name
    }

    fn choose(
        &mut self,
        game: &Battlesnake<C, W, S>,
        requests: &mut [Request<'_, Battlesnake<C, W, S>>],
        choices: &mut Vec<Choice>,
    ) {
        for request in requests {
            let direction = self.decide(game, request.state, request.player);
            choices.push(Choice { action: Action(direction.into()), probability: 1.0 });
        }
    }
}
