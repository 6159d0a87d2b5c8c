//! Validation of all settings, before a process opens a port or creates a file.
//!
//! Every process checks the whole file. A mistake in the section of one process therefore stops the
//! others too. Player names are hardly checked here: the arena checks them when it builds the players.

use ouro_game::GameConfig;
use ouro_net::{NetSpec, ValueRange};
use ouro_players::registry::Options;
use ouro_rating::{ClusterShape, GateConfig, GateConfigError};

use crate::error::SettingError;
use crate::learner::{AlgorithmConfig, WeightAveraging};
use crate::players::players;
use crate::schema::check_ranges;
use crate::settings::Settings;

/// Bytes of a weights file besides its tensors, rounded up: the game, the network, the format.
const FILE_BYTES: u64 = 4_096;
/// Bytes of a weights file that describe one tensor, rounded up.
const TENSOR_BYTES: u64 = 256;

impl Settings {
    /// Checks every setting and returns the first error.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_ranges("", self)?;
        self.train.validate()?;
        self.replay.validate()?;
        self.check_weights_bytes(&self.net_spec()?)?;
        self.replay.settings(self.seed, &self.game, &self.train, &self.intake)?;
        self.actor.validate()?;
        self.arena.validate()?;
        self.gate()?;
        self.deploy.validate()?;
        self.plies()?;
        self.averaging()?;
        self.opponent_policy()?;
        self.compared_values()?;
        self.demonstrated_draws()?;
        self.rewards()?;
        self.search()
    }

    /// Checks that the arena accepts the weights files of the network.
    fn check_weights_bytes(&self, spec: &NetSpec) -> Result<(), SettingError> {
        let tensors = spec.tensors();
        let values: u64 = tensors.iter().map(|tensor| 4 * tensor.len() as u64).sum();
        let needed = values + FILE_BYTES + TENSOR_BYTES * tensors.len() as u64;
        let given = self.deploy.max_weights_bytes;
        if given >= needed {
            return Ok(());
        }
        let remedy = format!("it must be at least {needed} for the network of this run");
        Err(SettingError::new("deploy.max_weights_bytes", given, remedy))
    }

    fn gate(&self) -> Result<(), SettingError> {
        check_gate(&self.arena.gate, ClusterShape::of_seats(players(&self.game)?))
    }

    /// Checks that the learner accepts the longest games of the actors.
    fn plies(&self) -> Result<(), SettingError> {
        let (played, accepted) = (self.actor.max_plies, self.intake.max_plies);
        if played <= accepted {
            return Ok(());
        }
        let remedy = format!(
            "games above intake.max_plies, {accepted}, are refused: lower it, or raise intake.max_plies"
        );
        Err(SettingError::new("actor.max_plies", played, remedy))
    }

    /// Checks that the published weights change with every generation.
    fn averaging(&self) -> Result<(), SettingError> {
        let WeightAveraging::Exponential { every_steps, .. } = self.train.average else {
            return Ok(());
        };
        if every_steps <= self.generation_steps {
            return Ok(());
        }
        let remedy = format!(
            "it must be at most generation_steps, {}: otherwise generations have equal weights",
            self.generation_steps
        );
        Err(SettingError::new("train.average.every_steps", every_steps, remedy))
    }

    /// Checks that AlphaZero, which learns outcomes, has no settings of returns. `mcts` plays a network of
    /// returns for returns, which are outcomes in some games only.
    fn rewards(&self) -> Result<(), SettingError> {
        if matches!(self.train.algorithm, AlgorithmConfig::Reinforce(_)) {
            return Ok(());
        }
        let scale = self.train.reward_scale;
        if scale != 1.0 {
            let remedy = "AlphaZero learns outcomes, not rewards: leave it out";
            return Err(SettingError::new("train.reward_scale", scale, remedy));
        }
        let is_outcome = matches!(self.game, GameConfig::TicTacToe(_) | GameConfig::ConnectFour(_));
        if self.net.value_range() == ValueRange::Unbounded && !is_outcome {
            let remedy = "AlphaZero learns outcomes, but mcts plays such a network for returns: choose \
                \"tanh\" or \"outcome\", with net.kind = \"residual\" or \"mlp\"";
            return Err(SettingError::new("net.value", "unbounded", remedy));
        }
        Ok(())
    }

    /// Checks that a network with both players' policies has a game of two players, and an algorithm that
    /// trains both.
    fn opponent_policy(&self) -> Result<(), SettingError> {
        if !self.net.has_opponent_policy() {
            return Ok(());
        }
        let error = |remedy| Err(SettingError::new("net.opponent_policy", true, remedy));
        if players(&self.game)? != 2 {
            return error("only a game of two players has one opponent: set it to false");
        }
        if matches!(self.train.algorithm, AlgorithmConfig::Reinforce(_)) {
            return error("REINFORCE trains one policy: set it to false");
        }
        Ok(())
    }

    /// Checks that a network of returns is not the evaluation of `minimax` or `maxn`, which compare it
    /// with outcomes.
    fn compared_values(&self) -> Result<(), SettingError> {
        if self.net.value_range() != ValueRange::Unbounded {
            return Ok(());
        }
        let players = [
            ("arena.player", std::slice::from_ref(&self.arena.player)),
            ("actor.scripted.players", &self.actor.scripted.players[..]),
            ("actor.demonstrations.players", &self.actor.demonstrations.players[..]),
        ];
        for (key, names) in players {
            if let Some(name) = names.iter().find(|name| compares_values(name)) {
                let remedy = "it compares the network's value with outcomes, but net.value = \
                    \"unbounded\" learns returns: choose \"tanh\", or a player without weights";
                return Err(SettingError::new(key, format!("{name:?}"), remedy));
            }
        }
        Ok(())
    }

    /// Checks that demonstrations by `minimax` or `maxn` with the network have draws that are worth 0. The
    /// values of their searches count draws as 0, and are targets beside outcomes that do not.
    fn demonstrated_draws(&self) -> Result<(), SettingError> {
        let demonstrations = &self.actor.demonstrations;
        let draw = self.actor.search.as_ref().map_or(0.0, |search| search.draw);
        let player = demonstrations.players.iter().find(|name| compares_values(name));
        match player.filter(|_| demonstrations.share > 0.0 && draw != 0.0) {
            None => Ok(()),
            Some(name) => {
                let remedy = format!(
                    "its values count a draw as 0, and those of other games as actor.search.draw, {draw}: \
                     choose a player without weights, or set actor.search.draw to 0"
                );
                let key = "actor.demonstrations.players";
                Err(SettingError::new(key, format!("{name:?}"), remedy))
            }
        }
    }

    /// Checks that the actors' search and the network's values fit the algorithm: AlphaZero needs a
    /// search or demonstrations. REINFORCE excludes both, and learns returns, which have no classes.
    /// With outcome classes, a discounted win or loss is partly a draw, so a discount requires draws
    /// that are worth 0.
    fn search(&self) -> Result<(), SettingError> {
        let error =
            |value: &str, remedy: &str| Err(SettingError::new("actor.search", value, remedy));
        let demonstrations = &self.actor.demonstrations;
        match (&self.train.algorithm, &self.actor.search) {
            (AlgorithmConfig::AlphaZero(_), None) if demonstrations.is_everything() => Ok(()),
            (AlgorithmConfig::AlphaZero(_), None) => error(
                "missing",
                "AlphaZero learns from searches: write [actor.search] with the number of \
                 simulations, or choose train.algorithm.kind = \"reinforce\"",
            ),
            (AlgorithmConfig::Reinforce(_), Some(_)) => error(
                "set",
                "REINFORCE learns from moves drawn from the policy itself: start from \
                 preset = \"reinforce-duel\", or choose train.algorithm.kind = \"alphazero\"",
            ),
            (AlgorithmConfig::Reinforce(_), None) if demonstrations.share > 0.0 => {
                let remedy = "REINFORCE learns from moves of the policy alone: set it to 0";
                let key = "actor.demonstrations.share";
                Err(SettingError::new(key, demonstrations.share, remedy))
            }
            (AlgorithmConfig::Reinforce(_), None)
                if self.net.value_range() == ValueRange::Outcome =>
            {
                let remedy = "REINFORCE learns returns: choose \"unbounded\" or \"tanh\"";
                Err(SettingError::new("net.value", "outcome", remedy))
            }
            (AlgorithmConfig::AlphaZero(_), Some(search))
                if self.net.value_range() == ValueRange::Outcome
                    && self.discount < 1.0
                    && search.draw != 0.0 =>
            {
                let remedy = format!(
                    "with net.value = \"outcome\", a discounted win or loss is partly a draw, which would \
                     be worth actor.search.draw, {}: set discount to 1, or actor.search.draw to 0",
                    search.draw
                );
                Err(SettingError::new("discount", self.discount, remedy))
            }
            (AlgorithmConfig::AlphaZero(_), Some(_)) | (AlgorithmConfig::Reinforce(_), None) => {
                Ok(())
            }
        }
    }
}

