use ouro_net::Generation;
use ouro_replay::{
    AcceptedGame, Deal, FifoSettings, GameSummary, Item, PositionRef, Refusal, Replay,
    ReplaySettings, Trajectory,
};

use super::*;
use crate::alphazero::Positions;
use crate::batch::RowShape;
use crate::reinforce::Segments;

/// Rules that panic on the game of generation 7.
struct Brittle;

impl Rules for Brittle {
    fn examine(&self, _: &Trajectory, _: Generation) -> Result<AcceptedGame, Refusal> {
        unreachable!("nothing is pushed")
    }

    fn restore(
        &self,
        _: &[u8],
        _: Generation,
    ) -> Result<(EncodedTrajectory, GameSummary), UnpackError> {
        unreachable!("nothing is restored")
    }

    fn positions(
        &self,
        _: &[Draw<EncodedTrajectory>],
        _: &mut Rng,
    ) -> Result<Positions, UnpackError> {
        unreachable!("nothing was searched")
    }

    fn segments(
        &self,
        draws: &[Draw<EncodedTrajectory>],
        _: &mut Rng,
    ) -> Result<Segments, UnpackError> {
        assert!(
            draws.iter().all(|draw| draw.item.generation() != Generation(7)),
            "a game of generation 7"
        );
        Ok(Segments::with_capacity(self.shape(), 0))
    }

    fn shape(&self) -> RowShape {
        RowShape { planes: 1, actions: 1, policies: 1 }
    }
}

fn fed(generations: &[u32], threads: usize) -> Feed<Segments> {
    let settings = FifoSettings {
        max_positions: 100,
        max_bytes: 1 << 20,
        batch: 4,
        deal: Deal::default(),
        max_lag: u32::MAX,
    };
    let settings = ReplaySettings::Fifo(settings);
    let replay = Replay::resume(settings, &ReplayState::default()).expect("possible");
    let replay = Arc::new(SharedReplay::new(replay, Generation(0)));
    for (number, &generation) in (0..).zip(generations) {
        let place = PositionRef { ply: 0, mover: 0, seat: 0 };
        replay
            .insert(number, EncodedTrajectory::new(*b"", Generation(generation), [place]))
            .expect("in order");
    }
    let rules: Arc<dyn Rules> = Arc::new(Brittle);
    start::<Reinforce>(&replay, &rules, 1, 4, threads).expect("threads")
}

#[test]
fn a_game_whose_code_panics_is_named_whoever_makes_the_batch() {
    for threads in [1, 3] {
        let feed = fed(&[1, 2, 7, 4], threads);
        let refused = feed.recv().expect("an answer").expect_err("game 2 panics");
        assert_eq!(refused, FeedError::Panicked { game: Some(2) });
        assert!(refused.to_string().contains("game 2 of the journal"), "{refused}");
    }
}

#[test]
fn batches_come_with_where_the_replay_stood_after_them() {
    let feed = fed(&[1; 8], 1);
    for next in [4, 8] {
        let fed = feed.recv().expect("an answer").expect("a batch");
        assert_eq!(fed.state.cursor.first, next);
    }
}
