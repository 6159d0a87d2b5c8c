//! Compares draws with their documented distribution. Seeds are fixed. The bounds are so wide that
//! a correct program fails with a new seed in fewer than one of 10,000 cases.

use super::*;

const DRAWS: usize = 20_000;

/// Four standard deviations: 99.99 % of a binomial share lies within.
fn close(hits: usize, of: usize, share: f64) -> bool {
    let deviation = (share * (1.0 - share) / of as f64).sqrt();
    (hits as f64 / of as f64 - share).abs() <= 4.0 * deviation
}

/// Draws of the newest and of each member.
fn counts(chances: &[Option<f64>], shares: &OpponentShares, seed: u64) -> (usize, Vec<usize>) {
    let mut rng = Rng::new(seed, "test");
    let (mut newest, mut members) = (0, vec![0; chances.len()]);
    for _ in 0..DRAWS {
        match draw(chances, shares, &mut rng) {
            Opponent::Newest => newest += 1,
            Opponent::Member(member) => members[member] += 1,
        }
    }
    (newest, members)
}

const PRIORITISED: OpponentShares =
    OpponentShares { self_play: 0.0, prioritised: 1.0, uniform: 0.0 };
const UNIFORM: OpponentShares = OpponentShares { self_play: 0.0, prioritised: 0.0, uniform: 1.0 };

#[test]
fn each_kind_has_its_share_and_members_their_weight_within_it() {
    let shares = OpponentShares { self_play: 5.0, prioritised: 4.0, uniform: 1.0 };
    let chances = [Some(0.9), None, Some(0.2), Some(1.0)];
    let (newest, members) = counts(&chances, &shares, 1);
    assert!(close(newest, DRAWS, 0.5), "{newest}");
    let weights = [0.01, 0.25, 0.64, 0.0];
    let total: f64 = weights.iter().sum();
    for (member, weight) in members.iter().zip(weights) {
        let share = 0.4 * weight / total + 0.1 / 4.0;
        assert!(close(*member, DRAWS, share), "{members:?}, {share}");
    }
}

#[test]
fn a_member_that_always_loses_is_left_to_the_uniform_floor() {
    let (_, members) = counts(&[Some(1.0), Some(0.99)], &PRIORITISED, 2);
    assert_eq!(members, [0, DRAWS]);
    let (_, members) = counts(&[Some(1.0), Some(0.0)], &UNIFORM, 2);
    assert!(close(members[0], DRAWS, 0.5), "{members:?}");
}

#[test]
fn if_every_member_always_loses_the_draw_is_uniform() {
    let (newest, members) = counts(&[Some(1.0); 4], &PRIORITISED, 3);
    assert_eq!(newest, 0);
    assert!(members.iter().all(|&hits| close(hits, DRAWS, 0.25)), "{members:?}");
}

#[test]
fn an_unknown_or_nan_probability_counts_as_one_half() {
    let chances = [None, Some(0.5), Some(f64::NAN)];
    let (_, members) = counts(&chances, &PRIORITISED, 4);
    assert!(members.iter().all(|&hits| close(hits, DRAWS, 1.0 / 3.0)), "{members:?}");
    // An out-of-range probability counts as the nearest end of the range.
    assert_eq!(weight(Some(-3.0)), 1.0);
    assert_eq!(weight(Some(f64::INFINITY)), 0.0);
}

#[test]
fn shares_of_none_and_all_are_kept_exactly() {
    assert_eq!(counts(&[None; 3], &OpponentShares::SELF_PLAY, 5).0, DRAWS);
    assert_eq!(counts(&[None; 3], &PRIORITISED, 5).0, 0);
    assert_eq!(counts(&[None; 3], &UNIFORM, 5).0, 0);
}

#[test]
fn only_the_proportions_of_shares_count_however_small_or_large_they_are() {
    let chances = [Some(0.9), None, Some(0.2)];
    let times = |factor: f64| OpponentShares {
        self_play: 0.5 * factor,
        prioritised: 0.4 * factor,
        uniform: 0.1 * factor,
    };
    let expected = counts(&chances, &times(1.0), 10);
    for exponent in [-1_000, -200, -1, 130, 1_020] {
        let shares = times(2.0_f64.powi(exponent));
        assert_eq!(counts(&chances, &shares, 10), expected, "2^{exponent}");
    }
    for alone in [f64::MIN_POSITIVE, 1e-60, 1e39, f64::MAX] {
        let shares = OpponentShares { prioritised: alone, ..PRIORITISED };
        assert_eq!(counts(&chances, &shares, 10).0, 0, "{alone}");
        let shares = OpponentShares { self_play: alone, prioritised: 0.0, uniform: alone };
        let (mut own, mut shared) = (Rng::new(11, "test"), Rng::new(12, "test"));
        let drawn = (0..DRAWS).filter(|_| {
            let drawn = draw_seats(2, &chances, &shares, &mut own, &mut shared);
            drawn == [Opponent::Newest; 2]
        });
        assert!(close(drawn.count(), DRAWS, 0.5), "{alone}");
    }
}

