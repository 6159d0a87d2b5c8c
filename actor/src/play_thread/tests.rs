//! Panics, waves and the end of a drain.

use ouro_game::tic_tac_toe::TicTacToe;
use ouro_net::Generation;
use ouro_proto::trajectory::MAX_MESSAGE_BYTES;
use ouro_settings::{DemonstrationConfig, exploring};

use super::*;
use crate::testing::{config, roster, settings};

/// A thread with `parallel` games of tic-tac-toe at once, which drops them at the halt.
fn thread_of(
    parallel: usize,
    roster: watch::Receiver<Option<Arc<Roster>>>,
    games: mpsc::Sender<FinishedGame>,
) -> PlayThread {
    PlayThread {
        config: Arc::new(config()),
        settings: settings(parallel),
        roster,
        games,
        counters: Arc::default(),
        halt: CancellationToken::new(),
        closed: CancellationToken::new(),
        finish_games: false,
        waves: None,
        max_message_bytes: MAX_MESSAGE_BYTES,
    }
}

#[tokio::test]
async fn a_playing_thread_that_panics_stops_its_actor() {
    let halt = CancellationToken::new();
    let (_rosters, roster) = watch::channel(Some(Arc::new(roster(1, &[]))));
    let (sender, _games) = mpsc::channel(1);
    let playing = PlayThread { halt: halt.clone(), ..thread_of(1, roster, sender) };
    // A blocking send inside a runtime panics, so the thread panics during play.
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| playing.run()));
    assert!(ended.is_err());
    assert!(halt.is_cancelled());
}

#[test]
fn a_wave_has_every_number_even_if_some_games_have_nothing_to_learn() {
    // No game of tic-tac-toe ends in four plies, and only networks estimate an outcome.
    let shown = |players: &[&str]| WorkerSettings {
        max_plies: 4,
        search: Some(exploring(8, 2)),
        demonstrations: DemonstrationConfig {
            players: players.iter().map(|&player| player.to_owned()).collect(),
            share: 1.0,
            ..DemonstrationConfig::default()
        },
        ..settings(3)
    };
    let play = |settings: WorkerSettings| {
        let (_rosters, rosters) = watch::channel(None);
        let playing =
            PlayThread { settings: settings.clone(), ..thread_of(3, rosters, mpsc::channel(1).0) };
        let mut worker = Worker::new(TicTacToe::default(), Arc::new(config()), settings).unwrap();
        let wave = playing.play_wave(&mut worker, 5..45, &roster(1, &[]));
        wave.map(|wave| wave.expect("no halt"))
    };
    let either = shown(&["minimax{depth=2,weights=self}", "minimax{depth=2}"]);
    let mut once = Worker::new(TicTacToe::default(), Arc::new(config()), either.clone()).unwrap();
    once.play_only(5..45, 0);
    let mut kept = 0;
    while !once.is_done() {
        kept += once.tick(&roster(1, &[])).unwrap().len();
    }
    assert!((20..40).contains(&kept), "{kept} of 40 games have something to learn");
    let wave = play(either.clone()).unwrap();
    assert!(wave.keys().copied().eq(5..45));
    let trajectories = |wave: BTreeMap<u64, FinishedGame>| -> Vec<_> {
        wave.into_values().map(|game| game.trajectory).collect()
    };
    assert_eq!(trajectories(play(either).unwrap()), trajectories(wave));
    let error = play(shown(&["minimax{depth=9}"])).unwrap_err();
    let expected = "game 5 had nothing to learn from in 32 attempts";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn a_game_of_a_wave_that_is_too_long_to_be_sent_ends_the_actor_before_any_is_sent() {
    let play = |max_message_bytes| {
        let halt = CancellationToken::new();
        let ready = Roster { revision: Some(1), ..roster(1, &[]) };
        let (_rosters, roster) = watch::channel(Some(Arc::new(ready)));
        let (sender, mut games) = mpsc::channel(3);
        let (orders, waves) = std::sync::mpsc::channel();
        let playing = PlayThread {
            halt: halt.clone(),
            waves: Some(waves),
            max_message_bytes,
            ..thread_of(3, roster, sender)
        };
        orders.send(Wave { numbers: 0..3, revision: 1 }).unwrap();
        let playing = thread::spawn(move || playing.run());
        let first = games.blocking_recv().map(|game| message_bytes(u64::MAX, &game.trajectory));
        // Without a game, the thread has ended, and its end halts the actor.
        if first.is_some() {
            halt.cancel();
        }
        playing.join().unwrap();
        assert!(halt.is_cancelled());
        first
    };
    let bytes = play(MAX_MESSAGE_BYTES).expect("a game is sent");
    assert_eq!(play(bytes - 1), None);
}

#[test]
fn a_wave_is_played_by_the_roster_asked_for_and_handed_over_in_order() {
    let halt = CancellationToken::new();
    let at = |revision, generation| Some(Arc::new(Roster { revision, ..roster(generation, &[]) }));
    let (rosters, roster) = watch::channel(at(Some(6), 1));
    let (sender, mut games) = mpsc::channel(1);
    let (orders, waves) = std::sync::mpsc::channel();
    let playing =
        PlayThread { halt: halt.clone(), waves: Some(waves), ..thread_of(3, roster, sender) };
    let playing = thread::spawn(move || playing.run());
    orders.send(Wave { numbers: 4..11, revision: 7 }).unwrap();
    // Neither an earlier revision nor an incomplete roster is used.
    rosters.send_replace(at(None, 2));
    rosters.send_replace(at(Some(7), 3));
    for number in 4..11 {
        let game = games.blocking_recv().unwrap();
        assert_eq!(game.number, number);
        let seats = &game.trajectory.seats;
        assert!(seats.iter().all(|seat| seat.generation == Some(Generation(3))));
    }
    // The sender of waves is dropped; the thread then runs until the halt.
    drop(orders);
    halt.cancel();
    playing.join().unwrap();
    assert!(games.blocking_recv().is_none());
}

#[test]
fn a_thread_that_is_blocked_until_nothing_is_sent_plays_no_further() {
    // Whether games are sent until the end of the drain.
    for is_sent in [true, false] {
        let (halt, closed) = (CancellationToken::new(), CancellationToken::new());
        let (_rosters, roster) = watch::channel(Some(Arc::new(roster(1, &[]))));
        let (sender, mut games) = mpsc::channel(1);
        let counters = Arc::<ActorCounters>::default();
        let playing = PlayThread {
            counters: Arc::clone(&counters),
            halt: halt.clone(),
            closed: closed.clone(),
            finish_games: true,
            ..thread_of(8, roster, sender)
        };
        let playing = thread::spawn(move || playing.run());
        // The channel holds one game, so the thread blocks at the second.
        while counters.games() < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        let played = counters.games();
        halt.cancel();
        if !is_sent {
            closed.cancel();
        }
        let received = std::iter::from_fn(|| games.blocking_recv()).count() as u64;
        playing.join().unwrap();
        assert_eq!(received, counters.games());
        assert_eq!(received > played, is_sent, "{received} of {played} games");
    }
}
