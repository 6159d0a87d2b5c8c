//! A way to solve a board, by name: a complete method of the solver, or tree search.

use std::sync::Arc;

use ouro_game::maze_dash::{Board, Config, Direction, MazeDash, Solution};
use ouro_game::{Game, Rng, Turn};
use ouro_maze::{Answer, Limits, Method};
use ouro_players::{BuildContext, Choice, Player, Request, by_name};

use crate::clock::WallClock;
use crate::failure::Failure;

/// Simulations per decision in the first game of tree search. Each further game has twice as many.
const FIRST_SIMULATIONS: u32 = 64;
/// Most simulations per decision.
const MOST_SIMULATIONS: u32 = 1 << 20;
/// The name of tree search.
const MCTS: &str = "mcts";

/// A way to solve a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approach {
    /// A method that finds a path or a proof, given enough time.
    Complete(Method),
    /// The player `mcts` with rollouts, game after game until one visits every cell.
    Mcts,
}

impl Approach {
    /// All approaches, the best first.
    pub(super) fn all() -> Vec<Self> {
        Method::ALL.into_iter().map(Self::Complete).chain([Self::Mcts]).collect()
    }

    /// The name on the command line and in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Complete(method) => method.name(),
            Self::Mcts => MCTS,
        }
    }

    /// Parses a name.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let known = || Self::all().into_iter().map(Self::name).collect::<Vec<_>>().join(", ");
        let found = Self::all().into_iter().find(|approach| approach.name() == name);
        found.ok_or_else(|| format!("no method has this name; known are {}", known()))
    }

    /// A solution of a board that has one; `None` if `goes_on` ended the search.
    pub(super) fn solve(
        self,
        board: &Board,
        limits: Limits,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Solution>, Failure> {
        match self {
            Self::Complete(method) => match method.solve(board, limits, &|_| goes_on()).answer {
                Answer::Path(path) => Ok(Some(Solution::from_path(board, &path))),
                Answer::Stopped => Ok(None),
                Answer::NoSolution => {
                    let name = method.name();
                    Err(Failure::bug(format_args!("{name} refutes a board that has a solution")))
                }
            },
            Self::Mcts => play_until_solved(board, limits.seed, goes_on),
        }
    }
}

/// Plays games of tree search until one is solved.
fn play_until_solved(
    board: &Board,
    seed: u64,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Solution>, Failure> {
    let config = Config { board: Some(board.to_line()), ..Config::default() };
    let game = MazeDash::new(config).map_err(Failure::bug)?;
    let mut simulations = FIRST_SIMULATIONS;
    for attempt in 0.. {
        let name = format!("{MCTS}{{sims={simulations}}}");
        let clock = Arc::new(WallClock::default());
        let mut context = BuildContext { game: &game, engines: &mut |_| None, clock };
        let mut player = by_name(&name, &mut context).map_err(Failure::bug)?;
        let rng = Rng::indexed(seed, "maze dash games", attempt);
        match play(&game, board, player.as_mut(), rng, goes_on)? {
            Ended::Solved(solution) => return Ok(Some(solution)),
            Ended::Failed => simulations = (2 * simulations).min(MOST_SIMULATIONS),
            Ended::Stopped => return Ok(None),
        }
    }
    Ok(None)
}

/// How a game of tree search ended.
enum Ended {
    Solved(Solution),
    Failed,
    Stopped,
}

fn play(
    game: &MazeDash,
    board: &Board,
    player: &mut dyn Player<MazeDash>,
    mut rng: Rng,
    goes_on: &dyn Fn() -> bool,
) -> Result<Ended, Failure> {
    let mut state = game.initial(&mut rng);
    let mut start = board.start();
    let (mut moves, mut choices) = (Vec::new(), Vec::new());
    while game.turn(&state) != Turn::Over {
        if !goes_on() {
            return Ok(Ended::Stopped);
        }
        choices.clear();
        let request = Request { state: &state, player: 0, rng: &mut rng, game: Some(0) };
        player.choose(game, &mut [request], &mut choices);
        let Some(&Choice { action, .. }) = choices.first() else {
            return Err(Failure::bug("tree search chose no action"));
        };
        // The actions after the directions are the cells of a free start.
        match Direction::ALL.get(action.index()) {
            Some(&direction) => moves.push(direction),
            None => start = action.index().checked_sub(Direction::ALL.len()),
        }
        game.step(&mut state, &[action]).map_err(Failure::bug)?;
    }
    if state.visited() < state.cells() {
        return Ok(Ended::Failed);
    }
    let start = start.unwrap_or_default();
    let (x, y) = (start % board.width(), board.height() - 1 - start / board.width());
    Ok(Ended::Solved(Solution { x, y, moves, decisions_only: false }))
}
