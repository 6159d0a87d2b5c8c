use super::*;
use crate::testing::{config, random_game, won_game};
use ouro_game::{Action, connect_four};
use ouro_proto::Seat;

const NEWEST: u32 = 20;

fn examine(config: &Config, trajectory: &Trajectory) -> Result<Examined, Refusal> {
    let examiner = examiner(config).expect("a valid configuration");
    examiner.examine(trajectory, NEWEST, Stream::new(1, "augment"))
}

/// A won game of weights that are new enough.
fn game() -> Trajectory {
    let mut game = won_game();
    for seat in &mut game.seats {
        seat.generation = Some(NEWEST);
    }
    game
}

#[test]
fn returns_are_discounted_by_elapsed_time() {
    let mut config = config();
    config.train.gamma = 0.5;
    config.train.reward_scale = 2.0;
    config.train.augment = false;
    let mut game = game();
    let examined = examine(&config, &game).unwrap();
    // The reward 2 · 1 falls on the fifth ply; the seat moves on plies 0, 2 and 4.
    assert_eq!(examined.samples.returns, [0.125, 0.5, 2.0]);
    assert_eq!(examined.samples.actions, [0, 3, 6]);
    assert_eq!(examined.samples.behaviour, [0.5; 3]);
    assert_eq!(examined.returns, [1.0]);
    // First position: an empty board, everything legal.
    assert!(examined.samples.planes[..18].iter().all(|&value| value == 0.0));
    assert!(examined.samples.legal[..9].iter().all(|&legal| legal));
    // Second: own mark on cell 0, the opponent's on 1.
    let second = &examined.samples.planes[18..36];
    assert_eq!((second[0], second[9 + 1]), (1.0, 1.0));
    assert_eq!(examined.samples.legal[9..13], [false, false, true, true]);

    game.seats[1].learns = true;
    let both = examine(&config, &game).unwrap();
    assert_eq!(both.samples.returns, [0.125, 0.5, 2.0, -0.25, -1.0]);
    assert_eq!(both.returns, [1.0, -1.0]);
}

#[test]
fn augmented_actions_are_legal_in_their_images() {
    let config = config();
    let mut turned = 0;
    for sequence in 1..40 {
        let game = random_game(sequence);
        let examined = examine(&config, &game);
        // Generation 0 is too old here, which must not matter to this test.
        assert!(matches!(examined, Err(Refusal::Stale { .. })));
        let examiner = examiner(&config).unwrap();
        let stream = Stream::indexed(1, "augment", sequence);
        let samples = examiner.examine(&game, 0, stream).unwrap().samples;
        for row in 0..samples.rows() {
            assert!(samples.legal[row * 9 + samples.actions[row] as usize]);
            let ply = &game.record.plies[2 * row];
            turned += usize::from(ply[0].0 != samples.actions[row]);
        }
    }
    assert!(turned > 20, "{turned} actions were turned");
}

#[test]
fn whatever_disagrees_is_refused_by_its_reason() {
    type Spoil = fn(&mut Trajectory);
    let cases: [(Spoil, RefusalReason); 21] = [
        (
            |t| t.record.config = GameConfig::ConnectFour(connect_four::Config::default()),
            RefusalReason::Malformed,
        ),
        (|t| t.record.plies = vec![vec![Action(0)]; 9], RefusalReason::Oversize),
        (|t| t.record.plies.clear(), RefusalReason::Malformed),
        (|t| t.seats.truncate(1), RefusalReason::Seats),
        (|t| t.seats.push(Seat { generation: None, learns: false }), RefusalReason::Seats),
        (|t| t.seats[0].learns = false, RefusalReason::Seats),
        (|t| t.seats[0].generation = None, RefusalReason::Seats),
        (|t| t.seats[0].generation = Some(NEWEST + 1), RefusalReason::UnknownGeneration),
        (|t| t.seats[1].generation = Some(NEWEST + 1), RefusalReason::UnknownGeneration),
        (|t| t.seats[0].generation = Some(NEWEST - 17), RefusalReason::Stale),
        (|t| t.behaviour.truncate(4), RefusalReason::Behaviour),
        (|t| t.behaviour[2].push(0.5), RefusalReason::Behaviour),
        (|t| t.behaviour[2][0] = 0.0, RefusalReason::Behaviour),
        (|t| t.behaviour[2][0] = -0.5, RefusalReason::Behaviour),
        (|t| t.behaviour[2][0] = 1.000_001, RefusalReason::Behaviour),
        (|t| t.behaviour[2][0] = f32::NAN, RefusalReason::Behaviour),
        (|t| t.record.version = 99, RefusalReason::Replay),
        (|t| t.record.digests[3] ^= 1, RefusalReason::Replay),
        (|t| t.record.digests.truncate(5), RefusalReason::Replay),
        (|t| t.record.plies[2][0] = Action(0), RefusalReason::Replay),
        (|t| t.outcomes[1] = 0.0, RefusalReason::Outcome),
    ];
    let mut config = config();
    config.intake.max_plies = 8;
    assert!(examine(&config, &game()).is_ok());
    for (index, (spoil, reason)) in cases.into_iter().enumerate() {
        let mut game = game();
        spoil(&mut game);
        let refusal = examine(&config, &game).expect_err("spoilt");
        assert_eq!(refusal.reason(), reason, "case {index}: {refusal}");
    }
}

#[test]
fn old_weights_may_sit_in_seats_that_do_not_learn() {
    let mut game = game();
    game.seats[1].generation = Some(0);
    assert!(examine(&config(), &game).is_ok());
    game.seats[1].generation = None;
    assert!(examine(&config(), &game).is_ok());
}

#[test]
fn moves_whose_return_hangs_on_what_was_not_played_are_left_out() {
    let mut config = config();
    config.train.augment = false;
    let mut game = game();
    game.seats[1].learns = true;
    game.record.plies.truncate(4);
    game.record.digests.truncate(5);
    game.behaviour.truncate(4);
    game.outcomes.fill(0.0);
    // 0.2² is small enough, 0.2 is not: the fourth ply goes.
    config.train.gamma = 0.2;
    let examined = examine(&config, &game).unwrap();
    assert_eq!(examined.samples.actions, [0, 3, 1]);
    assert_eq!(examined.samples.returns, [0.0; 3]);
    // 0.99⁴ is almost 1: nothing is known of any move.
    config.train.gamma = 0.99;
    assert_eq!(examine(&config, &game), Err(Refusal::CutShort { plies: 4 }));
}
