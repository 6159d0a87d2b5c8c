//! The players of Snake without learning: their figures in the `AlphaSnake` paper
//! (Du, Gemp, Wu and Wu 2022, arXiv 2211.09622; 10×10, 1,200 steps), and who plays what.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;
use std::time::Duration;

use ouro_game::battlesnake;
use ouro_game::record::GAME_RNG;
use ouro_game::snake::{Config, Ending, Large, Small, Snapshot, State};
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Game, Rng, Turn};
use ouro_players::game_batch::SEAT_RNG;
use ouro_players::{BuildContext, Clock, GameBatch, NameError, Player, Request, by_name};

/// A clock that stands still.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

fn build<G: Game>(name: &str, game: &G) -> Result<Box<dyn Player<G>>, NameError> {
    by_name(name, &mut BuildContext { game, engines: &mut |_| None, clock: Arc::new(Still) })
}

fn error<G: Game>(name: &str, game: &G) -> String {
    build(name, game).err().unwrap_or_else(|| panic!("{name} builds")).to_string()
}

fn snake(size: u8, time_limit: Option<u32>) -> Small {
    Small::new(Config { size, time_limit, ..Config::default() }).unwrap()
}

/// The end of one game.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    size: f32,
    steps: u32,
    won: bool,
}

/// Plays games without recording them.
fn play(game: &Small, name: &str, games: u64) -> Vec<End> {
    let mut player = build(name, game).unwrap();
    let mut choices = Vec::new();
    let mut play = |seed| {
        let mut rng = Rng::new(seed, GAME_RNG);
        let mut choosing = Rng::new(seed, SEAT_RNG);
        let mut state = game.initial(&mut rng);
        game.settle(&mut state, &mut rng);
        while game.turn(&state) != Turn::Over {
            let request = Request { state: &state, player: 0, rng: &mut choosing, game: None };
            choices.clear();
            player.choose(game, &mut [request], &mut choices);
            game.advance(&mut state, &[choices[0].action], &mut rng).unwrap();
        }
        let won = game.ending(&state) == Some(Ending::Won);
        End { size: game.score(&state, 0), steps: game.elapsed(&state), won }
    };
    (0..games).map(&mut play).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn mean_size(games: &[End]) -> f64 {
    mean(games.iter().map(|end| f64::from(end.size)))
}

fn wins(games: &[End]) -> usize {
    games.iter().filter(|end| end.won).count()
}

#[test]
fn random_play_reaches_the_size_that_the_paper_gives() {
    let games = play(&snake(10, None), "random", 20_000);
    assert!((mean_size(&games) - 6.277).abs() < 0.1, "{}", mean_size(&games));
    assert_eq!(wins(&games), 0);
}

#[test]
fn a_hamiltonian_cycle_reaches_the_size_that_the_paper_gives() {
    let games = play(&snake(10, None), "hamiltonian", 2_000);
    assert!((mean_size(&games) - 30.026).abs() < 0.3, "{}", mean_size(&games));
    assert!(games.iter().all(|end| end.steps == 1_200), "it never dies");
}

#[test]
fn a_hamiltonian_cycle_fills_the_board_given_time() {
    let games = play(&snake(10, Some(10_000)), "hamiltonian", 400);
    assert_eq!(wins(&games), 400);
    // With k empty cells the apple lies 1 to k steps ahead, (k + 1) / 2 on average.
    let expected: f64 = (1..=98).map(|empty| f64::from(empty + 1) / 2.0).sum();
    let steps = mean(games.iter().map(|end| f64::from(end.steps)));
    assert!((steps - expected).abs() < 25.0, "{steps}, not {expected}");
    for size in [2, 4, 6, 8] {
        let games = play(&snake(size, Some(100_000)), "hamiltonian", 50);
        assert_eq!(wins(&games), 50, "{size}x{size}");
    }
}

#[test]
fn a_naive_tree_search_reaches_about_the_size_that_the_paper_gives() {
    let games = play(&snake(10, None), "tree{states=10000}", 24);
    assert!((mean_size(&games) - 59.09).abs() < 6.0, "{}", mean_size(&games));
    assert_eq!(wins(&games), 0);
}

#[test]
fn a_tree_search_of_more_states_plays_better() {
    let game = snake(6, None);
    let sizes: Vec<f64> = ["random", "tree{states=1}", "tree{states=30}", "tree{states=1000}"]
        .iter()
        .map(|name| mean_size(&play(&game, name, 60)))
        .collect();
    assert!(sizes.windows(2).all(|pair| pair[1] > pair[0] + 1.0), "{sizes:?}");
}

#[test]
fn a_tree_search_takes_the_apple_and_not_the_dead_end() {
    let game = snake(5, None);
    let mut player = build("tree{states=200}", &game).unwrap();
    let mut choose = |body: &[(u8, u8)], apple| {
        let snapshot = Snapshot { size: 5, body: body.to_vec(), apple: Some(apple), elapsed: 3 };
        let state = State::<2>::try_from(snapshot).unwrap();
        let mut rng = Rng::new(3, "test");
        let mut choices = Vec::new();
        let mut requests = [Request { state: &state, player: 0, rng: &mut rng, game: None }];
        player.choose(&game, &mut requests, &mut choices);
        choices[0]
    };
    let safe = choose(&[(2, 2), (1, 2)], (2, 3));
    assert_eq!((safe.action.0, safe.probability.to_bits()), (0, 1.0_f32.to_bits()));
    // In the corner lies an apple that costs ten: the body closes behind it.
    let body = [(0, 1), (1, 1), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2)];
    assert_eq!(choose(&body, (0, 0)).action.0, 0);
}

