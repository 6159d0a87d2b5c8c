//! Draws map to the right networks. The frequencies are tested in `ouro-players`.

use super::*;
use crate::testing::roster;

fn generations(drawn: &[&Entry]) -> Vec<u32> {
    drawn.iter().map(|entry| entry.generation.0).collect()
}

#[test]
fn self_play_seats_the_newest_everywhere_and_so_does_an_empty_pool() {
    let mut rng = Rng::new(1, "test");
    let against_pool = OpponentShares { self_play: 0.0, prioritised: 1.0, uniform: 1.0 };
    for (roster, shares) in
        [(roster(7, &[1, 2]), OpponentShares::SELF_PLAY), (roster(7, &[]), against_pool)]
    {
        for _ in 0..50 {
            assert_eq!(generations(&roster.draw(3, &shares, &mut rng.clone(), &mut rng)), [7; 3]);
        }
    }
}

#[test]
fn members_are_drawn_by_the_estimates_beside_them() {
    let mut roster = roster(7, &[1, 2, 3]);
    for (member, chance) in roster.pool.iter_mut().zip([1.0, 0.3, 1.0]) {
        member.newest_wins = Some(chance);
    }
    let shares = OpponentShares { self_play: 0.0, prioritised: 1.0, uniform: 0.0 };
    let mut rng = Rng::new(2, "test");
    for _ in 0..200 {
        let mut drawn = generations(&roster.draw(2, &shares, &mut rng.clone(), &mut rng));
        drawn.sort_unstable();
        // Members that always lose are never drawn.
        assert_eq!(drawn, [2, 7]);
    }
}
