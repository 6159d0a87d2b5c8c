//! Trees that are kept from one decision to the next.

use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Game, Stream, Turn};
use ouro_search::{Rollout, Scheduler, Search, SearchConfig};

#[test]
fn visits_that_were_turned_away_from_proven_moves_are_not_inherited_as_policy() {
    let game = TicTacToe::new(tic_tac_toe::Config {}).unwrap();
    let config = SearchConfig { simulations: 400, ..SearchConfig::default() };
    let mut inherited = 0;
    for seed in 0..30 {
        let mut rng = Stream::new(seed, "game");
        let mut state = game.initial(&mut rng);
        game.rollout(&mut state, 1 + seed as u32 % 4, &mut Default::default(), &mut rng);
        let mut search = Search::new(config.clone(), &game).unwrap();
        search.begin(&game, &state, Stream::new(seed, "search"));
        Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Rollout::new());
        let decision = search.decide(&game);
        let seat = &decision.seats[0];
        let most = (0..seat.actions.len()).max_by_key(|&at| seat.visits[at]).unwrap();
        game.step(&mut state, &[seat.actions[most]; 2]).unwrap();
        if game.turn(&state) != Turn::Over
            && search.advance(&game, &[seat.actions[most]; 2], &state)
        {
            // One of the visits evaluated the node, each other one chose one of its moves.
            let kept: u32 = search.decide(&game).seats[0].visits.iter().sum();
            assert!(kept < seat.visits[most], "{kept} of {}", seat.visits[most]);
            inherited += kept;
        }
    }
    assert!(inherited > 1_000, "{inherited}");
}
