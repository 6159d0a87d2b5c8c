//! Any bytes are a message of a push or are refused, in a bounded multiple of their length in memory.
//! An accepted game has a canonical form that reads back.
//!
//! The first byte selects the game of the run. The rest is decoded and checked as the learner does.
#![no_main]

mod meter;

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::Generation;
use ouro_proto::learner::v1::PushRequest;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::trajectory::{Hello, from_wire};
use ouro_replay::{AcceptedGame, Intake, Refusal, TrainedMoves, Trajectory};
use prost::Message;

/// Games of the run.
const GAMES: [&str; 3] = ["tic_tac_toe", "connect_four", "battlesnake"];

/// Constant part of the allowed memory: states of a short game.
const BASE: usize = 256 << 10;
/// Allowed memory per byte of the message. A ply takes two bytes in the message, and in memory a
/// move, its list and a state.
const PER_BYTE: usize = 4 << 10;

/// Plies of the longest accepted game.
const MAX_PLIES: usize = 200;

/// What the learner does with a message after decoding it.
struct Receive<'a> {
    message: Ask,
    config: &'a Arc<GameConfig>,
}

impl GameVisitor for Receive<'_> {
    type Output = Option<Result<(Trajectory, AcceptedGame), Refusal>>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let message = match self.message {
            Ask::Hello(hello) => {
                if let Err(error) = Hello::try_from(hello) {
                    assert_eq!(error.to_string().lines().count(), 1, "{error}");
                }
                return None;
            }
            Ask::Trajectory(message) => message,
        };
        let hello = Hello {
            actor: "fuzz".to_owned(),
            epoch: None,
            answered: 0,
            config: Arc::clone(self.config),
            version: 1,
            run: None,
        };
        let intake = Intake {
            config: Arc::clone(self.config),
            max_plies: MAX_PLIES,
            max_staleness: 4,
            trained_moves: TrainedMoves::Searched { surprise_share: 0.5 },
        };
        let (_, trajectory) = from_wire(message, &hello).ok()?;
        let examined = intake.examine(&game, &trajectory, Generation(7));
        Some(examined.map(|accepted| (trajectory, accepted)))
    }
}

fn configs() -> &'static [Arc<GameConfig>] {
    static CONFIGS: OnceLock<Vec<Arc<GameConfig>>> = OnceLock::new();
    CONFIGS.get_or_init(|| {
        let config = |name| Arc::new(GameConfig::by_name(name).expect("it is in the box"));
        GAMES.into_iter().map(config).collect()
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let config = &configs()[usize::from(choice) % GAMES.len()];
    let (received, peak) = meter::measure(|| {
        let message = PushRequest::decode(bytes).ok()?.message?;
        config.visit(Receive { message, config }).expect("the usual configuration is valid")
    });
    let allowed = BASE + PER_BYTE * bytes.len();
    assert!(peak <= allowed, "{} bytes took {peak} of memory, {allowed} allowed", bytes.len());
    match received {
        Some(Ok((trajectory, accepted))) => {
            let encoded = trajectory.encode().expect("an accepted game has a form");
            // The form keeps the last digest only, so the forms are compared.
            let decoded = Trajectory::decode(&encoded, config).expect("its form reads back");
            assert_eq!(decoded.encode(), Ok(encoded), "a trajectory has one form");
            assert!(!accepted.game.position_refs().is_empty(), "it has something to learn");
        }
        Some(Err(refusal)) => {
            let text = refusal.to_string();
            assert!(text.lines().count() == 1 && text.len() < 1_000, "{text}");
        }
        None => {}
    }
});
