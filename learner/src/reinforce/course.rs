//! What a seat's moves in a replayed game were followed by.

use ouro_game::{Game, Turn};

/// One move of the seat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Index of the state moved in.
    pub ply: usize,
    /// Scaled rewards up to the seat's next move, or to the last state, each discounted by the
    /// time that passed before it.
    pub reward: f32,
    /// γ^Δt to the next move or the last state; 0 if nothing more can come for the seat.
    pub discount: f32,
}

/// A seat's moves in a game.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// In order of play.
    pub steps: Vec<Step>,
    /// Whether the game was cut short while the seat still played: then the value of the last
    /// state stands for what follows.
    pub is_open: bool,
}

/// The course of `seat` through `states`, every state of a game with the last included. The
/// reward of a ply is the difference of [`Game::returns`] around it, times `scale`; `gamma` is
/// the discount per time step.
pub fn course<G: Game>(
    game: &G,
    states: &[G::State],
    seat: usize,
    gamma: f32,
    scale: f32,
) -> Course {
    let moves = |state: &G::State| match game.turn(state) {
        Turn::Move(movers) => movers.contains(seat),
        Turn::Chance | Turn::Over => false,
    };
    let is_open = states
        .last()
        .is_some_and(|last| game.turn(last) != Turn::Over && game.alive(last).contains(seat));
    let mut steps = Vec::new();
    // What lies between the ply looked at and the seat's next move.
    let (mut reward, mut discount) = (0.0, if is_open { 1.0 } else { 0.0 });
    for ply in (0..states.len().saturating_sub(1)).rev() {
        let (before, after) = (&states[ply], &states[ply + 1]);
        let time = game.elapsed(after).saturating_sub(game.elapsed(before));
        let factor = f64::from(gamma).powf(f64::from(time));
        let own =
            f64::from(scale) * f64::from(game.returns(after, seat) - game.returns(before, seat));
        (reward, discount) = (own + factor * reward, factor * discount);
        if moves(before) {
            steps.push(Step { ply, reward: reward as f32, discount: discount as f32 });
            (reward, discount) = (0.0, 1.0);
        }
    }
    steps.reverse();
    Course { steps, is_open }
}

#[cfg(test)]
mod tests {
    use ouro_game::battlesnake::{self, Small};
    use ouro_game::record::Recorder;
    use ouro_game::tic_tac_toe::TicTacToe;
    use ouro_game::{Action, ActionMask, Rng};

    use super::*;

    /// Cells 0, 3, 6 win for the first player.
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

    fn step(ply: usize, reward: f32, discount: f32) -> Step {
        Step { ply, reward, discount }
    }

    #[test]
    fn alternating_moves_are_rewarded_up_to_the_next_own_move() {
        let (game, states) = won(&[0, 1, 3, 4, 6]);
        let winner = course(&game, &states, 0, 0.5, 2.0);
        assert!(!winner.is_open);
        let expected = [step(0, 0.0, 0.25), step(2, 0.0, 0.25), step(4, 2.0, 0.0)];
        assert_eq!(winner.steps, expected);
        let loser = course(&game, &states, 1, 0.5, 2.0);
        // The second player's last move is a time step before the loss.
        assert_eq!(loser.steps, [step(1, 0.0, 0.25), step(3, -1.0, 0.0)]);
    }

    #[test]
    fn a_game_that_was_cut_short_leaves_the_course_open() {
        let (game, states) = won(&[0, 1, 3]);
        let cut = course(&game, &states, 1, 0.5, 1.0);
        assert!(cut.is_open);
        assert_eq!(cut.steps, [step(1, 0.0, 0.25)]);
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
                let course = course(&game, &states, seat, 1.0, 1.0);
                assert!(!course.is_open);
                assert_eq!(course.steps.last().map(|step| step.discount), Some(0.0));
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
                let sum: f32 = course.steps.iter().map(|step| step.reward).sum();
                assert!((sum - expected).abs() < 1e-4, "seed {seed}: {sum} {expected}");
            }
        }
    }
}
