use super::super::testing::{PLAYERS, request};
use super::*;

/// Prepares a session for a request. Returns whether there is a new player, and its name.
fn prepare(session: &mut Session, players: &PlayerList, state: &GameState) -> (bool, String) {
    let setup = state.setup().expect("a position");
    let is_new = session.prepare(players, state, &setup).expect("a player");
    (is_new, session.player().expect("it was chosen").to_owned())
}

#[test]
fn a_player_stays_until_another_one_is_first_or_the_rules_change() {
    let names = PLAYERS.map(str::to_owned);
    let players = PlayerList::new(&names, Duration::from_millis(100)).expect("included weights");
    let mut session = Session::default();
    let config = Config::default();
    let is_duel = |name: &str| !name.contains("standard-minimax");
    for (missing, expected, duel) in
        [(0, true, false), (0, false, false), (1, false, false), (2, true, true), (2, false, true)]
    {
        let (is_new, name) = prepare(&mut session, &players, &request(&config, missing));
        assert_eq!((is_new, is_duel(&name)), (expected, duel), "without {missing}");
    }
    // The last snake needs no search.
    let won = request(&config, 3);
    assert!(!prepare(&mut session, &players, &won).0);
    assert_eq!(
        session.choose(&won, Instant::now(), Duration::ZERO).expect("a reply"),
        Action::default()
    );
    // The dead do not come back: it is another game with the same id.
    let mut again = request(&config, 0);
    again.turn = 2;
    assert!(prepare(&mut session, &players, &again).0);
    // A snake of the game is unknown.
    let mut stranger = again.clone();
    stranger.board.snakes[2].id = "stranger".to_owned();
    assert!(prepare(&mut session, &players, &stranger).0);
    // Another game with the same ids has another time of a move.
    let mut slow = again;
    slow.game.timeout = 1_000;
    assert!(prepare(&mut session, &players, &slow).1.starts_with("minimax{ms=900,"));
    // A map that moves hazards.
    let mut hazards = request(&Config { width: 19, height: 19, ..config }, 0);
    for food in hazards.board.food.clone() {
        hazards.board.hazards = vec![food];
        assert!(prepare(&mut session, &players, &hazards).0);
        assert!(!prepare(&mut session, &players, &hazards).0);
    }
}

#[test]
fn a_snake_that_is_alone_in_another_game_with_the_same_id_has_not_won() {
    let names = ["minimax{depth=1}".to_owned()];
    let players = PlayerList::new(&names, Duration::ZERO).expect("a known player");
    for last_turn in [0, 7] {
        let mut session = Session::default();
        let mut state = request(&Config { snakes: 2, ..Config::default() }, 0);
        state.turn = last_turn;
        prepare(&mut session, &players, &state);
        assert!(!session.started_alone());
        state.board.snakes.truncate(1);
        state.turn = last_turn + 1;
        prepare(&mut session, &players, &state);
        assert!(session.is_won(&state), "the other snake has died");
        // Neither `/end` nor `/start` comes between the games.
        for turn in [0, 1] {
            state.turn = turn;
            let is_new = prepare(&mut session, &players, &state).0;
            assert_eq!(is_new, turn == 0, "the player stays from move to move");
            assert!(!session.is_won(&state) && session.started_alone(), "turn {turn}");
            session.choose(&state, Instant::now(), Duration::ZERO).expect("a move");
        }
    }
}

#[test]
fn snakes_and_games_have_their_own_random_numbers() {
    let players = PlayerList::new(&["random".to_owned()], Duration::ZERO).expect("a known player");
    let first = request(&Config { snakes: 2, ..Config::default() }, 0);
    let mut other_snake = first.clone();
    other_snake.you = other_snake.board.snakes[1].clone();
    let mut other_game = first.clone();
    other_game.game.id.push('2');
    let mut moves = Vec::new();
    for state in [&first, &other_snake, &other_game, &first] {
        let mut session = Session::default();
        prepare(&mut session, &players, state);
        // The legal moves are the same at each request.
        let drawn: Result<Vec<Action>, _> =
            (0..30).map(|_| session.choose(state, Instant::now(), Duration::ZERO)).collect();
        moves.push(drawn.expect("a move each time"));
    }
    assert_eq!(moves[0], moves[3]);
    assert_ne!(moves[0], moves[1]);
    assert_ne!(moves[0], moves[2]);
}

#[test]
fn missing_snakes_on_the_first_turn_are_those_of_another_game() {
    let players = PlayerList::new(&["greedy".to_owned()], Duration::ZERO).expect("a known player");
    let mut session = Session::default();
    let mut state = request(&Config { snakes: 2, ..Config::default() }, 0);
    prepare(&mut session, &players, &state);
    state.board.snakes.truncate(1);
    assert!(prepare(&mut session, &players, &state).0);
    assert!(!session.is_won(&state) && session.started_alone());
}

#[test]
fn the_time_of_a_move_counts_from_the_arrival_of_its_request() {
    let names = ["minimax{ms=20000}".to_owned(), "mcts{ms=20000}".to_owned()];
    let mut state = request(&Config { snakes: 2, ..Config::default() }, 0);
    state.turn = 50;
    for name in names {
        let players = PlayerList::new(&[name], Duration::ZERO).expect("valid");
        let mut session = Session::default();
        prepare(&mut session, &players, &state);
        let late = Instant::now().checked_sub(Duration::from_secs(20)).expect("20 s since boot");
        let started = Instant::now();
        session.choose(&state, late, Duration::ZERO).expect("a move");
        assert!(started.elapsed() < Duration::from_secs(10), "the time was over");
    }
}

#[test]
fn a_search_is_shorter_if_the_host_reports_delays_beyond_the_margin() {
    let ms = Duration::from_millis;
    for (name, expected) in [
        // Of 100 ms, the margin takes 10. A delay of 30 and 20 in reserve take 50. The next search is 10
        // shorter, and so the delay is longer.
        ("minimax", [Some(ms(90)), Some(ms(50)), Some(ms(40))]),
        ("minimax{ms=90}", [None; 3]),
    ] {
        let players = PlayerList::new(&[name.to_owned()], ms(10)).expect("a known player");
        let mut session = Session::default();
        let mut state = request(&Config { snakes: 2, ..Config::default() }, 0);
        state.game.timeout = 100;
        let mut limits = Vec::new();
        for turn in 0..3 {
            state.turn = turn;
            // The official command line reports the latency here alone.
            state.board.snakes[0].latency = if turn > 0 { "90" } else { "0" }.to_owned();
            prepare(&mut session, &players, &state);
            session.choose(&state, Instant::now(), Duration::ZERO).expect("a move");
            session.add_reply(turn, ms(60));
            limits.push(session.limit);
        }
        assert_eq!(limits, expected, "{name}");
    }
}
