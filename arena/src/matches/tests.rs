//! Matches in games for two players, four players and one player.

use std::collections::BTreeMap;
use std::ops::Range;

use ouro_game::{Action, GameConfig};
use ouro_net::Generation;
use ouro_rating::ClusterShape;
use serde_json::json;

use super::*;
use crate::player_id::{MatchKey, PlayerId};
use crate::showcase::LiveGame;
use crate::side::StoppedClock;

struct PlayedMatch {
    clusters: Vec<PlayedCluster>,
    live: Vec<LiveEvent>,
}

/// Some clusters of a match, until enough have ended.
struct SomeClusters<'a> {
    key: &'a MatchKey,
    clusters: Range<u32>,
    stop_after: usize,
    played: BTreeMap<u32, PlayedCluster>,
}

impl ClusterSource for SomeClusters<'_> {
    fn report(&mut self, ended: Vec<PlayedCluster>) -> ControlFlow<()> {
        self.played.extend(ended.into_iter().map(|one| (one.result.cluster, one)));
        match self.played.len() >= self.stop_after {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn take(&mut self, room: usize) -> Vec<SeededCluster> {
        let seeded = |cluster| SeededCluster { cluster, seed: self.key.seed(7, cluster) };
        self.clusters.by_ref().take(room).map(seeded).collect()
    }

    fn wait(&mut self) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

fn play(game: &str, clusters: Range<u32>, parallel: usize, stop_after: usize) -> PlayedMatch {
    play_opened(game, 2, clusters, parallel, stop_after)
}

fn play_opened(
    game: &str,
    opening_plies: u32,
    clusters: Range<u32>,
    parallel: usize,
    stop_after: usize,
) -> PlayedMatch {
    let config: GameConfig = serde_json::from_str(game).unwrap();
    let mut live = Vec::new();
    struct Seats;
    impl GameVisitor for Seats {
        type Output = usize;
        fn visit<G: Game>(self, game: G) -> usize {
            game.players()
        }
    }
    let shape = ClusterShape::of_seats(config.visit(Seats).unwrap());
    let key = MatchKey::gate(Generation(1), PlayerId::random());
    let random = || Side::Anchor("random".into());
    let mut source = SomeClusters { key: &key, clusters, stop_after, played: BTreeMap::new() };
    let visitor = PlayClusters {
        games: MatchGames { config: &config, key: &key, number: 3, shape },
        sides: [random(), random()],
        clock: StoppedClock::clock(),
        opening_plies,
        max_plies: 300,
        parallel,
        source: &mut source,
        live: &mut |event| live.push(event),
    };
    config.visit(visitor).unwrap().unwrap();
    PlayedMatch { clusters: source.played.into_values().collect(), live }
}

const TIC_TAC_TOE: &str = r#"{"game":"tic_tac_toe"}"#;

#[test]
fn results_do_not_depend_on_parallel_games() {
    let alone = play(TIC_TAC_TOE, 0..12, 1, usize::MAX).clusters;
    let numbers: Vec<u32> = alone.iter().map(|one| one.result.cluster).collect();
    assert_eq!(numbers, (0..12).collect::<Vec<_>>());
    assert_eq!(play(TIC_TAC_TOE, 0..12, 64, usize::MAX).clusters, alone);
    // Resumed in the middle.
    assert_eq!(play(TIC_TAC_TOE, 5..12, 4, usize::MAX).clusters, alone[5..]);
    assert!(alone.iter().any(|one| one.result.games[0] != one.result.games[1]));
}

#[test]
fn breaking_ends_the_match() {
    let some = play(TIC_TAC_TOE, 0..1_000, 8, 10).clusters;
    assert!((10..20).contains(&some.len()), "{}", some.len());
}

#[test]
fn both_games_of_a_pair_have_one_opening_and_swapped_seats_and_can_be_replayed() {
    for PlayedCluster { games, .. } in play(TIC_TAC_TOE, 0..20, 8, usize::MAX).clusters {
        let [first, second] = &games[..] else { panic!("{} games", games.len()) };
        assert_eq!(first.record.plies[..2], second.record.plies[..2]);
        assert_eq!(first.players[0], second.players[1]);
        assert_ne!(first.players[0], first.players[1]);
        first.record.verify().unwrap();
        second.record.verify().unwrap();
    }
}

/// A duel on 11x11 from a fixed position, whose first state is of turn `turn`. The snakes cannot meet
/// within three plies, and a quarter of their legal actions leads into their necks.
fn started(turn: u32) -> String {
    let snake = |x: u32| json!({"health": 90, "body": [[x, 4], [x, 5], [x, 6]]});
    let start = json!({"width": 11, "height": 11, "turn": turn, "food": [[5, 5]], "hazards": [],
        "snakes": [snake(1), snake(9)]});
    json!({"game": "battlesnake", "width": 11, "height": 11, "snakes": 2, "start": start})
        .to_string()
}

/// The actions of the first plies of every game.
fn openings(turn: u32, plies: u32) -> Vec<Vec<Vec<Action>>> {
    let played = play_opened(&started(turn), plies, 0..40, 8, usize::MAX).clusters;
    let games = played.into_iter().flat_map(|one| one.games);
    games.map(|game| game.record.plies.into_iter().take(plies as usize).collect()).collect()
}

#[test]
fn openings_leave_out_surely_fatal_actions() {
    assert!(openings(0, 3).iter().all(|plies| plies.len() == 3), "no game ends in its opening");
}

#[test]
fn a_game_that_starts_late_has_as_long_an_opening() {
    assert_eq!(openings(30, 3), openings(0, 3));
}

#[test]
fn four_snakes_play_a_round_with_the_candidate_at_every_seat() {
    let game = r#"{"game":"battlesnake","width":7,"height":7,"snakes":4}"#;
    let played = play(game, 0..3, 8, usize::MAX).clusters;
    assert_eq!(played.len(), 3);
    for PlayedCluster { result, games } in played {
        assert_eq!((result.games.len(), games.len()), (4, 4));
        assert_eq!(result.score().games(), 12);
        for (seat, game) in games.iter().enumerate() {
            let own = |player: &PlayerId| player.generation().is_some();
            assert_eq!(game.players.iter().position(own), Some(seat));
            assert_eq!(game.players.iter().filter(|player| own(player)).count(), 1);
        }
    }
}

#[test]
fn games_for_one_are_compared_by_score_on_the_same_seed() {
    let game = r#"{"game":"snake","size":4}"#;
    let played = play(game, 0..30, 8, usize::MAX).clusters;
    for PlayedCluster { result, games } in &played {
        let [first, second] = &games[..] else { panic!("{} games", games.len()) };
        assert_eq!(first.record.seed, second.record.seed);
        let margin = f64::from(first.scores[0]) - f64::from(second.scores[0]);
        let [only] = &result.games[..] else { panic!("one comparison a seed") };
        assert_eq!(only.margin, margin);
        let score = only.ranking.score();
        assert_eq!((score.wins, score.losses), (u32::from(margin > 0.0), u32::from(margin < 0.0)));
    }
    // Both draw from the generator of the only seat: equal players play equal games.
    assert!(played.iter().all(|one| one.result.score().draws == 1));
}

#[test]
fn the_showcase_reports_whole_games_move_by_move() {
    let PlayedMatch { clusters, live } = play(TIC_TAC_TOE, 0..6, 4, usize::MAX);
    let mut shown: Option<(LiveGame, Vec<Vec<ouro_game::Action>>)> = None;
    let mut whole = 0;
    for event in live {
        match event {
            LiveEvent::Started(game) => shown = Some((game, Vec::new())),
            LiveEvent::Moved { key, ply, actions } => {
                let (game, plies) = shown.as_mut().unwrap();
                assert_eq!((game.key, plies.len()), (key, ply as usize));
                plies.push(actions);
            }
            LiveEvent::Ended { key, outcomes } => {
                let (game, plies) = shown.take().unwrap();
                let cluster = &clusters[key.cluster as usize];
                let kept = &cluster.games[key.game as usize];
                assert_eq!((game.key, game.seed), (key, kept.record.seed));
                assert_eq!((&game.players, &outcomes), (&kept.players, &kept.outcomes));
                assert_eq!(plies, kept.record.plies);
                whole += 1;
            }
        }
    }
    assert!(whole >= 2, "{whole}");
}
