//! Checks that a configuration can be played.

use std::sync::Arc;

use ouro_game::{Game, GameConfig, GameVisitor, Rng};
use ouro_net::NetSpec;
use ouro_players::minimax::largest_tree;
use ouro_players::{NameError, check_search, smallest_network};
use ouro_proto::text::brief;
use ouro_rating::{ClusterShape, GateConfigError};
use ouro_settings::{MatchConfig, SettingError, check_gate};

use crate::player_id::{ANCHOR, LONGEST_NAME, PlayerId};
use crate::side::{SELF, Side, StoppedClock};
use crate::store::WeightsError;

/// The default anchors, each with the depth of its search. Anchors that a game does not support are
/// skipped.
const USUAL_ANCHORS: [(&str, Option<u32>); 4] = [
    ("greedy", None),
    ("minimax{depth=1}", Some(1)),
    ("minimax{depth=2}", Some(2)),
    ("minimax{depth=4}", Some(4)),
];

/// Most positions of the tree of a default anchor, without pruning. A tree of this size takes about
/// a tenth of a second.
///
/// A search takes hours with many snakes, or where chance has many outcomes in every turn.
const MOST_POSITIONS: f64 = 262_144.0;

/// Minimum number of distinct openings in a game with a fixed start position.
///
/// Deterministic players repeat their game after the same opening, and repeated games do not count.
const OPENINGS: usize = 64;

/// Number of seeds that are compared to detect a fixed start position. Random start positions are
/// very unlikely to be equal for all of these seeds.
const SEEDS: u64 = 8;

/// Error in a configuration. Messages name the key, the value and a valid value.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The promotion rule of an earlier match is invalid.
    #[error("arena.{0}")]
    Gate(#[from] GateConfigError),
    /// A setting is invalid.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The program knows no object stores.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A name does not denote a player of this game.
    #[error("arena.{key} names a player that cannot play here: {error}")]
    Player {
        /// The key.
        key: &'static str,
        /// The problem with the name.
        error: NameError,
    },
    /// The player does not use the weights of the candidate.
    #[error(
        "arena.player is {0:?}, which plays without the candidate's weights; write weights=self"
    )]
    Weightless(String),
    /// An anchor that the log of results cannot name.
    #[error(
        "arena.anchors names {0}, which is too long or has a control character; write the player \
         in one line of at most {LONGEST_NAME} bytes"
    )]
    LongAnchor(String),
}

/// Values that follow from a configuration and its game.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checked {
    /// Size of a cluster.
    pub(crate) shape: ClusterShape,
    /// Names of the anchors, `random` first.
    pub(crate) anchors: Vec<Arc<str>>,
    /// Random plies at the start of each game.
    pub(crate) opening_plies: u32,
}

/// Validates every field for a game, and the player for the network `net` of the run. Without it, the
/// player is built with a network that estimates outcomes.
pub(crate) fn check(
    config: &MatchConfig,
    game: &GameConfig,
    net: Option<&NetSpec>,
) -> Result<Checked, ConfigError> {
    config.validate()?;
    let checked = game.visit(Players { config, net }).map_err(SettingError::of_game)??;
    check_gate(&config.gate, checked.shape)?;
    Ok(checked)
}

/// Builds every player once to validate its name.
struct Players<'a> {
    config: &'a MatchConfig,
    net: Option<&'a NetSpec>,
}

impl GameVisitor for Players<'_> {
    type Output = Result<Checked, ConfigError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let MatchConfig { player, anchors, opening_plies, max_plies, .. } = self.config;
        let refused = |key| move |error| ConfigError::Player { key, error };
        let used = std::cell::Cell::new(false);
        let built = || {
            let engine = smallest_network(&game, self.net)?;
            let template = Side::Network { player: player.as_str().into(), engine };
            template.build(&game, &StoppedClock::clock(), &|| used.set(true))?;
            let network = |weights: &str| self.net.filter(|_| weights == SELF).cloned();
            check_search(&game, player, &network)
        };
        built().map_err(refused("player"))?;
        if !used.get() {
            return Err(ConfigError::Weightless(player.clone()));
        }
        let mut names: Vec<Arc<str>> = vec![ANCHOR.into()];
        let seat = |name: &str| {
            let built = Side::Anchor(name.into()).build(&game, &StoppedClock::clock(), &|| {});
            built.map(drop)
        };
        match anchors {
            Some(written) => {
                for name in written {
                    let fits = seat(name).and_then(|()| check_search(&game, name, &|_| None));
                    fits.map_err(refused("anchors"))?;
                    if name.parse::<PlayerId>().is_err() {
                        return Err(ConfigError::LongAnchor(brief(name)));
                    }
                    if !names.iter().any(|known| **known == **name) {
                        names.push(name.as_str().into());
                    }
                }
            }
            None => {
                let fits = |&&(name, depth): &&(&str, Option<u32>)| {
                    seat(name).is_ok()
                        && depth.is_none_or(|turns| largest_tree(&game, turns) <= MOST_POSITIONS)
                };
                let usual = USUAL_ANCHORS.iter().filter(fits);
                names.extend(usual.map(|&(name, _)| Arc::<str>::from(name)));
            }
        }
        let opening_plies = opening_plies.unwrap_or_else(|| usual_opening_plies(&game));
        // A written number was compared already.
        if opening_plies as usize >= *max_plies {
            let remedy = format!(
                "games of {} begin with {opening_plies} random plies; give more, or set \
                 arena.opening_plies",
                G::NAME
            );
            return Err(SettingError::new("arena.max_plies", max_plies, remedy).into());
        }
        Ok(Checked { shape: ClusterShape::of_seats(game.players()), anchors: names, opening_plies })
    }
}

