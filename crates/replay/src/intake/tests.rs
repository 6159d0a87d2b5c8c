//! Tests of playing a received game through.

use ouro_game::Action;
use ouro_game::tic_tac_toe::TicTacToe;

use super::*;

/// The ply of a stone on this cell.
fn ply(cell: u32) -> Ply {
    Ply { moves: vec![Move { action: Action(cell), behaviour: 1.0, search: None }] }
}

#[test]
fn a_game_is_played_through_in_the_states_that_it_has() {
    let (game, plies) = (TicTacToe::default(), [0, 1, 3, 4, 6].map(ply));
    let replay = || Replay::of_plies(&game, 5, &plies);
    let all = states(replay(), plies.len()).unwrap();
    let mut seen = Vec::new();
    let (movers, last) =
        play_through(&game, replay(), |ply, movers, state| seen.push((ply, movers, *state)))
            .unwrap();
    assert_eq!(movers, [0, 1, 0, 1, 0].map(PlayerSet::one));
    let expected: Vec<_> = (0..5).map(|ply| (ply, movers[ply], all[ply])).collect();
    assert_eq!((seen, last), (expected, all[5]));

    // The same cell twice, and a move after the end.
    let mut seen = 0;
    for (cells, at) in [(&[0, 0][..], 1), (&[0, 1, 3, 4, 6, 7][..], 5)] {
        let plies: Vec<Ply> = cells.iter().copied().map(ply).collect();
        let replay = Replay::of_plies(&game, 5, &plies);
        let error = play_through(&game, replay, |_, _, _| seen += 1).unwrap_err();
        assert!(matches!(error, ReplayError::Step { ply, .. } if ply == at), "{error}");
    }
    assert_eq!(seen, 2 + 5);
}
