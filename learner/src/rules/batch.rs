//! Batches of drawn positions: observations and viable actions with the targets of each row.

use ouro_game::{ActionMask, Game, Rng, Symmetry, Turn, outcome_value};
use ouro_replay::{Draw, EncodedTrajectory, Move, PositionRef, SearchTarget, Trajectory};

use super::{OfGame, Rules, UnpackError};
use crate::alphazero::Positions;
use crate::alphazero::targets::{discounted, outcome_of_root};
use crate::reinforce::{SeatTransitions, Segments, seat_transitions};

/// The last known value of a seat.
struct SeatEnd {
    value: f32,
    /// The time of the value.
    elapsed: u32,
}

/// An accepted game with its states.
struct RestoredGame<S> {
    trajectory: Trajectory,
    states: Vec<S>,
}

impl<G: Game> OfGame<G> {
    pub(super) fn batch_of_positions(
        &self,
        draws: &[Draw<EncodedTrajectory>],
        augmentation: &mut Rng,
    ) -> Result<Positions, UnpackError> {
        let shape = self.shape();
        let mut batch = Positions::with_capacity(shape, draws.len());
        // Draws are sorted by game, so that each game is replayed once.
        let mut order: Vec<&Draw<EncodedTrajectory>> = draws.iter().collect();
        order.sort_by_key(|draw| (draw.number, draw.position));
        for draws in order.chunk_by(|one, other| one.number == other.number) {
            let RestoredGame { trajectory, states } = &self.restored_game(&draws[0].item)?;
            for draw in draws {
                let refs = draw.item.position_refs();
                let Some(&position) = refs.get(draw.position as usize) else { continue };
                let symmetry = self.draw_symmetry(augmentation);
                let state = &states[usize::from(position.ply)];
                let (image, seat) = (self.game.transform(state, symmetry), position.seat.into());
                self.see(&image, seat, &mut batch.planes, &mut batch.legal);
                let moves = &trajectory.plies[usize::from(position.ply)].moves;
                // Never skips: `encoded` lists only positions with a target.
                let Some(target) = &moves[usize::from(position.mover)].search else { continue };
                self.push_policy_target(target, symmetry, &mut batch);
                if shape.policies > 1 {
                    let other = moves.get(usize::from(position.mover == 0));
                    self.push_opponent(&image, 1 - seat, other, symmetry, &mut batch);
                }
                let end = self.seat_end(trajectory, states, seat);
                let left = end.elapsed.saturating_sub(self.game.elapsed(state));
                batch.outcomes.push(discounted(self.discount, end.value, left));
                batch.root_values.push(target.value);
                // Surprise already weights the draw. A weight in the loss would count it twice.
                batch.weights.push(1.0);
            }
        }
        Ok(batch)
    }

    pub(super) fn batch_of_segments(
        &self,
        draws: &[Draw<EncodedTrajectory>],
        augmentation: &mut Rng,
    ) -> Result<Segments, UnpackError> {
        // The spare room is for the last states of truncated segments.
        let mut batch = Segments::with_capacity(self.shape(), draws.len() + draws.len() / 8);
        for draws in draws.chunk_by(|one, other| one.number == other.number) {
            let restored = self.restored_game(&draws[0].item)?;
            for draws in draws.chunk_by(|one, other| one.position + 1 == other.position) {
                let positions: Vec<PositionRef> = draws
                    .iter()
                    .filter_map(|draw| {
                        draw.item.position_refs().get(draw.position as usize).copied()
                    })
                    .collect();
                for positions in positions.chunk_by(|one, other| one.seat == other.seat) {
                    let symmetry = self.draw_symmetry(augmentation);
                    self.segment(&restored, positions, symmetry, &mut batch);
                }
            }
        }
        Ok(batch)
    }

    /// Appends consecutive moves of one seat as a segment. One symmetry transforms all rows, so
    /// that each row follows from the move before.
    fn segment(
        &self,
        restored: &RestoredGame<G::State>,
        positions: &[PositionRef],
        symmetry: Symmetry,
        batch: &mut Segments,
    ) {
        let RestoredGame { trajectory, states } = restored;
        let Some(&last) = positions.last() else { return };
        let seat = usize::from(last.seat);
        let SeatTransitions { transitions: steps, is_truncated } =
            seat_transitions(&self.game, states, seat, self.discount, self.reward_scale);
        for position in positions {
            let ply = usize::from(position.ply);
            let Some(step) = steps.iter().find(|step| step.ply == ply) else { continue };
            let image = self.game.transform(&states[ply], symmetry);
            self.see(&image, seat, &mut batch.planes, &mut batch.legal);
            let played = &trajectory.plies[ply].moves[usize::from(position.mover)];
            let action = self.game.transform_action(played.action, symmetry);
            let row = batch.legal.len() - self.shape().actions;
            // Actors of earlier versions also chose actions that are not viable.
            batch.legal[row + action.index()] = true;
            batch.actions.push(action.0);
            batch.behaviour.push(played.behaviour);
            batch.rewards.push(step.reward);
            batch.discounts.push(step.discount);
            batch.weights.push(1.0);
            batch.ends.push(false);
        }
        // The state after the last of these moves, unless the seat can receive nothing more.
        let next = steps.iter().find(|step| step.ply > usize::from(last.ply)).map(|step| step.ply);
        let behind = next.or(is_truncated.then_some(states.len() - 1));
        if let Some(ply) = behind {
            let image = self.game.transform(&states[ply], symmetry);
            self.see(&image, seat, &mut batch.planes, &mut batch.legal);
            batch.actions.push(0);
            batch.behaviour.push(1.0);
            batch.rewards.push(0.0);
            batch.discounts.push(0.0);
            batch.weights.push(0.0);
            batch.ends.push(false);
        }
        if let Some(end) = batch.ends.last_mut() {
            *end = true;
        }
    }

