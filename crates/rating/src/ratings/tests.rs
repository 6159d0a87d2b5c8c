//! Ratings against closed forms, a brute-force reference and simulated players.

use ouro_game::Rng;

use super::*;

mod stopping;

fn pair(player: &str, opponent: &str, wins: u32, draws: u32, losses: u32) -> PairScore {
    let score = Score { wins, draws, losses };
    PairScore { player: player.into(), opponent: opponent.into(), score }
}

fn listed(player: &str, parent: Option<&str>) -> ListedPlayer {
    ListedPlayer { player: player.into(), parent: parent.map(Into::into) }
}

fn elo(ratings: &RatingTable, player: &str) -> f64 {
    ratings.ratings.iter().find(|row| row.player == player).unwrap().elo
}

fn results(pairs: &[PairScore]) -> Vec<PairResults> {
    pairs.iter().map(Into::into).collect()
}

/// Plays `games` between players of known log-strength.
fn simulate(rng: &mut Rng, a: f64, b: f64, games: u32) -> Score {
    let mut score = Score::default();
    for _ in 0..games {
        if rng.unit() < 1.0 / (1.0 + (b - a).exp()) {
            score.wins += 1;
        } else {
            score.losses += 1;
        }
    }
    score
}

#[test]
fn two_players_without_draws_have_the_closed_form() {
    // With the prior: 70 + 0.5 points of 101, so odds of 70.5 to 30.5.
    let ratings = rate(&[pair("generation-1", "random", 70, 0, 30)], "random");
    let expected = ELO * (70.5_f64 / 30.5).ln();
    assert!((elo(&ratings, "generation-1") - expected).abs() < 1e-6);
    assert_eq!(elo(&ratings, "random"), 0.0);
    assert_eq!((ratings.games, ratings.anchor.as_str()), (100, "random"));
    let row = &ratings.ratings[0];
    assert_eq!((row.games, row.score), (100, 0.7));
    // Variance 1 / (n p q), the prior's game included.
    let (p, q) = (70.5 / 101.0, 30.5 / 101.0);
    let margin = Z_95 * ELO / (101.0_f64 * p * q).sqrt();
    assert!((row.elo_high - row.elo - margin).abs() < 1e-6);
    assert!((row.elo - row.elo_low - margin).abs() < 1e-6);
}

#[test]
fn draws_narrow_the_interval_and_hardly_move_the_rating() {
    let of = |draws: u32| {
        // 60 % of the points of 1,000 games, however many are drawn.
        let wins = (1_200 - draws) / 2;
        rate(&[pair("a", "random", wins, draws, 1_000 - wins - draws)], "random")
    };
    let (sharp, drawn) = (of(0), of(600));
    let expected = 400.0 * (0.6_f64 / 0.4).log10();
    for table in [&sharp, &drawn] {
        assert!((elo(table, "a") - expected).abs() < 3.0, "{table:?}");
    }
    let width = |table: &RatingTable| table.ratings[0].elo_high - table.ratings[0].elo_low;
    assert!(width(&drawn) < 0.8 * width(&sharp), "{drawn:?} {sharp:?}");
}

/// Log-posterior of log-strengths of three players and the weight of draws, written out.
fn posterior(games: &[(usize, usize, Score)], theta: [f64; 3], nu: f64) -> f64 {
    let mut sum = 0.0;
    for &(a, b, Score { wins, draws, losses }) in games {
        let (a, b) = (theta[a].exp(), theta[b].exp());
        let all = a + b + nu * (a * b).sqrt();
        sum += f64::from(wins) * (a / all).ln();
        sum += f64::from(losses) * (b / all).ln();
        sum += f64::from(draws) * (nu * (a * b).sqrt() / all).ln();
    }
    let half = |d: f64| 0.5 * (-((-d).exp().ln_1p()) - d.exp().ln_1p());
    // One decisive game of equals, one game against the anchor each for players 1 and 2.
    sum - (nu + 2.0).ln() + half(theta[1]) + half(theta[2])
}

