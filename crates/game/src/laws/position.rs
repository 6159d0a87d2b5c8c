//! The laws of a single position.

use super::{Checked, Law, LawChecker, ensure};
use crate::action::{Action, ActionMask};
use crate::error::StepError;
use crate::game::{Game, PlaneShape, Turn};
use crate::player_set::PlayerSet;

impl<G: Game> LawChecker<'_, G> {
    pub(super) fn check_rules(&self) -> Checked {
        let (game, config) = (self.game, self.game.config());
        let players = game.players();
        ensure!(Rules, (1..=16).contains(&players), "{players} players");
        ensure!(Rules, game.action_count() > 0, "there are no actions");
        ensure!(Rules, !game.planes().is_empty(), "observations hold no values");
        let json = to_json(config)?;
        let read: G::Config = serde_json::from_str(&json)
            .map_err(|error| (Law::Rules, format!("the configuration does not read: {error}")))?;
        ensure!(Rules, &read == config, "{json} reads back as another configuration");
        let rebuilt = G::new(read).map_err(|error| (Law::Rules, error.to_string()))?;
        ensure!(Rules, rebuilt.config() == config, "rules change their configuration");
        let same_shape = rebuilt.players() == players
            && rebuilt.action_count() == game.action_count()
            && rebuilt.planes() == game.planes();
        ensure!(Rules, same_shape, "one configuration builds two kinds of rules");
        self.check_duel()
    }

    fn check_duel(&self) -> Checked {
        let Some(config) = G::duel(self.game.config()) else { return Ok(()) };
        let duel = G::new(config).map_err(|error| (Law::Rules, error.to_string()))?;
        ensure!(Rules, duel.players() == 2, "a duel has {} players", duel.players());
        let again = G::duel(duel.config());
        ensure!(Rules, again.as_ref() == Some(duel.config()), "the duel of a duel is another game");
        Ok(())
    }

    pub(super) fn check_names(&self) -> Checked {
        ensure!(Names, !G::NAME.is_empty(), "the game has no name");
        let mut names: Vec<String> = (0..self.game.action_count())
            .map(|action| self.game.action_name(Action(action as u32)))
            .collect();
        names.sort();
        for pair in names.windows(2) {
            ensure!(Names, pair[0] != pair[1], "two actions are called {:?}", pair[0]);
        }
        ensure!(Names, names.iter().all(|name| !name.is_empty()), "an action has no name");
        Ok(())
    }

    pub(super) fn check_position(&mut self, state: &G::State) -> Checked {
        let movers = self.check_legal(state)?;
        let drawn = self.game.render(state);
        ensure!(Names, drawn.ends_with('\n'), "a drawing does not end its last line: {drawn:?}");
        self.check_round_trip(state)?;
        self.check_values(state)?;
        self.check_observations(state)?;
        self.check_symmetries(state, movers)
    }

    /// Checks masks and movers; returns the players to move.
    fn check_legal(&self, state: &G::State) -> Checked<PlayerSet> {
        let (game, players) = (self.game, self.game.players());
        let seated = PlayerSet::first(players);
        let alive = game.alive(state);
        ensure!(Legal, alive.0 & !seated.0 == 0, "a player without a seat is alive");
        let movers = match game.turn(state) {
            Turn::Move(movers) => {
                ensure!(Legal, !movers.is_empty(), "no player is to move and the game is not over");
                ensure!(Legal, movers.0 & !alive.0 == 0, "an eliminated player is to move");
                movers
            }
            Turn::Chance | Turn::Over => PlayerSet::EMPTY,
        };
        let mut mask = ActionMask::default();
        // One past the last seat, too: an out-of-range player must get an empty mask, not a panic.
        for player in 0..=players {
            game.legal(state, player, &mut mask);
            let (size, count) = (mask.capacity(), mask.count());
            ensure!(Legal, size == game.action_count(), "a mask has {size} bits");
            let expected = movers.contains(player);
            ensure!(Legal, expected == (count > 0), "player {player} has {count} legal actions");
        }
        Ok(movers)
    }

    fn check_round_trip(&self, state: &G::State) -> Checked {
        let json = to_json(state)?;
        let read: G::State = serde_json::from_str(&json)
            .map_err(|error| (Law::RoundTrip, format!("{json} does not read: {error}")))?;
        ensure!(RoundTrip, &read == state, "{json} reads back as {read:?}");
        let (written, read) = (self.game.digest(state), self.game.digest(&read));
        ensure!(RoundTrip, written == read, "the digest of {json} changes");
        Ok(())
    }

    fn check_values(&self, state: &G::State) -> Checked {
        for player in 0..self.game.players() {
            let returns = self.game.returns(state, player);
            ensure!(Values, returns.is_finite(), "player {player} returns {returns}");
            let outcome = self.game.outcome(state, player);
            let within = (-1.0..=1.0).contains(&outcome);
            ensure!(Values, within, "the outcome of player {player} is {outcome}");
        }
        Ok(())
    }

    fn check_observations(&self, state: &G::State) -> Checked {
        let size = self.game.planes().len();
        let (mut seen, mut again) = (vec![f32::NAN; size], vec![f32::INFINITY; size]);
        if let Some(features) = self.game.features() {
            self.check_features(state, features)?;
        }
        for player in 0..self.game.players() {
            seen.fill(f32::NAN);
            self.game.observe(state, player, &mut seen);
            let unset = seen.iter().position(|value| !value.is_finite());
            ensure!(Observation, unset.is_none(), "value {unset:?} of player {player} is not set");
            self.game.observe(state, player, &mut again);
            let same = seen.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits());
            ensure!(Observation, same, "player {player} sees the same state in two ways");
            for &channels in self.game.earlier_channels() {
                let first = PlaneShape { channels, ..self.game.planes() }.len();
                ensure!(
                    Observation,
                    first < size,
                    "{channels} channels are not fewer than today's"
                );
                let mut earlier = vec![f32::NAN; first];
                self.game.observe(state, player, &mut earlier);
                let same = seen.iter().zip(&earlier).all(|(a, b)| a.to_bits() == b.to_bits());
                ensure!(Observation, same, "the first {channels} channels are not those of before");
            }
        }
        Ok(())
    }

    fn check_features(&self, state: &G::State, features: PlaneShape) -> Checked {
        let planes = self.game.planes();
        let channels = self.game.earlier_channels().iter().copied().chain([planes.channels]);
        let mut planes = channels.map(|channels| PlaneShape { channels, ..planes });
        let is_distinct = planes.all(|planes| planes.len() != features.len());
        ensure!(Observation, is_distinct, "features are as long as planes: {}", features.len());
        let mut seen = vec![f32::NAN; features.len()];
        let mut image = vec![f32::INFINITY; features.len()];
        for player in 0..self.game.players() {
            seen.fill(f32::NAN);
            self.game.observe(state, player, &mut seen);
            let unset = seen.iter().position(|value| !value.is_finite());
            ensure!(
                Observation,
                unset.is_none(),
                "feature {unset:?} of player {player} is not set"
            );
            for &symmetry in self.game.symmetries() {
                self.game.observe(&self.game.transform(state, symmetry), player, &mut image);
                let differs = seen.iter().zip(&image).position(|(a, b)| a.to_bits() != b.to_bits());
                ensure!(
                    Observation,
                    differs.is_none(),
                    "feature {differs:?} of player {player} changes under {symmetry:?}"
                );
            }
        }
        Ok(())
    }

    fn check_symmetries(&self, state: &G::State, movers: PlayerSet) -> Checked {
        let game = self.game;
        let symmetries = game.symmetries();
        let identity = symmetries.first() == Some(&crate::symmetry::Symmetry::Identity);
        ensure!(Symmetry, identity, "the identity does not come first");
        ensure!(Symmetry, &game.transform(state, symmetries[0]) == state, "the identity moves");
        let (mut mask, mut image_mask) = (ActionMask::default(), ActionMask::default());
        for &symmetry in symmetries {
            let image = game.transform(state, symmetry);
            let back = game.transform(&image, symmetry.inverse());
            ensure!(Symmetry, &back == state, "{symmetry:?} is not undone by its inverse");
            ensure!(
                Symmetry,
                game.turn(&image) == game.turn(state),
                "{symmetry:?} changes the turn"
            );
            let same = (0..game.players()).all(|player| {
                game.outcome(&image, player).to_bits() == game.outcome(state, player).to_bits()
                    && game.returns(&image, player).to_bits()
                        == game.returns(state, player).to_bits()
            });
            ensure!(Symmetry, same, "{symmetry:?} changes a value");
            for player in movers.iter() {
                game.legal(state, player, &mut mask);
                game.legal(&image, player, &mut image_mask);
                let images = mask.iter().map(|action| game.transform_action(action, symmetry));
                let mut moved = ActionMask::new(game.action_count());
                images.for_each(|action| moved.insert(action));
                let matches = moved == image_mask && moved.count() == mask.count();
                ensure!(Symmetry, matches, "{symmetry:?} does not permute the legal actions");
            }
        }
        Ok(())
    }

    pub(super) fn check_end(&self, state: &G::State) -> Checked {
        let mut after = state.clone();
        let joint = vec![Action::default(); self.game.players()];
        let refused = self.game.step(&mut after, &joint);
        let over = refused == Err(StepError::GameOver) && &after == state;
        ensure!(Refusal, over, "a step after the end gives {refused:?}");
        Ok(())
    }

    pub(super) fn check_progress(&self, before: &G::State, after: &G::State) -> Checked {
        let (then, now) = (self.game.elapsed(before), self.game.elapsed(after));
        ensure!(Progress, then <= now, "time runs from {then} to {now}");
        let back = self.game.alive(after).0 & !self.game.alive(before).0;
        ensure!(Progress, back == 0, "eliminated players {back:#b} are alive again");
        Ok(())
    }
}

/// The JSON form of a value.
fn to_json<T: serde::Serialize>(value: &T) -> Checked<String> {
    serde_json::to_string(value).map_err(|error| (Law::RoundTrip, error.to_string()))
}
