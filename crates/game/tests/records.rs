//! Records of every game in the catalog replay byte for byte, and damaged ones are refused
//! with the ply and the reason.

use ouro_game::catalog::{GAMES, ReplayVisitor};
use ouro_game::record::{MAX_PLIES, Recorder, Replay, ReplayError};
use ouro_game::{
    Action, ActionMask, Game, GameConfig, GameRecord, GameVisitor, Rng, StepError, Turn,
};

/// Plays a random game of at most 200 plies; returns its record and every state as JSON.
struct PlayAtRandom {
    config: GameConfig,
    seed: u64,
}

impl GameVisitor for PlayAtRandom {
    type Output = (GameRecord, Vec<String>);

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let mut choices = Rng::new(self.seed, "test");
        let mut recorder = Recorder::new(&game, self.seed);
        let mut mask = ActionMask::default();
        let json = |state: &G::State| serde_json::to_string(state).expect("states serialise");
        let mut states = vec![json(recorder.state())];
        while let Turn::Move(movers) = game.turn(recorder.state()) {
            if recorder.plies() == 200 {
                break;
            }
            let mut joint = vec![Action::default(); game.players()];
            for player in movers.iter() {
                game.legal(recorder.state(), player, &mut mask);
                let choice = choices.below(mask.count() as u32) as usize;
                joint[player] = mask.nth(choice).expect("a player to move has an action");
            }
            recorder.advance(&game, &joint).expect("legal actions");
            states.push(json(recorder.state()));
        }
        (recorder.into_record(self.config), states)
    }
}

/// Every state of a replay as JSON.
struct States;

impl ReplayVisitor for States {
    type Output = Result<Vec<String>, ReplayError>;

    fn visit<G: Game>(self, _game: &G, mut replay: Replay<'_, G>) -> Self::Output {
        let mut states = Vec::new();
        loop {
            states.push(serde_json::to_string(replay.state()).expect("states serialise"));
            if !replay.advance()? {
                return Ok(states);
            }
        }
    }
}

fn play(name: &str, seed: u64) -> (GameRecord, Vec<String>) {
    let config = GameConfig::by_name(name).expect(name);
    config.visit(PlayAtRandom { config: config.clone(), seed }).expect("defaults are valid")
}

#[test]
fn records_of_every_game_replay_to_the_same_bytes_at_each_ply() {
    for info in GAMES {
        for seed in 0..20 {
            let (record, states) = play(info.name, seed);
            let json = serde_json::to_string(&record).expect("records serialise");
            let read: GameRecord = GameRecord::from_json(&json).expect("its own JSON is readable");
            assert_eq!(read, record);
            assert_eq!(read.replay(States), Ok(Ok(states)), "{} seed {seed}", info.name);
            assert_eq!(read.verify(), Ok(()));
        }
    }
}

/// A game of tic-tac-toe that player 0 wins in five plies.
fn short_game() -> GameRecord {
    let game = ouro_game::tic_tac_toe::TicTacToe::new(Default::default()).expect("valid");
    let mut recorder = Recorder::new(&game, 3);
    for cell in [0, 3, 1, 4, 2] {
        recorder.advance(&game, &[Action(cell); 2]).expect("legal");
    }
    recorder.into_record(GameConfig::by_name("tic_tac_toe").expect("in the box"))
}

