//! Batches of games: games replay, repeat and do not depend on each other.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;

use ouro_game::battlesnake::{self, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::record::Replay;
use ouro_game::tic_tac_toe::{Config, TicTacToe};
use ouro_game::{Action, ActionMask, Game, PlayerSet, Rng, Turn};
use ouro_net::{Architecture, Engine, NetSpec, Scratch, Weights, WeightsMeta};
use ouro_players::game_batch::SEAT_RNG;
use ouro_players::{
    Choice, FinishedGame, FitError, GameBatch, GameBatchError, NetPlayer, Player, Random, Request,
    Selection, distinct,
};

#[path = "game_batch/survivors.rs"]
mod survivors;

use survivors::Survivors;

type Players<G> = Vec<Box<dyn Player<G>>>;

/// An engine for `game` whose policy is far from uniform.
fn engine<G: Game>(game: &G, seed: u64) -> Arc<Engine> {
    let architecture = Architecture::Conv { channels: 4, layers: 2, hidden: 8 };
    let spec = NetSpec { planes: game.planes(), actions: game.action_count(), architecture };
    let weights = Weights::initialize(spec.clone(), WeightsMeta::default(), seed).unwrap();
    let mut tensors = weights.tensors().to_vec();
    let policy = spec.tensors().iter().position(|tensor| tensor.name == "policy.weight").unwrap();
    tensors[policy].iter_mut().for_each(|weight| *weight *= 200.0);
    let weights = Weights::from_tensors(spec, WeightsMeta::default(), tensors).unwrap();
    Arc::new(Engine::new(&weights))
}

fn net<G: Game>(game: &G, seed: u64, selection: Selection) -> Box<dyn Player<G>> {
    Box::new(NetPlayer::new(format!("net {seed}"), engine(game, seed), selection, game).unwrap())
}

/// A sampling net and the random player.
fn net_and_random<G: Game>(game: &G) -> Players<G> {
    let sampling = Selection::Sample { temperature: 0.8 };
    vec![net(game, 1, sampling), Box::new(Random::new())]
}

fn play<G: Game>(
    game: &G,
    games: &[(u64, Vec<usize>)],
    players: &mut [Box<dyn Player<G>>],
) -> Vec<FinishedGame<G::Config>> {
    let mut batch = GameBatch::new(game.clone(), 1_000);
    for (seed, seats) in games {
        batch.start_game(*seed, seats).unwrap();
    }
    let mut finished = batch.finish(players).unwrap();
    finished.sort_by_key(|game| (game.record.seed, game.players.clone()));
    finished
}

/// Seats of game `seed`: player 0 at all seats but one, which rotates.
fn seats(seed: u64, count: usize) -> Vec<usize> {
    (0..count).map(|seat| usize::from(seat as u64 == seed % count as u64)).collect()
}

/// Properties that hold for every game.
fn check_games<G: Game>(game: &G) {
    let seatings: Vec<(u64, Vec<usize>)> =
        (0..40).map(|seed| (seed, seats(seed, game.players()))).collect();
    let together = play(game, &seatings, &mut net_and_random(game));
    assert_eq!(together.len(), seatings.len());
    assert!(distinct(&together) > 20);
    let engine = engine(game, 1);
    for (finished, seating) in together.iter().zip(&seatings) {
        let alone = play(game, std::slice::from_ref(seating), &mut net_and_random(game));
        assert_eq!(alone, std::slice::from_ref(finished), "a game depends on those beside it");
        check_behaviour(game, &engine, finished);
        let last = Replay::new(game, &finished.record).unwrap().finish().unwrap();
        assert_eq!(game.turn(&last), Turn::Over);
        assert!(!finished.truncated);
        let outcomes: Vec<f32> =
            (0..game.players()).map(|seat| game.outcome(&last, seat)).collect();
        assert_eq!(finished.outcomes, outcomes);
    }
}

/// Recomputes every reported probability from the replayed states.
fn check_behaviour<G: Game>(game: &G, engine: &Engine, finished: &FinishedGame<G::Config>) {
    let mut replay = Replay::new(game, &finished.record).unwrap();
    let mut mask = ActionMask::default();
    let mut planes = vec![0.0; game.planes().len()];
    let (mut logits, mut value) = (vec![0.0; game.action_count()], [0.0]);
    assert_eq!(finished.behaviour.len(), finished.record.plies.len());
    for (actions, reported) in finished.record.plies.iter().zip(&finished.behaviour) {
        let Turn::Move(movers) = game.turn(replay.state()) else { panic!("a ply after the end") };
        assert_eq!((actions.len(), reported.len()), (movers.len(), movers.len()));
        for ((seat, action), &reported) in movers.iter().zip(actions).zip(reported) {
            game.legal(replay.state(), seat, &mut mask);
            let expected = if finished.players[seat] == 1 {
                1.0 / mask.count() as f64
            } else {
                game.viable(replay.state(), seat, &mut mask);
                game.observe(replay.state(), seat, &mut planes);
                engine.evaluate(&mut Scratch::new(), &planes, &mut logits, &mut value);
                let weight = |action: Action| (f64::from(logits[action.index()]) / 0.8).exp();
                weight(*action) / mask.iter().map(weight).sum::<f64>()
            };
            assert!((f64::from(reported) - expected).abs() < 1e-5, "{reported} {expected}");
        }
        replay.advance().unwrap();
    }
}

#[test]
fn tic_tac_toe_games_replay_repeat_and_report_true_probabilities() {
    check_games(&TicTacToe::new(Config {}).unwrap());
}

#[test]
fn simultaneous_games_with_eliminations_do_so_too() {
    check_games(&Survivors::new(4));
}

/// Asserts that eliminated players are not requested.
struct Watchful(Random);

impl Player<Survivors> for Watchful {
    fn name(&self) -> &str {
        "watchful"
    }

    fn choose(
        &mut self,
        game: &Survivors,
        requests: &mut [Request<'_, Survivors>],
        choices: &mut Vec<Choice>,
    ) {
        for request in requests.iter() {
            assert!(game.alive(request.state).contains(request.player), "{request:?}");
        }
        self.0.choose(game, requests, choices);
    }
}

#[test]
fn eliminated_players_are_never_requested() {
    let game = Survivors::new(4);
    let mut players: Players<Survivors> = vec![Box::new(Watchful(Random::new()))];
    let games: Vec<(u64, Vec<usize>)> = (0..50).map(|seed| (seed, vec![0; 4])).collect();
    let finished = play(&game, &games, &mut players);
    let shrank = |game: &FinishedGame<_>| game.record.plies.iter().any(|ply| ply.len() < 4);
    assert!(finished.iter().any(shrank));
}

/// Counts calls and requests.
struct Counting {
    random: Random,
    batches: Arc<std::sync::Mutex<Vec<usize>>>,
}

impl<G: Game> Player<G> for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        self.batches.lock().unwrap().push(requests.len());
        self.random.choose(game, requests, choices);
    }
}

