//! The rule, its early ends, and their error rates.

use ouro_game::Rng;
use proptest::prelude::*;

use super::*;
use crate::cluster::{GameResult, Ranking};
use crate::score::GameOutcome;
use GameOutcome::{Draw, Loss, Win};

const PAIRS: ClusterShape = ClusterShape { seats: 2 };
const WON: [GameOutcome; 2] = [Win; 2];
const DRAWN: [GameOutcome; 2] = [Draw; 2];
const LOST: [GameOutcome; 2] = [Loss; 2];

/// The fixed rule over 200 games.
fn fixed() -> GateConfig {
    GateConfig { games: 200, sequential: false, ..GateConfig::default() }
}

fn ranking(outcome: GameOutcome) -> Ranking {
    Ranking::new(f32::from(outcome.half_points() as u8), &[1.0])
}

fn result(cluster: u32, outcomes: [GameOutcome; 2]) -> ClusterResult {
    let game = |index: usize| GameResult {
        ranking: ranking(outcomes[index]),
        margin: 0.0,
        fingerprint: 2 * u64::from(cluster) + index as u64,
    };
    ClusterResult { cluster, games: vec![game(0), game(1)] }
}

/// A gate after these pairs.
fn after(config: GateConfig, pairs: impl IntoIterator<Item = [GameOutcome; 2]>) -> Gate {
    let mut gate = Gate::new(config, PAIRS).unwrap();
    for (pair, outcomes) in pairs.into_iter().enumerate() {
        assert!(gate.fold(&result(pair as u32, outcomes)));
    }
    gate
}

fn ruling(verdict: Verdict, reason: Reason) -> Option<Ruling> {
    Some(Ruling { verdict, reason })
}

fn outcome() -> impl Strategy<Value = GameOutcome> {
    prop_oneof![Just(Loss), Just(Draw), Just(Win)]
}

#[test]
fn exactly_fifty_five_percent_is_not_enough_and_half_a_point_more_is() {
    // 10 won pairs and 90 drawn ones: 20 + 90 = 110 points of 200.
    let drawn = || std::iter::repeat_n(DRAWN, 89);
    let won = || std::iter::repeat_n(WON, 10);
    let gate = after(fixed(), drawn().chain(won()).chain([DRAWN]));
    assert_eq!(gate.score().half_points(), 220);
    assert_eq!(gate.ruling(), ruling(Verdict::Reject, Reason::AllPlayed));
    let gate = after(fixed(), drawn().chain(won()).chain([[Win, Draw]]));
    assert_eq!(gate.score().half_points(), 221);
    assert_eq!(gate.ruling(), ruling(Verdict::Promote, Reason::AllPlayed));
}

#[test]
fn a_match_ends_once_no_result_can_change_the_answer() {
    // 56 won pairs are 112 points; one pair fewer is 110, which is not above 55 %.
    let certain = |verdict| ruling(verdict, Reason::Certain);
    assert_eq!(after(fixed(), std::iter::repeat_n(WON, 55)).ruling(), None);
    let won = after(fixed(), std::iter::repeat_n(WON, 56));
    assert_eq!(won.ruling(), certain(Verdict::Promote));
    assert_eq!(after(fixed(), std::iter::repeat_n(LOST, 44)).ruling(), None);
    let lost = after(fixed(), std::iter::repeat_n(LOST, 45));
    assert_eq!(lost.ruling(), certain(Verdict::Reject));
}

#[test]
fn the_sequential_test_ends_a_clear_match_early() {
    let sequential = |verdict| ruling(verdict, Reason::Sequential);
    // Each won pair adds ln 1.2, each lost one ln 0.8; the bounds are at 2.944.
    let clear = GateConfig::default();
    assert_eq!(after(clear, std::iter::repeat_n(WON, 16)).ruling(), None);
    let won = after(clear, std::iter::repeat_n(WON, 17));
    assert_eq!(won.ruling(), sequential(Verdict::Promote));
    let lost = after(clear, std::iter::repeat_n(LOST, 14));
    assert_eq!(lost.ruling(), sequential(Verdict::Reject));
    let text = won.report().explain("generation-3", "random");
    assert!(text.starts_with("generation-3 took 100.0 % of the points against random"), "{text}");
    assert!(text.contains("Promoted: the sequential test is sure enough"), "{text}");
    // Draws alone never promote.
    let drawn = (0..200).map(|_| DRAWN).scan(Gate::new(clear, PAIRS).unwrap(), |gate, pair| {
        gate.fold(&result(gate.next_cluster(), pair));
        Some(gate.verdict())
    });
    assert_eq!(drawn.last().flatten(), Some(Verdict::Reject));
}

