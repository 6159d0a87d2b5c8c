//! The transitions of one seat in a replayed game: rewards and discounts between its moves.

use ouro_game::{Game, Turn};

/// One move of the seat, up to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transition {
    /// Index of the state in which the seat moves.
    pub ply: usize,
    /// Sum of the scaled rewards up to the seat's next move or the last state. Each reward is
    /// discounted by the time since this move.
    pub reward: f32,
    /// γ^Δt to the next move or the last state; 0 if the seat can receive nothing more.
    pub discount: f32,
}

/// The transitions of one seat in one game.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeatTransitions {
    /// In order of play.
    pub transitions: Vec<Transition>,
    /// Whether the game was cut short while the seat still played. The value of the last state then
    /// bootstraps the return.
    pub is_truncated: bool,
}

/// The transitions of `seat` through `states`, which are all states of a game, the last included.
/// The reward of a ply is the change of [`Game::returns`], times `scale`. `gamma` is the discount
/// per time step.
pub(crate) fn seat_transitions<G: Game>(
    game: &G,
    states: &[G::State],
    seat: usize,
    gamma: f32,
    scale: f32,
) -> SeatTransitions {
    let moves = |state: &G::State| match game.turn(state) {
        Turn::Move(movers) => movers.contains(seat),
        Turn::Chance | Turn::Over => false,
    };
    let is_truncated = states
        .last()
        .is_some_and(|last| game.turn(last) != Turn::Over && game.alive(last).contains(seat));
    let mut transitions = Vec::new();
    // Reward and discount between the current ply and the seat's next move, accumulated backwards.
    let (mut reward, mut discount) = (0.0, if is_truncated { 1.0 } else { 0.0 });
    for ply in (0..states.len().saturating_sub(1)).rev() {
        let (before, after) = (&states[ply], &states[ply + 1]);
        let time = game.elapsed(after).saturating_sub(game.elapsed(before));
        let factor = f64::from(gamma).powf(f64::from(time));
        let own =
            f64::from(scale) * f64::from(game.returns(after, seat) - game.returns(before, seat));
        (reward, discount) = (own + factor * reward, factor * discount);
        if moves(before) {
            transitions.push(Transition { ply, reward: reward as f32, discount: discount as f32 });
            (reward, discount) = (0.0, 1.0);
        }
    }
    transitions.reverse();
    SeatTransitions { transitions, is_truncated }
}

#[cfg(test)]
mod tests {
    use ouro_game::battlesnake::{self, Small};
    use ouro_game::record::Recorder;
    use ouro_game::tic_tac_toe::TicTacToe;
    use ouro_game::{Action, ActionMask, Rng};

    use super::*;

    /// Plays `cells` in order. Cells 0, 3 and 6 win for the first player.
    fn won(cells: &[u32]) -> (TicTacToe, Vec<<TicTacToe as Game>::State>) {
        let game = TicTacToe::default();
        let mut recorder = Recorder::new(&game, 5);
        let mut states = vec![*recorder.state()];
        for &cell in cells {
            recorder.advance(&game, &[Action(cell); 2]).expect("a legal action");
            states.push(*recorder.state());
        }
        (game, states)
    }

    fn step(ply: usize, reward: f32, discount: f32) -> Transition {
        Transition { ply, reward, discount }
    }

    #[test]
    fn alternating_moves_are_rewarded_up_to_the_next_own_move() {
        let (game, states) = won(&[0, 1, 3, 4, 6]);
        let winner = seat_transitions(&game, &states, 0, 0.5, 2.0);
        assert!(!winner.is_truncated);
        let expected = [step(0, 0.0, 0.25), step(2, 0.0, 0.25), step(4, 2.0, 0.0)];
        assert_eq!(winner.transitions, expected);
        let loser = seat_transitions(&game, &states, 1, 0.5, 2.0);
        // The second player's last move is one time step before the loss.
        assert_eq!(loser.transitions, [step(1, 0.0, 0.25), step(3, -1.0, 0.0)]);
    }

    #[test]
    fn a_game_that_was_cut_short_is_truncated_for_its_players() {
        let (game, states) = won(&[0, 1, 3]);
        let cut = seat_transitions(&game, &states, 1, 0.5, 1.0);
        assert!(cut.is_truncated);
        assert_eq!(cut.transitions, [step(1, 0.0, 0.25)]);
    }

    #[test]
    fn battlesnake_pays_for_survival_food_death_and_being_last() {
        let config = battlesnake::Config { width: 7, height: 7, snakes: 2, ..Default::default() };
        let game = Small::new(config).expect("a valid configuration");
        for seed in 0..40 {
            let mut rng = Rng::new(seed, "course");
            let mut states = vec![game.initial(&mut rng)];
            let mut mask = ActionMask::default();
            while let Turn::Move(movers) = game.turn(&states[states.len() - 1]) {
                let mut state = states[states.len() - 1];
                let mut actions = [Action(0); 2];
                for mover in movers.iter() {
                    game.legal(&state, mover, &mut mask);
                    let pick = rng.below(mask.count() as u32) as usize;
                    actions[mover] = mask.nth(pick).expect("one is legal");
                }
                game.advance(&mut state, &actions, &mut rng).expect("legal actions");
                states.push(state);
            }
            let last = &states[states.len() - 1];
            for seat in 0..2 {
                let moves = seat_transitions(&game, &states, seat, 1.0, 1.0);
                assert!(!moves.is_truncated);
                assert_eq!(moves.transitions.last().map(|step| step.discount), Some(0.0));
                let mut expected = 0.0;
                for pair in states.windows(2) {
                    let grown = f32::from(pair[1].length(seat)) - f32::from(pair[0].length(seat));
                    match (game.alive(&pair[0]).contains(seat), game.alive(&pair[1]).contains(seat))
                    {
                        (true, true) => expected += 0.01 + grown,
                        (true, false) => expected += grown - 1.0,
                        _ => {}
                    }
                }
                if game.outcome(last, seat) == 1.0 {
                    expected += 5.0;
                }
                let sum: f32 = moves.transitions.iter().map(|step| step.reward).sum();
                assert!((sum - expected).abs() < 1e-4, "seed {seed}: {sum} {expected}");
            }
        }
    }
}