#[test]
fn three_players_with_draws_agree_with_brute_force() {
    let score = |wins, draws, losses| Score { wins, draws, losses };
    let games = [(1, 0, score(30, 12, 8)), (2, 0, score(9, 20, 11)), (2, 1, score(6, 9, 25))];
    let names = ["random", "a", "b"];
    let pairs: Vec<PairScore> = games
        .iter()
        .map(|&(a, b, score)| PairScore {
            player: names[a].into(),
            opponent: names[b].into(),
            score,
        })
        .collect();
    let ratings = Ratings::fit(&results(&pairs), &[], "random");
    // Coordinate ascent with steps that shrink.
    let (mut best, mut step) = ([0.0, 0.0, 1.0], 0.5);
    let value = |x: [f64; 3]| posterior(&games, [0.0, x[0], x[1]], x[2].max(1e-9));
    while step > 1e-9 {
        let mut moved = false;
        for index in 0..3 {
            for sign in [-1.0, 1.0] {
                let mut next = best;
                next[index] += sign * step;
                if value(next) > value(best) {
                    (best, moved) = (next, true);
                }
            }
        }
        if !moved {
            step /= 2.0;
        }
    }
    let scale = ELO / (1.0 + best[2] / 2.0);
    for (name, strength) in [("a", best[0]), ("b", best[1])] {
        let got = ratings.elo(name).unwrap();
        assert!((got - strength * scale).abs() < 1e-2, "{name}: {got} {}", strength * scale);
    }
}

#[test]
fn known_strengths_are_recovered() {
    let strengths = [0.0, 0.5, 1.0, 1.7, 2.5];
    let name = |player: usize| if player == 0 { "random".into() } else { format!("p{player}") };
    let mut rng = Rng::new(5, "test");
    let mut pairs = Vec::new();
    for a in 0..strengths.len() {
        for b in 0..a {
            let score = simulate(&mut rng, strengths[a], strengths[b], 4_000);
            pairs.push(PairScore { player: name(a), opponent: name(b), score });
        }
    }
    let ratings = rate(&pairs, "random");
    for (player, strength) in strengths.iter().enumerate() {
        let got = elo(&ratings, &name(player));
        // The widest interval here is about ±9 Elo; twice that.
        assert!((got - strength * ELO).abs() < 18.0, "{player}: {got} for {}", strength * ELO);
    }
    let order: Vec<&str> = ratings.ratings.iter().map(|row| row.player.as_str()).collect();
    assert_eq!(order, ["p4", "p3", "p2", "p1", "random"]);
}

#[test]
fn games_of_four_seats_are_rated_by_the_probability_to_win() {
    // One player of log-strength 0.8 against three copies of the anchor: it comes first with
    // probability e^0.8 / (e^0.8 + 3).
    let (strength, mut rng) = (0.8_f64, Rng::new(6, "test"));
    let first = strength.exp() / (strength.exp() + 3.0);
    let won = (0..20_000).filter(|_| rng.unit() < first).count() as u32;
    let rankings = vec![
        (Ranking::new(1.0, &[-1.0; 3]), won),
        (Ranking::new(-1.0, &[1.0, -1.0, -1.0]), 20_000 - won),
    ];
    let seen = [PairResults {
        player: "a".into(),
        opponent: "random".into(),
        rankings,
        stopping: Stopping::Fixed,
    }];
    let ratings = Ratings::fit(&seen, &[], "random");
    let got = ratings.elo("a").unwrap();
    assert!((got - strength * ELO).abs() < 9.0, "{got} for {}", strength * ELO);
    // The same results from the other side give the same ratings.
    let reversed = seen[0].rankings.iter().map(|(one, count)| (one.reversed(), *count));
    let rankings = reversed.collect();
    let turned = [PairResults {
        player: "random".into(),
        opponent: "a".into(),
        rankings,
        stopping: Stopping::Fixed,
    }];
    let turned = Ratings::fit(&turned, &[], "random");
    assert!((turned.elo("a").unwrap() - got).abs() < 1e-6);
}

#[test]
fn the_order_and_direction_of_results_do_not_matter() {
    let mut pairs = vec![
        pair("generation-0", "random", 11, 3, 6),
        pair("generation-1", "generation-0", 13, 0, 7),
        pair("generation-2", "random", 19, 1, 0),
        pair("generation-2", "generation-1", 9, 2, 9),
    ];
    let first = rate(&pairs, "random");
    pairs.reverse();
    pairs[0] = pair("generation-1", "generation-2", 4, 2, 9);
    pairs.push(pair("generation-2", "generation-1", 0, 0, 0));
    pairs.push(pair("generation-1", "generation-2", 5, 0, 0));
    assert_eq!(rate(&pairs, "random"), first);
}

/// All figures that a fit publishes, as bits.
fn bits(ratings: &Ratings) -> Vec<(String, [u64; 3])> {
    let row = |row: Rating| (row.player, [row.elo, row.elo_low, row.elo_high].map(f64::to_bits));
    ratings.table(None).ratings.into_iter().map(row).collect()
}

