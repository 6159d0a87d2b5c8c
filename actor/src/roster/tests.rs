//! Draws against what they promise. The seeds are fixed; the bounds are such that a right
//! program fails with a new seed in fewer than one of 10 000 cases.

use super::*;
use crate::testing::roster;

const DRAWS: usize = 20_000;

/// Four standard deviations: 99.99 % of a binomial share lies within.
fn close(hits: usize, of: usize, share: f64) -> bool {
    let deviation = (share * (1.0 - share) / of as f64).sqrt();
    (hits as f64 / of as f64 - share).abs() < 4.0 * deviation
}

#[test]
fn without_a_pool_every_game_is_self_play() {
    let roster = roster(7, &[]);
    let mut rng = Stream::new(1, "test");
    for _ in 0..100 {
        let drawn = roster.draw(2, 0.0, &mut rng);
        assert!(drawn.iter().all(|entry| entry.generation == 7));
        assert_eq!(drawn.len(), 2);
    }
}

#[test]
fn shares_of_none_and_all_are_kept_exactly() {
    let roster = roster(7, &[1, 2]);
    let mut rng = Stream::new(2, "test");
    for _ in 0..1_000 {
        let newest = |share, rng: &mut Stream| {
            roster.draw(3, share, rng).iter().filter(|entry| entry.generation == 7).count()
        };
        assert_eq!(newest(0.0, &mut rng), 1);
        assert_eq!(newest(1.0, &mut rng), 3);
    }
}

#[test]
fn self_play_has_its_share_and_seats_and_opponents_are_uniform() {
    const SHARE: f64 = 0.3;
    let roster = roster(9, &[0, 1, 2, 3]);
    let mut rng = Stream::new(3, "test");
    let (mut self_play, mut seats, mut opponents) = (0, [0_usize; 3], [0_usize; 4]);
    for _ in 0..DRAWS {
        let drawn: Vec<u32> =
            roster.draw(3, SHARE, &mut rng).iter().map(|entry| entry.generation).collect();
        if drawn == [9; 3] {
            self_play += 1;
            continue;
        }
        for (seat, generation) in drawn.into_iter().enumerate() {
            match generation {
                9 => seats[seat] += 1,
                member => opponents[member as usize] += 1,
            }
        }
    }
    let played = DRAWS - self_play;
    assert!(close(self_play, DRAWS, SHARE), "{self_play} of {DRAWS}");
    // One seat learns in every other game, two are drawn from the pool.
    assert_eq!((seats.iter().sum::<usize>(), opponents.iter().sum()), (played, 2 * played));
    assert!(seats.iter().all(|&hits| close(hits, played, 1.0 / 3.0)), "{seats:?}");
    assert!(opponents.iter().all(|&hits| close(hits, 2 * played, 0.25)), "{opponents:?}");
}