#[test]
fn a_player_is_called_once_per_ply_for_all_its_seats() {
    let game = Survivors::new(3);
    let batches = Arc::default();
    let counting = Counting { random: Random::new(), batches: Arc::clone(&batches) };
    let mut players: Players<Survivors> = vec![Box::new(counting), Box::new(Random::new())];
    let mut batch = GameBatch::new(game, 1_000);
    for seed in 0..10 {
        batch.start_game(seed, &[0, 1, 0]).unwrap();
    }
    batch.advance(&mut players).unwrap();
    assert_eq!(*batches.lock().unwrap(), [20]);
}

/// Keeps the numbers of the games that it was asked for, and of those that ended.
struct Following {
    random: Random,
    games: Arc<std::sync::Mutex<[Vec<u64>; 2]>>,
}

impl Player<TicTacToe> for Following {
    fn name(&self) -> &str {
        "following"
    }

    fn game_ended(&mut self, game: &TicTacToe, number: u64, state: &<TicTacToe as Game>::State) {
        assert_eq!(game.turn(state), Turn::Over);
        self.games.lock().unwrap()[1].push(number);
    }

    fn choose(
        &mut self,
        game: &TicTacToe,
        requests: &mut [Request<'_, TicTacToe>],
        choices: &mut Vec<Choice>,
    ) {
        let numbers = requests.iter().filter_map(|request| request.game);
        self.games.lock().unwrap()[0].extend(numbers);
        self.random.choose(game, requests, choices);
    }
}

#[test]
fn a_player_hears_once_of_the_end_of_each_of_its_games() {
    let games = Arc::<std::sync::Mutex<[Vec<u64>; 2]>>::default();
    let following = || Following { random: Random::new(), games: Arc::clone(&games) };
    let mut players: Players<TicTacToe> = vec![Box::new(following()), Box::new(Random::new())];
    let mut batch = GameBatch::new(TicTacToe::new(Config {}).unwrap(), 100);
    for (seed, seats) in [[0, 1], [1, 0], [0, 0], [1, 1]].iter().enumerate() {
        batch.start_game(seed as u64, seats).unwrap();
    }
    assert_eq!(batch.finish(&mut players).unwrap().len(), 4);
    let [mut asked, mut ended] = games.lock().unwrap().clone();
    asked.sort_unstable();
    asked.dedup();
    ended.sort_unstable();
    assert_eq!((asked.len(), ended), (3, asked));
}

#[test]
fn games_are_truncated_at_the_limit_and_have_the_outcome_of_their_last_state() {
    let game = TicTacToe::new(Config {}).unwrap();
    let mut players: Players<TicTacToe> = vec![Box::new(Random::new())];
    for limit in [0, 3] {
        let mut batch = GameBatch::new(game, limit);
        batch.start_game(5, &[0, 0]).unwrap();
        let finished = batch.finish(&mut players).unwrap();
        assert!(batch.is_empty());
        assert_eq!(finished.len(), 1);
        assert!(finished[0].truncated);
        assert_eq!(finished[0].record.plies.len(), limit);
        assert_eq!(finished[0].outcomes, [0.0, 0.0]);
    }
}

#[test]
fn greedy_players_repeat_one_game_whatever_the_seed() {
    let game = TicTacToe::new(Config {}).unwrap();
    let mut players: Players<TicTacToe> =
        vec![net(&game, 1, Selection::Argmax), net(&game, 2, Selection::Argmax)];
    let games: Vec<(u64, Vec<usize>)> =
        (0..6).map(|seed| (seed, vec![seed as usize % 2, 1 - seed as usize % 2])).collect();
    let finished = play(&game, &games, &mut players);
    assert_eq!(finished.len(), 6);
    assert_eq!(distinct(&finished), 2);
    assert!(finished.iter().flat_map(|game| game.behaviour.iter().flatten()).all(|&p| p == 1.0));
}

#[test]
fn seats_draw_from_their_own_rngs() {
    let game = TicTacToe::new(Config {}).unwrap();
    let mut players: Players<TicTacToe> = vec![Box::new(Random::new())];
    let finished = play(&game, &[(11, vec![0, 0])], &mut players);
    let mut rngs = [0, 1].map(|seat| Rng::indexed(11, SEAT_RNG, seat));
    let mut replay = Replay::new(&game, &finished[0].record).unwrap();
    let mut mask = ActionMask::default();
    for (ply, actions) in finished[0].record.plies.iter().enumerate() {
        game.legal(replay.state(), ply % 2, &mut mask);
        let drawn = rngs[ply % 2].below(mask.count() as u32) as usize;
        assert_eq!(mask.nth(drawn), Some(actions[0]));
        replay.advance().unwrap();
    }
}

/// Returns the choices that it was given.
struct Fixed(Vec<Choice>);

impl<G: Game> Player<G> for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }

    fn choose(&mut self, _: &G, _: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        choices.extend(&self.0);
    }
}

