//! Renders a game while it is played.

use ouro_game::record::GAME_RNG;
use ouro_game::{Action, ConfigError, Game, GameConfig, GameVisitor, Rng, StepError, Turn};

use super::board::BoardStyle;
use super::frame::{History, board_style, frame, legend};
use super::parts::{Frame, Legend};

/// Renders a game while it is played.
pub(in super::super) trait LiveRenderer: Send {
    /// How the board is drawn, the same in all frames.
    fn board_style(&self) -> BoardStyle;

    /// What the colours and marks of the board mean.
    fn legend(&self) -> Legend;

    /// The frame of the current position. On a canvas, the first frame has the whole board, and
    /// each later one the changes since the frame before.
    fn frame(&mut self) -> Frame;

    /// Plays a ply: the actions of the players to move, in seat order.
    fn play(&mut self, actions: &[Action]) -> Result<(), StepError>;
}

/// Creates a renderer of the game of `seed`, at its first position.
pub(in super::super) fn live_renderer(
    config: &GameConfig,
    seed: u64,
    players: Vec<String>,
) -> Result<Box<dyn LiveRenderer>, ConfigError> {
    struct Start(u64, Vec<String>);
    impl GameVisitor for Start {
        type Output = Box<dyn LiveRenderer>;

        fn visit<G: Game>(self, game: G) -> Box<dyn LiveRenderer> {
            let Self(seed, players) = self;
            let mut rng = Rng::new(seed, GAME_RNG);
            let mut state = game.initial(&mut rng);
            game.settle(&mut state, &mut rng);
            let history = History::new(&game, &state);
            Box::new(GameRenderer { game, players, rng, state, last: None, ply: 0, history })
        }
    }
    config.visit(Start(seed, players))
}

struct GameRenderer<G: Game> {
    game: G,
    players: Vec<String>,
    rng: Rng,
    state: G::State,
    last: Option<(G::State, Vec<Action>)>,
    ply: usize,
    history: History,
}

impl<G: Game> LiveRenderer for GameRenderer<G> {
    fn board_style(&self) -> BoardStyle {
        board_style(&self.game)
    }

    fn legend(&self) -> Legend {
        legend(&self.game)
    }

    fn frame(&mut self) -> Frame {
        let last = self.last.as_ref().map(|(state, joint)| (state, &**joint));
        frame(&self.game, &self.players, &self.state, last, self.ply, &mut self.history)
    }

    fn play(&mut self, actions: &[Action]) -> Result<(), StepError> {
        let Turn::Move(movers) = self.game.turn(&self.state) else {
            return Err(StepError::GameOver);
        };
        let mut joint = vec![Action::default(); self.game.players()];
        for (player, &action) in movers.iter().zip(actions) {
            joint[player] = action;
        }
        let before = self.state.clone();
        self.game.advance(&mut self.state, &joint, &mut self.rng)?;
        self.history.advance(&before, &self.state);
        self.last = Some((before, joint));
        self.ply += 1;
        Ok(())
    }
}
