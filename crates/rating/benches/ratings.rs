//! Times of a fit and of its queries: `cargo bench -p ouro-rating`.
//!
//! Arguments are numbers of candidates; three anchors come on top.

use std::ops::Range;

use ouro_game::Rng;
use ouro_rating::ratings::{ListedPlayer, PairResults, PairScore};
use ouro_rating::{Ratings, Score};

fn main() {
    divan::main();
}

/// Candidates of the runs that are rated.
const CANDIDATES: [u32; 4] = [10, 100, 1_000, 10_000];

fn name(generation: u32) -> String {
    format!("generation-{generation}")
}

/// The results of `games` between players of known log-strength, a tenth of them drawn.
fn play(
    rng: &mut Rng,
    (player, own): (String, f64),
    other: (String, f64),
    games: u32,
) -> PairResults {
    let expected = 1.0 / (1.0 + (other.1 - own).exp());
    let mut score = Score::default();
    for _ in 0..games {
        match rng.unit() {
            draw if draw < 0.1 => score.draws += 1,
            rest if (rest - 0.1) / 0.9 < expected => score.wins += 1,
            _ => score.losses += 1,
        }
    }
    (&PairScore { player, opponent: other.0, score }).into()
}

/// A run of `generations` candidates: each plays three anchors and the champion.
fn run(generations: u32) -> (Vec<PairResults>, Vec<ListedPlayer>) {
    let candidate = |generation: u32| (name(generation), f64::from(generation).sqrt() / 4.0);
    let anchors = [("random", 0.0), ("minimax{depth=1}", 1.5), ("minimax{depth=2}", 2.5)];
    let (mut results, mut players) = (Vec::new(), Vec::new());
    let mut rng = Rng::new(8, "bench");
    for generation in 0..generations {
        let champion = candidate((generation / 5 * 5).saturating_sub(5));
        let anchors = anchors.iter().map(|&(name, strength)| ((name.to_owned(), strength), 8));
        for (opponent, games) in anchors.chain([(champion, 100)]) {
            results.push(play(&mut rng, candidate(generation), opponent, games));
        }
        let parent = generation.checked_sub(1).map(name);
        players.push(ListedPlayer { player: name(generation), parent });
    }
    (results, players)
}

fn fitted(generations: u32) -> Ratings {
    let (results, players) = run(generations);
    Ratings::fit(&results, &players, "random")
}

#[divan::bench(args = CANDIDATES, max_time = 3)]
fn fit(bencher: divan::Bencher<'_, '_>, generations: u32) {
    let (results, players) = run(generations);
    bencher.bench(|| Ratings::fit(&results, &players, "random"));
}

#[divan::bench(args = CANDIDATES, max_time = 3)]
fn table(bencher: divan::Bencher<'_, '_>, generations: u32) {
    let ratings = fitted(generations);
    bencher.bench(|| ratings.table(Some("generation-7")));
}

#[divan::bench(args = CANDIDATES, max_time = 3)]
fn compare(bencher: divan::Bencher<'_, '_>, generations: u32) {
    let ratings = fitted(generations);
    let (first, second) = (name(generations - 1), name(generations / 2));
    bencher.bench(|| ratings.compare(&first, &second));
}

#[divan::bench(args = CANDIDATES, max_time = 3)]
fn gain(bencher: divan::Bencher<'_, '_>, generations: u32) {
    let ratings = fitted(generations);
    let (first, second) = (name(generations - 1), name(generations / 2));
    bencher.bench(|| ratings.gain([&first, &second], &second, &[(&first, 1.0)]));
}

/// A million games of 2,000 players: 500 of each, spread over 5 opponents.
///
/// Opponents are drawn from the players that rank up to `distance` places lower.
fn million_games(distance: u32) -> Vec<PairResults> {
    let players: Range<u32> = 0..2_000;
    let mut rng = Rng::new(9, "bench");
    let strength = |player: u32| f64::from(player) / 400.0;
    let mut results = Vec::new();
    for player in players.clone() {
        for _ in 0..5 {
            let opponent = (player + players.end - 1 - rng.below(distance)) % players.end;
            let [own, other] = [player, opponent].map(|player| (name(player), strength(player)));
            results.push(play(&mut rng, own, other, 100));
        }
    }
    results
}

/// Rates 2,000 players with a million games. Opponents from all players are the worst case: the
/// information matrix hardly stays sparse.
#[divan::bench(args = [20, 1_999], max_time = 3)]
fn fit_2_000_players_1_000_000_games(bencher: divan::Bencher<'_, '_>, distance: u32) {
    let results = million_games(distance);
    bencher.bench(|| Ratings::fit(&results, &[], &name(0)));
}

#[divan::bench(args = [20, 1_999], max_time = 3)]
fn table_2_000_players_1_000_000_games(bencher: divan::Bencher<'_, '_>, distance: u32) {
    let ratings = Ratings::fit(&million_games(distance), &[], &name(0));
    bencher.bench(|| ratings.table(Some(&name(0))));
}
