//! Honest clusters, which are never flagged, and cheating actors, which are.

use ouro_game::Rng;
use ouro_replay::Seat;

use super::*;

/// Shares of the outcomes of honest games in 256ths: first seat, second seat, draw.
const OUTCOMES: [usize; 3] = [140, 96, 20];

fn game(generation: u32, outcome: usize, plies: u32) -> GameSummary {
    let results = [[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]][outcome];
    let seat = |outcome| Seat { generation: Some(Generation(generation)), learns: true, outcome };
    GameSummary { seats: results.map(seat).into(), plies }
}

/// The outcome of an honest game.
fn outcome(byte: u8) -> usize {
    let byte = usize::from(byte);
    if byte < OUTCOMES[0] {
        0
    } else if byte < OUTCOMES[0] + OUTCOMES[1] {
        1
    } else {
        2
    }
}

/// The length of an honest game, from 5 to 68 plies, with a peak.
fn length(bits: u16) -> u32 {
    let half = |bits: u16| u32::from(bits & 31);
    5 + half(bits) + half(bits >> 5)
}

fn honest(rng: &mut Rng, generation: u32) -> GameSummary {
    let bits = rng.bits();
    game(generation, outcome(bits as u8), length((bits >> 8) as u16))
}

fn name(index: usize) -> Arc<str> {
    format!("actor-{index}").into()
}

/// Ends the generation 0, so that it is settled.
fn settle(tally: &mut Tally, generation: u32) {
    for later in 1..=SETTLED {
        tally.record(&name(0), &game(generation + later, 0, 9));
    }
}

/// Plays `games` honest games of each of `actors` actors in generation 0, and `cheats` of one more.
fn cluster(actors: usize, games: usize, cheats: &[GameSummary]) -> Tally {
    let (mut tally, mut rng) = (Tally::default(), Rng::new(7, "cluster"));
    for actor in 0..actors {
        for _ in 0..games {
            tally.record(&name(actor), &honest(&mut rng, 0));
        }
    }
    for cheat in cheats {
        tally.record(&"eve".into(), cheat);
    }
    settle(&mut tally, 0);
    tally
}

/// The names of the deviating actors.
fn deviating(tally: &Tally) -> Vec<String> {
    tally.judge([]).deviating.keys().map(ToString::to_string).collect()
}

/// Ten thousand evaluations of a hundred honest actors each, with 200 to 455 games.
#[test]
fn a_hundred_honest_actors_are_never_flagged_in_ten_thousand_evaluations() {
    let mut rng = Rng::new(11, "honest");
    let names: Vec<Arc<str>> = (0..100).map(name).collect();
    let (mut beyond, mut greatest) = ([0_u32; 3], 0.0_f64);
    for _ in 0..10_000 {
        let mut tally = Tally::default();
        let mut actors = BTreeMap::new();
        for name in &names {
            let mut cell = Cell { outcomes: Counts(vec![0; 3]), lengths: Counts(vec![0; 26]) };
            for _ in 0..(LEAST_GAMES + rng.bits() % 256).div_ceil(2) {
                // 32 bits for each of two games.
                let bits = rng.bits();
                for bits in [bits, bits >> 32] {
                    cell.outcomes.0[outcome(bits as u8)] += 1;
                    cell.lengths.0[length_category(length((bits >> 8) as u16))] += 1;
                }
            }
            actors.insert(Arc::clone(name), cell);
        }
        let stratum: Stratum = [(true, Some(Generation(0))); 2].into();
        let games = GenerationGames { strata: [(stratum, actors)].into(), games: 1 };
        tally.generations.insert(Generation(0), games);
        tally.generations.insert(Generation(SETTLED), GenerationGames::default());
        let found = tally.compare(&BTreeSet::new());
        assert_eq!(found.len(), 100);
        for deviation in found.values() {
            greatest = greatest.max(deviation.residual);
            for (count, bound) in beyond.iter_mut().zip([3.0, 4.0, 5.0]) {
                *count += u32::from(deviation.residual > bound);
            }
        }
        assert_eq!(tally.judge([]).deviating, BTreeMap::new());
    }
    println!("residuals above 3, 4 and 5: {beyond:?}; the greatest is {greatest:.2}");
    // Two million normal deviates: 2,700 above 3, 63 above 4, 0.6 above 5.
    assert!(beyond[0] > 500 && beyond[0] < 4_000, "{beyond:?}");
    assert!(beyond[1] < 130 && beyond[2] < 6, "{beyond:?}");
    assert!(greatest < RESIDUAL - 1.0, "{greatest}");
}

