//! The worked example keeps the laws, the walkthrough quotes it, and each law catches a game
//! that breaks it.

use ouro_game::laws::Law;
use ouro_game::{
    Action, ActionMask, Chance, ConfigError, Game, PlaneShape, PlayerSet, Rng, RolloutBuffer,
    StepError, Symmetry, Turn, check_laws,
};
use serde::{Deserialize, Serialize};

#[path = "../examples/stakes/rules.rs"]
mod rules;

use rules::Stakes;

#[test]
fn the_example_game_keeps_the_laws_at_every_length() {
    for rounds in [1, 2, 5, 100] {
        let game = Stakes::new(rules::Config { rounds }).expect("in range");
        let coverage = check_laws(&game, 3, 40).unwrap_or_else(|broken| panic!("{broken}"));
        assert_eq!(coverage.ended, 40);
        assert_eq!(coverage.plies, 40 * u64::from(rounds));
        assert!(coverage.chance_nodes > 0);
    }
}

#[test]
fn every_block_of_rust_in_the_walkthrough_is_in_the_example() {
    let guide = include_str!("../../../docs/your-own-game.md");
    let source = include_str!("../examples/stakes/rules.rs");
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let lines = source.lines().filter(code).count();
    assert!(lines <= 110, "a hundred lines or so, not {lines}");
    let blocks: Vec<&str> =
        guide.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 6, "{} blocks", blocks.len());
    for block in blocks {
        assert!(source.contains(block.trim_end()), "not in the example:\n{block}");
    }
}

/// A way to break a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Fault {
    None,
    NoPlayers,
    OneNameForAll,
    MovesAtChanceNodes,
    TakesAnyHand,
    ErrorChangesTheState,
    HiddenState,
    LopsidedChance,
    AnotherSettle,
    RolloutPastItsLimit,
    RolloutOfDoubleTurns,
    RolloutThatLooksAhead,
    RolloutPastTheEnd,
    GuidedPastItsLimit,
    NoWeights,
    TimeRunsBack,
    OutcomeOfTwo,
    ForgetsAValue,
    WrongSymmetry,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Config {
    inner: rules::Config,
    fault: Fault,
}

/// The example game with a broken law.
#[derive(Clone, Debug)]
struct Offender {
    inner: Stakes,
    config: Config,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    inner: rules::State,
    /// Lost in JSON.
    #[serde(skip)]
    hidden: u32,
}

impl Game for Offender {
    type Config = Config;
    type State = State;
    const NAME: &'static str = "offender";

    fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Self { inner: Stakes::new(config.inner)?, config })
    }
    fn config(&self) -> &Config {
        &self.config
    }
    fn players(&self) -> usize {
        if self.config.fault == Fault::NoPlayers { 0 } else { 2 }
    }
    fn action_count(&self) -> usize {
        self.inner.action_count()
    }
    fn initial(&self, rng: &mut Rng) -> State {
        State { inner: self.inner.initial(rng), hidden: 0 }
    }
    fn turn(&self, state: &State) -> Turn {
        self.inner.turn(&state.inner)
    }
    fn legal(&self, state: &State, player: usize, mask: &mut ActionMask) {
        self.inner.legal(&state.inner, player, mask);
        if self.config.fault == Fault::MovesAtChanceNodes && self.turn(state) == Turn::Chance {
            mask.insert(Action(0));
        }
    }
    fn step(&self, state: &mut State, actions: &[Action]) -> Result<(), StepError> {
        let result = self.inner.step(&mut state.inner, actions);
        match (self.config.fault, &result) {
            (Fault::TakesAnyHand, Err(StepError::IllegalAction { .. })) => return Ok(()),
            (Fault::ErrorChangesTheState, Err(StepError::IllegalAction { .. }))
            | (Fault::HiddenState, Ok(())) => state.hidden += 1,
            _ => {}
        }
        result
    }
    fn chance(&self, state: &State) -> Chance {
        self.inner.chance(&state.inner)
    }
    fn chance_probability(&self, state: &State, outcome: u32) -> f64 {
        let fair = self.inner.chance_probability(&state.inner, outcome);
        if self.config.fault == Fault::LopsidedChance { fair * 0.9 } else { fair }
    }
    fn sample_chance(&self, state: &State, rng: &mut Rng) -> u32 {
        self.inner.sample_chance(&state.inner, rng)
    }
    fn apply_chance(&self, state: &mut State, outcome: u32) -> Result<(), StepError> {
        self.inner.apply_chance(&mut state.inner, outcome)
    }
    fn settle(&self, state: &mut State, rng: &mut Rng) {
        if self.config.fault == Fault::AnotherSettle && self.turn(state) == Turn::Chance {
            self.inner.apply_chance(&mut state.inner, 0).expect("a die shows one");
        }
        self.inner.settle(&mut state.inner, rng);
    }
    fn rollout(&self, state: &mut State, limit: u32, buffer: &mut RolloutBuffer, rng: &mut Rng) {
        let over = self.turn(state) == Turn::Over;
        let mut turns = limit;
        match self.config.fault {
            Fault::RolloutPastItsLimit => turns += 1,
            Fault::RolloutOfDoubleTurns => turns *= 2,
            Fault::RolloutThatLooksAhead if limit > 1 => _ = rng.bits(),
            Fault::RolloutPastTheEnd if over => state.hidden += 1,
            _ => {}
        }
        ouro_game::rollout::uniform(self, state, turns, buffer, rng);
    }
    fn weigh(&self, state: &State, player: usize, legal: &mut ActionMask, weights: &mut [u32]) {
        match self.config.fault {
            Fault::NoWeights => weights.fill(0),
            _ => self.inner.weigh(&state.inner, player, legal, weights),
        }
    }
    fn guided_rollout(
        &self,
        state: &mut State,
        limit: u32,
        buffer: &mut RolloutBuffer,
        rng: &mut Rng,
    ) {
        let more = u32::from(self.config.fault == Fault::GuidedPastItsLimit);
        ouro_game::rollout::guided(self, state, limit + more, buffer, rng);
    }
    fn alive(&self, state: &State) -> PlayerSet {
        self.inner.alive(&state.inner)
    }
    fn elapsed(&self, state: &State) -> u32 {
        let elapsed = self.inner.elapsed(&state.inner);
        if self.config.fault == Fault::TimeRunsBack { 100 - elapsed } else { elapsed }
    }
    fn returns(&self, state: &State, player: usize) -> f32 {
        self.inner.returns(&state.inner, player)
    }
    fn outcome(&self, state: &State, player: usize) -> f32 {
        let outcome = self.inner.outcome(&state.inner, player);
        if self.config.fault == Fault::OutcomeOfTwo { 2.0 * outcome } else { outcome }
    }
    fn planes(&self) -> PlaneShape {
        self.inner.planes()
    }
    fn observe(&self, state: &State, player: usize, out: &mut [f32]) {
        let kept = out[0];
        self.inner.observe(&state.inner, player, out);
        if self.config.fault == Fault::ForgetsAValue {
            out[0] = kept;
        }
    }
    fn symmetries(&self) -> &'static [Symmetry] {
        let wrong = self.config.fault == Fault::WrongSymmetry;
        if wrong { Symmetry::MIRROR } else { &[Symmetry::Identity] }
    }
    fn transform_action(&self, action: Action, symmetry: Symmetry) -> Action {
        let last = self.action_count() as u32 - 1;
        if symmetry == Symmetry::FlipX { Action(last.saturating_sub(action.0)) } else { action }
    }
    fn render(&self, state: &State) -> String {
        self.inner.render(&state.inner)
    }
    fn action_name(&self, action: Action) -> String {
        if self.config.fault == Fault::OneNameForAll {
            return "a hand".to_owned();
        }
        self.inner.action_name(action)
    }
}

#[test]
fn the_error_names_the_law_that_a_game_breaks() {
    let cases = [
        (Fault::NoPlayers, Law::Rules),
        (Fault::OneNameForAll, Law::Names),
        (Fault::MovesAtChanceNodes, Law::Legal),
        (Fault::TakesAnyHand, Law::Refusal),
        (Fault::ErrorChangesTheState, Law::Refusal),
        (Fault::HiddenState, Law::RoundTrip),
        (Fault::LopsidedChance, Law::Chance),
        (Fault::AnotherSettle, Law::Settle),
        (Fault::RolloutPastItsLimit, Law::Rollout),
        (Fault::RolloutOfDoubleTurns, Law::Rollout),
        (Fault::RolloutThatLooksAhead, Law::Rollout),
        (Fault::RolloutPastTheEnd, Law::Rollout),
        (Fault::GuidedPastItsLimit, Law::Rollout),
        (Fault::NoWeights, Law::Weights),
        (Fault::TimeRunsBack, Law::Progress),
        (Fault::OutcomeOfTwo, Law::Values),
        (Fault::ForgetsAValue, Law::Observation),
        (Fault::WrongSymmetry, Law::Symmetry),
    ];
    let offender = |fault| {
        Offender::new(Config { inner: rules::Config { rounds: 4 }, fault }).expect("in range")
    };
    check_laws(&offender(Fault::None), 1, 20).expect("without a fault all laws hold");
    for (fault, law) in cases {
        let broken = check_laws(&offender(fault), 1, 20).expect_err("a law is broken");
        assert_eq!(broken.law, law, "{fault:?}: {broken}");
        assert!(broken.to_string().starts_with("offender breaks the law of "), "{broken}");
        let again = check_laws(&offender(fault), 1, 20).expect_err("a law is broken");
        assert_eq!(again, broken, "the same seed finds the same offence");
    }
}
