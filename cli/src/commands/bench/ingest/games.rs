//! Games to push: random, but long, and with all that a search would have said.

use ouro_game::record::{GAME_RNG, Recorder};
use ouro_game::{Action, ActionMask, ConfigError, Game, GameConfig, GameVisitor, Rng, Turn};
use ouro_proto::learner::v1 as wire;
use ouro_proto::{Searched, Seat, Trajectory};

/// How often moves are drawn again that would end the game.
const TRIES: usize = 8;

/// So many games. Moves that would end a game are drawn again a few times, or most games of
/// snakes would be over after two turns. Every seat learns, and every move has a policy target
/// over all legal actions: no actor sends more.
pub(super) fn random(
    config: &GameConfig,
    games: u32,
) -> Result<Vec<wire::Trajectory>, ConfigError> {
    (0..games).map(|seed| Ok(config.visit(Random { config, seed: seed.into() })?.into())).collect()
}

struct Random<'a> {
    config: &'a GameConfig,
    seed: u64,
}

impl GameVisitor for Random<'_> {
    type Output = Trajectory;

    fn visit<G: Game>(self, game: G) -> Trajectory {
        let Self { config, seed } = self;
        let mut stream = Rng::new(seed, "bench ingest");
        let mut recorder = Recorder::new(&game, seed);
        let (mut behaviour, mut searched) = (Vec::new(), Vec::new());
        let mut joint = vec![Action::default(); game.players()];
        while let Turn::Move(movers) = game.turn(recorder.state()) {
            let legal: Vec<(usize, ActionMask)> = movers
                .iter()
                .map(|mover| {
                    let mut mask = ActionMask::default();
                    game.legal(recorder.state(), mover, &mut mask);
                    (mover, mask)
                })
                .collect();
            for _ in 0..TRIES {
                for (mover, mask) in &legal {
                    let draw = stream.below(mask.count() as u32) as usize;
                    joint[*mover] = mask.nth(draw).expect("somebody can move");
                }
                let mut next = recorder.state().clone();
                // Chance may play on as it likes here: this state is thrown away.
                let done = game.advance(&mut next, &joint, &mut Rng::new(seed, GAME_RNG));
                if done.is_ok() && matches!(game.turn(&next), Turn::Move(_)) {
                    break;
                }
            }
            behaviour.push(legal.iter().map(|(_, mask)| 1.0 / mask.count() as f32).collect());
            searched.push(legal.iter().map(|(_, mask)| even(mask)).collect());
            recorder.advance(&game, &joint).expect("moves were drawn from the legal ones");
        }
        let seats =
            vec![Seat { generation: Some(ouro_net::Generation(0)), learns: true }; game.players()];
        let outcomes =
            (0..game.players()).map(|seat| game.outcome(recorder.state(), seat)).collect();
        let record = recorder.into_record(config.clone());
        Trajectory { sequence: 0, record, behaviour, searched, seats, outcomes }
    }
}

/// A search that likes all legal actions alike.
fn even(mask: &ActionMask) -> Searched {
    let share = 1.0 / mask.count() as f32;
    Searched {
        policy: mask.iter().map(|action| (action, share)).collect(),
        value: 0.0,
        surprise: 0.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_whole_different_and_not_short() {
        for name in ["battlesnake", "connect_four"] {
            let config = GameConfig::by_name(name).expect("it is in the box");
            let games = random(&config, 20).expect("a valid game");
            let plies: usize = games.iter().map(|game| game.ply_lengths.len()).sum();
            assert!(plies > 20 * 10, "{name}: {plies}");
            assert_ne!(games[0].digests, games[1].digests);
            let search = games[0].search.as_ref().expect("a search");
            assert!(search.policy_lengths.iter().all(|&length| length > 0));
        }
    }
}
