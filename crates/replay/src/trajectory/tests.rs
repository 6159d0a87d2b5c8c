//! Tests of round trips, hostile bytes and sizes.

use ouro_game::Rng;
use ouro_game::record::RECORD_VERSION;
use proptest::prelude::*;

use super::*;
use crate::window::Item;

fn floats() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0_f32), Just(-0.0), Just(1.0), Just(f32::MIN_POSITIVE), -1e3_f32..1e3]
}

fn targets() -> impl Strategy<Value = SearchTarget> {
    let entry = (any::<u32>().prop_map(Action), floats());
    (proptest::collection::vec(entry, 0..5), floats(), floats()).prop_map(
        |(policy, value, surprise)| {
            let surprise = if policy.is_empty() { 0.0 } else { surprise };
            SearchTarget { policy, value, surprise }
        },
    )
}

fn trajectories() -> impl Strategy<Value = Trajectory> {
    let generation = proptest::option::of(any::<u32>().prop_map(Generation));
    let seat = (generation, any::<bool>(), floats())
        .prop_map(|(generation, learns, outcome)| Seat { generation, learns, outcome });
    let seats = proptest::collection::vec(seat, 1..=MAX_SEATS);
    let one = (prop_oneof![0_u32..200, any::<u32>()], floats(), targets());
    let plies = proptest::collection::vec(proptest::collection::vec(one, 1..=MAX_SEATS), 0..12);
    (any::<u64>(), any::<u64>(), seats, plies, any::<bool>()).prop_map(
        |(seed, digest, seats, plies, is_searched)| {
            let play = |(action, behaviour, target)| Move {
                action: Action(action),
                behaviour,
                search: is_searched.then_some(target),
            };
            let ply = |moves: Vec<_>| Ply { moves: moves.into_iter().map(play).collect() };
            let plies = plies.into_iter().map(ply).collect();
            Trajectory { record: record(seed, digest), seats, plies }
        },
    )
}

/// The configuration, which is not part of the canonical form.
fn config() -> Arc<GameConfig> {
    Arc::new(GameConfig::by_name("tic_tac_toe").expect("it is in the box"))
}

/// A header as the journal returns it, with one digest.
fn record(seed: u64, digest: u64) -> RecordHeader {
    RecordHeader { version: RECORD_VERSION, config: config(), seed, digests: vec![digest] }
}

/// A game that was over before its first move.
fn empty() -> Trajectory {
    let seats = vec![Seat { generation: None, learns: false, outcome: 0.0 }];
    Trajectory { record: record(0, 0), seats, plies: Vec::new() }
}

/// A duel of 40 plies with a search target of `entries` actions per move, or without targets.
fn duel(entries: u32) -> Trajectory {
    let mut rng = Rng::new(3, "duel");
    let mut draw = || rng.unit() as f32;
    let seat =
        |number, outcome| Seat { generation: Some(Generation(number)), learns: true, outcome };
    let plies = (0..40).map(|_| {
        let behaviour = [draw(), draw()];
        let search = (entries > 0).then(|| {
            let policy = (0..entries).map(|action| (Action(action), draw())).collect();
            SearchTarget { policy, value: draw(), surprise: draw() }
        });
        let play = |action, behaviour| Move { action, behaviour, search: search.clone() };
        Ply { moves: vec![play(Action(3), behaviour[0]), play(Action(1), behaviour[1])] }
    });
    let plies = plies.collect();
    let seats = vec![seat(17, 1.0), seat(3, -1.0)];
    Trajectory { record: record(1 << 60, 1 << 50), seats, plies }
}

proptest! {
    #[test]
    fn a_trajectory_comes_back_bit_for_bit(trajectory in trajectories()) {
        let bytes = trajectory.encode().expect("it has a form");
        let back = Trajectory::decode(&bytes, &config()).expect("it was just written");
        prop_assert_eq!(&back, &trajectory);
        // −0 equals 0 as a number, but not as bytes.
        prop_assert_eq!(back.encode().expect("it has a form"), bytes);
    }

    #[test]
    fn bytes_that_are_read_are_the_form_of_what_was_read(
        trajectory in trajectories(),
        seed in any::<u64>(),
    ) {
        let mut bytes = trajectory.encode().expect("it has a form");
        let mut rng = Rng::new(seed, "mutation");
        for _ in 0..8 {
            let at = rng.below(bytes.len() as u32) as usize;
            match rng.below(4) {
                0 => bytes[at] = rng.bits() as u8,
                1 => bytes[at] ^= 1 << rng.below(8),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, rng.bits() as u8),
            }
            if bytes.is_empty() {
                bytes.push(1);
            }
            if let Ok(read) = Trajectory::decode(&bytes, &config()) {
                prop_assert_eq!(read.encode().expect("what was read has a form"), bytes.clone());
            }
        }
    }
}

#[test]
fn a_trajectory_that_ends_too_soon_or_goes_on_is_refused() {
    let bytes = duel(3).encode().unwrap();
    for cut in 0..bytes.len() {
        let error = Trajectory::decode(&bytes[..cut], &config()).expect_err("cut short");
        assert!(matches!(error, TrajectoryError::Malformed { offset, .. } if offset <= cut));
    }
    let longer = [&bytes[..], &[0]].concat();
    let error = Trajectory::decode(&longer, &config()).unwrap_err().to_string();
    let length = bytes.len();
    assert_eq!(error, format!("byte {length} of {}: bytes behind the last ply", length + 1));
}