#[test]
fn players_that_break_the_rules_are_named() {
    let game = TicTacToe::new(Config {}).unwrap();
    let error = |choices: Vec<Choice>| {
        let mut batch = GameBatch::new(game, 100);
        batch.start_game(9, &[0, 0]).unwrap();
        let mut players: Players<TicTacToe> = vec![Box::new(Fixed(choices))];
        batch.advance(&mut players).unwrap_err().to_string()
    };
    let choice = |action, probability| Choice { action: Action(action), probability };
    assert_eq!(error(vec![]), "player fixed gave 0 choices for 1 requests");
    assert_eq!(error(vec![choice(0, 1.0); 2]), "player fixed gave 2 choices for 1 requests");
    assert_eq!(error(vec![choice(9, 1.0)]), "game 9, ply 0: action 9 of player 0 is illegal");
    for bad in [0.0, -0.5, 1.5, f32::NAN] {
        assert!(error(vec![choice(0, bad)]).starts_with("player fixed reports probability"));
    }
    let mut batch = GameBatch::new(game, 100);
    let refused = batch.start_game(9, &[0]);
    assert!(matches!(refused, Err(GameBatchError::SeatCount { got: 1, expected: 2, .. })));
    batch.start_game(9, &[0, 3]).unwrap();
    let mut players: Players<TicTacToe> = vec![Box::new(Random::new())];
    let refused = batch.advance(&mut players);
    assert!(matches!(refused, Err(GameBatchError::UnknownPlayer { player: 3, count: 1, .. })));
}

