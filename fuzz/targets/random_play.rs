//! Games of random legal actions, as material for edits.

use ouro_game::record::Recorder;
use ouro_game::{Action, ActionMask, Game, Rng, Turn};

/// Plays at most `plies` plies. `seed` is that of the game; the actions are the same in every call.
pub(crate) fn play<G: Game>(game: &G, seed: u64, plies: usize) -> Recorder<G> {
    let mut rng = Rng::new(1, "fuzz");
    let mut recorder = Recorder::new(game, seed);
    let mut legal = ActionMask::new(game.action_count());
    while recorder.plies() < plies
        && let Turn::Move(movers) = game.turn(recorder.state())
    {
        let mut joint = vec![Action::default(); game.players()];
        for player in movers.iter() {
            game.legal(recorder.state(), player, &mut legal);
            let choice = rng.below(legal.count() as u32) as usize;
            joint[player] = legal.nth(choice).expect("it is below the count");
        }
        recorder.advance(game, &joint).expect("they are legal");
    }
    recorder
}
