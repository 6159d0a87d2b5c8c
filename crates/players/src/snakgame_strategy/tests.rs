//! Strategies in games from their start, in games that they join, and in many games at once.

use ouro_game::snakgame::{Config, Mode, NewSnakes, Small};
use ouro_game::{Action, Rng, Turn};

use super::*;

type SmallState = State<[u64; 16]>;

fn duel(new_snakes: NewSnakes) -> Small {
    Small::new(Config { new_snakes, ..Config::default() }).expect("in range")
}

/// The player to move; `None` once the game is over.
fn mover(game: &Small, state: &SmallState) -> Option<usize> {
    let Turn::Move(movers) = game.turn(state) else { return None };
    movers.iter().next()
}

fn random_action(game: &Small, state: &SmallState, mover: usize, rng: &mut Rng) -> Action {
    let mut legal = ActionMask::default();
    game.legal(state, mover, &mut legal);
    legal.nth(rng.below(legal.count() as u32) as usize).expect("a legal action")
}

/// The choice of a strategy in a game with this number.
fn chosen(
    strategy: &mut SnakgameStrategy,
    game: &Small,
    (state, player): (&SmallState, usize),
    number: Option<u64>,
    rng: &mut Rng,
) -> Action {
    let mut choices = Vec::new();
    let request = Request { state, player, rng, game: number };
    strategy.choose(game, &mut [request], &mut choices);
    assert_eq!(choices.len(), 1);
    choices[0].action
}

/// Plays a strategy at a seat, with random moves at the other. Calls `each` with the position that
/// the strategy sees after each of its moves, and the state.
fn play(mode: Mode, own: usize, seed: u64, mut each: impl FnMut(&Position, &SmallState)) {
    let config = Config { mode, rows: 12, columns: 15, ..Config::default() };
    let game = Small::new(config).expect("in range");
    let mut rng = Rng::new(seed, "test");
    let mut player = SnakgameStrategy::new("snakgame{strategy=plan-repair}", Named::PlanRepair);
    let mut state = game.initial(&mut rng);
    game.settle(&mut state, &mut rng);
    let mut joint = vec![Action::default(); game.players()];
    while let Some(mover) = mover(&game, &state) {
        joint[mover] = if mover == own {
            let action = chosen(&mut player, &game, (&state, own), Some(7), &mut rng);
            assert_eq!(player.games.len(), 1);
            action
        } else {
            random_action(&game, &state, mover, &mut rng)
        };
        game.step(&mut state, &joint).expect("legal");
        if mover == own {
            each(&player.games[&(7, own)].position, &state);
        }
        game.settle(&mut state, &mut rng);
    }
}

#[test]
fn a_strategy_sees_the_game_from_its_own_side() {
    for (mode, own) in [(Mode::Duel, 0), (Mode::Duel, 1), (Mode::Official, 0)] {
        let mut seen = 0;
        play(mode, own, 3, |position, state| {
            let shown = state.seen_by(side_of(own));
            assert_eq!(position.board().contents(), shown.board().contents());
            for side in [Side::First, Side::Second] {
                assert_eq!(position.snakes(side), shown.snakes(side));
            }
            seen += 1;
        });
        assert!(seen > 60, "{mode:?}: {seen}");
    }
}

#[test]
fn every_move_of_the_other_side_is_recognised() {
    for (mode, own) in [(Mode::Duel, 0), (Mode::Duel, 1), (Mode::Official, 0)] {
        let game = Small::new(Config { mode, ..Config::default() }).expect("in range");
        let (mut rng, own) = (Rng::new(5, "test"), side_of(own));
        let mut followed: Option<Followed> = None;
        let (mut state, mut known) = (game.initial(&mut rng), 0);
        let mut joint = vec![Action::default(); game.players()];
        loop {
            game.settle(&mut state, &mut rng);
            let Some(mover) = mover(&game, &state) else { break };
            joint[mover] = random_action(&game, &state, mover, &mut rng);
            if side_of(mover) == own {
                if let Some(followed) = &mut followed {
                    assert!(followed.catch_up(&state, own), "{mode:?} after {known} moves");
                    known += 1;
                }
                let followed = followed.get_or_insert_with(|| Followed {
                    strategy: Named::Random.player(1),
                    position: state.seen_by(own),
                });
                let made = game.action_move(&state, joint[mover]).expect("a move");
                followed.position.play(made).expect("legal");
            }
            game.step(&mut state, &joint).expect("legal");
        }
        assert!(known > 30, "{mode:?}: {known}");
    }
}