#[test]
fn a_net_for_another_game_is_refused_with_both_sides_named() {
    let (game, other) = (TicTacToe::new(Config {}).unwrap(), Survivors::new(2));
    let refused = NetPlayer::new("old", engine(&other, 1), Selection::Argmax, &game).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, FitError::Planes { .. }));
    assert!(text.contains("net old reads planes") && text.contains("tic_tac_toe writes"), "{text}");
    let mut spec = engine(&game, 1).spec().clone();
    spec.actions = 5;
    let weights = Weights::initialize(spec, WeightsMeta::default(), 1).unwrap();
    let engine = Arc::new(Engine::new(&weights));
    let refused = NetPlayer::new("old", engine, Selection::Argmax, &game).unwrap_err();
    assert!(refused.to_string().starts_with("net old has 5 actions, tic_tac_toe has 9"));
}

/// The choice of a player for snake 0.
fn choice(game: &Small, state: &<Small as Game>::State, player: &mut NetPlayer) -> Choice {
    let mut rng = Rng::new(3, "choice");
    let mut choices = Vec::new();
    player.choose(
        game,
        &mut [Request { state, player: 0, rng: &mut rng, game: None }],
        &mut choices,
    );
    choices[0]
}

#[test]
fn a_symmetric_net_chooses_alike_however_the_board_is_turned() {
    let config =
        battlesnake::Config { width: 7, height: 7, snakes: 2, ..battlesnake::Config::default() };
    let game = Small::new(config).unwrap();
    let new = || NetPlayer::new("net", engine(&game, 4), Selection::Argmax, &game).unwrap();
    let (mut plain, mut symmetric) = (new(), new().symmetric());
    let (mut turned, mut positions) = (0, 0);
    for seed in 0..30 {
        let mut rng = Rng::new(seed, "turned");
        let mut state = game.initial(&mut rng);
        while let Turn::Move(_) = game.turn(&state) {
            let (one, mean) =
                (choice(&game, &state, &mut plain), choice(&game, &state, &mut symmetric));
            for &symmetry in game.symmetries() {
                let image = game.transform(&state, symmetry);
                let moved = |action| game.transform_action(action, symmetry);
                assert_eq!(choice(&game, &image, &mut symmetric).action, moved(mean.action));
                turned +=
                    usize::from(choice(&game, &image, &mut plain).action != moved(one.action));
                positions += 1;
            }
            let actions = [mean.action, Action(rng.below(4))];
            game.advance(&mut state, &actions, &mut rng).unwrap();
        }
    }
    // The network itself is not symmetric.
    assert!(positions > 500 && turned > positions / 10, "{turned} of {positions}");
}

#[test]
fn the_mean_of_one_image_is_the_policy_itself() {
    let game = Survivors::new(2);
    assert_eq!(game.symmetries().len(), 1);
    let sampling = Selection::Sample { temperature: 0.7 };
    let state = game.initial(&mut Rng::new(1, "game"));
    let new = || NetPlayer::new("net", engine(&game, 2), sampling, &game).unwrap();
    let choices = [new(), new().symmetric()].map(|mut player| {
        let mut rng = Rng::new(3, "choice");
        let mut choices = Vec::new();
        let requests = &mut [Request { state: &state, player: 0, rng: &mut rng, game: None }];
        player.choose(&game, requests, &mut choices);
        choices.remove(0)
    });
    assert_eq!(choices[0].action, choices[1].action);
    assert!((choices[0].probability - choices[1].probability).abs() < 1e-5, "{choices:?}");
}

#[test]
fn players_out_are_not_to_move() {
    let game = Survivors::new(3);
    let mut state = game.initial(&mut Rng::new(1, "game"));
    game.step(&mut state, &[Action(0), Action(1), Action(1)]).unwrap();
    assert_eq!(game.alive(&state), PlayerSet(0b110));
}

#[test]
fn connect_four_games_replay_repeat_and_report_true_probabilities() {
    check_games(&ConnectFour::new(connect_four::Config::default()).unwrap());
}

#[test]
fn battlesnake_duels_replay_repeat_and_report_true_probabilities() {
    let config =
        battlesnake::Config { width: 7, height: 7, snakes: 2, ..battlesnake::Config::default() };
    check_games(&Small::new(config).unwrap());
}
