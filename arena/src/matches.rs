//! Plays the pairs of a match.
//!
//! Pure: the seed of the run and the match's name give every game, so a match that is broken
//! off and taken up again is the match that was never broken off.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use ouro_game::{Game, GameVisitor, Stream};
use ouro_net::Engine;
use ouro_players::{
    Finished, FitError, NetPlayer, Player, Random, Selection, Table, TableError, fingerprint,
};

use crate::gate::{GameOutcome, PairResult};
use crate::player_id::MatchId;

/// Places of the two players at a table.
const CANDIDATE: usize = 0;
const OPPONENT: usize = 1;

/// Who chooses the moves of one side.
#[derive(Clone, Debug)]
pub enum Contestant {
    /// The uniform player.
    Random,
    /// A network.
    Network(Arc<Engine>),
}

/// Why a match broke off.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The rules of the run cannot be built.
    #[error(transparent)]
    Game(#[from] ouro_game::ConfigError),
    /// A network does not fit the game.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A game could not go on.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Some pairs of one match. A visitor: it runs on the rules of the game.
pub struct PlayPairs<'a> {
    /// The run's seed.
    pub seed: u64,
    /// The match.
    pub id: MatchId,
    /// The candidate, then its opponent.
    pub contestants: [Contestant; 2],
    /// Which pairs to play.
    pub pairs: Range<u32>,
    /// How networks choose.
    pub selection: Selection,
    /// Plies after which a game is cut short.
    pub max_plies: usize,
    /// Games in play at the same time.
    pub parallel: usize,
    /// Called after each ply that ended something, with the results in the order of pairs;
    /// breaking ends the match, and games in play are dropped.
    pub report: &'a mut dyn FnMut(&[PairResult]) -> ControlFlow<()>,
}

impl GameVisitor for PlayPairs<'_> {
    type Output = Result<(), PlayError>;

    fn visit<G: Game>(mut self, game: G) -> Self::Output {
        let mut players = Vec::with_capacity(2);
        for contestant in &self.contestants {
            players.push(self.seat(contestant, &game)?);
        }
        let mut table = Table::new(game, self.max_plies);
        let mut halves = Halves::default();
        let mut waiting = BTreeMap::new();
        let mut next_report = self.pairs.start;
        loop {
            let mut results = Vec::new();
            while let Some(result) = waiting.remove(&next_report) {
                results.push(result);
                next_report += 1;
            }
            // Breaking between plies, too, lets a stop take effect within one of them.
            if (self.report)(&results).is_break() {
                return Ok(());
            }
            while table.len() < self.parallel.max(1) {
                let Some(pair) = self.pairs.next() else { break };
                let seed = pair_seed(self.seed, self.id, pair);
                halves.expect(seed, pair);
                table.seat(seed, &[CANDIDATE, OPPONENT])?;
                table.seat(seed, &[OPPONENT, CANDIDATE])?;
            }
            if table.is_empty() {
                return Ok(());
            }
            for finished in table.advance(&mut players)? {
                if let Some(result) = halves.add(&finished) {
                    waiting.insert(result.pair, result);
                }
            }
        }
    }
}

impl PlayPairs<'_> {
    fn seat<G: Game>(
        &self,
        contestant: &Contestant,
        game: &G,
    ) -> Result<Box<dyn Player<G>>, FitError> {
        Ok(match contestant {
            Contestant::Random => Box::new(Random::new()),
            Contestant::Network(engine) => {
                Box::new(NetPlayer::new("network", engine.clone(), self.selection, game)?)
            }
        })
    }
}

/// The seed that both games of a pair share.
fn pair_seed(run: u64, id: MatchId, pair: u32) -> u64 {
    let candidate = Stream::indexed(run, "candidate", u64::from(id.candidate.0)).bits();
    let opponent = Stream::indexed(candidate, "opponent", id.opponent.code()).bits();
    Stream::indexed(opponent, "pair", u64::from(pair)).bits()
}

/// One game of a pair, as the candidate sees it.
#[derive(Clone, Copy)]
struct Half {
    outcome: GameOutcome,
    fingerprint: u64,
}

/// Games whose partner is still being played.
#[derive(Default)]
struct Halves(BTreeMap<u64, (u32, [Option<Half>; 2])>);

impl Halves {
    fn expect(&mut self, seed: u64, pair: u32) {
        self.0.insert(seed, (pair, [None; 2]));
    }

    /// The pair's result, once both games are there.
    fn add<C>(&mut self, game: &Finished<C>) -> Option<PairResult> {
        let seed = game.record.seed;
        let candidate = game.players.iter().position(|&player| player == CANDIDATE)?;
        let (pair, halves) = self.0.get_mut(&seed)?;
        let (mine, theirs) = (game.outcomes[candidate], game.outcomes[1 - candidate]);
        let outcome = match mine.total_cmp(&theirs) {
            std::cmp::Ordering::Less => GameOutcome::Loss,
            std::cmp::Ordering::Equal => GameOutcome::Draw,
            std::cmp::Ordering::Greater => GameOutcome::Win,
        };
        let fingerprint = fingerprint(&game.record, &game.players);
        halves[candidate] = Some(Half { outcome, fingerprint });
        let (pair, &mut [Some(first), Some(second)]) = (*pair, halves) else { return None };
        self.0.remove(&seed);
        Some(PairResult {
            pair,
            outcomes: [first.outcome, second.outcome],
            // Not symmetric, so that exchanging the games does not look like a repetition.
            fingerprint: first.fingerprint ^ second.fingerprint.rotate_left(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::GameConfig;
    use ouro_proto::Generation;

    use super::*;
    use crate::PlayerId;

    fn play(pairs: Range<u32>, parallel: usize, stop_after: usize) -> Vec<PairResult> {
        let mut results = Vec::new();
        let mut report = |batch: &[PairResult]| {
            results.extend_from_slice(batch);
            if results.len() >= stop_after {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let id = MatchId { candidate: Generation(1), opponent: PlayerId::Random };
        let visitor = PlayPairs {
            seed: 7,
            id,
            contestants: [Contestant::Random, Contestant::Random],
            pairs,
            selection: Selection::Argmax,
            max_plies: 100,
            parallel,
            report: &mut report,
        };
        GameConfig::by_name("tic_tac_toe").unwrap().visit(visitor).unwrap().unwrap();
        results
    }

    #[test]
    fn results_come_in_the_order_of_pairs_and_do_not_depend_on_what_is_played_beside_them() {
        let alone = play(0..12, 1, usize::MAX);
        assert_eq!(
            alone.iter().map(|result| result.pair).collect::<Vec<_>>(),
            (0..12).collect::<Vec<_>>()
        );
        assert_eq!(play(0..12, 64, usize::MAX), alone);
        // Taken up again in the middle.
        assert_eq!(play(5..12, 4, usize::MAX), alone[5..]);
        assert!(alone.iter().any(|result| result.outcomes[0] != result.outcomes[1]));
    }

    #[test]
    fn breaking_ends_the_match() {
        let some = play(0..1_000, 8, 10);
        assert!((10..20).contains(&some.len()), "{}", some.len());
    }
}
