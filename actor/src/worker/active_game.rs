//! One running game, and its opening.

use std::sync::Arc;

use ouro_game::record::{Playthrough, RECORD_VERSION};
use ouro_game::{
    Action, ActionMask, Game, GameConfig, PlayerSet, Rng, StepError, Turn, outcome_value,
};
use ouro_replay::{Move, Ply, RecordHeader, SearchTarget, Seat, Trajectory};
use ouro_traces::Time;

use super::error::WorkerError;
use super::finished::{FinishedGame, PlayTime};
use super::index::{Chooser, SeatPolicyId};

/// Maximum number of attempts to draw an opening that does not end the game.
const OPENINGS: u64 = 8;

/// One running game.
#[derive(Debug)]
pub(super) struct ActiveGame<G: Game> {
    pub(super) playthrough: Playthrough<G>,
    /// Number of the game among its worker's.
    pub(super) number: u64,
    /// The seats. Their outcomes are set at the end of the game.
    pub(super) seats: Vec<Seat>,
    /// What chooses the moves of each seat.
    pub(super) choosers: Vec<Chooser>,
    /// Generator of each seat, for moves without a search.
    pub(super) rngs: Vec<Rng>,
    /// One tree per distinct policy that searches.
    pub(super) trees: Vec<GameTree<G>>,
    /// Movers of this ply; empty until [`has_ended`](Self::has_ended) sets them.
    pub(super) movers: PlayerSet,
    /// Choices of the seats in this ply.
    pub(super) choices: Choices,
    /// When the game started, for its trace.
    start: Time,
    plies: Vec<Ply>,
    /// Whether moves have search targets.
    is_searched: bool,
    /// Targets that have no value yet: those of the opening, and those without a search.
    unvalued: Vec<Unvalued>,
    presence: Presence,
}

/// Who is still in the game, and when each player was eliminated.
#[derive(Debug)]
struct Presence {
    alive: PlayerSet,
    /// The time of elimination; of players still in the game, the present time.
    until: Vec<u32>,
}

impl Presence {
    fn new<G: Game>(game: &G, state: &G::State) -> Self {
        let until = vec![game.elapsed(state); game.players()];
        Self { alive: game.alive(state), until }
    }

    /// Notes the next state.
    fn observe<G: Game>(&mut self, game: &G, state: &G::State) {
        for player in self.alive.iter() {
            self.until[player] = game.elapsed(state);
        }
        self.alive = game.alive(state);
    }
}

/// Targets of one ply that have no value yet.
#[derive(Debug)]
struct Unvalued {
    ply: usize,
    /// Movers of the ply, in the order of its moves.
    movers: PlayerSet,
    /// Those whose targets have no value.
    missing: PlayerSet,
    /// Time steps before the ply.
    elapsed: u32,
}

/// Choices of the seats in a ply. Only the entries of movers are valid.
#[derive(Debug)]
pub(super) struct Choices {
    pub(super) actions: Vec<Action>,
    pub(super) probabilities: Vec<f32>,
    pub(super) targets: Vec<SearchTarget>,
    /// Estimates of the outcome by seats without a search.
    pub(super) values: Vec<Option<f32>>,
}

/// The tree of one policy in a game.
#[derive(Debug)]
pub(super) struct GameTree<G: Game> {
    pub(super) policy: SeatPolicyId,
    pub(super) progress: TreeProgress,
    /// Joint actions played since the last decision of the tree, with the resulting states.
    pub(super) behind: Vec<(Vec<Action>, G::State)>,
}

/// Progress of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeProgress {
    /// The tree holds no state of this game.
    Blank,
    /// The tree searches for a move.
    Searching,
    /// The tree has decided and is kept for the next search.
    Kept,
}