#[test]
fn a_game_depends_on_nothing_but_its_seed() {
    let game = snake(6, None);
    let run = |seeds: &[u64]| {
        let mut batch = GameBatch::new(game.clone(), 1_000);
        seeds.iter().for_each(|&seed| batch.start_game(seed, &[0]).unwrap());
        let mut games = batch.finish(&mut [build("tree{states=50}", &game).unwrap()]).unwrap();
        games.sort_by_key(|game| game.record.seed);
        games
    };
    let together = run(&[0, 1, 2, 3, 4, 5]);
    for (seed, finished) in together.iter().enumerate() {
        assert_eq!(run(&[seed as u64]), std::slice::from_ref(finished));
    }
    let sizes: Vec<f32> = together.iter().map(|game| game.scores[0]).collect();
    let played: Vec<f32> = play(&game, "tree{states=50}", 6).iter().map(|end| end.size).collect();
    assert_eq!(sizes, played);
}

#[test]
fn players_say_which_games_and_boards_they_play() {
    let (board, odd) = (snake(10, None), snake(9, None));
    let large = Large::new(Config { size: 20, ..Config::default() }).unwrap();
    let (two, duel) = (
        TicTacToe::new(tic_tac_toe::Config {}).unwrap(),
        battlesnake::Small::new(battlesnake::Config::default()).unwrap(),
    );
    for name in ["hamiltonian", "tree{states=7}"] {
        assert_eq!(build(name, &board).unwrap().name(), name);
        assert_eq!(build(name, &large).unwrap().name(), name);
    }
    for (text, expected) in [
        (
            error("hamiltonian", &two),
            "player \"hamiltonian\" does not play tic_tac_toe; it plays snake only",
        ),
        (
            error("hamiltonian", &duel),
            "player \"hamiltonian\" does not play battlesnake; it plays snake only",
        ),
        (
            error("hamiltonian", &odd),
            "player \"hamiltonian\": a board of 9x9 has no cycle through all cells; \
             use an even size",
        ),
        (
            error("tree{states=7}", &two),
            "player \"tree{states=7}\" does not play tic_tac_toe; \
             it plays snake only",
        ),
        (error("tree", &board), "player \"tree\": states=N is missing; write tree{states=N}"),
        (
            error("tree{states=0}", &board),
            "player \"tree{states=0}\": option states is \"0\"; it is a whole number 1 to 1000000",
        ),
        (
            error("tree{states=1e9}", &board),
            "player \"tree{states=1e9}\": option states is \"1e9\"; it is a whole number 1 to 1000000",
        ),
        (
            error("tree{depth=3}", &board),
            "player \"tree{depth=3}\": option \"depth\" is unknown; write tree{states=N}",
        ),
    ] {
        assert_eq!(text, expected);
    }
}
