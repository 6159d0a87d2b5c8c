//! Chooses the pairings of spare games.
//!
//! A game between two players reduces the uncertainty of the difference of their ratings, and
//! thereby of all ratings. What matters is how far each player is from the champion. [`choose`]
//! therefore returns the pairing whose next game reduces the variances of these differences the
//! most, weighted by their [`relevance`] ([`Ratings::gain`]; the criterion of A-optimal
//! experiments).

use ouro_rating::Ratings;
use ouro_rating::comparison::expected_share;

/// Half width of the interval of a difference between equals, in Elo points. Narrower intervals need
/// no more games.
const NARROW: f64 = 10.0;

/// How much the difference of a player to the champion matters, from the expected share of points
/// in games that rank the two: 1 between equals, 0.2 at 500 Elo points, 0.01 at 1,000.
///
/// The weight is the information of a game between the two, relative to one between equals.
/// Without it most games would be spent on `random`, whose large distance no game makes certain.
pub fn relevance(elo: f64) -> f64 {
    let share = expected_share(elo);
    4.0 * share * (1.0 - share)
}

/// The pairing to play next, as indices into `players`.
///
/// `None` if all differences to the champion are certain enough or no two players can be paired.
/// `playable` returns whether two players can still play distinct games.
pub fn choose(
    ratings: &Ratings,
    champion: &str,
    players: &[&str],
    playable: &dyn Fn(&str, &str) -> bool,
) -> Option<(usize, usize)> {
    let mut is_wide = false;
    let mut interest = Vec::with_capacity(players.len());
    for &name in players {
        let known = ratings.compare(name, champion).map(|known| known.elo);
        let weight = known.map_or(1.0, |elo| relevance(elo.value));
        is_wide |= known.is_none_or(|elo| weight.sqrt() * (elo.high - elo.low) > 2.0 * NARROW);
        interest.push((name, weight));
    }
    if !is_wide {
        return None;
    }
    // Every pairing costs one sparse solve, which is why the caller bounds the number of players.
    let mut best: Option<(f64, (usize, usize))> = None;
    for first in 0..players.len() {
        for second in first + 1..players.len() {
            if !playable(players[first], players[second]) {
                continue;
            }
            let gain = ratings.gain([players[first], players[second]], champion, &interest);
            if gain > best.map_or(0.0, |(most, _)| most) {
                best = Some((gain, (first, second)));
            }
        }
    }
    best.map(|(_, pairing)| pairing)
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
        let (first, second) = choose(&known, "a", &names, &|_, _| true).unwrap();
        assert!(first == 3 || second == 3, "{first} {second}");
        // A player that cannot play is never chosen.
        let pairing = choose(&known, "a", &names, &|a, b| a != "c" && b != "c");
        assert!(pairing.is_some_and(|(first, second)| first != 3 && second != 3));
    }

    #[test]
    fn the_predicted_gain_of_a_game_is_its_actual_gain() {
        let names = ["random", "a", "b"];
        let before = ratings(&[("a", "random", 40), ("b", "a", 10)], &names);
        let variance = |ratings: &Ratings, champion: &str| -> f64 {
            let half = |name: &str| {
                let elo = ratings.compare(name, champion).unwrap().elo;
                (elo.high - elo.low) / 2.0 / Z_95 / ouro_rating::ratings::ELO
            };
            half("random").powi(2) + half("a").powi(2) + 0.5 * half("b").powi(2)
        };
        // With many games, one more pair hardly changes the strengths.
        let after = ratings(&[("a", "random", 42), ("b", "a", 10)], &names);
        for champion in names {
            let interest = [("random", 1.0), ("a", 1.0), ("b", 0.5)];
            let predicted = before.gain(["a", "random"], champion, &interest);
            let actual = (variance(&before, champion) - variance(&after, champion)) / 2.0;
            assert!((predicted - actual).abs() < 0.1 * predicted, "{predicted} {actual}");
        }
        assert_eq!(before.gain(["a", "random"], "nobody", &[("b", 1.0)]), 0.0);
    }

    #[test]
    fn spare_games_make_differences_to_the_champion_certain_and_not_the_distance_to_random() {
        let names = ["random", "greedy", "minimax", "old", "member", "newest", "champion"];
        let result = |player: &str, opponent: &str, wins, losses| {
            let score = Score { wins, draws: 0, losses };
            let (player, opponent) = (player.to_owned(), opponent.to_owned());
            PairResults::from(&PairScore { player, opponent, score })
        };
        // Far rungs up to a member of the pool, then equals.
        let mut results: Vec<PairResults> =
            names[..5].windows(2).map(|pair| result(pair[1], pair[0], 22, 2)).collect();
        results.extend(["newest", "champion"].map(|player| result(player, "member", 20, 20)));
        let known = Ratings::fit(&results, &[], "random");
        let width = |name: &str| {
            let elo = known.compare(name, "champion").unwrap().elo;
            elo.high - elo.low
        };
        assert!(width("random") > 3.0 * width("member"));
        let (first, second) = choose(&known, "champion", &names, &|_, _| true).unwrap();
        assert!(first >= 3 && second >= 4, "{} {}", names[first], names[second]);
    }

    #[test]
    fn certain_differences_need_no_more_games() {
        let names = ["random", "a"];
        let known = ratings(&[("a", "random", 40_000)], &names);
        assert_eq!(choose(&known, "a", &names, &|_, _| true), None);
    }
}