#[test]
fn every_strategy_joins_a_game_in_progress_at_both_seats() {
    const OPENING: usize = 20;
    // Chef gives up his snake at random.
    for named in Named::ALL.into_iter().filter(|&named| named != Named::Chef) {
        for (new_snakes, number) in [
            (NewSnakes::AnyTime, None),
            (NewSnakes::AnyTime, Some(3)),
            (NewSnakes::WhenStuck, None),
            (NewSnakes::WhenStuck, Some(3)),
        ] {
            let (game, mut rng) = (duel(new_snakes), Rng::new(8, "test"));
            let mut player = SnakgameStrategy::new("it", named);
            let mut state = game.initial(&mut rng);
            let mut joint = vec![Action::default(); 2];
            for ply in 0.. {
                let Some(mover) = mover(&game, &state) else { break };
                joint[mover] = if ply < OPENING {
                    random_action(&game, &state, mover, &mut rng)
                } else {
                    chosen(&mut player, &game, (&state, mover), number, &mut rng)
                };
                let joins = number.is_none() || ply < OPENING + 2;
                let seen = state.seen_by(side_of(mover));
                if ply >= OPENING && joins && seen.extensions().next().is_some() {
                    let made = game.action_move(&state, joint[mover]);
                    assert!(
                        matches!(made, Some(Move::Extend { .. })),
                        "{named:?} in {new_snakes:?} at ply {ply}: {made:?}"
                    );
                }
                game.step(&mut state, &joint).expect("legal");
            }
            assert_eq!(player.games.is_empty(), number.is_none());
        }
    }
}

#[test]
fn both_seats_of_a_game_are_followed_until_it_ends() {
    let (game, mut rng) = (duel(NewSnakes::AnyTime), Rng::new(2, "test"));
    let mut player = SnakgameStrategy::new("it", Named::PlanRepair);
    let mut state = game.initial(&mut rng);
    let mut joint = vec![Action::default(); 2];
    for seat in [0, 1, 0, 1] {
        chosen(&mut player, &game, (&state, seat), Some(2), &mut rng);
        joint[seat] = chosen(&mut player, &game, (&state, seat), Some(1), &mut rng);
        game.step(&mut state, &joint).expect("legal");
    }
    let seats = |player: &SnakgameStrategy| player.games.keys().copied().collect::<Vec<_>>();
    assert_eq!(seats(&player), [(1, 0), (1, 1), (2, 0), (2, 1)]);
    player.game_ended(&game, 1, &state);
    assert_eq!(seats(&player), [(2, 0), (2, 1)]);
}

#[test]
fn with_too_many_games_the_one_started_first_makes_room() {
    let (game, mut rng) = (duel(NewSnakes::AnyTime), Rng::new(2, "test"));
    let mut player = SnakgameStrategy::new("it", Named::Random);
    let state = game.initial(&mut rng);
    for number in 0..=MOST_SEATS as u64 {
        chosen(&mut player, &game, (&state, 0), Some(number), &mut rng);
    }
    assert_eq!(player.games.len(), MOST_SEATS);
    assert!(!player.games.contains_key(&(0, 0)) && player.games.contains_key(&(1, 0)));
}

/// Starts a snake in every turn.
struct Restarts;

impl Strategy for Restarts {
    fn choose(&mut self, position: &Position) -> Move {
        let board = position.board();
        Move::New(board.cell(board.empty_indices()[0] as usize))
    }
}

#[test]
fn a_strategy_whose_move_was_not_played_is_followed_no_further() {
    let (game, mut rng) = (duel(NewSnakes::WhenStuck), Rng::new(2, "test"));
    let mut player = SnakgameStrategy::new("it", Named::Random);
    let mut state = game.initial(&mut rng);
    let mut joint = vec![Action::default(); 2];
    joint[0] = chosen(&mut player, &game, (&state, 0), Some(1), &mut rng);
    game.step(&mut state, &joint).expect("legal");
    joint[1] = random_action(&game, &state, 1, &mut rng);
    game.step(&mut state, &joint).expect("legal");
    player.games.get_mut(&(1, 0)).expect("it is followed").strategy = Box::new(Restarts);
    let action = chosen(&mut player, &game, (&state, 0), Some(1), &mut rng);
    assert!(matches!(game.action_move(&state, action), Some(Move::Extend { .. })));
    assert!(player.games.is_empty());
}
