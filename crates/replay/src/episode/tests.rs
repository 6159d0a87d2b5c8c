//! Round trips, hostile bytes, sizes.

use ouro_game::Rng;
use proptest::prelude::*;

use super::*;
use crate::window::Item;

fn floats() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0_f32), Just(-0.0), Just(1.0), Just(f32::MIN_POSITIVE), -1e3_f32..1e3]
}

fn searched() -> impl Strategy<Value = Searched> {
    let target = (any::<u32>().prop_map(Action), floats());
    (proptest::collection::vec(target, 0..5), floats(), floats()).prop_map(
        |(policy, value, surprise)| {
            let surprise = if policy.is_empty() { 0.0 } else { surprise };
            Searched { policy, value, surprise }
        },
    )
}

fn episodes() -> impl Strategy<Value = Episode> {
    let seat = (proptest::option::of(any::<u32>().prop_map(Generation)), any::<bool>(), floats());
    let seats = proptest::collection::vec(seat, 1..=MAX_SEATS);
    let mover = (prop_oneof![0_u32..200, any::<u32>()], floats(), searched());
    let plies = proptest::collection::vec(proptest::collection::vec(mover, 1..=MAX_SEATS), 0..12);
    (any::<u64>(), any::<u64>(), seats, plies, any::<bool>()).prop_map(
        |(seed, digest, seats, plies, is_searched)| {
            let mut episode = Episode { seed, digest, ..Episode::default() };
            for (generation, learns, outcome) in seats {
                episode.seats.push(Seat { generation, learns });
                episode.outcomes.push(outcome);
            }
            for movers in plies {
                episode.plies.push(movers.iter().map(|mover| Action(mover.0)).collect());
                episode.behaviour.push(movers.iter().map(|mover| mover.1).collect());
                if is_searched {
                    episode.searched.push(movers.into_iter().map(|mover| mover.2).collect());
                }
            }
            episode
        },
    )
}

/// A duel of 40 plies, `targets` policy targets behind every move.
fn duel(targets: u32) -> Episode {
    let mut rng = Rng::new(3, "duel");
    let mut draw = || rng.unit() as f32;
    let seats = [17, 3].map(|number| Seat { generation: Some(Generation(number)), learns: true });
    let mut episode = Episode { seed: 1 << 60, digest: 1 << 50, ..Episode::default() };
    episode.seats = seats.to_vec();
    episode.outcomes = vec![1.0, -1.0];
    for _ in 0..40 {
        episode.plies.push(vec![Action(3), Action(1)]);
        episode.behaviour.push(vec![draw(), draw()]);
        if targets > 0 {
            let policy: Vec<_> = (0..targets).map(|action| (Action(action), draw())).collect();
            let searched = Searched { policy, value: draw(), surprise: draw() };
            episode.searched.push(vec![searched.clone(), searched]);
        }
    }
    episode
}

proptest! {
    #[test]
    fn an_episode_comes_back_bit_for_bit(episode in episodes()) {
        let bytes = episode.encode().expect("it has a form");
        let back = Episode::decode(&bytes).expect("it was just written");
        prop_assert_eq!(&back, &episode);
        // Equality takes −0 for 0; bytes do not.
        prop_assert_eq!(back.encode().expect("it has a form"), bytes);
    }

    #[test]
    fn bytes_that_are_read_are_the_form_of_what_was_read(
        episode in episodes(),
        seed in any::<u64>(),
    ) {
        let mut bytes = episode.encode().expect("it has a form");
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
            if let Ok(read) = Episode::decode(&bytes) {
                prop_assert_eq!(read.encode().expect("what was read has a form"), bytes.clone());
            }
        }
    }
}

#[test]
fn an_episode_that_ends_too_soon_or_goes_on_is_refused() {
    let bytes = duel(3).encode().unwrap();
    for cut in 0..bytes.len() {
        let error = Episode::decode(&bytes[..cut]).expect_err("cut short");
        assert!(matches!(error, EpisodeError::Malformed { offset, .. } if offset <= cut));
    }
    let longer = [&bytes[..], &[0]].concat();
    let error = Episode::decode(&longer).unwrap_err().to_string();
    let length = bytes.len();
    assert_eq!(error, format!("byte {length} of {}: bytes behind the last ply", length + 1));
}