/// A learner that alternates between generations, while each actor keeps hundreds of games going.
/// The actors differ in speed and in their number of games, so at any moment they have delivered
/// different parts of their long games.
#[test]
fn slow_actors_with_many_games_at_once_are_not_flagged_for_long_games_that_are_missing() {
    let mut rng = Rng::new(3, "slots");
    let mut tally = Tally::default();
    let speeds: [(u32, usize); 6] = [(1, 400), (2, 400), (3, 100), (4, 400), (5, 100), (8, 200)];
    // Ticks left, length and generation of the games of each actor.
    let start = |rng: &mut Rng, generation: u32| {
        let plies = if rng.below(2) == 0 { 10 } else { 120 };
        (plies, plies, generation)
    };
    let mut slots: Vec<Vec<(u32, u32, u32)>> =
        speeds.map(|(_, count)| (0..count).map(|_| start(&mut rng, 0)).collect::<Vec<_>>()).into();
    let (mut evaluations, mut unsettled) = (0, 0.0_f64);
    for tick in 0..12_000_u32 {
        let generation = tick / 1_200;
        for (actor, (slow, _)) in speeds.iter().enumerate() {
            if !tick.is_multiple_of(*slow) {
                continue;
            }
            for slot in &mut slots[actor] {
                slot.0 -= 1;
                if slot.0 > 0 {
                    continue;
                }
                let finished = game(slot.2, outcome(rng.bits() as u8), slot.1);
                if tally.record(&name(actor), &finished) {
                    evaluations += 1;
                    let judgement = tally.judge([]);
                    assert_eq!(judgement.deviating, BTreeMap::new(), "tick {tick}");
                }
                *slot = start(&mut rng, generation);
            }
        }
        // What the newest generation looks like if it is compared at once.
        if tick % 1_200 == 300 && generation > 0 {
            let mut early = Tally::default();
            early
                .generations
                .insert(Generation(0), tally.generations[&Generation(generation)].clone());
            early.generations.insert(Generation(SETTLED), GenerationGames::default());
            let found = early.compare(&BTreeSet::new());
            unsettled = found.values().map(|one| one.residual).fold(unsettled, f64::max);
        }
    }
    assert!(evaluations >= 9, "{evaluations}");
    assert_eq!(tally.judge([]).judged, speeds.len());
    assert!(unsettled > RESIDUAL, "the settled generations made no difference: {unsettled}");
}

#[test]
fn cheating_actors_are_flagged_within_two_hundred_games() {
    let mut rng = Rng::new(5, "cheats");
    let games = LEAST_GAMES as usize;
    let copy = honest(&mut rng, 0);
    let plays: [(&str, Quantity, Vec<GameSummary>); 4] = [
        (
            "wins",
            Quantity::Outcome,
            (0..games)
                .map(|_| GameSummary { plies: honest(&mut rng, 0).plies, ..game(0, 0, 0) })
                .collect(),
        ),
        (
            "draws",
            Quantity::Outcome,
            (0..games)
                .map(|_| GameSummary { plies: honest(&mut rng, 0).plies, ..game(0, 2, 0) })
                .collect(),
        ),
        (
            "two plies",
            Quantity::Length,
            (0..games).map(|_| GameSummary { plies: 2, ..honest(&mut rng, 0) }).collect(),
        ),
        ("a copy", Quantity::Length, vec![copy; games]),
    ];
    for (what, quantity, cheats) in plays {
        for actors in [2, 8, 100] {
            let tally = cluster(actors, games, &cheats);
            let judgement = tally.judge([]);
            assert_eq!(judgement.judged, actors + 1);
            assert_eq!(deviating(&tally), ["eve"], "{what} among {actors}");
            let found = &judgement.deviating["eve"];
            assert_eq!((found.quantity, found.games), (quantity, LEAST_GAMES), "{what}");
            println!("{what} among {actors}: residual {:.1}", found.residual);
        }
        // Fewer games are no basis for a comparison.
        assert!(deviating(&cluster(8, games, &cheats[1..])).is_empty(), "{what}");
    }
}