    fn restored_game(
        &self,
        game: &EncodedTrajectory,
    ) -> Result<RestoredGame<G::State>, UnpackError> {
        let (trajectory, states) = self.restored(game.as_bytes())?;
        Ok(RestoredGame { trajectory, states })
    }

    /// The value with which a game ends for a seat, and when. For an eliminated seat that is the time of
    /// its elimination, however long the others play on.
    ///
    /// The value is the outcome, unless the game was cut off while the seat could still move. That
    /// outcome is unknown, so the root value of the seat's last search stands for it, on the scale
    /// of outcomes. An outcome of 0 would make long games worth more than draws.
    fn seat_end(&self, trajectory: &Trajectory, states: &[G::State], seat: usize) -> SeatEnd {
        let last = &states[states.len() - 1];
        let outcome = trajectory.seats[seat].outcome;
        let value = outcome_value(outcome, self.draw);
        let end = |state: &G::State| SeatEnd { value, elapsed: self.game.elapsed(state) };
        if !self.game.alive(last).contains(seat) {
            let eliminated = states.partition_point(|state| self.game.alive(state).contains(seat));
            return end(&states[eliminated]);
        }
        if self.game.is_decided(last) {
            return end(last);
        }
        let plies = trajectory.plies.iter().zip(states).rev();
        let mut values = plies.filter_map(|(ply, state)| {
            let Turn::Move(movers) = self.game.turn(state) else { return None };
            let mut moves = movers.iter().zip(&ply.moves);
            let (_, last) = moves.find(|(mover, _)| *mover == seat)?;
            let root = last.search.as_ref()?.value;
            let value = self.search_draw.map_or(root, |draw| outcome_of_root(root, draw));
            Some(SeatEnd { value, elapsed: self.game.elapsed(state) })
        });
        values.next().unwrap_or_else(|| end(last))
    }

    fn draw_symmetry(&self, rng: &mut Rng) -> Symmetry {
        let symmetries = self.symmetries();
        symmetries[rng.below(symmetries.len() as u32) as usize]
    }

    /// Appends the observation and the viable actions of a seat in `image`.
    fn see(&self, image: &G::State, seat: usize, planes: &mut Vec<f32>, legal: &mut Vec<bool>) {
        let from = planes.len();
        planes.resize(from + self.shape().planes, 0.0);
        self.game.observe(image, seat, &mut planes[from..]);
        self.see_viable(image, seat, legal);
    }

    /// Appends the viable actions of a seat in `image`.
    fn see_viable(&self, image: &G::State, seat: usize, legal: &mut Vec<bool>) {
        let from = legal.len();
        legal.resize(from + self.shape().actions, false);
        let mut mask = ActionMask::default();
        self.game.viable(image, seat, &mut mask);
        for action in mask.iter() {
            legal[from + action.index()] = true;
        }
    }

    /// Appends the target of the policy whose viable actions were appended last.
    fn push_policy_target(&self, target: &SearchTarget, symmetry: Symmetry, batch: &mut Positions) {
        let from = batch.policy.len();
        batch.policy.resize(from + self.shape().actions, 0.0);
        for &(action, share) in &target.policy {
            let image = self.game.transform_action(action, symmetry);
            batch.policy[from + image.index()] = share;
            // Actors of earlier versions also searched actions that are not viable.
            batch.legal[from + image.index()] = true;
        }
    }

    /// Appends viable actions and policy target of the other player of two, whose move is `other`.
    /// Without a move, all entries are 0.
    fn push_opponent(
        &self,
        image: &G::State,
        seat: usize,
        other: Option<&Move>,
        symmetry: Symmetry,
        batch: &mut Positions,
    ) {
        match other {
            Some(_) => self.see_viable(image, seat, &mut batch.legal),
            None => batch.legal.resize(batch.legal.len() + self.shape().actions, false),
        }
        let target = other.and_then(|other| other.search.as_ref());
        self.push_policy_target(target.unwrap_or(&SearchTarget::default()), symmetry, batch);
    }
}