/// Games of two and four seats between players of whom some have a parent.
fn random_games(rng: &mut Rng) -> Vec<PairResults> {
    let names = ["random", "greedy", "generation-0", "generation-1", "generation-2", "unique"];
    let count = 1 + rng.below(120);
    (0..count)
        .map(|_| {
            let [player, opponent] = [0, 0].map(|_| names[rng.below(6) as usize].to_owned());
            // Ties of three give thirds, whose floating-point sums depend on their order.
            let opponents = if rng.below(2) == 0 { 1 } else { 3 };
            let mut result = || rng.below(3) as f32 - 1.0;
            let (own, others) = (result(), (0..opponents).map(|_| result()).collect::<Vec<_>>());
            let rankings = vec![(Ranking::new(own, &others), 1)];
            PairResults { player, opponent, rankings, stopping: Stopping::Fixed }
        })
        .collect()
}

#[test]
fn ratings_depend_on_the_results_alone_bit_for_bit() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed, "test");
        let mut games = random_games(&mut rng);
        let mut players = vec![
            listed("generation-0", None),
            listed("generation-1", Some("generation-0")),
            listed("generation-2", Some("generation-1")),
        ];
        let expected = Ratings::fit(&games, &players, "random");

        // The same games in another order, direction and grouping.
        let mut shuffled: Vec<PairResults> = Vec::new();
        while !games.is_empty() {
            let mut game = games.swap_remove(rng.below(games.len() as u32) as usize);
            if rng.below(2) == 0 {
                std::mem::swap(&mut game.player, &mut game.opponent);
                game.rankings[0].0 = game.rankings[0].0.reversed();
            }
            let is_same = |pair: &&mut PairResults| {
                pair.player == game.player && pair.opponent == game.opponent
            };
            match shuffled.iter_mut().find(is_same).filter(|_| rng.below(2) == 0) {
                Some(pair) => pair.rankings.extend(game.rankings),
                None => shuffled.push(game),
            }
        }
        // Anchors without games, which an arena lists and its log does not.
        players.reverse();
        players.extend(["a", "minimax{depth=1}", "z"].map(|name| listed(name, None)));
        let got = Ratings::fit(&shuffled, &players, "random");
        assert_eq!(bits(&got), bits(&expected), "seed {seed}");
    }
}

#[test]
fn a_player_without_a_loss_stays_finite_and_draws_alone_are_equality() {
    let ratings = rate(&[pair("generation-1", "random", 50, 0, 0)], "random");
    let expected = ELO * (50.5_f64 / 0.5).ln();
    assert!((elo(&ratings, "generation-1") - expected).abs() < 1e-3);
    let drawn = rate(&[pair("a", "random", 0, 30, 0)], "random");
    assert!(elo(&drawn, "a").abs() < 1e-9);
    for row in ratings.ratings.iter().chain(&drawn.ratings) {
        assert!(row.elo_low.is_finite() && row.elo_high.is_finite(), "{row:?}");
    }
}

#[test]
fn a_checkpoint_without_games_is_rated_as_its_parent_with_a_wide_interval() {
    let games = results(&[pair("generation-1", "random", 300, 0, 30)]);
    let players = [
        listed("generation-1", None),
        listed("generation-2", Some("generation-1")),
        listed("minimax{depth=1}", None),
    ];
    let ratings = Ratings::fit(&games, &players, "random");
    let [parent, child] = ["generation-1", "generation-2"].map(|name| ratings.elo(name).unwrap());
    assert!((parent - child).abs() < 1e-6 && parent > 300.0, "{parent} {child}");
    assert!(!ratings.is_rated("generation-2") && ratings.table(None).ratings.len() == 2);
    let contrast = ratings.compare("generation-2", "generation-1").unwrap();
    // Two drawn games: the deviation is that of information 2 / 4.
    let margin = Z_95 * ELO * 2.0_f64.sqrt();
    assert!((contrast.elo.high - margin).abs() < 1e-6, "{contrast:?}");
    assert!((contrast.superiority - 0.5).abs() < 1e-6);
    assert_eq!(ratings.elo("minimax{depth=1}"), Some(0.0));
    assert_eq!(ratings.compare("generation-2", "nobody"), None);
}

