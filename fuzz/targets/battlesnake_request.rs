//! Bytes are a valid Battlesnake request or are refused. A parsed request serialises to an equal
//! request. An accepted position can be built, observed, drawn and played.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ouro_game::battlesnake::api::{GameState, Reply};
use ouro_game::{Action, Game, GameConfig, GameVisitor, Rng, Turn};

/// Random turns played from each position.
const TURNS: usize = 8;

/// Plays a few random turns.
struct Play {
    seat: usize,
    seed: u64,
}

impl GameVisitor for Play {
    type Output = ();

    fn visit<G: Game>(self, game: G) {
        let mut rng = Rng::new(self.seed, "fuzz");
        let mut state = game.initial(&mut rng);
        let mut planes = vec![f32::NAN; game.planes().len()];
        for _ in 0..TURNS {
            game.settle(&mut state, &mut rng);
            game.observe(&state, self.seat, &mut planes);
            assert!(planes.iter().all(|value| value.is_finite()), "planes are numbers");
            assert!(game.render(&state).ends_with('\n'));
            if game.turn(&state) == Turn::Over {
                return;
            }
            let joint: Vec<Action> = (0..game.players()).map(|_| Action(rng.below(4))).collect();
            game.step(&mut state, &joint).expect("every direction is legal");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let _ = Reply::parse(bytes);
    let _ = Reply::action_or_previous(bytes, None);
    let Ok(request) = GameState::parse(bytes) else { return };
    let written = serde_json::to_vec(&request).expect("requests serialise");
    assert_eq!(GameState::parse(&written), Ok(request.clone()), "what was written reads back");
    let Ok(setup) = request.setup() else { return };
    let play = Play { seat: setup.you, seed: bytes.len() as u64 };
    GameConfig::Battlesnake(setup.config).visit(play).expect("an accepted position can be played");
});
