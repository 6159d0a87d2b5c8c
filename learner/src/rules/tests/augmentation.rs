//! Tests that a transformed row has the viable actions and the targets of its image.

use ouro_game::tic_tac_toe::TicTacToe;
use ouro_replay::PositionRef;

use super::*;

/// Batches that a test makes of the same positions.
const BATCHES: u64 = 40;

/// A row of a batch before its transformation.
struct Row<S> {
    state: S,
    seat: usize,
    /// The policy target, or the action taken with a share of 1.
    chosen: Vec<(Action, f32)>,
}

/// Consecutive rows of a batch.
#[derive(Debug, Default, PartialEq)]
struct Columns {
    planes: Vec<f32>,
    viable: Vec<bool>,
    /// The shares of [`Row::chosen`], for all actions.
    shares: Vec<f32>,
}

/// The image of rows under a symmetry.
fn image<G: Game>(
    game: &G,
    rows: &[Row<G::State>],
    symmetry: Symmetry,
    shape: RowShape,
) -> Columns {
    let mut columns = Columns::default();
    for row in rows {
        let (state, mut mask) = (game.transform(&row.state, symmetry), ActionMask::default());
        let Columns { planes, viable, shares } = &mut columns;
        let (cells, actions) = (planes.len(), viable.len());
        planes.resize(cells + shape.planes, 0.0);
        game.observe(&state, row.seat, &mut planes[cells..]);
        game.viable(&state, row.seat, &mut mask);
        viable.resize(actions + shape.actions, false);
        mask.iter().for_each(|action| viable[actions + action.index()] = true);
        shares.resize(actions + shape.actions, 0.0);
        for &(action, share) in &row.chosen {
            shares[actions + game.transform_action(action, symmetry).index()] = share;
        }
    }
    columns
}

/// Checks that `got` is the image of `rows` under a symmetry that its observations show. Returns whether
/// they show one alone, other than the identity.
fn is_turned<G: Game>(game: &G, rows: &[Row<G::State>], shape: RowShape, got: &Columns) -> bool {
    let images = game.symmetries().iter().map(|&one| (one, image(game, rows, one, shape)));
    let shown: Vec<_> = images.filter(|(_, image)| image.planes == got.planes).collect();
    assert!(shown.iter().any(|(_, image)| image == got), "{got:?} is none of {shown:?}");
    matches!(&shown[..], [(symmetry, _)] if *symmetry != Symmetry::Identity)
}

fn states_of<G: Game>(game: &G, played: &Trajectory) -> Vec<G::State> {
    let replay = Replay::of_plies(game, played.record.seed, &played.plies);
    states(replay, played.plies.len()).expect("a possible game")
}

/// Checks the rows of batches of all positions. Returns how many were turned.
fn turned_positions<G: Game>(config: &Config, game: &G, played: &Trajectory) -> usize {
    let (rules, states) = (rules(config).unwrap(), states_of(game, played));
    let item = examine(config, played).unwrap().game;
    let row = |at: &PositionRef| {
        let ply = usize::from(at.ply);
        let target = played.plies[ply].moves[usize::from(at.mover)].search.as_ref();
        let chosen = target.expect("a search").policy.clone();
        Row { state: states[ply].clone(), seat: at.seat.into(), chosen }
    };
    let rows: Vec<_> = item.position_refs().iter().map(row).collect();
    let (shape, draws, mut turned) = (rules.shape(), all(item), 0);
    for index in 0..BATCHES {
        let batch = rules.positions(&draws, &mut Rng::indexed(1, "augment", index)).unwrap();
        assert_eq!(batch.check(&config.net_spec().unwrap()), Ok(()));
        assert_eq!(batch.rows(), rows.len());
        for (place, row) in rows.chunks(1).enumerate() {
            let (cells, actions) = (place * shape.planes, place * shape.actions);
            let got = Columns {
                planes: batch.planes[cells..][..shape.planes].to_vec(),
                viable: batch.legal[actions..][..shape.actions].to_vec(),
                shares: batch.policy[actions..][..shape.actions].to_vec(),
            };
            turned += usize::from(is_turned(game, row, shape, &got));
        }
    }
    turned
}

/// Checks batches of one segment: the moves of the first seat without its last, of which only the state
/// is a row. Returns how many segments were turned.
fn turned_segments<G: Game>(config: &Config, game: &G, played: &Trajectory) -> usize {
    let (rules, states) = (rules(config).unwrap(), states_of(game, played));
    let item = examine(config, played).unwrap().game;
    let refs = item.position_refs();
    let own = refs.iter().take_while(|at| at.seat == refs[0].seat).count();
    let row = |(place, at): (usize, &PositionRef)| {
        let ply = usize::from(at.ply);
        let action = played.plies[ply].moves[usize::from(at.mover)].action;
        let chosen = if place + 1 < own { vec![(action, 1.0)] } else { Vec::new() };
        Row { state: states[ply].clone(), seat: at.seat.into(), chosen }
    };
    let rows: Vec<_> = refs[..own].iter().enumerate().map(row).collect();
    let (shape, draws, mut turned) = (rules.shape(), all(item), 0);
    for index in 0..BATCHES {
        let draws = &draws[..own - 1];
        let batch = rules.segments(draws, &mut Rng::indexed(1, "augment", index)).unwrap();
        assert_eq!(batch.check(&config.net_spec().unwrap()), Ok(()));
        let mut shares = vec![0.0; batch.legal.len()];
        for (place, (&action, &weight)) in batch.actions.iter().zip(&batch.weights).enumerate() {
            shares[place * shape.actions + action as usize] = weight;
        }
        let got = Columns { planes: batch.planes, viable: batch.legal, shares };
        turned += usize::from(is_turned(game, &rows, shape, &got));
    }
    turned
}

/// A duel of snakes with these settings.
fn duel(mut config: Config) -> (Config, battlesnake::Small, Trajectory) {
    let board = battlesnake::Config { width: 7, height: 7, snakes: 2, ..Default::default() };
    config.game = GameConfig::Battlesnake(board.clone());
    let game = battlesnake::Small::new(board).unwrap();
    let played = searched_duel(&game, config.game.clone(), &mut Vec::new());
    (config, game, played)
}

#[test]
fn a_turned_position_has_the_viable_actions_and_the_target_of_its_image() {
    // The first position is the empty board, which looks alike under every symmetry.
    let (game, played) = (TicTacToe::default(), fresh(searched_game()));
    let turned = turned_positions(&alphazero(), &game, &played);
    assert!(turned > 20, "{turned} of {BATCHES} were turned");
    let (config, game, played) = duel(alphazero());
    let turned = turned_positions(&config, &game, &played);
    assert!(turned > 200, "{turned} of {} were turned", 12 * BATCHES);
}

#[test]
fn a_turned_segment_has_the_viable_actions_and_the_moves_of_its_image() {
    let (game, played) = (TicTacToe::default(), fresh(won_game()));
    let turned = turned_segments(&reinforce(), &game, &played);
    assert!(turned > 20, "{turned} of {BATCHES} were turned");
    let (config, game, played) = duel(reinforce());
    let turned = turned_segments(&config, &game, &played);
    assert!(turned > 20, "{turned} of {BATCHES} were turned");
}