impl<G: Game> ActiveGame<G> {
    /// The game of `seed` after its random opening.
    ///
    /// The number of plies is uniform from 0 to `most`, and so is each move over the viable actions.
    /// An opening that ends the game is drawn again. After [`OPENINGS`] attempts the game starts
    /// without an opening.
    pub(super) fn new(
        game: &G,
        number: u64,
        seed: u64,
        seated: Vec<(Chooser, Seat)>,
        most: u32,
        is_searched: bool,
    ) -> Self {
        let players = game.players();
        let Opening { playthrough, plies, unvalued, presence } = (0..OPENINGS)
            .take_while(|_| most > 0)
            .map(|attempt| Opening::random(game, seed, most, attempt, is_searched))
            .find(|opening| game.turn(opening.playthrough.state()) != Turn::Over)
            .unwrap_or_else(|| Opening::none(game, seed));
        let rng = |seat| Rng::indexed(seed, ouro_players::game_batch::SEAT_RNG, seat as u64);
        let (choosers, seats) = seated.into_iter().unzip();
        Self {
            playthrough,
            number,
            seats,
            choosers,
            rngs: (0..players).map(rng).collect(),
            trees: Vec::new(),
            movers: PlayerSet::EMPTY,
            choices: Choices {
                actions: vec![Action::default(); players],
                probabilities: vec![0.0; players],
                targets: vec![SearchTarget::default(); players],
                values: vec![None; players],
            },
            start: Time::now(),
            plies,
            is_searched,
            unvalued,
            presence,
        }
    }

    /// Whether the game is over or at the limit of plies. Also sets the movers of the next ply.
    pub(super) fn has_ended(&mut self, game: &G, max_plies: usize) -> bool {
        self.movers = match game.turn(self.playthrough.state()) {
            Turn::Move(movers) => movers,
            Turn::Chance | Turn::Over => PlayerSet::EMPTY,
        };
        self.movers.is_empty() || self.plies.len() >= max_plies
    }

    /// Plays the choices. `values` has the search's value for every player, if a search ran in this ply.
    pub(super) fn play(
        &mut self,
        game: &G,
        values: Option<&[f32]>,
        legal: &mut ActionMask,
    ) -> Result<(), WorkerError> {
        let (seed, ply) = (self.playthrough.seed(), self.plies.len());
        let failed = |error| WorkerError::Step { seed, ply, error };
        let elapsed = game.elapsed(self.playthrough.state());
        let Choices { actions, probabilities, targets, values: own } = &mut self.choices;
        for player in self.movers.iter() {
            // A game may accept an illegal action; a record must not contain one.
            game.legal(self.playthrough.state(), player, legal);
            let action = actions[player];
            if !legal.contains(action) {
                return Err(failed(StepError::IllegalAction { player, action: action.0 }));
            }
        }
        self.playthrough.advance(game, actions).map_err(failed)?;
        self.presence.observe(game, self.playthrough.state());
        let moves = self.movers.iter().map(|player| Move {
            action: actions[player],
            behaviour: probabilities[player],
            search: self.is_searched.then(|| std::mem::take(&mut targets[player])),
        });
        let moves = moves.collect();
        self.plies.push(Ply { moves });
        match values {
            Some(values) => self.set_values(|player, _| Some(values[player])),
            None if self.is_searched => {
                let movers = self.movers;
                self.unvalued.push(Unvalued { ply, movers, missing: movers, elapsed });
                let own: Vec<_> = own.iter_mut().map(Option::take).collect();
                self.set_values(|player, _| own[player]);
            }
            None => {}
        }
        Ok(())
    }

    /// Sets the targets that have no value to `value` of the mover and the time steps before the
    /// ply, where it is known.
    fn set_values(&mut self, value: impl Fn(usize, u32) -> Option<f32>) {
        self.unvalued.retain_mut(|Unvalued { ply, movers, missing, elapsed }| {
            let moves = self.plies[*ply].moves.iter_mut();
            let before = *missing;
            for (one, player) in moves.zip(movers.iter()).filter(|&(_, it)| before.contains(it)) {
                let Some(value) = value(player, *elapsed) else { continue };
                if let Some(target) = &mut one.search {
                    target.value = value;
                }
                missing.0 &= !PlayerSet::one(player).0;
            }
            !missing.is_empty()
        });
    }

