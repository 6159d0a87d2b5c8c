//! Honest results are accepted as they were played, and every forged one is refused by reason.

use std::ops::ControlFlow;

use ouro_game::{Action, GameConfig};
use ouro_net::Generation;
use ouro_rating::ClusterShape;

use super::*;
use crate::matches::{ClusterSource, PlayClusters};
use crate::player_id::{MatchKey, PlayerId};
use crate::side::{Side, StoppedClock};

const MAX_PLIES: usize = 60;

/// A match between random players.
struct Match {
    game: GameConfig,
    key: MatchKey,
    shape: ClusterShape,
}

/// Plays one cluster.
struct Once(Option<SeededCluster>, Option<PlayedCluster>);

impl ClusterSource for Once {
    fn report(&mut self, mut ended: Vec<PlayedCluster>) -> ControlFlow<()> {
        self.1 = ended.pop().or(self.1.take());
        ControlFlow::Continue(())
    }

    fn take(&mut self, _: usize) -> Vec<SeededCluster> {
        self.0.take().into_iter().collect()
    }

    fn wait(&mut self) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// Plays one cluster between random players.
pub(crate) fn play(
    games: MatchGames<'_>,
    cluster: SeededCluster,
    max_plies: usize,
) -> PlayedCluster {
    let random = || Side::Anchor("random".into());
    let mut source = Once(Some(cluster), None);
    let visitor = PlayClusters {
        games,
        sides: [random(), random()],
        clock: StoppedClock::clock(),
        opening_plies: 1,
        max_plies,
        parallel: 8,
        source: &mut source,
        live: &mut |_| {},
    };
    games.config.visit(visitor).unwrap().unwrap();
    source.1.unwrap()
}

impl Match {
    fn new(game: &str, seats: u32) -> Self {
        let game = serde_json::from_str(game).unwrap();
        let key = MatchKey::gate(Generation(1), PlayerId::random());
        Self { game, key, shape: ClusterShape { seats } }
    }

    fn games(&self) -> MatchGames<'_> {
        MatchGames { config: &self.game, key: &self.key, number: 3, shape: self.shape }
    }

    fn seeded(&self, cluster: u32) -> SeededCluster {
        SeededCluster { cluster, seed: self.key.seed(7, cluster) }
    }

    fn play(&self, cluster: u32) -> PlayedCluster {
        play(self.games(), self.seeded(cluster), MAX_PLIES)
    }

    fn verify(&self, cluster: u32, text: &[u8]) -> Result<PlayedCluster, ResultError> {
        let (games, cluster) = (self.games(), self.seeded(cluster));
        let visitor = VerifyCluster { games, cluster, max_plies: MAX_PLIES, text };
        self.game.visit(visitor).unwrap()
    }
}

fn text(cluster: u32, games: Vec<StoredGame>) -> Vec<u8> {
    serde_json::to_vec(&JobResult { number: 3, cluster, games }).unwrap()
}