#[test]
fn above_two_seats_the_report_counts_comparisons_with_opponents() {
    let config = GateConfig { games: 8, ..fixed() };
    let mut gate = Gate::new(config, ClusterShape { seats: 4 }).unwrap();
    let won = |fingerprint| GameResult {
        ranking: Ranking::new(1.0, &[-1.0; 3]),
        margin: 0.0,
        fingerprint,
    };
    assert!(gate.fold(&ClusterResult { cluster: 0, games: (0..4).map(won).collect() }));
    let text = gate.report().explain("a", "b");
    let expected = "over 4 games (1 round of all seats): ahead in 12 comparisons with opponents, \
                    level in 0, behind in 0; 95 % interval";
    assert!(text.contains(expected), "{text}");
    let text = after(fixed(), [WON, LOST]).report().explain("a", "b");
    let expected = "over 4 games (2 pairs with seats swapped): 2 won, 0 drawn, 2 lost; 95 %";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_margin_is_known_once_two_clusters_differ() {
    let mut gate = Gate::new(fixed(), PAIRS).unwrap();
    let mut margin_after = |cluster, margin| {
        let mut pair = result(cluster, WON);
        pair.games.iter_mut().for_each(|game| game.margin = margin);
        assert!(gate.fold(&pair));
        let report = gate.report();
        // The store keeps reports as JSON, in which an infinite number cannot be read.
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<GateReport>(&text).unwrap(), report);
        report.margin
    };
    assert_eq!(margin_after(0, 3.0), None);
    assert_eq!(margin_after(1, 3.0), None);
    let margin = margin_after(2, 6.0).expect("two clusters differ");
    assert!((margin.value - 4.0).abs() < 1e-12 && margin.is_bounded(), "{margin:?}");
}

#[test]
fn the_report_of_a_game_for_one_states_the_difference_of_the_scores() {
    let mut gate = Gate::new(fixed(), ClusterShape { seats: 1 }).unwrap();
    let mut text_after = |cluster, margin| {
        let ranking = ranking(if margin > 0.0 { Win } else { Draw });
        let games = vec![GameResult { ranking, margin, fingerprint: u64::from(cluster) }];
        assert!(gate.fold(&ClusterResult { cluster, games }));
        gate.report().explain("a", "b")
    };
    // The interval of differences that are all alike is unknown.
    assert!(!text_after(0, 0.0).contains("Its score"));
    assert!(!text_after(1, 0.0).contains("Its score"));
    // A mean of 1, a standard error of 1, and Student's quantile for two degrees of freedom.
    let text = text_after(2, 3.0);
    assert!(text.contains("Its score is higher by 1.00 (-3.30 to 5.30)."), "{text}");
}

#[test]
fn a_cluster_folded_twice_counts_once() {
    let mut gate = Gate::new(GateConfig { games: 4, ..fixed() }, PAIRS).unwrap();
    assert!(gate.fold(&result(0, WON)));
    assert!(!gate.fold(&result(0, WON)));
    assert!(!gate.fold(&result(2, WON)));
    assert_eq!(gate.score(), Score { wins: 2, draws: 0, losses: 0 });
    assert_eq!((gate.verdict(), gate.next_cluster()), (None, 1));
}

#[test]
fn repeating_one_won_game_is_no_promotion() {
    for config in [GateConfig { games: 40, ..fixed() }, GateConfig::default()] {
        let mut gate = Gate::new(config, PAIRS).unwrap();
        let mut played = 0;
        while gate.verdict().is_none() {
            gate.fold(&ClusterResult { cluster: played, ..result(0, WON) });
            played += 1;
        }
        assert_eq!(gate.ruling(), ruling(Verdict::Reject, Reason::TooFewDistinct));
        assert_eq!(gate.score().games(), 2);
        assert!(played <= gate.max_clusters());
        let report = gate.report();
        assert_eq!((report.games, report.duplicates), (2, 2 * played - 2));
        assert!(report.explain("a", "b").contains("too few were distinct"));
    }
}