    /// The finished game; `config` is the configuration of `game`. The outcome, with `discount` for each
    /// time step until the player's elimination or the end, is the value of targets that have no other.
    /// That of a draw is `draw`.
    ///
    /// The outcome of a player that could still move when the game was cut off is unknown. Its targets
    /// without a value are left out. `None` if there is nothing to learn: no move, or no target of a search.
    pub(super) fn into_finished(
        mut self,
        game: &G,
        config: &Arc<GameConfig>,
        discount: f32,
        draw: f32,
    ) -> Option<FinishedGame> {
        let last = self.playthrough.state();
        for (player, seat) in self.seats.iter_mut().enumerate() {
            seat.outcome = game.outcome(last, player);
        }
        let end = |seat: &Seat| outcome_value(seat.outcome, draw);
        let ends: Vec<f32> = self.seats.iter().map(end).collect();
        let unknown = if game.is_decided(last) { PlayerSet::EMPTY } else { game.alive(last) };
        let until = std::mem::take(&mut self.presence.until);
        self.set_values(|player, elapsed| {
            let left = until[player].saturating_sub(elapsed).min(i32::MAX as u32) as i32;
            (!unknown.contains(player)).then(|| discount.powi(left) * ends[player])
        });
        self.leave_out_unvalued();
        if self.plies.is_empty() || self.is_searched && !self.has_targets() {
            return None;
        }
        let Self { playthrough, number, seats, plies, start, .. } = self;
        let record = RecordHeader {
            version: RECORD_VERSION,
            config: Arc::clone(config),
            seed: playthrough.seed(),
            digests: playthrough.into_digests(),
        };
        let time = PlayTime { start, end: Time::now() };
        Some(FinishedGame { number, trajectory: Trajectory { record, seats, plies }, time })
    }

    /// Empties the policies of targets without a value, so that nothing is learned from their moves.
    fn leave_out_unvalued(&mut self) {
        for Unvalued { ply, movers, missing, .. } in self.unvalued.drain(..) {
            let moves = self.plies[ply].moves.iter_mut().zip(movers.iter());
            for (one, _) in moves.filter(|&(_, player)| missing.contains(player)) {
                one.search = one.search.take().map(|_| SearchTarget::default());
            }
        }
    }

    /// Whether a move has a policy to learn.
    fn has_targets(&self) -> bool {
        let mut targets =
            self.plies.iter().flat_map(|ply| &ply.moves).filter_map(|one| one.search.as_ref());
        targets.any(|target| !target.policy.is_empty())
    }
}

/// The start of a game.
struct Opening<G: Game> {
    playthrough: Playthrough<G>,
    plies: Vec<Ply>,
    unvalued: Vec<Unvalued>,
    presence: Presence,
}

impl<G: Game> Opening<G> {
    fn none(game: &G, seed: u64) -> Self {
        let playthrough = Playthrough::new(game, seed);
        let presence = Presence::new(game, playthrough.state());
        Self { playthrough, plies: Vec::new(), unvalued: Vec::new(), presence }
    }

    /// Up to `most` random plies. Their search targets are blank until a search has run.
    fn random(game: &G, seed: u64, most: u32, attempt: u64, is_searched: bool) -> Self {
        let mut rng = Rng::indexed(seed, "opening", attempt);
        let mut opening = Self::none(game, seed);
        let mut viable = ActionMask::new(game.action_count());
        let mut joint = vec![Action::default(); game.players()];
        for _ in 0..rng.below(most.saturating_add(1)) {
            let Turn::Move(movers) = game.turn(opening.playthrough.state()) else { break };
            let (ply, elapsed) = (opening.plies.len(), game.elapsed(opening.playthrough.state()));
            let mut moves = Vec::with_capacity(movers.len());
            for player in movers.iter() {
                game.viable(opening.playthrough.state(), player, &mut viable);
                let count = viable.count();
                let action = viable.nth(rng.below(count as u32) as usize).unwrap_or_default();
                joint[player] = action;
                let behaviour = 1.0 / count.max(1) as f32;
                let search = is_searched.then(SearchTarget::default);
                moves.push(Move { action, behaviour, search });
            }
            if opening.playthrough.advance(game, &joint).is_err() {
                break;
            }
            opening.presence.observe(game, opening.playthrough.state());
            opening.plies.push(Ply { moves });
            opening.unvalued.push(Unvalued { ply, movers, missing: movers, elapsed });
        }
        opening
    }
}
