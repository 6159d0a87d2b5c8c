//! Where spare games go: to the two players from whom the ratings learn most.
//!
//! Every game between two players makes the difference of their ratings more certain, and through
//! it everybody's. [`choose`] takes the pairing whose next game lets the variances of all players that
//! matter fall the most ([`Ratings::gain`]; the criterion of A-optimal experiments). [`Allowance`]
//! spaces such games out, so that they take no more than their share of a processor.

use std::time::Duration;

use ouro_rating::Ratings;

/// Where all intervals of interest are narrower than this to both sides, in Elo points, more games
/// are not worth their time.
const NARROW: f64 = 10.0;

/// The pairing to play next among `players`; `None` if the ratings are certain enough or nobody
/// can be paired. `playable` says whether two can still play games that are distinct.
pub fn choose(
    ratings: &Ratings,
    players: &[&str],
    playable: &dyn Fn(&str, &str) -> bool,
) -> Option<(usize, usize)> {
    let wide = |name: &&str| {
        let known = ratings.compare(name, crate::ANCHOR);
        known.is_none_or(|known| known.elo.high - known.elo.low > 2.0 * NARROW)
    };
    if !players.iter().any(wide) {
        return None;
    }
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

/// Keeps work to a share of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    share: f64,
    next: Duration,
}

impl Allowance {
    /// Longest pause after a piece of work.
    const LONGEST: Duration = Duration::from_secs(60);

    /// Work may take this share of the time, 0 to 1, from the start.
    pub fn new(share: f64) -> Self {
        Self { share, next: Duration::ZERO }
    }

    /// How long to wait before the next piece of work; `None` if there is to be none.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        (self.share > 0.0).then(|| self.next.saturating_sub(now))
    }

    /// A piece of work took from `start` to `now`.
    pub fn spent(&mut self, start: Duration, now: Duration) {
        let worked = now.saturating_sub(start).as_secs_f64();
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

    fn ratings(tallies: &[(&str, &str, u32)], names: &[&str]) -> Ratings {
        let evidence: Vec<PairResults> = tallies
            .iter()
            .map(|&(player, opponent, games)| {
                let score = Score { wins: games / 2, draws: 0, losses: games - games / 2 };
                let tally = PairScore { player: player.into(), opponent: opponent.into(), score };
                PairResults::from(&tally)
            })
            .collect();
        let known = names.iter().map(|&name| ListedPlayer { player: name.into(), parent: None });
        Ratings::fit(&evidence, &known.collect::<Vec<_>>(), "random")
    }

    #[test]
    fn spare_games_go_to_whom_least_is_known_of() {
        let names = ["random", "a", "b", "c"];
        let known = ratings(&[("a", "random", 400), ("b", "random", 400), ("c", "a", 4)], &names);
        let (first, second) = choose(&known, &names, &|_, _| true).unwrap();
        assert!(first == 3 || second == 3, "{first} {second}");
        // Whoever cannot play is left out.
        let pairing = choose(&known, &names, &|a, b| a != "c" && b != "c");
        assert!(pairing.is_some_and(|(first, second)| first != 3 && second != 3));
    }

    #[test]
    fn a_chosen_game_does_what_was_promised_for_it() {
        let names = ["random", "a", "b"];
        let before = ratings(&[("a", "random", 40), ("b", "a", 10)], &names);
        let variance = |ratings: &Ratings| -> f64 {
            let half = |name: &str| {
                let elo = ratings.compare(name, "random").unwrap().elo;
                (elo.high - elo.low) / 2.0 / Z_95 / ouro_rating::ratings::ELO
            };
            half("a").powi(2) + half("b").powi(2)
        };
        // Many games, so that the strengths hardly move.
        let after = ratings(&[("a", "random", 42), ("b", "a", 10)], &names);
        let promised = before.gain("a", "random", &["a", "b"]);
        let kept = (variance(&before) - variance(&after)) / 2.0;
        assert!((promised - kept).abs() < 0.1 * promised, "{promised} {kept}");
    }

    #[test]
    fn certain_ratings_ask_for_no_more_games() {
        let names = ["random", "a"];
        let known = ratings(&[("a", "random", 40_000)], &names);
        assert_eq!(choose(&known, &names, &|_, _| true), None);
    }

    #[test]
    fn work_takes_its_share_of_the_time() {
        let seconds = Duration::from_secs;
        let mut allowance = Allowance::new(0.25);
        assert_eq!(allowance.wait(seconds(5)), Some(Duration::ZERO));
        allowance.spent(seconds(5), seconds(7));
        assert_eq!(allowance.wait(seconds(7)), Some(seconds(6)));
        assert_eq!(allowance.wait(seconds(20)), Some(Duration::ZERO));
        assert_eq!(Allowance::new(0.0).wait(seconds(0)), None);
        let mut always = Allowance::new(1.0);
        always.spent(seconds(0), seconds(9));
        assert_eq!(always.wait(seconds(9)), Some(Duration::ZERO));
    }
}
