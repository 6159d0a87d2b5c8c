//! Forged Battlesnake duels, with simultaneous moves and random food.

use std::sync::Arc;

use ouro_game::record::{Playthrough, RECORD_VERSION};
use ouro_game::{Action, ActionMask, Game, GameConfig, GameVisitor, Rng, Turn, battlesnake};
use ouro_learner::config::{AlgorithmConfig, Config, ReinforceConfig};
use ouro_net::Generation;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::RefusalReason as Reason;
use ouro_proto::trajectory::to_wire;
use ouro_replay::{Move, Ply, RecordHeader, Seat, Trajectory};

use super::actor::{Actor, Running, config, hello};
use super::forgeries::Forgery;
use super::games::{push_all, refused};

/// A game of random legal moves.
struct Random<'a>(&'a GameConfig, u64);

impl GameVisitor for Random<'_> {
    type Output = Trajectory;

    fn visit<G: Game>(self, game: G) -> Trajectory {
        let (mut stream, mut mask) = (Rng::new(self.1, "moves"), ActionMask::default());
        let mut playthrough = Playthrough::new(&game, self.1);
        let (mut joint, mut plies) = (vec![Action(0); game.players()], Vec::new());
        while let Turn::Move(movers) = game.turn(playthrough.state()) {
            let mut moves = Vec::new();
            for mover in movers.iter() {
                game.legal(playthrough.state(), mover, &mut mask);
                let draw = stream.below(mask.count() as u32) as usize;
                let action = mask.nth(draw).expect("a snake can move");
                joint[mover] = action;
                let behaviour = 1.0 / mask.count() as f32;
                moves.push(Move { action, behaviour, search: None });
            }
            playthrough.advance(&game, &joint).expect("a legal move");
            plies.push(Ply { moves });
        }
        let seat = |(player, learns)| Seat {
            generation: Some(Generation(0)),
            learns,
            outcome: game.outcome(playthrough.state(), player),
        };
        let seats = [(0, true), (1, false)].map(seat).to_vec();
        let record = RecordHeader {
            version: RECORD_VERSION,
            config: Arc::new(self.0.clone()),
            seed: self.1,
            digests: playthrough.into_digests(),
        };
        Trajectory { record, seats, plies }
    }
}

/// Appends a ply of two moves.
fn play_on(game: &mut wire::Trajectory) {
    game.actions.extend([0, 0]);
    game.ply_lengths.push(2);
    game.behaviour.extend([0.25; 2]);
    game.digests.push(0);
}

const FORGERIES: [Forgery; 9] = [
    Forgery {
        name: "another seed",
        forge: |g| g.seed ^= 1,
        reason: Reason::Replay,
        says: "ply -1: state is ",
    },
    Forgery {
        name: "a snake that does not move",
        forge: |g| {
            g.ply_lengths[0] = 1;
            g.actions.remove(0);
            g.behaviour.remove(0);
        },
        reason: Reason::Replay,
        says: "ply 0 has 1 actions; 2 players are to move",
    },
    Forgery {
        name: "a snake too many",
        forge: |g| {
            g.ply_lengths[1] = 3;
            g.actions.insert(2, 0);
            g.behaviour.insert(2, 0.5);
        },
        reason: Reason::Replay,
        says: "ply 1 has 3 actions; 2 players are to move",
    },
    Forgery {
        name: "a direction that is none",
        forge: |g| g.actions[1] = 4,
        reason: Reason::Replay,
        says: "ply 0: action 4 of player 1 is illegal",
    },
    Forgery {
        name: "another direction",
        forge: |g| g.actions[0] = (g.actions[0] + 1) % 4,
        reason: Reason::Replay,
        says: "ply 0: ",
    },
    Forgery { name: "a move of the dead", forge: play_on, reason: Reason::Replay, says: "ply " },
    Forgery {
        name: "four snakes in a duel",
        forge: |g| {
            g.seats = vec![g.seats[0]; 4];
            g.outcomes = vec![1.0, -1.0, -1.0, -1.0];
        },
        reason: Reason::Seats,
        says: "trajectory has 4 seats or outcomes; the game has 2 players",
    },
    Forgery {
        name: "a death that did not happen",
        forge: |g| {
            g.ply_lengths.truncate(1);
            g.actions.truncate(2);
            g.behaviour.truncate(2);
            g.digests.truncate(2);
            g.outcomes = vec![1.0, -1.0];
        },
        reason: Reason::Outcome,
        says: "seat 0 claims outcome 1; the rules say 0",
    },
    Forgery {
        name: "an opponent from the future",
        forge: |g| g.seats[1].generation = Some(7),
        reason: Reason::UnknownGeneration,
        says: "seat 1 played generation 7; the newest published is 0",
    },
];

/// REINFORCE on duels, with a batch that is never full.
fn duels(directory: &std::path::Path) -> Config {
    let mut config = config(directory);
    let (width, height, snakes) = (7, 7, 2);
    let duel = battlesnake::Config { width, height, snakes, ..battlesnake::Config::default() };
    config.game = GameConfig::Battlesnake(duel);
    config.intake.max_plies = 2_048;
    config.train.algorithm = AlgorithmConfig::Reinforce(ReinforceConfig::default());
    config.train.batch_moves = 4_096;
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_duels_are_refused_and_honest_ones_go_on() {
    let directory = tempfile::tempdir().expect("a scratch folder");
    let config = duels(directory.path());
    // The forgeries need a game of some length.
    let play = |seed| config.game.visit(Random(&config.game, seed)).expect("a valid game");
    let long = (0..).map(play).find(|game| game.plies.len() >= 6).expect("there are many");
    let running = Running::start(config.clone()).await;
    let (mut actor, _) = Actor::welcomed(&running, hello("forger", None, &config.game)).await;
    let counts = push_all(&mut actor, &to_wire(1, &long), FORGERIES.iter()).await;
    let status = running.status().await;
    assert_eq!(refused(&status), counts);
    assert_eq!(status.games, FORGERIES.len() as f64);
    drop(actor);
    running.stop().await;
}
