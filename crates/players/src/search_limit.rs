//! Refuses players whose moves would take minutes or hours.
//!
//! A depth or a number of simulations limits the work of a move, but not its time. With a large network or
//! a mistyped number, a move blocks its thread for so long that the process can hardly be stopped.
//!
//! The limits are rough. A rollout counts as the same number of positions in every game, so `mcts` can still
//! take minutes for a move of a game with long rollouts.

use ouro_game::Game;
use ouro_net::NetSpec;
use ouro_search::mcts::MAX_SIMULATIONS;

use crate::network_heuristic::cost;
use crate::registry::{NameError, Options};
use crate::{mcts, minimax};

/// Most positions of a choice of `minimax` or `maxn`: a few seconds, since a position takes about a
/// microsecond. A choice visits more positions than are counted.
const MOST_POSITIONS: f64 = 1e6;

/// Most positions of a choice of `mcts`. All positions are counted, and batches are several times faster
/// than their estimate, which is that of a slow processor.
const MOST_SIMULATED: f64 = 1e8;

/// Positions that count for a rollout, however long the game is.
const ROLLOUT: f64 = 64.0;

/// Positions that count for a simulation without an evaluation: its walk down the tree.
const UNIFORM: f64 = 4.0;

/// Checks that a move of `minimax` or `maxn` with a depth, or of `mcts` with a number of simulations, does not
/// take minutes. Every other player passes.
///
/// `networks` returns the network of the weights with a name, if it is known. An evaluation by the network
/// counts as the positions that are visited in the same time.
///
/// # Errors
///
/// The depth or the number is too large for the game and the network, or the name is invalid.
pub fn check_search<G: Game>(
    game: &G,
    name: &str,
    networks: &dyn Fn(&str) -> Option<NetSpec>,
) -> Result<(), NameError> {
    let options = Options::parse(name)?;
    let player = options.player();
    if [minimax::SYNTAX.name, minimax::maxn::SYNTAX.name].contains(&player) {
        check_depth(game, &options, networks)
    } else if player == mcts::SYNTAX.name {
        check_simulations(game, &options, networks)
    } else {
        Ok(())
    }
}

fn check_depth<G: Game>(
    game: &G,
    options: &Options<'_>,
    networks: &dyn Fn(&str) -> Option<NetSpec>,
) -> Result<(), NameError> {
    let Some((turns, positions)) = minimax::least_positions(game, options)? else { return Ok(()) };
    // `maxn` evaluates a position once for every player.
    let is_maxn = options.player() == minimax::maxn::SYNTAX.name;
    let evaluations = if is_maxn { game.players() as f64 } else { 1.0 };
    let (most, with) = match network_cost(options, networks)? {
        Some(cost) => (MOST_POSITIONS / (cost * evaluations), " with this network"),
        None => (MOST_POSITIONS, ""),
    };
    // No depth is smaller than 1.
    if positions <= most || turns == 1 {
        return Ok(());
    }
    let remedy = format_args!(
        "a move of this game would visit about {positions:.0e} positions and may visit \
         {most:.0e}{with}; give a smaller depth"
    );
    Err(options.invalid("depth", turns, remedy))
}

fn check_simulations<G: Game>(
    game: &G,
    options: &Options<'_>,
    networks: &dyn Fn(&str) -> Option<NetSpec>,
) -> Result<(), NameError> {
    let Some(simulations) = options.number("sims", 1..=MAX_SIMULATIONS)? else { return Ok(()) };
    let positions = match network_cost(options, networks)? {
        // A leaf is evaluated at most once for every player.
        Some(cost) => cost * game.players() as f64,
        None if options.text("weights")? == Some("uniform") => UNIFORM,
        None => ROLLOUT,
    };
    let most = MOST_SIMULATED / positions;
    if f64::from(simulations) <= most {
        return Ok(());
    }
    let remedy = format_args!(
        "a move of this game may have about {most:.0e} simulations with this evaluation; give fewer"
    );
    Err(options.invalid("sims", simulations, remedy))
}

/// The time of an evaluation by the slowest network of a player, in positions; `None` without a network.
fn network_cost(
    options: &Options<'_>,
    networks: &dyn Fn(&str) -> Option<NetSpec>,
) -> Result<Option<f64>, NameError> {
    let mut slowest: Option<u32> = None;
    for key in ["weights", "duel"] {
        let network = options.text(key)?.and_then(networks);
        slowest = slowest.max(network.as_ref().map(cost));
    }
    Ok(slowest.map(f64::from))
}

