//! Chooses the pairings of spare games.
//!
//! A game between two players reduces the uncertainty of the difference of their ratings, and
//! thereby of all ratings. [`choose`] returns the pairing whose next game reduces the summed
//! variance of the players of interest the most ([`Ratings::gain`]; the criterion of A-optimal
//! experiments).

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
}
