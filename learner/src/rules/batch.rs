//! Batches of drawn positions: what the network sees there, and what it should say.

use ouro_game::{ActionMask, Game, Rng, Symmetry};
use ouro_replay::{Draw, Episode, PackedGame, Place};

use super::{OfGame, Rules, UnpackError};
use crate::alphazero::Positions;
use crate::alphazero::targets::value_target;
use crate::reinforce::{SeatTransitions, Segments, seat_transitions};

/// An accepted game with its states.
struct Unpacked<S> {
    episode: Episode,
    states: Vec<S>,
}

impl<G: Game> OfGame<G> {
    pub(super) fn batch_of_positions(
        &self,
        draws: &[Draw<PackedGame>],
        augmentation: &mut Rng,
    ) -> Result<Positions, UnpackError> {
        let config = self.alphazero().cloned().unwrap_or_default();
        let shape = self.shape();
        let mut batch = Positions::with_capacity(shape, draws.len());
        // Games come one after the other, so that each is played once.
        let mut order: Vec<&Draw<PackedGame>> = draws.iter().collect();
        order.sort_by_key(|draw| (draw.number, draw.position));
        for draws in order.chunk_by(|one, other| one.number == other.number) {
            let unpacked = self.unpacked(&draws[0].item)?;
            let Unpacked { episode, states } = &unpacked;
            let end = self.game.elapsed(&states[states.len() - 1]);
            for draw in draws {
                let Some(&place) = draw.item.places().get(draw.position as usize) else { continue };
                let symmetry = self.draw_symmetry(augmentation);
                let state = &states[usize::from(place.ply)];
                self.see(state, place, symmetry, &mut batch.planes, &mut batch.legal);
                let from = batch.policy.len();
                batch.policy.resize(from + shape.actions, 0.0);
                let searched = &episode.searched[usize::from(place.ply)][usize::from(place.mover)];
                for &(action, share) in &searched.policy {
                    let image = self.game.transform_action(action, symmetry);
                    batch.policy[from + image.index()] = share;
                }
                let outcome = episode.outcomes[usize::from(place.seat)];
                let left = end.saturating_sub(self.game.elapsed(state));
                let value = value_target(&config, self.discount, outcome, left, searched.value);
                batch.values.push(value);
                // Surprise weighs positions where they are drawn, not once more in the loss.
                batch.weights.push(1.0);
            }
        }
        Ok(batch)
    }

    pub(super) fn batch_of_segments(
        &self,
        draws: &[Draw<PackedGame>],
        augmentation: &mut Rng,
    ) -> Result<Segments, UnpackError> {
        let mut batch = Segments::with_capacity(self.shape(), draws.len() + draws.len() / 8);
        for draws in draws.chunk_by(|one, other| one.number == other.number) {
            let unpacked = self.unpacked(&draws[0].item)?;
            for draws in draws.chunk_by(|one, other| one.position + 1 == other.position) {
                let places: Vec<Place> = draws
                    .iter()
                    .filter_map(|draw| draw.item.places().get(draw.position as usize).copied())
                    .collect();
                for places in places.chunk_by(|one, other| one.seat == other.seat) {
                    let symmetry = self.draw_symmetry(augmentation);
                    self.segment(&unpacked, places, symmetry, &mut batch);
                }
            }
        }
        Ok(batch)
    }

    /// The consecutive moves of one seat as a segment. All are seen under one symmetry: what comes
    /// after a move must be what it led to.
    fn segment(
        &self,
        unpacked: &Unpacked<G::State>,
        places: &[Place],
        symmetry: Symmetry,
        batch: &mut Segments,
    ) {
        let Unpacked { episode, states } = unpacked;
        let Some(&last) = places.last() else { return };
        let seat = usize::from(last.seat);
        let SeatTransitions { transitions: steps, is_truncated } =
            seat_transitions(&self.game, states, seat, self.discount, self.reward_scale);
        for place in places {
            let ply = usize::from(place.ply);
            let Some(step) = steps.iter().find(|step| step.ply == ply) else { continue };
            self.see(&states[ply], *place, symmetry, &mut batch.planes, &mut batch.legal);
            let action = episode.plies[ply][usize::from(place.mover)];
            batch.actions.push(self.game.transform_action(action, symmetry).0);
            batch.behaviour.push(episode.behaviour[ply][usize::from(place.mover)]);
            batch.rewards.push(step.reward);
            batch.discounts.push(step.discount);
            batch.weights.push(1.0);
            batch.ends.push(false);
        }
        // What follows the last of these moves, if anything can.
        let next = steps.iter().find(|step| step.ply > usize::from(last.ply)).map(|step| step.ply);
        let behind = next.or(is_truncated.then_some(states.len() - 1));
        if let Some(ply) = behind {
            let place = Place { ply: 0, ..last };
            self.see(&states[ply], place, symmetry, &mut batch.planes, &mut batch.legal);
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

    fn unpacked(&self, game: &PackedGame) -> Result<Unpacked<G::State>, UnpackError> {
        let (episode, states) = self.unpack(game.packed())?;
        Ok(Unpacked { episode, states })
    }

    fn draw_symmetry(&self, rng: &mut Rng) -> Symmetry {
        let symmetries = self.symmetries();
        symmetries[rng.below(symmetries.len() as u32) as usize]
    }

    /// Appends what a seat sees of a state, and what it may do.
    fn see(
        &self,
        state: &G::State,
        place: Place,
        symmetry: Symmetry,
        planes: &mut Vec<f32>,
        legal: &mut Vec<bool>,
    ) {
        let (shape, seat) = (self.shape(), usize::from(place.seat));
        let image = self.game.transform(state, symmetry);
        let from = planes.len();
        planes.resize(from + shape.planes, 0.0);
        self.game.observe(&image, seat, &mut planes[from..]);
        let from = legal.len();
        legal.resize(from + shape.actions, false);
        let mut mask = ActionMask::default();
        self.game.legal(&image, seat, &mut mask);
        for action in mask.iter() {
            legal[from + action.index()] = true;
        }
    }
}