#[test]
fn a_flag_stays_while_the_games_are_compared_and_several_cheats_are_found() {
    let mut rng = Rng::new(6, "several");
    let mut tally = Tally::default();
    let cheats: [Arc<str>; 3] = ["eve".into(), "mallory".into(), "trudy".into()];
    let mut known = BTreeMap::new();
    for generation in 0..12 {
        for actor in 0..8 {
            for _ in 0..300 {
                tally.record(&name(actor), &honest(&mut rng, generation));
            }
        }
        if generation < 3 {
            for _ in 0..100 {
                tally.record(&cheats[0], &game(generation, 0, 20));
                tally.record(&cheats[1], &game(generation, 1, 20));
                tally.record(&cheats[2], &game(generation, 2, 20));
            }
        }
        let judgement = tally.judge(known.keys());
        let found: Vec<_> = judgement.deviating.keys().map(|actor| &**actor).collect();
        match generation {
            // The cheats have 200 games in settled generations from generation 3 on.
            0..=2 => assert!(found.is_empty(), "{generation}: {found:?}"),
            3..=5 => assert_eq!(found, ["eve", "mallory", "trudy"], "{generation}"),
            11 => assert!(found.is_empty(), "their games have left the window: {found:?}"),
            _ => {}
        }
        known = judgement.deviating;
    }
    assert!(tally.generations.len() < 8, "the window slides");
}

#[test]
fn nobody_is_flagged_where_nothing_says_which_actor_deviates() {
    let cheats = vec![game(0, 0, 7); 400];
    assert!(deviating(&cluster(1, 400, &cheats)).is_empty(), "one of two");
    // Games against other weights than those of all others are not compared.
    let other = |_| {
        let mut other = game(0, 0, 7);
        other.seats[1].generation = None;
        other
    };
    let tally = cluster(8, 400, &(0..400).map(other).collect::<Vec<_>>());
    assert_eq!((deviating(&tally).len(), tally.judge([]).judged), (0, 8));
}

#[test]
fn weaker_weights_in_other_seats_are_not_a_deviation() {
    let mut rng = Rng::new(8, "opponents");
    let mut tally = Tally::default();
    for actor in 0..8 {
        for index in 0..600 {
            // Each actor meets the opponents in its own proportions. The first loses always.
            let is_first = index % 8 < actor;
            let mut played = if is_first { game(0, 0, 20) } else { honest(&mut rng, 0) };
            played.seats[1] = Seat { generation: None, learns: false, ..played.seats[1] };
            if is_first {
                played.seats[1].generation = Some(Generation(0));
            }
            tally.record(&name(actor), &played);
        }
    }
    settle(&mut tally, 0);
    assert!(deviating(&tally).is_empty());
}

#[test]
fn memory_is_bounded_whatever_actors_claim() {
    let mut tally = Tally::default();
    for opponent in 0..2 * MOST_CELLS as u32 {
        let mut claimed = game(5, 0, 7);
        claimed.seats[1].generation = Some(Generation(opponent));
        claimed.seats[1].learns = false;
        tally.record(&"eve".into(), &claimed);
    }
    assert_eq!(tally.cells, MOST_CELLS);
    settle(&mut tally, 5);
    settle(&mut tally, 6);
    assert!(tally.cells < 10, "{}", tally.cells);
}