#[cfg(test)]
mod tests {
    use ouro_game::battlesnake::{Config, Small};
    use ouro_net::{Architecture, ValueRange};

    use super::*;

    fn board(snakes: u8) -> Small {
        let config = Config { width: 7, height: 7, snakes, ..Config::default() };
        Small::new(config).unwrap()
    }

    /// A tower of 64 channels and 6 blocks.
    fn tower() -> NetSpec {
        let (game, architecture) = (board(2), "medium".parse().unwrap());
        NetSpec { planes: game.planes(), actions: game.action_count(), architecture }
    }

    /// A network whose evaluation takes as long as a position.
    fn small() -> NetSpec {
        let architecture = Architecture::Mlp { layers: 1, hidden: 8, value: ValueRange::Tanh };
        NetSpec { architecture, ..tower() }
    }

    /// Checks a player of a duel with these two networks.
    fn check(name: &str) -> Result<(), String> {
        check_among(2, name)
    }

    /// Checks a player of a game of so many snakes with these two networks.
    fn check_among(snakes: u8, name: &str) -> Result<(), String> {
        let networks = |weights: &str| match weights {
            "small" => Some(small()),
            "tower" => Some(tower()),
            _ => None,
        };
        check_search(&board(snakes), name, &networks).map_err(|error| error.to_string())
    }

    #[test]
    fn a_depth_fits_the_game_or_is_refused_with_a_smaller_one_as_the_remedy() {
        let check = |snakes, name| check_search(&board(snakes), name, &|_| None);
        for (snakes, name) in [
            (2, "minimax{depth=10}"),
            (4, "minimax{depth=3}"),
            (4, "minimax{depth=6,best_reply}"),
            (8, "maxn{depth=1}"),
            (8, "minimax{ms=100}"),
            (8, "random"),
        ] {
            assert!(check(snakes, name).is_ok(), "{name}");
        }
        for (snakes, name) in [
            (2, "minimax{depth=20}"),
            (4, "minimax{depth=6}"),
            (8, "maxn{depth=6}"),
            (4, "minimax{depth=12,best_reply}"),
        ] {
            let error = check(snakes, name).unwrap_err().to_string();
            assert!(error.contains(name) && error.ends_with("give a smaller depth"), "{error}");
        }
    }

    #[test]
    fn evaluations_of_a_network_count_as_many_positions_as_they_take_time() {
        for name in ["minimax{depth=10,weights=small}", "minimax{depth=2,weights=tower}"] {
            assert_eq!(check(name), Ok(()));
        }
        for name in
            ["minimax{depth=10,weights=tower}", "minimax{depth=10,weights=small,duel=tower}"]
        {
            let error = check(name).unwrap_err();
            assert!(error.ends_with(" with this network; give a smaller depth"), "{error}");
        }
    }

    #[test]
    fn the_smallest_depth_is_never_refused() {
        for player in ["minimax", "maxn"] {
            assert_eq!(check_among(8, &format!("{player}{{depth=1,weights=tower}}")), Ok(()));
            let error = check_among(8, &format!("{player}{{depth=2,weights=tower}}")).unwrap_err();
            assert!(error.ends_with(" with this network; give a smaller depth"), "{error}");
        }
    }

    #[test]
    fn simulations_are_limited_by_the_cost_of_their_evaluation() {
        for name in [
            "mcts{sims=100000}",
            "mcts{sims=100000,weights=guided}",
            "mcts{sims=10000000,weights=uniform}",
            "mcts{sims=800,weights=tower}",
            "mcts{ms=100,weights=tower}",
        ] {
            assert_eq!(check(name), Ok(()));
        }
        for name in [
            "mcts{sims=268435456}",
            "mcts{sims=268435456,weights=uniform}",
            "mcts{sims=100000000,weights=uniform}",
            "mcts{sims=10000000}",
            "mcts{sims=100000,weights=tower}",
        ] {
            let error = check(name).unwrap_err();
            assert!(error.contains("option sims is ") && error.ends_with("give fewer"), "{error}");
        }
    }
}