#[test]
fn a_damaged_record_is_refused_with_the_ply_and_the_reason() {
    type Damage = fn(&mut GameRecord);
    let illegal = |player, action| StepError::IllegalAction { player, action };
    let first = short_game().digests[0];
    let cases: [(&str, Damage, ReplayError); 9] = [
        (
            "an occupied cell",
            |record| record.plies[1] = vec![Action(0)],
            ReplayError::Step { ply: 1, error: illegal(1, 0) },
        ),
        (
            "an action outside the game",
            |record| record.plies[4] = vec![Action(9)],
            ReplayError::Step { ply: 4, error: illegal(0, 9) },
        ),
        (
            "a ply after the end",
            |record| {
                record.plies.push(vec![Action(8)]);
                record.digests.push(0);
            },
            ReplayError::Step { ply: 5, error: StepError::GameOver },
        ),
        (
            "an action of a player who is not to move",
            |record| record.plies[2].push(Action(8)),
            ReplayError::ActionCount { ply: 2, got: 2, expected: 1 },
        ),
        (
            "a missing action",
            |record| record.plies[3].clear(),
            ReplayError::ActionCount { ply: 3, got: 0, expected: 1 },
        ),
        (
            "a missing digest",
            |record| record.digests.truncate(5),
            ReplayError::DigestCount { digests: 5, plies: 5 },
        ),
        (
            "another first state",
            |record| record.digests[0] = 1,
            ReplayError::Digest { ply: -1, got: first, expected: 1 },
        ),
        (
            "a version to come",
            |record| record.version = 2,
            ReplayError::Version { got: 2, newest: 1 },
        ),
        ("version zero", |record| record.version = 0, ReplayError::Version { got: 0, newest: 1 }),
    ];
    for (what, damage, expected) in cases {
        let mut record = short_game();
        assert_eq!(record.verify(), Ok(()));
        damage(&mut record);
        assert_eq!(record.verify(), Err(expected), "{what}");
    }
}

#[test]
fn a_record_of_other_moves_is_refused_at_the_first_state_that_differs() {
    let mut record = short_game();
    record.plies[3] = vec![Action(5)];
    let error = record.verify().expect_err("another state");
    assert!(matches!(error, ReplayError::Digest { ply: 3, .. }), "{error}");
    assert!(error.to_string().starts_with("ply 3: state is "), "{error}");
}

#[test]
fn text_that_is_not_a_record_is_refused_before_anything_is_built() {
    let record = serde_json::to_string(&short_game()).expect("records serialise");
    let cases = [
        (String::new(), "record is not readable: EOF"),
        ("[1,2]".to_owned(), "record is not readable"),
        (record[..record.len() / 2].to_owned(), "record is not readable: EOF"),
        (record.replace("\"seed\"", "\"sead\""), "unknown field `sead`"),
        (record.replace("tic_tac_toe", "go"), "unknown variant `go`"),
        (record.replace("tic_tac_toe", "g\\no"), "unknown variant `g\\no`"),
        (record.replace("\"version\":1", "\"version\":-1"), "record is not readable"),
        (record.replace("\"version\":1", "\"version\":9"), "record version is 9"),
        // A newer record is reported as newer even if its other fields are unknown here.
        ("{\"version\":2,\"moves\":\"?\"}".to_owned(), "this program reads versions 1 to 1"),
        (record.replace("[[0],", "[[-1],"), "record is not readable"),
        (record.replace("\"plies\"", "\"plies\":[],\"plies\""), "duplicate field"),
    ];
    for (text, expected) in cases {
        let error = GameRecord::<GameConfig>::from_json(&text).expect_err(&text).to_string();
        assert!(error.contains(expected) && error.lines().count() == 1, "{text}: {error}");
    }
}

#[test]
fn a_record_longer_than_any_game_is_refused_before_its_plies_take_memory() {
    let record = serde_json::to_string(&short_game()).expect("records serialise");
    for (list, element, text) in [
        ("\"plies\":[", "[],", "record has 1048577 plies and 6 digests; at most 1048576 plies"),
        ("\"digests\":[", "0,", "record has 5 plies and 1048578 digests; "),
    ] {
        let more = MAX_PLIES + 1 - 5;
        let long = record.replace(list, &format!("{list}{}", element.repeat(more)));
        let error = GameRecord::<GameConfig>::from_json(&long).expect_err(list).to_string();
        assert!(error.starts_with(text) && error.ends_with(" --max-plies"), "{error}");
        let most = record.replace(list, &format!("{list}{}", element.repeat(more - 1)));
        assert!(GameRecord::<GameConfig>::from_json(&most).is_ok(), "{list}");
    }
}

#[test]
fn a_configuration_out_of_range_is_refused_by_field() {
    let mut record = play("connect_four", 1).0;
    record.config = serde_json::from_str(r#"{"game":"connect_four","height":99}"#).expect("JSON");
    let error = record.verify().expect_err("too high");
    assert!(matches!(&error, ReplayError::Config(config) if config.field == "width"), "{error}");
}