#[test]
fn a_count_that_lies_reserves_nothing() {
    let mut bytes = empty().encode().unwrap();
    assert_eq!(bytes.pop(), Some(0));
    bytes.extend([0xff, 0xff, 0xff, 0xff, 0x0f]);
    let error = Trajectory::decode(&bytes, &config()).unwrap_err().to_string();
    assert!(error.ends_with("more plies than bytes"), "{error}");
    // The largest number of plies that 6 MB can hold is still too large.
    bytes.truncate(bytes.len() - 5);
    push_varint(1 << 20, &mut bytes);
    bytes.resize(bytes.len() + (6 << 20), 1);
    let error = Trajectory::decode(&bytes, &config()).unwrap_err().to_string();
    assert!(error.contains("too many plies"), "{error}");
}

#[test]
fn a_game_out_of_bounds_has_no_form() {
    let said = |change: fn(&mut Trajectory)| {
        let mut game = duel(2);
        change(&mut game);
        game.encode().expect_err("it does not fit").to_string()
    };
    assert_eq!(said(|t| t.seats.clear()), "seats has 0 entries; 1 to 16 are possible");
    assert_eq!(said(|t| t.plies[7].moves.clear()), "a ply has 0 entries; 1 to 16 are possible");
    let crowd = |t: &mut Trajectory| t.plies[7].moves = vec![t.plies[0].moves[0].clone(); 17];
    assert!(said(crowd).starts_with("a ply has 17 entries"));
    let mixed = said(|t| t.plies[9].moves[1].search = None);
    assert_eq!(mixed, "ply 9 has a move without a search target, unlike the first ply");
    let long = |t: &mut Trajectory| t.plies = vec![t.plies[0].clone(); MAX_PLIES + 1];
    assert!(said(long).starts_with("plies has 65537 entries"));
}

#[test]
fn a_surprise_without_a_policy_target_is_no_part_of_the_form() {
    let (mut game, mut canonical) = (duel(2), duel(2));
    for (game, surprise) in [(&mut game, 0.5), (&mut canonical, 0.0)] {
        game.plies[4].moves[1].search = Some(SearchTarget { surprise, ..SearchTarget::default() });
    }
    assert_ne!(game, canonical);
    let bytes = game.encode().unwrap();
    assert_eq!(bytes, canonical.encode().unwrap());
    assert_eq!(Trajectory::decode(&bytes, &config()), Ok(canonical));
}

#[test]
fn a_duel_of_forty_plies_is_small() {
    let sizes = [0, 3, 4].map(|targets| duel(targets).encode().unwrap().len());
    assert_eq!(sizes, [472, 2_392, 2_792]);
}

#[test]
fn an_encoded_game_gives_back_its_trajectory_and_weighs_what_it_takes() {
    let trajectory = duel(3);
    let bytes = trajectory.encode().unwrap();
    let positions: Vec<_> = (0..40).map(|ply| PositionRef { ply, mover: 1, seat: 1 }).collect();
    let game = EncodedTrajectory::new(&bytes[..], Generation(17), &positions[..]);
    assert_eq!(game.decode(&config()), Ok(trajectory));
    assert_eq!((game.positions(), game.generation(), game.weight(5)), (40, Generation(17), 1.0));
    assert_eq!(game.bytes(), size_of::<EncodedTrajectory>() + bytes.len() + 160);
    let game = game.weighted(&[2.0, 0.5]);
    assert_eq!([0, 1, 2].map(|position| game.weight(position)), [2.0, 0.5, 1.0]);
    assert_eq!((game.as_bytes(), game.position_refs()), (&bytes[..], &positions[..]));
}

#[test]
fn fingerprints_follow_the_published_definition() {
    assert_eq!(fingerprint(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fingerprint(b"foobar"), 0x8594_4171_f739_67e8);
}

/// A game with every kind of entry of format version 1.
fn example(is_searched: bool) -> Trajectory {
    let seat = |generation: Option<u32>, learns, outcome| Seat {
        generation: generation.map(Generation),
        learns,
        outcome,
    };
    let play = |action, behaviour, policy: &[(u32, f32)], value, surprise| {
        let policy = policy.iter().map(|&(action, weight)| (Action(action), weight)).collect();
        let search = is_searched.then_some(SearchTarget { policy, value, surprise });
        Move { action: Action(action), behaviour, search }
    };
    let first =
        vec![play(300, 0.5, &[(300, 0.75), (1, 0.25)], 0.5, 0.125), play(1, 1.0, &[], -0.25, 0.0)];
    let second = vec![play(2, 0.25, &[(2, 1.0)], -0.0, 0.0)];
    Trajectory {
        record: record(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210),
        seats: vec![
            seat(Some(200), true, 1.0),
            seat(Some(0), false, -0.5),
            seat(None, false, -0.0),
        ],
        plies: vec![Ply { moves: first }, Ply { moves: second }],
    }
}

/// The bytes of [`example`], without and with search targets, as the first release of the journal
/// wrote them. Such journals must stay readable.
const GOLDEN: [&str; 2] = [
    "0100efcdab89674523011032547698badcfe0303c8010000803f0200000000bf00000000800202ac020000003f010000803f01020000803e",
    "0101efcdab89674523011032547698badcfe0303c8010000803f0200000000bf00000000800202ac020000003f0000003f020000003eac020000403f010000803e010000803f000080be0001020000803e000000800100000000020000803f",
];

#[test]
fn version_1_has_the_bytes_it_always_had() {
    for (is_searched, golden) in [false, true].into_iter().zip(GOLDEN) {
        let bytes = example(is_searched).encode().unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, golden);
    }
}