#[test]
fn a_count_that_lies_reserves_nothing() {
    let mut bytes = Episode {
        seats: vec![Seat { generation: None, learns: false }],
        outcomes: vec![0.0],
        ..Episode::default()
    }
    .encode()
    .unwrap();
    assert_eq!(bytes.pop(), Some(0));
    bytes.extend([0xff, 0xff, 0xff, 0xff, 0x0f]);
    let error = Episode::decode(&bytes).unwrap_err().to_string();
    assert!(error.ends_with("more plies than bytes"), "{error}");
    // As many plies as 6 MB can hold are still too many.
    bytes.truncate(bytes.len() - 5);
    push_varint(1 << 20, &mut bytes);
    bytes.resize(bytes.len() + (6 << 20), 1);
    let error = Episode::decode(&bytes).unwrap_err().to_string();
    assert!(error.contains("too many plies"), "{error}");
}

#[test]
fn lists_that_do_not_fit_together_have_no_form() {
    let said = |change: fn(&mut Episode)| {
        let mut episode = duel(2);
        change(&mut episode);
        episode.encode().expect_err("it does not fit").to_string()
    };
    assert_eq!(said(|e| e.seats.clear()), "seats has 0 entries; 1 to 16 are possible");
    assert_eq!(said(|e| e.outcomes.push(0.0)), "outcomes has 3 entries; 2 are due");
    assert_eq!(said(|e| e.plies[7].clear()), "a ply has 0 entries; 1 to 16 are possible");
    assert!(said(|e| e.plies[7] = vec![Action(0); 17]).starts_with("a ply has 17 entries"));
    assert!(said(|e| e.behaviour.truncate(39)).starts_with("behaviour has 39 entries"));
    assert!(said(|e| e.behaviour[0].truncate(1)).starts_with("a ply of behaviour has 1"));
    assert!(said(|e| e.searched.truncate(39)).starts_with("searched has 39 entries; 40"));
    assert!(said(|e| e.searched[9].truncate(1)).starts_with("a ply of searched has 1"));
    let surprised = said(|e| e.searched[4][1].policy.clear());
    assert_eq!(surprised, "ply 4 has a surprise but no policy target");
    let long = |e: &mut Episode| e.plies = vec![vec![Action(0)]; MAX_PLIES + 1];
    assert!(said(long).starts_with("plies has 65537 entries"));
}

#[test]
fn a_duel_of_forty_plies_is_small() {
    let sizes = [0, 3, 4].map(|targets| duel(targets).encode().unwrap().len());
    assert_eq!(sizes, [472, 2_392, 2_792]);
}

#[test]
fn a_packed_game_gives_back_its_episode_and_weighs_what_it_takes() {
    let episode = duel(3);
    let bytes = episode.encode().unwrap();
    let places: Vec<Place> = (0..40).map(|ply| Place { ply, mover: 1, seat: 1 }).collect();
    let game = PackedGame::new(&bytes, Generation(17), &places);
    assert_eq!(game.episode(), Ok(episode));
    assert_eq!((game.positions(), game.generation(), game.weight(5)), (40, Generation(17), 1.0));
    assert_eq!(game.bytes(), size_of::<PackedGame>() + bytes.len() + 160);
    let game = game.weighted(&[2.0, 0.5]);
    assert_eq!([0, 1, 2].map(|position| game.weight(position)), [2.0, 0.5, 1.0]);
    assert_eq!((game.packed(), game.places()), (&bytes[..], &places[..]));
}

#[test]
fn fingerprints_follow_the_published_definition() {
    assert_eq!(fingerprint(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fingerprint(b"foobar"), 0x8594_4171_f739_67e8);
}

/// One game with every kind of entry that version 1 of the format has.
fn example(is_searched: bool) -> Episode {
    let seat =
        |generation: Option<u32>, learns| Seat { generation: generation.map(Generation), learns };
    let target = |policy: &[(u32, f32)], value, surprise| Searched {
        policy: policy.iter().map(|&(action, weight)| (Action(action), weight)).collect(),
        value,
        surprise,
    };
    let searched = vec![
        vec![target(&[(300, 0.75), (1, 0.25)], 0.5, 0.125), target(&[], -0.25, 0.0)],
        vec![target(&[(2, 1.0)], -0.0, 0.0)],
    ];
    Episode {
        seed: 0x0123_4567_89ab_cdef,
        digest: 0xfedc_ba98_7654_3210,
        plies: vec![vec![Action(300), Action(1)], vec![Action(2)]],
        behaviour: vec![vec![0.5, 1.0], vec![0.25]],
        searched: if is_searched { searched } else { Vec::new() },
        seats: vec![seat(Some(200), true), seat(Some(0), false), seat(None, false)],
        outcomes: vec![1.0, -0.5, -0.0],
    }
}

/// What the first program that wrote journals made of [`example`]: journals of that time are
/// still opened, so these bytes stay.
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
