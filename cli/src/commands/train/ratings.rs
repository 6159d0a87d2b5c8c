//! The rating that the panel and the events show: that of the strongest checkpoint.

use ouro_arena::PlayerId;
use ouro_net::Generation;
use ouro_rating::{Estimate, Rating, RatingTable};

use super::event::Rated;

/// The difference of the strongest checkpoint to another one.
///
/// They met each other, or met the same checkpoints. The interval is therefore much narrower than
/// that of the distance to `random`, which loses to both.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// The other checkpoint.
    pub(super) to: String,
    /// The difference in Elo.
    pub(super) elo: Estimate,
}

/// Returns the strongest checkpoint.
pub(super) fn best(table: &RatingTable) -> Option<Rated> {
    strongest(table).map(Rated::from)
}

/// Returns the difference of the strongest checkpoint to the champion. If the champion is the
/// strongest, returns its difference to the checkpoint `promoted` before it.
///
/// `promoted` has all promoted generations, oldest first. `None` if the other checkpoint does not
/// exist or is not rated.
pub(super) fn difference(table: &RatingTable, promoted: &[Generation]) -> Option<Difference> {
    let best = strongest(table)?;
    let champion = table.champion.as_deref().filter(|player| is_checkpoint(player))?;
    if best.player != champion {
        return Some(Difference { to: champion.to_owned(), elo: best.to_champion? });
    }
    let names = promoted.iter().rev().map(ToString::to_string);
    let previous = names.skip_while(|name| name != champion).nth(1)?;
    let row = table.ratings.iter().find(|row| row.player == previous)?;
    let Estimate { value, low, high } = row.to_champion?;
    let elo = Estimate { value: -value, low: -high, high: -low };
    Some(Difference { to: previous, elo })
}

/// The row of the strongest checkpoint. Other players are skipped: early in a run, fixed players
/// are stronger than any checkpoint.
fn strongest(table: &RatingTable) -> Option<&Rating> {
    table.ratings.iter().find(|row| is_checkpoint(&row.player))
}

fn is_checkpoint(player: &str) -> bool {
    matches!(player.parse(), Ok(PlayerId::Generation(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of players with their differences to the champion, each plus or minus 10.
    fn table(champion: &str, rows: &[(&str, f64)]) -> RatingTable {
        let row = |&(player, value): &(&str, f64)| Rating {
            player: player.to_owned(),
            elo: 300.0 + value,
            elo_low: 0.0,
            elo_high: 600.0,
            games: 40,
            score: 0.5,
            to_champion: Some(Estimate { value, low: value - 10.0, high: value + 10.0 }),
        };
        RatingTable {
            ratings: rows.iter().map(row).collect(),
            anchor: "random".to_owned(),
            champion: Some(champion.to_owned()),
            games: 100,
        }
    }

    fn elo(value: f64) -> Estimate {
        Estimate { value, low: value - 10.0, high: value + 10.0 }
    }

    const PROMOTED: [Generation; 3] = [Generation(0), Generation(2), Generation(5)];

    #[test]
    fn a_champion_has_its_difference_to_the_one_before_it() {
        let rows = [
            ("minimax{depth=4}", 200.0),
            ("generation-5", 0.0),
            ("generation-4", -8.0),
            ("generation-2", -45.0),
            ("random", -300.0),
        ];
        let table = table("generation-5", &rows);
        assert_eq!(best(&table).expect("it is rated").player, "generation-5");
        let expected = Difference { to: "generation-2".to_owned(), elo: elo(45.0) };
        assert_eq!(difference(&table, &PROMOTED), Some(expected));
        // Without another promotion, or without its rating.
        assert_eq!(difference(&table, &PROMOTED[2..]), None);
        assert_eq!(difference(&table, &[Generation(1), Generation(5)]), None);
    }

    #[test]
    fn a_stronger_checkpoint_has_its_difference_to_the_champion() {
        let rows = [("generation-7", 20.0), ("generation-5", 0.0), ("generation-2", -45.0)];
        let table = table("generation-5", &rows);
        let expected = Difference { to: "generation-5".to_owned(), elo: elo(20.0) };
        assert_eq!(difference(&table, &PROMOTED), Some(expected));
    }

    #[test]
    fn a_difference_to_random_is_the_elo_and_not_repeated() {
        let table = table("random", &[("generation-0", 15.0), ("random", 0.0)]);
        assert_eq!(difference(&table, &[]), None);
        assert_eq!(difference(&RatingTable::default(), &PROMOTED), None);
    }
}
