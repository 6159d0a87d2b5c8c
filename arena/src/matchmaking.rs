//! Chooses the pairings of spare games, and limits the time that matches take.
//!
//! A game between two players reduces the uncertainty of the difference of their ratings, and
//! thereby of all ratings. [`choose`] returns the pairing whose next game reduces the summed
//! variance of the players of interest the most ([`Ratings::gain`]; the criterion of A-optimal
//! experiments). [`DutyCycle`] inserts pauses that limit work to a share of the time.

use std::time::Duration;

use ouro_rating::Ratings;

/// Half width of a rating interval, in Elo points. Narrower intervals need no more games.
const NARROW: f64 = 10.0;

/// The pairing to play next, as indices into `players`.
///
/// `None` if all ratings are certain enough or no two players can be paired. `playable` returns
/// whether two players can still play distinct games.
pub fn choose(
    ratings: &Ratings,
    players: &[&str],
    playable: &dyn Fn(&str, &str) -> bool,
) -> Option<(usize, usize)> {
    let wide = |name: &&str| {
        let known = ratings.compare(name, crate::player_id::ANCHOR);
        known.is_none_or(|known| known.elo.high - known.elo.low > 2.0 * NARROW)
    };
    if !players.iter().any(wide) {
        return None;
    }
    // Every pairing costs one sparse solve, which is why the caller bounds the number of players.
    let mut best: Option<(f64, (usize, usize))> = None;
    for first in 0..players.len() {
        for second in first + 1..players.len() {
            if !playable(players[first], players[second]) {
                continue;
            }
            let gain = ratings.gain(players[first], players[second], players);
            if gain > best.map_or(0.0, |(most, _)| most) {
                best = Some((gain, (first, second)));
            }
        }
    }
    best.map(|(_, pairing)| pairing)
}

/// Limits work to a share of the time by a pause after each piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DutyCycle {
    share: f64,
    next: Duration,
}

impl DutyCycle {
    /// Longest pause after a piece of work. Without a limit, one slow match would stop all spare
    /// games.
    const LONGEST: Duration = Duration::from_secs(60);

    /// A cycle in which work takes `share` of the time, 0 to 1. The first piece starts at once.
    pub fn new(share: f64) -> Self {
        Self { share, next: Duration::ZERO }
    }

    /// Time until the next piece of work may start; `None` if the share is 0.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        (self.share > 0.0).then(|| self.next.saturating_sub(now))
    }

    /// Records a piece of work that lasted from `start` to `now`.
    pub fn spent(&mut self, start: Duration, now: Duration) {
        let worked = now.saturating_sub(start).as_secs_f64();
        // `share` is the ratio of work to work plus pause. The lower bound avoids a division by
        // zero.
        let rest = worked * (1.0 - self.share) / self.share.max(1e-9);
        let rest = Duration::try_from_secs_f64(rest).unwrap_or(Self::LONGEST);
        self.next = now + rest.min(Self::LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouro_rating::Score;
    use ouro_rating::interval::Z_95;
    use ouro_rating::ratings::{ListedPlayer, PairResults, PairScore};

    fn ratings(pairs: &[(&str, &str, u32)], names: &[&str]) -> Ratings {
        let results: Vec<PairResults> = pairs
            .iter()
            .map(|&(player, opponent, games)| {
                let score = Score { wins: games / 2, draws: 0, losses: games - games / 2 };
                let pair = PairScore { player: player.into(), opponent: opponent.into(), score };
                PairResults::from(&pair)
            })
            .collect();
        let known = names.iter().map(|&name| ListedPlayer { player: name.into(), parent: None });
        Ratings::fit(&results, &known.collect::<Vec<_>>(), "random")
    }

    #[test]
    fn spare_games_go_to_the_least_certain_player() {
        let names = ["random", "a", "b", "c"];
        let known = ratings(&[("a", "random", 400), ("b", "random", 400), ("c", "a", 4)], &names);
        let (first, second) = choose(&known, &names, &|_, _| true).unwrap();
        assert!(first == 3 || second == 3, "{first} {second}");
        // A player that cannot play is never chosen.
        let pairing = choose(&known, &names, &|a, b| a != "c" && b != "c");
        assert!(pairing.is_some_and(|(first, second)| first != 3 && second != 3));
    }

    #[test]
    fn the_predicted_gain_of_a_game_is_its_actual_gain() {
        let names = ["random", "a", "b"];
        let before = ratings(&[("a", "random", 40), ("b", "a", 10)], &names);
        let variance = |ratings: &Ratings| -> f64 {
            let half = |name: &str| {
                let elo = ratings.compare(name, "random").unwrap().elo;
                (elo.high - elo.low) / 2.0 / Z_95 / ouro_rating::ratings::ELO
            };
            half("a").powi(2) + half("b").powi(2)
        };
        // With many games, one more pair hardly changes the strengths.
        let after = ratings(&[("a", "random", 42), ("b", "a", 10)], &names);
        let predicted = before.gain("a", "random", &["a", "b"]);
        let actual = (variance(&before) - variance(&after)) / 2.0;
        assert!((predicted - actual).abs() < 0.1 * predicted, "{predicted} {actual}");
    }

    #[test]
    fn certain_ratings_need_no_more_games() {
        let names = ["random", "a"];
        let known = ratings(&[("a", "random", 40_000)], &names);
        assert_eq!(choose(&known, &names, &|_, _| true), None);
    }

    #[test]
    fn work_takes_its_share_of_the_time() {
        let seconds = Duration::from_secs;
        let mut duty_cycle = DutyCycle::new(0.25);
        assert_eq!(duty_cycle.wait(seconds(5)), Some(Duration::ZERO));
        duty_cycle.spent(seconds(5), seconds(7));
        assert_eq!(duty_cycle.wait(seconds(7)), Some(seconds(6)));
        assert_eq!(duty_cycle.wait(seconds(20)), Some(Duration::ZERO));
        assert_eq!(DutyCycle::new(0.0).wait(seconds(0)), None);
        let mut always = DutyCycle::new(1.0);
        always.spent(seconds(0), seconds(9));
        assert_eq!(always.wait(seconds(9)), Some(Duration::ZERO));
    }
}