/// Whether a player is `minimax` or `maxn` with a network, whose values it compares with outcomes.
fn compares_values(name: &str) -> bool {
    Options::parse(name).is_ok_and(|options| {
        matches!(options.player(), "minimax" | "maxn") && options.has("weights")
    })
}

/// Checks the promotion rule for games of this shape.
pub fn check_gate(gate: &GateConfig, shape: ClusterShape) -> Result<(), SettingError> {
    gate.validate(shape).map_err(|error| {
        let setting = |key: &str, value: String, remedy: &str| {
            SettingError::new(format!("arena.{key}"), value, remedy)
        };
        match error {
            GateConfigError::Games { games, least } => {
                let remedy = format!("it must be at least {least}, the games of one seed");
                setting("gate.games", games.to_string(), &remedy)
            }
            GateConfigError::Threshold(value) => {
                setting("gate.threshold", value.to_string(), "it must be 0.5 to 0.9999")
            }
            GateConfigError::Hypotheses { low, high } => setting(
                "gate.sprt",
                format!("low = {low}, high = {high}"),
                "it must be 0 < low < high < 1",
            ),
            GateConfigError::Outside { threshold, low, high } => setting(
                "gate.sprt",
                format!("low = {low}, high = {high}"),
                &format!("arena.gate.threshold, {threshold}, must lie between"),
            ),
            GateConfigError::Errors { field, value } => setting(
                &format!("gate.sprt.{field}"),
                value.to_string(),
                "it must be above 0 and below 0.5",
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use ouro_net::Architecture;

    use crate::Preset;

    #[test]
    fn reinforce_refuses_outcome_classes() {
        let mut settings = Preset::ReinforceDuel.settings();
        let Architecture::Residual { value, .. } = &mut settings.net else { panic!("a tower") };
        *value = super::ValueRange::Outcome;
        assert_eq!(
            settings.validate().expect_err("no classes of returns").to_string(),
            "net.value is outcome; REINFORCE learns returns: choose \"unbounded\" or \"tanh\""
        );
        let settings = crate::Settings { net: settings.net, ..Preset::Duel7x7.settings() };
        assert_eq!(settings.validate(), Ok(()));
    }

    #[test]
    fn outcome_classes_exclude_a_discount_where_a_draw_is_not_worth_0() {
        let mut settings = Preset::Duel7x7.settings();
        let Architecture::Residual { value, .. } = &mut settings.net else { panic!("a tower") };
        *value = super::ValueRange::Outcome;
        let refused = |discount: f32, draw: f32| {
            let mut settings = settings.clone();
            settings.discount = discount;
            settings.actor.search.as_mut().expect("it searches").draw = draw;
            settings.validate().err().map(|error| error.to_string())
        };
        assert_eq!([refused(1.0, -1.0), refused(0.98, 0.0)], [None, None]);
        assert_eq!(
            refused(0.98, -1.0).expect("far wins would be worth less than 0"),
            "discount is 0.98; with net.value = \"outcome\", a discounted win or loss is partly a draw, which \
             would be worth actor.search.draw, -1: set discount to 1, or actor.search.draw to 0"
        );
    }

    #[test]
    fn a_network_of_returns_evaluates_no_position_of_minimax() {
        let mut settings = Preset::ReinforceDuel.settings();
        for allowed in ["minimax{depth=1}", "net{weights=self}"] {
            settings.arena.player = allowed.to_owned();
            assert_eq!(settings.validate(), Ok(()));
        }
        settings.arena.player = "minimax{depth=1,weights=self}".to_owned();
        let error = settings.validate().expect_err("returns").to_string();
        let start = "arena.player is \"minimax{depth=1,weights=self}\"; it compares";
        assert!(error.starts_with(start) && error.contains("choose \"tanh\""), "{error}");
    }

    #[test]
    fn demonstrations_that_search_with_the_network_have_draws_worth_0() {
        let refused = |player: &str, share: f64, draw: f32| {
            let mut settings = Preset::Duel7x7.settings();
            settings.actor.demonstrations.players = vec![player.to_owned()];
            settings.actor.demonstrations.share = share;
            settings.actor.search.as_mut().expect("it searches").draw = draw;
            settings.validate().err().map(|error| error.to_string())
        };
        let searching = "maxn{depth=2,weights=self}";
        for (player, share, draw) in
            [(searching, 1.0, 0.0), (searching, 0.0, -0.5), ("minimax{depth=2}", 1.0, -0.5)]
        {
            assert_eq!(refused(player, share, draw), None, "{player} {share} {draw}");
        }
        assert_eq!(
            refused(searching, 1.0, -0.5).expect("two worths of a draw"),
            "actor.demonstrations.players is \"maxn{depth=2,weights=self}\"; its values count a draw as 0, and \
             those of other games as actor.search.draw, -0.5: choose a player without weights, or set \
             actor.search.draw to 0"
        );
    }

    #[test]
    fn an_average_that_changes_less_often_than_generations_is_refused() {
        let mut settings = Preset::TicTacToe.settings();
        let average =
            |every_steps| super::WeightAveraging::Exponential { every_steps, half_life_steps: 100 };
        settings.train.average = average(50);
        assert_eq!(settings.validate(), Ok(()));
        settings.train.average = average(51);
        assert_eq!(
            settings.validate().unwrap_err().to_string(),
            "train.average.every_steps is 51; it must be at most generation_steps, 50: otherwise \
             generations have equal weights"
        );
    }

    #[test]
    fn actors_play_no_games_that_the_learner_refuses_for_their_length() {
        let mut settings = Preset::Standard.settings();
        settings.actor.max_plies = settings.intake.max_plies;
        assert_eq!(settings.validate(), Ok(()));
        settings.actor.max_plies += 1;
        assert_eq!(
            settings.validate().expect_err("too long").to_string(),
            "actor.max_plies is 2049; games above intake.max_plies, 2048, are refused: lower it, or raise \
             intake.max_plies"
        );
    }

    #[test]
    fn alphazero_has_no_settings_of_returns() {
        let mut settings = Preset::Duel7x7.settings();
        settings.train.reward_scale = 2.0;
        assert_eq!(
            settings.validate().expect_err("no rewards").to_string(),
            "train.reward_scale is 2; AlphaZero learns outcomes, not rewards: leave it out"
        );
        for (preset, is_refused) in [(Preset::Duel7x7, true), (Preset::TicTacToe, false)] {
            let mut settings = preset.settings();
            settings.net = Architecture::Conv { channels: 4, layers: 1, hidden: 16 };
            let error = settings.validate().err().map(|error| error.to_string());
            let expected = "net.value is unbounded; AlphaZero learns outcomes, but mcts plays";
            let refused = error.as_ref().is_some_and(|error| error.starts_with(expected));
            assert_eq!(refused, is_refused, "{error:?}");
            assert_eq!(error.is_some(), is_refused);
        }
    }

    #[test]
    fn both_policies_need_two_players_and_alphazero() {
        let with_both = |preset: Preset| {
            let mut settings = preset.settings();
            let Architecture::Residual { opponent_policy, .. } = &mut settings.net else {
                panic!("a tower")
            };
            *opponent_policy = true;
            settings.validate().map_err(|error| error.to_string())
        };
        assert_eq!(with_both(Preset::Duel7x7), Ok(()));
        let error = |remedy: &str| Err(format!("net.opponent_policy is true; {remedy}"));
        let players = "only a game of two players has one opponent: set it to false";
        assert_eq!(with_both(Preset::Standard), error(players));
        let algorithm = "REINFORCE trains one policy: set it to false";
        assert_eq!(with_both(Preset::ReinforceDuel), error(algorithm));
    }
}
