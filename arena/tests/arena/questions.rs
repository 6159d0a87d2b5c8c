//! Queries of an arena, and its events.

use ouro_arena::ArenaConfig;
use ouro_arena::config::MatchConfig;
use ouro_arena::store::Run;
use ouro_game::GameConfig;
use ouro_net::Generation;
use ouro_proto::arena_client::ArenaError as ClientError;
use ouro_proto::matches::{GameId, GateState, MatchKind};
use ouro_proto::news::NewsKind;
use ouro_rating::GateConfig;
use tonic::Code;

use super::running::{Running, config, strong, uniform, weights};

fn refused_as_missing<T: std::fmt::Debug>(answer: Result<T, ClientError>) {
    let error = answer.unwrap_err();
    assert!(matches!(error, ClientError::Refused { code: Code::NotFound, .. }), "{error}");
}

#[tokio::test]
async fn matches_games_and_decisions_can_be_queried() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start(folder.path()).await;
    refused_as_missing(arena.client.get_gate(None).await);
    arena.publish(0, strong(0)).await;
    arena.idle_after(0).await;
    arena.publish(1, uniform(1)).await;
    let client = &mut arena.client;
    // Ratings are emitted more than once meanwhile, so the test waits for the matches themselves.
    while client.list_matches(None, None, 0).await.unwrap().len() < 11 {
        tokio::task::yield_now().await;
    }

    let gate = client.get_gate(None).await.unwrap();
    assert_eq!((gate.candidate, gate.state), (Generation(1), GateState::Rejected));
    assert!(gate.explanation.contains("Rejected: "), "{}", gate.explanation);
    let [ratio, lower, upper] = gate.test.unwrap();
    assert!(ratio < 0.0 && lower < 0.0 && upper > 0.0);
    let gate = client.get_gate(Some(Generation(0))).await.unwrap();
    assert_eq!((gate.state, gate.champion), (GateState::Promoted, Some(("random".into(), 0))));
    refused_as_missing(client.get_gate(Some(Generation(7))).await);

    // Each was at the gate, and played random, minimax of three depths and the champion, which was
    // random for the first.
    let all = client.list_matches(None, None, 0).await.unwrap();
    assert_eq!(all.len(), 11);
    assert!(all.is_sorted_by_key(|row| std::cmp::Reverse(row.number)));
    let anchor = "minimax{depth=2}";
    let of_anchor = client.list_matches(Some(anchor), None, 0).await.unwrap();
    assert!(of_anchor.iter().all(|row| row.second == anchor && row.kind == MatchKind::Rating));
    assert_eq!(of_anchor.len(), 2);
    let earlier = client.list_matches(None, Some(3), 2).await.unwrap();
    assert_eq!(earlier.iter().map(|row| row.number).collect::<Vec<_>>(), [2, 1]);
    refused_as_missing(client.get_match(11).await);

    let (row, games) = client.get_match(0).await.unwrap();
    assert_eq!((row.first.as_str(), row.second.as_str()), ("generation-0", "random"));
    assert_eq!(row.wins_draws_losses.iter().sum::<u32>(), row.games);
    assert!(games.len() as u32 >= row.games);
    let game = client.get_game(games[1]).await.unwrap();
    game.record.verify().unwrap();
    assert_eq!((game.id, game.record.config.name()), (games[1], "tic_tac_toe"));
    let names: Vec<&str> = game.seats.iter().map(|seat| seat.player.as_str()).collect();
    assert_eq!(names, ["random", "generation-0"]);
    assert_eq!(game.seats[0].outcome, -game.seats[1].outcome);
    refused_as_missing(client.get_game(GameId { number: 0, cluster: 9_999, game: 0 }).await);

    // The two are equal until the games of the last match are rated.
    let contrast = loop {
        let contrast = client.compare_players("generation-0", "generation-1").await.unwrap();
        if contrast.elo[0] != 0.0 {
            break contrast;
        }
        tokio::task::yield_now().await;
    };
    assert!(contrast.elo[0] > 0.0 && contrast.superiority > 0.9, "{contrast:?}");
    refused_as_missing(client.compare_players("generation-0", "nobody").await);
    arena.stop().await;
}

