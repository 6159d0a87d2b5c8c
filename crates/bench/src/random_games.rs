//! Random games to push to a learner: long, and with a search target for every move.

use std::sync::Arc;

use ouro_game::record::{GAME_RNG, Playthrough, RECORD_VERSION};
use ouro_game::{Action, ActionMask, ConfigError, Game, GameConfig, GameVisitor, Rng, Turn};
use ouro_net::Generation;
use ouro_replay::{Move, Ply, RecordHeader, SearchTarget, Seat, Trajectory};

/// Maximum draws of a joint action per ply, to avoid one that ends the game.
const TRIES: usize = 8;

/// Returns `games` random games with the seeds from 0 on.
///
/// Moves that would end a game are redrawn up to eight times. Otherwise most Battlesnake games
/// would end after two turns. Every seat learns, and every move has a policy target over all legal
/// actions. Actors never send more data per game.
pub fn random_games(config: &GameConfig, games: u32) -> Result<Vec<Trajectory>, ConfigError> {
    let shared = Arc::new(config.clone());
    let random = |seed: u32| Random { config: Arc::clone(&shared), seed: seed.into() };
    (0..games).map(|seed| config.visit(random(seed))).collect()
}

struct Random {
    config: Arc<GameConfig>,
    seed: u64,
}

impl GameVisitor for Random {
    type Output = Trajectory;

    fn visit<G: Game>(self, game: G) -> Trajectory {
        let Self { config, seed } = self;
        let mut stream = Rng::new(seed, "bench ingest");
        let mut playthrough = Playthrough::new(&game, seed);
        let mut plies = Vec::new();
        let mut joint = vec![Action::default(); game.players()];
        while let Turn::Move(movers) = game.turn(playthrough.state()) {
            let legal: Vec<(usize, ActionMask)> = movers
                .iter()
                .map(|mover| {
                    let mut mask = ActionMask::default();
                    game.legal(playthrough.state(), mover, &mut mask);
                    (mover, mask)
                })
                .collect();
            for _ in 0..TRIES {
                for (mover, mask) in &legal {
                    let draw = stream.below(mask.count() as u32) as usize;
                    joint[*mover] = mask.nth(draw).expect("somebody can move");
                }
                let mut next = playthrough.state().clone();
                // Any chance outcomes will do, because this state is discarded.
                let done = game.advance(&mut next, &joint, &mut Rng::new(seed, GAME_RNG));
                if done.is_ok() && matches!(game.turn(&next), Turn::Move(_)) {
                    break;
                }
            }
            let play = |(mover, mask): &(usize, ActionMask)| Move {
                action: joint[*mover],
                behaviour: 1.0 / mask.count() as f32,
                search: Some(even(mask)),
            };
            plies.push(Ply { moves: legal.iter().map(play).collect() });
            playthrough.advance(&game, &joint).expect("moves were drawn from the legal ones");
        }
        let seat = |player| Seat {
            generation: Some(Generation(0)),
            learns: true,
            outcome: game.outcome(playthrough.state(), player),
        };
        let seats = (0..game.players()).map(seat).collect();
        let digests = playthrough.into_digests();
        let record = RecordHeader { version: RECORD_VERSION, config, seed, digests };
        Trajectory { record, seats, plies }
    }
}

/// A search target with equal shares for all legal actions.
fn even(mask: &ActionMask) -> SearchTarget {
    let share = 1.0 / mask.count() as f32;
    SearchTarget {
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
            let games = random_games(&config, 20).expect("a valid game");
            let plies: usize = games.iter().map(|game| game.plies.len()).sum();
            assert!(plies > 20 * 10, "{name}: {plies}");
            assert_ne!(games[0].record.digests, games[1].record.digests);
            let mut targets = games[0].moves().map(|one| one.search.as_ref().expect("a search"));
            assert!(targets.all(|target| !target.policy.is_empty()));
        }
    }
}
