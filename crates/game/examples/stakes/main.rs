//! A complete custom game; `docs/your-own-game.md` walks through [`rules`].
//!
//! `cargo run -p ouro-game --example stakes` checks the laws, plays one random game, prints it
//! and replays its record.

mod rules;

use std::error::Error;
use std::io::Write;

use ouro_game::record::{Recorder, Replay};
use ouro_game::{Action, ActionMask, Game, Rng, Turn, check_laws};

use rules::{Config, Stakes};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let game = Stakes::new(Config { rounds: 5 })?;
    let coverage = check_laws(&game, 1, 100)?;
    writeln!(out, "the laws hold: {coverage:?}\n")?;

    let seed = 7;
    let mut recorder = Recorder::new(&game, seed);
    let mut dice = Rng::new(seed, "example");
    let mut mask = ActionMask::default();
    while let Turn::Move(movers) = game.turn(recorder.state()) {
        write!(out, "{}", game.render(recorder.state()))?;
        let mut joint = vec![Action::default(); game.players()];
        for player in movers.iter() {
            game.legal(recorder.state(), player, &mut mask);
            let choice = dice.below(mask.count() as u32) as usize;
            joint[player] = mask.nth(choice).unwrap_or_default();
            writeln!(out, "  player {player} shows {}", game.action_name(joint[player]))?;
        }
        recorder.advance(&game, &joint)?;
    }
    let last = *recorder.state();
    write!(out, "{}", game.render(&last))?;

    let record = recorder.into_record(*game.config());
    let replayed = Replay::new(&game, &record)?.finish()?;
    writeln!(out, "\nthe record replays to the same end: {}", replayed == last)?;
    Ok(())
}
