//! Ratings of candidates that pass the gate, against their true strengths.
//!
//! A match at the gate ends by its results. A candidate on a lucky run is promoted early, and its
//! bad games are never played. The same happens to one on an unlucky run, but that one does not
//! become the champion. The simulations play candidates of known strength through the real gate
//! and the real fit.

use super::super::{ELO, ListedPlayer, PairResults, PairScore, Ratings, Stopping};
use crate::cluster::{ClusterResult, ClusterShape, GameResult, Ranking};
use crate::gate::{Gate, GateConfig, GateReport, Verdict};
use crate::score::Score;
use ouro_game::Rng;

/// Games of each candidate against the champion after its verdict (`arena.champion_games`).
const RATING_GAMES: u32 = 32;

/// Games of each candidate against the anchor (`arena.anchor_games`).
const ANCHOR_GAMES: u32 = 8;

/// Strength of the first champion above the anchor, in Elo points.
const ABOVE_ANCHOR: f64 = 400.0;

/// Which games are rated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rated {
    /// Those at the gate as well, as if their number had been fixed.
    All,
    /// Those of fixed number.
    Fixed,
}

/// One game of a player that is stronger by `elo`.
fn is_won(rng: &mut Rng, elo: f64) -> bool {
    rng.unit() < 1.0 / (1.0 + (-elo / ELO).exp())
}

/// A match at the gate.
fn at_gate(rng: &mut Rng, elo: f64) -> GateReport {
    let mut gate = Gate::new(GateConfig::default(), ClusterShape { seats: 2 }).unwrap();
    while gate.verdict().is_none() {
        let cluster = gate.next_cluster();
        let game = |number| GameResult {
            ranking: Ranking::new(if is_won(rng, elo) { 1.0 } else { -1.0 }, &[0.0]),
            margin: 0.0,
            fingerprint: 2 * u64::from(cluster) + number,
        };
        gate.fold(&ClusterResult { cluster, games: (0..2).map(game).collect() });
    }
    gate.report()
}

/// Games of a number that does not depend on their results.
fn rating_games(rng: &mut Rng, elo: f64, games: u32) -> Score {
    let wins = (0..games).filter(|_| is_won(rng, elo)).count() as u32;
    Score { wins, draws: 0, losses: games - wins }
}

fn name(generation: usize) -> String {
    format!("generation-{generation}")
}

/// A run whose candidates have these strengths in Elo points. The first one is the champion at the
/// start.
#[derive(Debug)]
struct Run {
    ratings: Ratings,
    /// The last champion.
    champion: usize,
    /// Candidates promoted after the first.
    promotions: u32,
}

impl Run {
    fn play(seed: u64, elo: &[f64], rated: Rated, anchor_games: u32) -> Self {
        let mut rng = Rng::new(seed, "stopping");
        let (mut results, mut listed) = (Vec::new(), Vec::new());
        let (mut champion, mut promotions) = (0, 0);
        let mut add = |player: usize, opponent: String, score: Score, stopping: Stopping| {
            let results_of =
                PairResults::from(&PairScore { player: name(player), opponent, score });
            results.push(PairResults { stopping, ..results_of });
        };
        for (player, &own) in elo.iter().enumerate() {
            let parent = player.checked_sub(1).map(name);
            listed.push(ListedPlayer { player: name(player), parent });
            let score = rating_games(&mut rng, own - elo[0] + ABOVE_ANCHOR, anchor_games);
            add(player, "random".into(), score, Stopping::Fixed);
            if player == 0 {
                continue;
            }
            let difference = own - elo[champion];
            let report = at_gate(&mut rng, difference);
            let stopping = match rated {
                Rated::All => Stopping::Fixed,
                Rated::Fixed => Stopping::ByResults,
            };
            add(player, name(champion), report.score, stopping);
            if rated == Rated::Fixed {
                let score = rating_games(&mut rng, difference, RATING_GAMES);
                add(player, name(champion), score, Stopping::Fixed);
            }
            if report.ruling.is_some_and(|ruling| ruling.verdict == Verdict::Promote) {
                (champion, promotions) = (player, promotions + 1);
            }
        }
        Self { ratings: Ratings::fit(&results, &listed, "random"), champion, promotions }
    }

    /// How much stronger the last champion is than the first: as rated, and in truth.
    fn rise(&self, elo: &[f64]) -> [f64; 2] {
        let rated = self.ratings.compare(&name(self.champion), &name(0)).unwrap().elo.value;
        [rated, elo[self.champion] - elo[0]]
    }
}

/// Mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// How much too high the last champion is rated above the first, over many runs, with its standard
/// error.
fn error(elo: &[f64], rated: Rated, anchor_games: u32, runs: u64) -> (f64, f64) {
    let all: Vec<Run> = (0..runs).map(|seed| Run::play(seed, elo, rated, anchor_games)).collect();
    let promotions: u32 = all.iter().map(|run| run.promotions).sum();
    let [shown, truth]: [Vec<f64>; 2] =
        [0, 1].map(|side| all.iter().map(|run| run.rise(elo)[side]).collect());
    let errors: Vec<f64> = shown.iter().zip(&truth).map(|(shown, truth)| shown - truth).collect();
    let (value, deviation) = mean(&errors);
    println!(
        "{} candidates, {:.1} promoted, {rated:?} rated, {anchor_games} anchor games: a rise of {:.1} \
         is shown as {:.1}; error {value:+.1} ± {deviation:.1}, {:+.2} a candidate",
        elo.len() - 1,
        f64::from(promotions) / runs as f64,
        mean(&truth).0,
        mean(&shown).0,
        value / (elo.len() - 1) as f64,
    );
    (value, deviation)
}

/// Checks that all games stretch a rise by more than `stretched`, and that those of fixed number do
/// not.
///
/// With games against the distant anchor a small error remains, `most` at most. The maximum of the
/// likelihood is too far out where one side wins nearly all of few games.
fn check(elo: &[f64], stretched: f64, most: f64) {
    let (stretch, _) = error(elo, Rated::All, ANCHOR_GAMES, 60);
    assert!(stretch > stretched, "games at the gate no longer stretch: {stretch}");
    let (stretch, deviation) = error(elo, Rated::Fixed, 0, 240);
    assert!(stretch.abs() < 2.5 * deviation, "{stretch} ± {deviation}");
    let (stretch, deviation) = error(elo, Rated::Fixed, ANCHOR_GAMES, 240);
    assert!(stretch.abs() < most, "{stretch} ± {deviation}");
}

/// Candidates that are each better than the one before.
fn rise(step: f64, candidates: u32) -> Vec<f64> {
    (0..=candidates).map(|candidate| step * f64::from(candidate)).collect()
}

#[test]
fn equal_candidates_do_not_drift_upwards() {
    check(&rise(0.0, 60), 60.0, 12.0);
}

#[test]
fn a_rise_of_600_elo_over_12_candidates_is_rated_so() {
    check(&rise(50.0, 12), 60.0, 30.0);
}

#[test]
fn a_rise_of_166_elo_over_30_candidates_is_rated_so() {
    check(&rise(166.0 / 30.0, 30), 60.0, 20.0);
}

#[test]
fn a_leap_of_166_elo_is_rated_so() {
    error(&rise(166.0, 1), Rated::All, ANCHOR_GAMES, 400);
    let (stretch, deviation) = error(&rise(166.0, 1), Rated::Fixed, ANCHOR_GAMES, 400);
    // The prior, two drawn games against the parent, takes some points away.
    assert!(stretch.abs() < 2.5 * deviation + 5.0, "{stretch} ± {deviation}");
}
