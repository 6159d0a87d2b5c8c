//! Small networks for tests.

use ouro_game::{Game, GameConfig, GameVisitor, tic_tac_toe};
use ouro_net::{Architecture, Generation, NetSpec, Weights, WeightsMeta};

/// Returns tic-tac-toe, the smallest game.
pub fn tic_tac_toe() -> GameConfig {
    GameConfig::TicTacToe(tic_tac_toe::Config::default())
}

/// Returns an architecture of one narrow convolution, which evaluates within microseconds.
pub fn tiny() -> Architecture {
    Architecture::Conv { channels: 2, layers: 1, hidden: 4 }
}

/// Returns the specification of a network of `architecture` for a game.
pub fn net_spec(game: &GameConfig, architecture: Architecture) -> NetSpec {
    struct Spec(Architecture);
    impl GameVisitor for Spec {
        type Output = NetSpec;
        fn visit<G: Game>(self, game: G) -> NetSpec {
            spec_of(&game, self.0)
        }
    }
    game.visit(Spec(architecture)).expect("the configuration of a test's game is valid")
}

/// Like [`net_spec`], for a game whose type is known at compile time.
pub fn spec_of<G: Game>(game: &G, architecture: Architecture) -> NetSpec {
    NetSpec { planes: game.planes(), actions: game.action_count(), architecture }
}

/// Returns initial weights for a game, with the given generation and step. `seed` determines the
/// values.
pub fn weights(
    game: &GameConfig,
    architecture: Architecture,
    generation: u32,
    step: u64,
    seed: u64,
) -> Weights {
    let spec = net_spec(game, architecture);
    let game = serde_json::to_string(game).expect("a game configuration is plain data");
    let meta = WeightsMeta { game, generation: Generation(generation), step };
    Weights::initialize(spec, meta, seed).expect("a valid network")
}