#[test]
fn superiority_is_that_of_the_difference_and_not_of_the_two_intervals() {
    // Both have few games against the anchor and many against each other.
    let games = results(&[pair("a", "random", 20, 0, 1), pair("b", "a", 300, 0, 200)]);
    let ratings = Ratings::fit(&games, &[], "random");
    let contrast = ratings.compare("b", "a").unwrap();
    assert!(contrast.superiority > 0.999, "{contrast:?}");
    let table = ratings.table(None);
    let row = |name: &str| table.ratings.iter().find(|row| row.player == name).unwrap();
    assert!(row("b").elo_low < row("a").elo_high);
    let back = ratings.compare("a", "b").unwrap();
    assert!((contrast.superiority + back.superiority - 1.0).abs() < 1e-9);
    assert!((contrast.share + back.share - 1.0).abs() < 1e-9);
}

#[test]
fn players_without_a_connection_to_the_anchor_are_rated_with_wide_intervals() {
    let pairs = [
        pair("generation-0", "random", 30, 0, 30),
        pair("generation-5", "generation-4", 30, 0, 30),
    ];
    let ratings = rate(&pairs, "random");
    let width = |player: &str| {
        let row = ratings.ratings.iter().find(|row| row.player == player).unwrap();
        row.elo_high - row.elo_low
    };
    assert!(elo(&ratings, "generation-5").abs() < 1e-6);
    assert!(width("generation-5") > 3.0 * width("generation-0"));
    assert!(width("generation-5").is_finite());
}

#[test]
fn the_table_is_empty_before_the_first_game() {
    let ratings = rate(&[], "random");
    assert_eq!((ratings.ratings.len(), ratings.games), (0, 0));
}

#[test]
fn intervals_cover_the_true_strength_in_95_percent_of_tournaments() {
    // 1000 tournaments of three players: each interval covers with 95 %, so the count is near
    // 1900 of 2000; the prior and the normal approximation cost little at 100 games.
    let strengths = [0.0, 0.4, -0.3];
    let names = ["random", "a", "b"];
    let mut covered = 0;
    for round in 0..1_000 {
        let mut rng = Rng::indexed(9, "test", round);
        let mut pairs = Vec::new();
        for (a, b) in [(1, 0), (2, 0), (2, 1)] {
            let score = simulate(&mut rng, strengths[a], strengths[b], 100);
            pairs.push(PairScore { player: names[a].into(), opponent: names[b].into(), score });
        }
        let ratings = rate(&pairs, "random");
        for player in 1..3 {
            let row = ratings.ratings.iter().find(|row| row.player == names[player]).unwrap();
            let truth = strengths[player] * ELO;
            covered += u32::from(row.elo_low <= truth && truth <= row.elo_high);
        }
    }
    // Deviation about 10 (fewer than independent draws would give); four of them.
    assert!((1_860..=1_940).contains(&covered), "{covered} of 2000");
}

#[test]
fn intervals_include_the_error_of_the_weight_of_draws() {
    // Elo and margin from the inverse of the numeric second derivatives by the strength and by the
    // logarithm of the weight, with the gradient of the scale. Without the weight's error, the margins
    // would be 22.58, 35.97 and 62.75.
    let cases =
        [((40, 60, 0), 110.91, 47.30), ((50, 49, 1), 162.80, 46.07), ((60, 30, 10), 189.75, 62.76)];
    for ((wins, draws, losses), elo, margin) in cases {
        let table = rate(&[pair("a", "random", wins, draws, losses)], "random");
        let row = &table.ratings[0];
        assert!((row.elo - elo).abs() < 0.01, "{row:?}");
        assert!((row.elo_high - row.elo - margin).abs() < 0.02, "{row:?}");
    }
}

#[test]
fn intervals_cover_the_true_strength_where_most_games_are_drawn() {
    // A true share of 64 %, 68 % of the games drawn.
    let (wins, draws) = (0.3, 0.68);
    let (strength, weight) = ((wins / 0.02_f64).ln(), draws / (wins * 0.02_f64).sqrt());
    let truth = strength * ELO / (1.0 + weight / 2.0);
    let covered = (0..1_000).filter(|&round| {
        let (mut rng, mut score) = (Rng::indexed(12, "test", round), Score::default());
        for _ in 0..200 {
            let unit = rng.unit();
            score.wins += u32::from(unit < wins);
            score.draws += u32::from((wins..wins + draws).contains(&unit));
            score.losses += u32::from(unit >= wins + draws);
        }
        let pair = PairScore { player: "a".into(), opponent: "random".into(), score };
        let row = rate(&[pair], "random").ratings.swap_remove(0);
        row.elo_low <= truth && truth <= row.elo_high
    });
    let covered = covered.count();
    // About 90 % with the weight of draws taken as known. Four deviations of 6.9.
    assert!((922..=978).contains(&covered), "{covered} of 1000");
}