#[tokio::test]
async fn watchers_receive_events_as_sentences_and_a_live_game() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start(folder.path()).await;
    let mut watch = arena.client.watch_events(true).await.unwrap();
    let mut quiet = arena.client.watch_events(false).await.unwrap();
    arena.publish(0, strong(0)).await;
    let (mut kinds, mut ended, mut moves) = (Vec::new(), 0, 0);
    let mut decided = String::new();
    while decided.is_empty() || ended == 0 {
        let news = watch.next().await.unwrap().unwrap();
        assert!(news.at == 1_000.0 && news.text.ends_with('.'), "{news:?}");
        match news.kind {
            NewsKind::Published(_) => kinds.push("published"),
            NewsKind::MatchStarted(_) => kinds.push("match"),
            NewsKind::GateProgress(gate) => {
                assert_eq!(gate.state, GateState::InProgress);
                kinds.push("progress");
            }
            NewsKind::Decided(_) => decided = news.text,
            NewsKind::RatingsChanged { games } => assert!(games > 0),
            NewsKind::GameStarted { players, .. } => {
                assert_eq!(players.len(), 2);
                moves = 0;
            }
            NewsKind::MovePlayed { ply, actions, .. } => {
                assert_eq!((ply, actions.len()), (moves, 1));
                moves += 1;
            }
            NewsKind::GameEnded { outcomes, .. } => {
                assert!(moves >= 5 && outcomes.len() == 2);
                ended += 1;
            }
        }
    }
    assert!(decided.starts_with("generation-0 took "), "{decided}");
    kinds.dedup();
    assert_eq!(kinds[..3], ["published", "match", "progress"]);
    // Without moves the stream has no events of the live game.
    while let Some(news) = quiet.next().await.unwrap() {
        assert!(!matches!(news.kind, NewsKind::MovePlayed { .. } | NewsKind::GameStarted { .. }));
        if matches!(news.kind, NewsKind::Decided(_)) {
            break;
        }
    }
    // Streams end when the arena stops, not at the end of the drain time.
    arena.stop.cancel();
    while watch.next().await.unwrap().is_some() {}
    drop((watch, quiet));
    arena.stop().await;
}

/// An arena for another game than tic-tac-toe.
fn arena_of(game: &str, folder: &std::path::Path, matches: MatchConfig) -> ArenaConfig {
    let game: GameConfig = serde_json::from_str(game).unwrap();
    let run = Run { game, seed: 3 };
    ArenaConfig { matches, ..ArenaConfig::new(run, folder) }
}

fn quick(games: u32) -> MatchConfig {
    MatchConfig {
        anchors: Some(vec!["greedy".into()]),
        anchor_games: 8,
        max_plies: 200,
        spare_share: 0.0,
        gate: GateConfig { games, ..GateConfig::default() },
        ..MatchConfig::default()
    }
}

#[tokio::test]
async fn four_snakes_meet_at_the_gate_in_rounds_and_are_rated_by_places() {
    let folder = tempfile::tempdir().unwrap();
    let game = r#"{"game":"battlesnake","width":7,"height":7,"snakes":4}"#;
    let config = arena_of(game, folder.path(), quick(40));
    let file = weights(&config.run.game, 0).to_safetensors();
    let mut arena = Running::start_with(config).await;
    let decision = arena.publish(0, file.into()).await;
    assert!(decision.explanation.contains("rounds of all seats"), "{}", decision.explanation);
    arena.idle_after(0).await;
    let (row, games) = arena.client.get_match(0).await.unwrap();
    // Three opponents in each game, four games on each seed.
    assert_eq!(row.wins_draws_losses.iter().sum::<u32>(), 3 * row.games);
    assert!(row.games % 4 == 0 && games.len().is_multiple_of(4));
    let game = arena.client.get_game(games[2]).await.unwrap();
    game.record.verify().unwrap();
    assert_eq!(game.seats[2].player, "generation-0");
    let ratings = arena.client.get_ratings().await.unwrap();
    assert!(
        ratings
            .ratings
            .iter()
            .all(|row| row.elo.is_finite() && row.elo_high > row.elo_low || row.player == "random")
    );
    arena.stop().await;
}

#[tokio::test]
async fn a_game_for_one_is_decided_by_the_scores_on_the_same_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let mut matches = quick(20);
    matches.anchors = Some(vec!["hamiltonian".into()]);
    let config = arena_of(r#"{"game":"snake","size":4}"#, folder.path(), matches);
    let file = weights(&config.run.game, 0).to_safetensors();
    let mut arena = Running::start_with(config).await;
    let decision = arena.publish(0, file.into()).await;
    let text = &decision.explanation;
    assert!(text.contains("seeds played by both"), "{text}");
    let (row, games) = arena.client.get_match(0).await.unwrap();
    // Each seed is played twice and counts once.
    assert!(games.len() as u32 >= 2 * row.games);
    arena.stop().await;
}

#[tokio::test]
async fn networks_may_search_for_their_moves() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    config.matches.player = "mcts{sims=16,weights=self}".into();
    config.matches.gate.games = 40;
    config.matches.opening_plies = None;
    let mut arena = Running::start_with(config).await;
    let decision = arena.publish(0, uniform(0)).await;
    // A search beats random even with a network that knows nothing.
    assert!(decision.promotion().is_some(), "{}", decision.explanation);
    arena.stop().await;
}

#[tokio::test]
async fn spare_games_are_played_while_no_candidate_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    config.matches.spare_share = 1.0;
    let mut arena = Running::start_with(config).await;
    // Nothing was published: the anchors play each other.
    arena.games_rated("minimax{depth=1}", 16).await;
    arena.publish(0, strong(0)).await;
    arena.idle_after(0).await;
    // A new player is less certain than the anchors.
    let rated = arena.client.get_ratings().await.unwrap();
    let row = rated.ratings.iter().find(|row| row.player == "generation-0").unwrap();
    arena.games_rated("generation-0", row.games + 8).await;
    arena.stop().await;
}
