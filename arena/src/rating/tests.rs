//! RatingTable against closed forms and simulated players.

use ouro_game::Stream;

use super::*;

fn tally(player: &str, opponent: &str, wins: u32, draws: u32, losses: u32) -> Tally {
    Tally { player: player.into(), opponent: opponent.into(), score: Score { wins, draws, losses } }
}

fn elo(ratings: &RatingTable, player: &str) -> f64 {
    ratings.ratings.iter().find(|row| row.player == player).unwrap().elo
}

/// Plays `games` between players of known log-strength.
fn simulate(stream: &mut Stream, a: f64, b: f64, games: u32) -> Score {
    let mut score = Score::default();
    for _ in 0..games {
        if stream.unit() < 1.0 / (1.0 + (b - a).exp()) {
            score.wins += 1;
        } else {
            score.losses += 1;
        }
    }
    score
}

#[test]
fn two_players_have_the_closed_form() {
    // With the prior: 70 + 0.5 points of 101, so odds of 70.5 to 30.5.
    let ratings = rate(&[tally("generation-1", "random", 60, 20, 20)], "random");
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
fn known_strengths_are_recovered() {
    let strengths = [0.0, 0.5, 1.0, 1.7, 2.5];
    let name = |player: usize| if player == 0 { "random".into() } else { format!("p{player}") };
    let mut stream = Stream::new(5, "test");
    let mut tallies = Vec::new();
    for a in 0..strengths.len() {
        for b in 0..a {
            let score = simulate(&mut stream, strengths[a], strengths[b], 4_000);
            tallies.push(Tally { player: name(a), opponent: name(b), score });
        }
    }
    let ratings = rate(&tallies, "random");
    for (player, strength) in strengths.iter().enumerate() {
        let got = elo(&ratings, &name(player));
        // The widest interval here is about ±9 Elo; twice that.
        assert!((got - strength * ELO).abs() < 18.0, "{player}: {got} for {}", strength * ELO);
    }
    let order: Vec<&str> = ratings.ratings.iter().map(|row| row.player.as_str()).collect();
    assert_eq!(order, ["p4", "p3", "p2", "p1", "random"]);
}

#[test]
fn the_order_and_direction_of_results_do_not_matter() {
    let mut tallies = vec![
        tally("generation-0", "random", 11, 3, 6),
        tally("generation-1", "generation-0", 13, 0, 7),
        tally("generation-2", "random", 19, 1, 0),
        tally("generation-2", "generation-1", 9, 2, 9),
    ];
    let first = rate(&tallies, "random");
    tallies.reverse();
    tallies[0] = tally("generation-1", "generation-2", 4, 2, 9);
    tallies.push(tally("generation-2", "generation-1", 0, 0, 0));
    tallies.push(tally("generation-1", "generation-2", 5, 0, 0));
    assert_eq!(rate(&tallies, "random"), first);
}

#[test]
fn a_player_without_a_loss_stays_finite() {
    let ratings = rate(&[tally("generation-1", "random", 50, 0, 0)], "random");
    let expected = ELO * (50.5_f64 / 0.5).ln();
    assert!((elo(&ratings, "generation-1") - expected).abs() < 1e-6);
    assert!(ratings.ratings.iter().all(|row| row.elo_low.is_finite() && row.elo_high.is_finite()));
}

#[test]
fn players_without_a_connection_to_the_anchor_are_rated_with_wide_intervals() {
    let tallies = [
        tally("generation-0", "random", 30, 0, 30),
        tally("generation-5", "generation-4", 30, 0, 30),
    ];
    let ratings = rate(&tallies, "random");
    let width = |player: &str| {
        let row = ratings.ratings.iter().find(|row| row.player == player).unwrap();
        row.elo_high - row.elo_low
    };
    assert!(elo(&ratings, "generation-5").abs() < 1e-6);
    assert!(width("generation-5") > 3.0 * width("generation-0"));
    assert!(width("generation-5").is_finite());
}

#[test]
fn nobody_is_rated_before_the_first_game() {
    let ratings = rate(&[], "random");
    assert_eq!((ratings.ratings.len(), ratings.games), (0, 0));
}

#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    // 1000 tournaments of three players: each interval covers with 95 %, so the count is near
    // 1900 of 2000; the prior and the normal approximation cost little at 100 games.
    let strengths = [0.0, 0.4, -0.3];
    let names = ["random", "a", "b"];
    let mut covered = 0;
    for round in 0..1_000 {
        let mut stream = Stream::indexed(9, "test", round);
        let mut tallies = Vec::new();
        for (a, b) in [(1, 0), (2, 0), (2, 1)] {
            let score = simulate(&mut stream, strengths[a], strengths[b], 100);
            tallies.push(Tally { player: names[a].into(), opponent: names[b].into(), score });
        }
        let ratings = rate(&tallies, "random");
        for player in 1..3 {
            let row = ratings.ratings.iter().find(|row| row.player == names[player]).unwrap();
            let truth = strengths[player] * ELO;
            covered += u32::from(row.elo_low <= truth && truth <= row.elo_high);
        }
    }
    // Deviation about 10 (fewer than independent draws would give); four of them.
    assert!((1_860..=1_940).contains(&covered), "{covered} of 2000");
}