#[test]
fn an_honest_result_is_what_the_arena_would_have_played() {
    for (game, seats) in [
        (r#"{"game":"tic_tac_toe"}"#, 2),
        (r#"{"game":"battlesnake","width":7,"height":7,"snakes":4}"#, 4),
        (r#"{"game":"battlesnake","width":11,"height":11,"snakes":2}"#, 2),
        // Most of these games are cut short.
        (r#"{"game":"snake","size":6}"#, 1),
        (r#"{"game":"connect_four"}"#, 2),
    ] {
        let own = Match::new(game, seats);
        for cluster in 0..20 {
            let played = own.play(cluster);
            let result = text(cluster, played.games.clone());
            assert_eq!(own.verify(cluster, &result), Ok(played), "{game}");
        }
    }
}

#[test]
fn forged_results_are_refused_by_reason() {
    let own = Match::new(r#"{"game":"tic_tac_toe"}"#, 2);
    let other = Match::new(r#"{"game":"connect_four"}"#, 2);
    let (games, foreign) = (own.play(5).games, other.play(5).games);
    // In this game the candidate loses, so its worker has a reason to lie.
    let (loser, lost) = games
        .iter()
        .enumerate()
        .find_map(|(index, game)| {
            let seat = game.players.iter().position(|player| player.generation().is_some())?;
            (game.outcomes[seat] < 1.0).then_some((index, seat))
        })
        .unwrap();
    type Forge<'a> = &'a dyn Fn(&mut Vec<StoredGame>);
    let cases: [(&str, Forge<'_>); 17] = [
        ("it has 1 games; a cluster has 2", &|games| drop(games.pop())),
        ("it has 3 games", &|games| games.push(games[0].clone())),
        ("it claims another outcome", &|games| {
            games[loser].outcomes[lost] = 1.0;
            games[loser].outcomes[1 - lost] = -1.0;
        }),
        ("it claims another outcome", &|games| games[loser].outcomes.clear()),
        ("it claims another score", &|games| games[loser].scores[lost] += 1.0),
        ("it claims another end", &|games| games[0].truncated = true),
        ("game 0: seating is not that of the match", &|games| games.swap(0, 1)),
        ("game 1: seating", &|games| games[1].players.reverse()),
        ("game 1: seating", &|games| games[1] = games[0].clone()),
        ("game 0: seating", &|games| games[0].players[0] = PlayerId::from(Generation(9))),
        ("game 0: seed is not", &|games| games[0].record.seed += 1),
        ("game 0: game is not", &|games| games[0].record = foreign[0].record.clone()),
        ("game 0: version is not", &|games| games[0].record.version = 0),
        ("it has 4 plies and is not over", &|games| {
            games[0].record.plies.truncate(4);
            games[0].record.digests.truncate(5);
        }),
        ("record has 2 digests", &|games| games[0].record.digests.truncate(2)),
        ("ply 1: action", &|games| games[0].record.plies[1] = games[0].record.plies[0].clone()),
        ("ply 0: action 4000 of seat 0 is not legal", &|games| {
            games[0].record.plies[0] = vec![Action(4_000)];
        }),
    ];
    for (said, forge) in cases {
        let mut forged = games.clone();
        forge(&mut forged);
        let error = own.verify(5, &text(5, forged)).unwrap_err().to_string();
        assert!(error.contains(said), "{said:?} is not in {error:?}");
    }
    // A move that is legal but was not played changes every later digest.
    let mut changed = games.clone();
    let ply = &mut changed[0].record.plies[0];
    *ply = vec![Action((ply[0].0 + 1) % 9)];
    let error = own.verify(5, &text(5, changed)).unwrap_err();
    assert!(matches!(error, ResultError::Game { game: 0, .. }), "{error}");
}

#[test]
fn results_of_other_clusters_and_texts_that_are_no_results_are_refused() {
    let own = Match::new(r#"{"game":"tic_tac_toe"}"#, 2);
    let games = own.play(5).games;
    // Another cluster has another seed, even if it claims the right number.
    let error = own.verify(6, &text(6, games.clone())).unwrap_err().to_string();
    assert!(error.contains("seed"), "{error}");
    let error = own.verify(6, &text(5, games.clone())).unwrap_err();
    assert_eq!(error, ResultError::OtherCluster(5));
    let old = serde_json::to_vec(&JobResult { number: 2, cluster: 6, games }).unwrap();
    assert_eq!(own.verify(6, &old), Err(ResultError::OtherMatch(2)));
    for text in
        [&b""[..], b"{}", b"[1", b"\xff\xfe", b"{\"number\":3,\"cluster\":6,\"games\":[{}]}"]
    {
        let error = own.verify(6, text).unwrap_err();
        assert!(matches!(error, ResultError::Unreadable(_)), "{error}");
    }
    let text = b"{\"number\":3,\"cluster\":6,\"a\\nb\":0}";
    let error = own.verify(6, text).unwrap_err().to_string();
    assert!(error.contains("unknown field `a\\nb`"), "{error}");
    let huge = vec![b' '; 1 << 20];
    assert!(matches!(own.verify(6, &huge), Err(ResultError::Size { .. })));
}
