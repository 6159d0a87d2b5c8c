//! The table of evaluations changes nothing but the work.

use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::{ActionMask, Game, Rng};
use ouro_search::evaluator::{CacheStats, PureEvaluator};
use ouro_search::{Cached, Estimates, Evaluator, Leaf, Scheduler, Search, SearchConfig};

/// Judges a position by its digest: arbitrary, but a function of the image alone.
#[derive(Debug, Default)]
struct Oracle {
    asked: usize,
}

impl Evaluator<ConnectFour> for Oracle {
    fn evaluate(
        &mut self,
        game: &ConnectFour,
        leaves: &mut [Leaf<ConnectFour>],
        out: &mut Estimates,
    ) {
        self.asked += leaves.len();
        for leaf in leaves {
            let image = game.transform(&leaf.state, leaf.symmetry);
            let digest = game.digest(&image);
            if digest.is_multiple_of(7) {
                let values = out.push_exact();
                values[0] = 0.25 * (digest % 3) as f32;
                values[1] = -values[0];
                continue;
            }
            let (values, priors) = out.push(leaf.movers);
            values[0] = (digest % 1_000) as f32 / 500.0 - 1.0;
            values[1] = -values[0];
            let mut legal = ActionMask::default();
            game.legal(&leaf.state, leaf.state.mover(), &mut legal);
            for action in legal.iter() {
                let seen = game.transform_action(action, leaf.symmetry);
                priors[action.index()] = (digest >> (8 * seen.0) & 255) as f32 + 1.0;
            }
        }
    }
}

impl PureEvaluator<ConnectFour> for Oracle {}

/// Decides in several positions at once, several plies of self-play long.
fn play<E: Evaluator<ConnectFour>>(evaluator: &mut E) -> Vec<String> {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let config =
        SearchConfig { simulations: 150, random_symmetry: true, ..SearchConfig::default() };
    let mut chance = Rng::new(0, "chance");
    let mut states = vec![game.initial(&mut chance); 6];
    let mut searches: Vec<_> =
        (0..6).map(|_| Search::new(config.clone(), &game).unwrap()).collect();
    let mut scheduler = Scheduler::new(6);
    let mut results = Vec::new();
    for ply in 0..6 {
        for (index, (search, state)) in searches.iter_mut().zip(&states).enumerate() {
            search.start(&game, state, Rng::indexed(ply, "search", index as u64));
        }
        scheduler.run(&game, &mut searches, evaluator);
        for (search, state) in searches.iter_mut().zip(&mut states) {
            let decision = search.decide(&game);
            game.step(state, &[decision.seats[0].action; 2]).unwrap();
            results.push(format!("{decision:?}"));
        }
    }
    results
}

#[test]
fn searches_with_and_without_the_table_are_the_same_bit_for_bit() {
    let mut plain = Oracle::default();
    let expected = play(&mut plain);
    for slots in [0, 1, 64, 1 << 14] {
        let mut cached = Cached::new(Oracle::default(), slots);
        assert_eq!(play(&mut cached), expected);
        let CacheStats { hits, misses } = cached.stats();
        assert_eq!((hits + misses) as usize, plain.asked);
        if slots > 64 {
            assert!(hits > misses / 5, "{hits} hits, {misses} misses");
        }
    }
}

#[test]
fn a_cleared_table_asks_again() {
    let mut cached = Cached::new(Oracle::default(), 1 << 14);
    play(&mut cached);
    let once = cached.stats();
    play(&mut cached);
    let twice = cached.stats();
    // Some positions have lost their slot to others.
    assert!(twice.misses - once.misses < once.misses / 2);
    cached.clear();
    play(&mut cached);
    assert_eq!(cached.stats().misses - twice.misses, once.misses);
}

#[test]
fn a_freed_table_passes_every_leaf_on() {
    let mut cached = Cached::new(Oracle::default(), 1 << 14);
    let expected = play(&mut cached);
    let once = cached.stats();
    cached.free();
    assert_eq!(cached.slots(), 0);
    assert_eq!(play(&mut cached), expected);
    let CacheStats { hits, misses } = cached.stats();
    assert_eq!((hits, misses), (once.hits, 2 * once.misses + once.hits));
}