#[test]
fn without_a_pool_every_game_is_self_play() {
    let mut rng = Rng::new(6, "test");
    for shares in [OpponentShares::SELF_PLAY, PRIORITISED, UNIFORM, OpponentShares::default()] {
        assert_eq!(draw(&[], &shares, &mut rng), Opponent::Newest);
        assert_eq!(draw_seats(3, &[], &shares, &mut rng.clone(), &mut rng), [Opponent::Newest; 3]);
    }
}

#[test]
fn against_the_pool_the_newest_holds_one_seat_and_the_others_are_drawn_one_by_one() {
    let shares = OpponentShares { self_play: 0.3, prioritised: 0.0, uniform: 0.7 };
    let chances = [None; 4];
    let (mut own, mut shared) = (Rng::new(7, "test"), Rng::new(8, "test"));
    let (mut self_play, mut seats, mut members) = (0, [0_usize; 3], [0_usize; 4]);
    for _ in 0..DRAWS {
        let drawn = draw_seats(3, &chances, &shares, &mut own, &mut shared);
        if drawn == [Opponent::Newest; 3] {
            self_play += 1;
            continue;
        }
        for (seat, opponent) in drawn.into_iter().enumerate() {
            match opponent {
                Opponent::Newest => seats[seat] += 1,
                Opponent::Member(member) => members[member] += 1,
            }
        }
    }
    let played = DRAWS - self_play;
    assert!(close(self_play, DRAWS, 0.3), "{self_play}");
    assert_eq!((seats.iter().sum::<usize>(), members.iter().sum()), (played, 2 * played));
    assert!(seats.iter().all(|&hits| close(hits, played, 1.0 / 3.0)), "{seats:?}");
    assert!(members.iter().all(|&hits| close(hits, 2 * played, 0.25)), "{members:?}");
}

#[test]
fn games_with_equal_shared_generators_have_the_same_opponents_and_the_shares_hold_over_many() {
    let shares = OpponentShares { self_play: 0.5, prioritised: 0.3, uniform: 0.2 };
    let chances = [Some(1.0), Some(0.0)];
    let mut own = Rng::new(9, "test");
    let mut members = [0_usize; 2];
    for cohort in 0..DRAWS as u64 / 4 {
        let mut met = Vec::new();
        for _ in 0..4 {
            let mut shared = Rng::indexed(9, "cohort", cohort);
            let drawn = draw_seats(2, &chances, &shares, &mut own, &mut shared);
            met.extend(drawn.into_iter().filter(|&opponent| opponent != Opponent::Newest));
        }
        assert!(met.windows(2).all(|pair| pair[0] == pair[1]), "{met:?}");
        if let Some(&Opponent::Member(member)) = met.first() {
            members[member] += 1;
        }
    }
    // The first always loses: it is met by the uniform share alone.
    assert!(close(members[0], members.iter().sum(), 0.4 / 2.0), "{members:?}");
}

#[test]
fn invalid_shares_are_refused_by_name() {
    assert_eq!(OpponentShares::default().validate(), Ok(()));
    assert_eq!(OpponentShares::SELF_PLAY.validate(), Ok(()));
    for bad in [-0.1, f64::NAN, f64::INFINITY] {
        let good = OpponentShares::default();
        let cases = [
            ("self_play", OpponentShares { self_play: bad, ..good }),
            ("prioritised", OpponentShares { prioritised: bad, ..good }),
            ("uniform", OpponentShares { uniform: bad, ..good }),
        ];
        for (name, shares) in cases {
            let error = shares.validate().expect_err("out of range").to_string();
            assert!(error.starts_with(name) && error.contains(&bad.to_string()), "{error}");
        }
    }
    let nothing = OpponentShares { self_play: 0.0, ..OpponentShares::SELF_PLAY };
    assert_eq!(nothing.validate(), Err(OpponentSharesError::AllZero));
}
