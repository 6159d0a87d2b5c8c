//! Time of a fit: `cargo bench -p ouro-rating`.

use ouro_game::Rng;
use ouro_rating::ratings::{ListedPlayer, PairResults, PairScore};
use ouro_rating::{Ratings, Score};

fn main() {
    divan::main();
}

/// A run of `generations` candidates: each plays three anchors and the champion, with draws.
fn run(generations: u32) -> (Vec<PairResults>, Vec<ListedPlayer>) {
    let name = |generation: u32| format!("generation-{generation}");
    let strength = |generation: u32| f64::from(generation).sqrt() / 4.0;
    let anchors = [("random", 0.0), ("minimax{depth=1}", 1.5), ("minimax{depth=2}", 2.5)];
    let (mut results, mut players) = (Vec::new(), Vec::new());
    let mut rng = Rng::new(8, "bench");
    for generation in 0..generations {
        let champion = (generation / 5 * 5).saturating_sub(5);
        let anchors = anchors.iter().map(|&(name, strength)| (name.to_owned(), strength, 8));
        for (opponent, other, games) in anchors.chain([(name(champion), strength(champion), 100)]) {
            let mut score = Score::default();
            for _ in 0..games {
                let expected = 1.0 / (1.0 + (other - strength(generation)).exp());
                match rng.unit() {
                    draw if draw < 0.1 => score.draws += 1,
                    rest if (rest - 0.1) / 0.9 < expected => score.wins += 1,
                    _ => score.losses += 1,
                }
            }
            let player = name(generation);
            results.push((&PairScore { player, opponent, score }).into());
        }
        let parent = generation.checked_sub(1).map(name);
        players.push(ListedPlayer { player: name(generation), parent });
    }
    (results, players)
}

#[divan::bench(args = [10, 100, 400, 3_000])]
fn fit(bencher: divan::Bencher<'_, '_>, generations: u32) {
    let (results, players) = run(generations);
    bencher.bench(|| Ratings::fit(&results, &players, "random"));
}

#[divan::bench(args = [10, 100, 400, 3_000])]
fn table(bencher: divan::Bencher<'_, '_>, generations: u32) {
    let (results, players) = run(generations);
    let ratings = Ratings::fit(&results, &players, "random");
    bencher.bench(|| ratings.table());
}