#[test]
fn each_row_states_its_difference_to_the_champion_with_the_interval_of_the_difference() {
    // Both are far above the anchor, and met each other often.
    let games = results(&[
        pair("a", "random", 19, 0, 1),
        pair("b", "a", 90, 40, 70),
        pair("c", "b", 8, 2, 10),
        pair("greedy", "random", 12, 0, 8),
    ]);
    let players = [listed("b", None), listed("c", Some("b")), listed("d", Some("c"))];
    let ratings = Ratings::fit(&games, &players, "random");
    for champion in ["random", "a", "b", "d"] {
        let table = ratings.table(Some(champion));
        assert_eq!(table.champion.as_deref(), Some(champion));
        assert_eq!(table.ratings.len(), 5);
        for row in &table.ratings {
            let got = row.to_champion.unwrap();
            let expected = ratings.compare(&row.player, champion).unwrap().elo;
            for (got, expected) in
                [(got.value, expected.value), (got.low, expected.low), (got.high, expected.high)]
            {
                assert!((got - expected).abs() < 1e-6, "{row:?} {expected:?}");
            }
        }
    }
    let table = ratings.table(Some("b"));
    let row = |name: &str| table.ratings.iter().find(|row| row.player == name).unwrap();
    let zero = Estimate { value: 0.0, low: 0.0, high: 0.0 };
    assert_eq!(row("b").to_champion, Some(zero));
    let difference = row("a").to_champion.unwrap();
    let width = row("a").elo_high - row("a").elo_low;
    assert!(difference.high - difference.low < 0.3 * width, "{:?}", row("a"));
    assert_eq!(ratings.table(Some("nobody")).champion, None);
    assert!(ratings.table(None).ratings.iter().all(|row| row.to_champion.is_none()));
}

#[test]
fn games_of_a_match_that_ended_by_its_results_are_not_rated() {
    let mut games = results(&[pair("a", "random", 9, 1, 2), pair("b", "a", 17, 0, 3)]);
    games[1].stopping = Stopping::ByResults;
    let players = [listed("a", None), listed("b", Some("a"))];
    let ratings = Ratings::fit(&games, &players, "random");
    assert!(!ratings.is_rated("b") && ratings.table(None).games == 12);
    assert_eq!(bits(&ratings), bits(&Ratings::fit(&games[..1], &players, "random")));
    // Its strength is that of its parent.
    assert!((ratings.elo("b").unwrap() - ratings.elo("a").unwrap()).abs() < 1e-6);
}

/// A long run: every candidate plays the champion and four anchors, a fifth is promoted.
fn long_run(generations: u32) -> (Vec<PairScore>, Vec<ListedPlayer>) {
    let name = |generation: u32| format!("generation-{generation}");
    let strength = |generation: u32| f64::from(generation).sqrt() / 10.0;
    let anchors = [("random", 0.0), ("greedy", 1.0), ("minimax{depth=1}", 2.0)];
    let (mut pairs, mut lineage) = (Vec::new(), Vec::new());
    let mut rng = Rng::new(8, "test");
    for generation in 0..generations {
        let (own, champion) = (strength(generation), (generation / 5 * 5).saturating_sub(5));
        let opponents = anchors.iter().map(|&(name, strength)| (name.to_owned(), strength, 8));
        let champion = (name(champion), strength(champion), 100);
        for (opponent, other, games) in opponents.chain([champion]) {
            let score = simulate(&mut rng, own, other, games);
            pairs.push(PairScore { player: name(generation), opponent, score });
        }
        let parent = generation.checked_sub(1).map(name);
        lineage.push(ListedPlayer { player: name(generation), parent });
    }
    (pairs, lineage)
}

#[test]
fn thousands_of_players_are_rated() {
    let (pairs, lineage) = long_run(3_000);
    let all = results(&pairs);
    let ratings = Ratings::fit(&all, &lineage, "random");
    let table = ratings.table(None);
    assert_eq!(table.ratings.len(), 3_003);
    // Strengths were sqrt(g) / 10; an interval of 95 % holds about 95 % of them.
    let held = table.ratings.iter().filter(|row| {
        let Some(number) = row.player.strip_prefix("generation-") else { return true };
        let truth = ELO * number.parse::<f64>().unwrap().sqrt() / 10.0;
        row.elo_low <= truth && truth <= row.elo_high
    });
    let held = held.count();
    assert!(held > 2_800, "{held} of 3003");
}