/// Default opening plies: 0 if the start position varies, otherwise the fewest plies with at least
/// [`OPENINGS`] openings.
fn usual_opening_plies<G: Game>(game: &G) -> u32 {
    if !always_starts_alike(game) {
        return 0;
    }
    let actions = game.action_count().max(2);
    let (mut plies, mut openings) = (0, 1_usize);
    while openings < OPENINGS {
        openings *= actions;
        plies += 1;
    }
    plies
}

/// Whether every compared seed gives the same start position.
fn always_starts_alike<G: Game>(game: &G) -> bool {
    let start = |seed| {
        let mut rng = Rng::new(seed, ouro_game::record::GAME_RNG);
        let mut state = game.initial(&mut rng);
        game.settle(&mut state, &mut rng);
        game.digest(&state)
    };
    let first = start(0);
    (1..SEEDS).all(|seed| start(seed) == first)
}

#[cfg(test)]
mod tests {
    use ouro_net::{Architecture, ValueRange};
    use ouro_testkit::network::net_spec;

    use super::*;

    fn checked(game: &str) -> Checked {
        let game = serde_json::from_str(game).unwrap();
        check(&MatchConfig::default(), &game, None).unwrap()
    }

    #[test]
    fn every_game_has_the_anchors_and_openings_that_suit_it() {
        let names = |checked: &Checked| -> Vec<String> {
            checked.anchors.iter().map(|name| name.to_string()).collect()
        };
        let duel = checked(r#"{"game":"battlesnake","width":7,"height":7,"snakes":2}"#);
        let minimax = ["minimax{depth=1}", "minimax{depth=2}", "minimax{depth=4}"];
        assert_eq!(names(&duel), [&["random", "greedy"][..], &minimax].concat());
        let four = checked(r#"{"game":"battlesnake","width":11,"height":11,"snakes":4}"#);
        assert_eq!(names(&four), [&["random", "greedy"][..], &minimax[..2]].concat());
        let eight = checked(r#"{"game":"battlesnake","width":19,"height":19,"snakes":8}"#);
        assert_eq!(names(&eight), ["random", "greedy", "minimax{depth=1}"]);
        let crowd = checked(r#"{"game":"battlesnake","width":19,"height":19,"snakes":16}"#);
        assert_eq!(names(&crowd), ["random", "greedy"]);
        // The start cells of snakes vary with the seed.
        assert_eq!((duel.shape, duel.opening_plies), (ClusterShape { seats: 2 }, 0));
        let connect_four = checked(r#"{"game":"connect_four"}"#);
        assert_eq!(names(&connect_four), [&["random"][..], &minimax].concat());
        assert_eq!(connect_four.opening_plies, 3);
        assert_eq!(checked(r#"{"game":"tic_tac_toe"}"#).opening_plies, 2);
        // Chance has a hundred outcomes in every turn of the official game.
        let against_chef =
            checked(r#"{"game":"snakgame","mode":"official","rows":10,"columns":10}"#);
        assert_eq!(names(&against_chef), ["random", "minimax{depth=1}"]);
        let duel = checked(
            r#"{"game":"snakgame","mode":"duel","rows":10,"columns":10,"new_snakes":"when_stuck"}"#,
        );
        assert_eq!(names(&duel), [&["random"][..], &minimax].concat());
        let snake = checked(r#"{"game":"snake","size":6}"#);
        assert_eq!(names(&snake), [&["random"][..], &minimax].concat());
        assert_eq!((snake.shape, snake.opening_plies), (ClusterShape { seats: 1 }, 0));
    }

    #[test]
    fn games_that_end_within_their_usual_opening_are_refused_by_their_limit() {
        let limited = |game: &str, max_plies: usize, opening_plies: Option<u32>| {
            let game = serde_json::from_str(game).unwrap();
            let config = MatchConfig { max_plies, opening_plies, ..MatchConfig::default() };
            check(&config, &game, None).map(|checked| checked.opening_plies)
        };
        for (game, opening) in [("tic_tac_toe", 2), ("connect_four", 3)] {
            let config = format!("{{\"game\":\"{game}\"}}");
            let error = limited(&config, opening as usize, None).unwrap_err().to_string();
            let expected = format!("arena.max_plies is {opening}; games of {game} begin with");
            assert!(error.starts_with(&expected), "{error}");
            assert!(error.ends_with("give more, or set arena.opening_plies"), "{error}");
            assert_eq!(limited(&config, opening as usize + 1, None).unwrap(), opening);
            assert_eq!(limited(&config, opening as usize, Some(1)).unwrap(), 1);
        }
        // The start positions of snakes vary, so their games begin with none.
        let duel = r#"{"game":"battlesnake","width":7,"height":7,"snakes":2}"#;
        assert_eq!(limited(duel, 1, None).unwrap(), 0);
    }

    #[test]
    fn an_anchor_that_would_search_for_hours_is_refused_with_its_key() {
        let game = r#"{"game":"battlesnake","width":19,"height":19,"snakes":16}"#;
        let game = serde_json::from_str(game).unwrap();
        let anchors = Some(vec!["minimax{depth=6}".to_owned()]);
        let config = MatchConfig { anchors, ..MatchConfig::default() };
        let text = check(&config, &game, None).unwrap_err().to_string();
        assert!(text.starts_with("arena.anchors ") && text.contains("smaller depth"), "{text}");
    }

    #[test]
    fn an_anchor_whose_name_the_log_could_not_read_is_refused() {
        let game = serde_json::from_str(r#"{"game":"tic_tac_toe"}"#).unwrap();
        let of_length = |length: usize| {
            let (start, end) = ("minimax{depth=", "1}");
            let zeros = "0".repeat(length - start.len() - end.len());
            let anchors = Some(vec![format!("{start}{zeros}{end}")]);
            check(&MatchConfig { anchors, ..MatchConfig::default() }, &game, None)
        };
        assert_eq!(of_length(LONGEST_NAME).unwrap().anchors.len(), 2);
        let text = of_length(LONGEST_NAME + 1).unwrap_err().to_string();
        assert!(text.starts_with("arena.anchors ") && text.contains("200 bytes"), "{text}");
    }

    /// Checks a player of the arena in a run whose network has values of this range.
    fn check_player(game: &str, player: &str, value: ValueRange) -> Result<(), String> {
        let game: GameConfig = serde_json::from_str(game).unwrap();
        let net = net_spec(&game, Architecture::Mlp { layers: 1, hidden: 8, value });
        let config = MatchConfig { player: player.to_owned(), ..MatchConfig::default() };
        check(&config, &game, Some(&net)).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn the_player_is_checked_with_the_values_of_the_runs_network() {
        let (two, one) = (r#"{"game":"tic_tac_toe"}"#, r#"{"game":"maze_dash"}"#);
        let drawing = "mcts{sims=8,weights=self,draw=-0.5}";
        assert_eq!(check_player(two, drawing, ValueRange::Tanh), Ok(()));
        let error = check_player(two, drawing, ValueRange::Unbounded).unwrap_err();
        assert!(error.starts_with("arena.player ") && error.contains("option draw"), "{error}");
        let comparing = "minimax{depth=2,weights=self}";
        assert_eq!(check_player(one, comparing, ValueRange::Tanh), Ok(()));
        let error = check_player(one, comparing, ValueRange::Unbounded).unwrap_err();
        assert!(error.starts_with("arena.player ") && error.contains("returns"), "{error}");
    }

    #[test]
    fn a_board_that_no_network_reads_is_an_error() {
        let game =
            serde_json::from_str(r#"{"game":"snakgame","mode":"duel","rows":255,"columns":10}"#);
        let error = check(&MatchConfig::default(), &game.unwrap(), None).unwrap_err().to_string();
        assert!(error.contains("planes.height is 255; it must be 1 to 64"), "{error}");
        assert!(error.ends_with("choose a smaller board"), "{error}");
    }
}