#[test]
fn a_pair_with_one_repeated_game_does_not_count() {
    let mut gate = Gate::new(fixed(), PAIRS).unwrap();
    assert!(gate.fold(&result(0, WON)));
    let mut second = result(1, WON);
    second.games[1].fingerprint = result(0, WON).games[0].fingerprint;
    assert!(!gate.fold(&second));
    assert_eq!((gate.score().games(), gate.next_cluster()), (2, 2));
    // The distinct game of that pair was not counted, so it may count later.
    let mut third = result(2, WON);
    third.games[0].fingerprint = second.games[0].fingerprint;
    assert!(gate.fold(&third));
}

#[test]
fn invalid_rules_are_refused_with_key_value_and_remedy() {
    let good = GateConfig::default();
    for (config, part) in [
        (GateConfig { games: 1, ..good }, "gate.games is 1; write a number from 2"),
        (GateConfig { games: 100_001, ..good }, "gate.games is 100001"),
        (GateConfig { threshold: 0.49, ..good }, "gate.threshold is 0.49"),
        (GateConfig { threshold: f64::NAN, ..good }, "gate.threshold is NaN"),
        (GateConfig { threshold: 0.99996, ..good }, "write a number from 0.5 to 0.9999"),
        (
            GateConfig { sprt: SprtConfig { high: 0.5, ..good.sprt }, ..good },
            "gate.sprt.low is 0.5 and gate.sprt.high is 0.5",
        ),
        (GateConfig { threshold: 0.7, ..good }, "not between gate.sprt.low 0.5"),
        (
            GateConfig { sprt: SprtConfig { alpha: 0.0, ..good.sprt }, ..good },
            "gate.sprt.alpha is 0",
        ),
    ] {
        let error = Gate::new(config, PAIRS).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    // A round of four seats is four games; three would not be one.
    assert!(Gate::new(GateConfig { games: 3, ..good }, ClusterShape { seats: 4 }).is_err());
    assert!(Gate::new(GateConfig { games: 7, ..good }, ClusterShape { seats: 4 }).is_ok());
}

#[test]
fn the_exact_error_rates_of_the_fixed_rule_are_those_of_the_binomial() {
    let equal = fixed().promotion_probability(0.5, 0.0);
    // P(X >= 111) of 200 fair coins, summed from the other side in another way.
    let score = Score { wins: 89, draws: 0, losses: 110 };
    assert!((equal - score.superiority()).abs() < 1e-12, "{equal}");
    assert!((equal - 0.069).abs() < 5e-4, "{equal}");
    let drawish = fixed().promotion_probability(0.25, 0.5);
    assert!((drawish - 0.020).abs() < 5e-4, "{drawish}");
}

/// Plays whole matches of independent games and returns the share promoted and the mean number of
/// games. Each seed favours one seat by a random amount of at most `bias`.
fn simulate(seed: u64, [win, draw]: [f64; 2], bias: f64) -> (f64, f64) {
    const MATCHES: u32 = 10_000;
    let mut rng = Rng::new(seed, "gate");
    let (mut promoted, mut games) = (0_u32, 0_u32);
    for _ in 0..MATCHES {
        let mut gate = Gate::new(GateConfig::default(), PAIRS).unwrap();
        while gate.verdict().is_none() {
            let favour = bias * (2.0 * rng.unit() - 1.0);
            let outcomes = [favour, -favour].map(|favour| match rng.unit() {
                x if x < win + favour => Win,
                x if x < win + favour + draw => Draw,
                _ => Loss,
            });
            gate.fold(&result(gate.next_cluster(), outcomes));
        }
        promoted += u32::from(gate.verdict() == Some(Verdict::Promote));
        games += gate.report().games;
    }
    (f64::from(promoted) / f64::from(MATCHES), f64::from(games) / f64::from(MATCHES))
}

#[test]
fn the_error_rates_of_the_gate_stay_below_six_percent() {
    // Equal players: decisive games, half of them drawn, and a seat that matters.
    for (seed, games, bias) in [(1, [0.5, 0.0], 0.0), (2, [0.25, 0.5], 0.0), (3, [0.5, 0.0], 0.3)] {
        let (promoted, played) = simulate(seed, games, bias);
        println!("equal {games:?} {bias}: {promoted} promoted, {played} games");
        assert!(promoted <= 0.06, "{games:?} {bias}: {promoted}");
    }
    // Players that truly take 60 %.
    for (seed, games, bias) in [(4, [0.6, 0.0], 0.0), (5, [0.35, 0.5], 0.0), (6, [0.6, 0.0], 0.3)] {
        let (promoted, played) = simulate(seed, games, bias);
        println!("better {games:?} {bias}: {} rejected, {played} games", 1.0 - promoted);
        assert!(1.0 - promoted <= 0.06, "{games:?} {bias}: {promoted}");
    }
}

/// Like [`simulate`], with rounds of four seats. The candidate wins with probability `first`, else
/// one of its three opponents wins; the losers are equal.
fn simulate_rounds(seed: u64, first: f64) -> (f64, f64) {
    const MATCHES: u32 = 2_000;
    let mut rng = Rng::new(seed, "gate");
    let (mut promoted, mut games) = (0_u32, 0_u32);
    for _ in 0..MATCHES {
        let mut gate = Gate::new(GateConfig::default(), ClusterShape { seats: 4 }).unwrap();
        while gate.verdict().is_none() {
            let cluster = gate.next_cluster();
            let game = |number: u64| {
                let (own, best) = if rng.unit() < first { (1.0, -1.0) } else { (-1.0, 1.0) };
                GameResult {
                    ranking: Ranking::new(own, &[best, -1.0, -1.0]),
                    margin: 0.0,
                    fingerprint: 4 * u64::from(cluster) + number,
                }
            };
            gate.fold(&ClusterResult { cluster, games: (0..4).map(game).collect() });
        }
        promoted += u32::from(gate.verdict() == Some(Verdict::Promote));
        games += gate.report().games;
    }
    (f64::from(promoted) / f64::from(MATCHES), f64::from(games) / f64::from(MATCHES))
}

#[test]
fn the_error_rates_in_rounds_of_four_seats_stay_below_six_percent() {
    // Winning a quarter of the games gives half of the points, winning 40 % gives 60 %.
    let (promoted, played) = simulate_rounds(7, 0.25);
    println!("equal: {promoted} promoted, {played} games");
    assert!(promoted <= 0.06, "{promoted}");
    let (promoted, played) = simulate_rounds(8, 0.4);
    println!("better: {} rejected, {played} games", 1.0 - promoted);
    assert!(1.0 - promoted <= 0.06, "{promoted}");
}

proptest! {
    #[test]
    fn certainty_never_contradicts_the_fixed_rule(
        pairs in prop::collection::vec([outcome(), outcome()], 20),
        sequential: bool,
    ) {
        let config = GateConfig { games: 40, sequential, ..GateConfig::default() };
        let mut gate = Gate::new(config, PAIRS).unwrap();
        for (index, &pair) in pairs.iter().enumerate() {
            gate.fold(&result(index as u32, pair));
        }
        let points: u32 = pairs.iter().flatten().map(|game| game.half_points()).sum();
        // 55 % of 40 games are 44 half points.
        let whole = if points > 44 { Verdict::Promote } else { Verdict::Reject };
        let ruling = gate.ruling().expect("all games were played");
        if ruling.reason != Reason::Sequential {
            prop_assert_eq!(ruling.verdict, whole);
        }
        prop_assert!(sequential || ruling.reason != Reason::Sequential);
    }

    #[test]
    fn the_sequential_test_never_rules_against_the_share_so_far(
        pairs in prop::collection::vec([outcome(), outcome()], 200),
    ) {
        let mut gate = Gate::new(GateConfig::default(), PAIRS).unwrap();
        for (index, &pair) in pairs.iter().enumerate() {
            gate.fold(&result(index as u32, pair));
        }
        let Ruling { verdict, reason } = gate.ruling().expect("all games were played");
        if reason == Reason::Sequential {
            prop_assert_eq!(verdict == Verdict::Promote, gate.score().share() > 0.55);
        }
    }
}
