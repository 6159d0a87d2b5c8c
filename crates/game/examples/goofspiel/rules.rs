//! Goofspiel: both players hold the cards 1 to n; a prize is turned up at random, both bid
//! a card at the same time, and the higher bid takes the prize. Equal bids discard it. Most
//! points win.

use ouro_game::{
    Action, ActionMask, Chance, ConfigError, Game, PlaneShape, PlayerSet, StepError, Stream, Turn,
};
use serde::{Deserialize, Serialize};

/// How many cards each hand starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// 2 to 13.
    pub(crate) cards: u8,
}

/// The rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goofspiel {
    config: Config,
}

/// One position. Sets of cards hold one bit per card: bit 0 is card 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub(crate) struct State {
    hands: [u16; 2],
    deck: u16,
    prize: Option<u8>,
    points: [u8; 2],
}

/// A [`State`] in JSON: hands, deck, prize, points.
type Fields = ([u16; 2], u16, Option<u8>, [u8; 2]);

impl From<State> for Fields {
    fn from(state: State) -> Self {
        (state.hands, state.deck, state.prize, state.points)
    }
}

impl TryFrom<Fields> for State {
    type Error = &'static str;

    fn try_from((hands, deck, prize, points): Fields) -> Result<Self, Self::Error> {
        if hands.iter().chain([&deck]).any(|cards| cards >> 13 != 0) {
            return Err("there are at most 13 cards");
        }
        if prize.is_some_and(|prize| prize > 12 || deck >> prize & 1 == 1) {
            return Err("the prize is no card, or still in the deck");
        }
        let left = deck.count_ones() + u32::from(prize.is_some());
        if hands.iter().any(|hand| hand.count_ones() != left) {
            return Err("a hand needs one card for each prize to come");
        }
        Ok(Self { hands, deck, prize, points })
    }
}

impl Game for Goofspiel {
    type Config = Config;
    type State = State;

    const NAME: &'static str = "goofspiel";

    fn new(config: Config) -> Result<Self, ConfigError> {
        if !(2..=13).contains(&config.cards) {
            let (value, remedy) = (config.cards.to_string(), "it must be 2 to 13".to_owned());
            return Err(ConfigError { game: Self::NAME, field: "cards", value, remedy });
        }
        Ok(Self { config })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn players(&self) -> usize {
        2
    }

    fn action_count(&self) -> usize {
        usize::from(self.config.cards)
    }

    fn initial(&self, _rng: &mut Stream) -> State {
        let all = (1 << self.config.cards) - 1;
        State { hands: [all; 2], deck: all, prize: None, points: [0; 2] }
    }

    fn turn(&self, state: &State) -> Turn {
        match state.prize {
            Some(_) => Turn::Move(PlayerSet::first(2)),
            None if state.deck != 0 => Turn::Chance,
            None => Turn::Over,
        }
    }

    fn legal(&self, state: &State, player: usize, mask: &mut ActionMask) {
        mask.reset(self.action_count());
        if player < 2 && state.prize.is_some() {
            let cards = (0..16).filter(|card| state.hands[player] >> card & 1 == 1);
            cards.for_each(|card| mask.insert(Action(card)));
        }
    }

    fn step(&self, state: &mut State, actions: &[Action]) -> Result<(), StepError> {
        let &[first, second] = actions else {
            return Err(StepError::ActionCount { got: actions.len(), expected: 2 });
        };
        let Some(prize) = state.prize else {
            let over = state.deck == 0;
            return Err(if over { StepError::GameOver } else { StepError::ChancePending });
        };
        for (player, &Action(action)) in actions.iter().enumerate() {
            if action > 15 || state.hands[player] >> action & 1 == 0 {
                return Err(StepError::IllegalAction { player, action });
            }
        }
        for (player, &Action(action)) in actions.iter().enumerate() {
            state.hands[player] &= !(1 << action);
        }
        if first != second {
            let points = &mut state.points[usize::from(second > first)];
            *points = points.saturating_add(prize + 1);
        }
        state.prize = None;
        Ok(())
    }

    fn chance(&self, state: &State) -> Chance {
        Chance::Enumerable { count: state.deck.count_ones() }
    }

    fn chance_probability(&self, state: &State, outcome: u32) -> f64 {
        let count = state.deck.count_ones();
        if outcome < count { 1.0 / f64::from(count) } else { 0.0 }
    }

    fn sample_chance(&self, state: &State, rng: &mut Stream) -> u32 {
        rng.below(state.deck.count_ones())
    }

    fn apply_chance(&self, state: &mut State, outcome: u32) -> Result<(), StepError> {
        if state.prize.is_some() || state.deck == 0 {
            return Err(StepError::NotAChanceNode);
        }
        let mut cards = (0..16_u8).filter(|card| state.deck >> card & 1 == 1);
        let card = cards.nth(outcome as usize).ok_or(StepError::ImpossibleOutcome { outcome })?;
        state.deck &= !(1 << card);
        state.prize = Some(card);
        Ok(())
    }

    fn alive(&self, _state: &State) -> PlayerSet {
        PlayerSet::first(2)
    }

    fn elapsed(&self, state: &State) -> u32 {
        u32::from(self.config.cards).saturating_sub(state.hands[0].count_ones())
    }

    fn returns(&self, state: &State, player: usize) -> f32 {
        let [own, other] = [state.points[player % 2], state.points[1 - player % 2]];
        f32::from(own) - f32::from(other)
    }

    fn outcome(&self, state: &State, player: usize) -> f32 {
        self.returns(state, player).clamp(-1.0, 1.0)
    }

    fn planes(&self) -> PlaneShape {
        PlaneShape { channels: 5, height: 1, width: self.action_count() }
    }

    fn observe(&self, state: &State, player: usize, out: &mut [f32]) {
        let (own, other) = (state.hands[player % 2], state.hands[1 - player % 2]);
        let prize = state.prize.map_or(0, |prize| 1 << prize);
        let width = self.action_count();
        for (plane, cards) in [own, other, state.deck, prize].into_iter().enumerate() {
            for card in 0..width {
                out[plane * width + card] = f32::from(cards >> card & 1);
            }
        }
        // Who leads, as a share of all points.
        let total = (width * (width + 1) / 2) as f32;
        out[4 * width..].fill(self.returns(state, player) / total);
    }

    fn render(&self, state: &State) -> String {
        let list = |cards: u16| {
            let held = (0..16).filter(|card| cards >> card & 1 == 1);
            held.map(|card| format!(" {}", card + 1)).collect::<String>()
        };
        let prize = state.prize.map_or_else(|| "none".to_owned(), |card| (card + 1).to_string());
        format!(
            "prize {prize}, points {} to {}\nplayer 0:{}\nplayer 1:{}\n",
            state.points[0],
            state.points[1],
            list(state.hands[0]),
            list(state.hands[1])
        )
    }

    fn action_name(&self, action: Action) -> String {
        format!("card {}", action.index() + 1)
    }
}
