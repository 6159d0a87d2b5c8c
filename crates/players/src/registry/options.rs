//! The options in a player's name: `key=value` and flags, separated by commas, in braces.
//!
//! Keys come in any order, each at most once. A player reads its options by key. Every error
//! names the player, the option, the value and the remedy.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use ouro_game::Game;

use crate::registry::PlayerSyntax;
use crate::registry::error::NameError;

/// A parsed player name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options<'a> {
    name: &'a str,
    player: &'a str,
    given: Vec<(&'a str, Option<&'a str>)>,
}

impl<'a> Options<'a> {
    /// Splits a name at its braces and commas.
    pub fn parse(name: &'a str) -> Result<Self, NameError> {
        let (player, inside) = match name.split_once('{') {
            None => (name, None),
            Some((player, rest)) => {
                let inside = rest.strip_suffix('}').ok_or_else(|| NameError::Braces {
                    name: name.to_owned(),
                    player: player.to_owned(),
                })?;
                (player, Some(inside).filter(|inside| !inside.is_empty()))
            }
        };
        let mut given: Vec<(&str, Option<&str>)> = Vec::new();
        for option in inside.into_iter().flat_map(|inside| inside.split(',')) {
            let (key, value) = match option.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (option, None),
            };
            if given.iter().any(|&(earlier, _)| earlier == key) {
                return Err(NameError::Repeated { name: name.to_owned(), option: key.to_owned() });
            }
            given.push((key, value));
        }
        Ok(Self { name, player, given })
    }

    /// The whole name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The part before the braces.
    pub fn player(&self) -> &'a str {
        self.player
    }

    /// Refuses options that the player does not have.
    pub fn check(&self, syntax: &PlayerSyntax) -> Result<(), NameError> {
        match self.given.iter().find(|(key, _)| !syntax.options.contains(key)) {
            None => Ok(()),
            Some((key, _)) => Err(NameError::UnknownOption {
                name: self.name.to_owned(),
                option: (*key).to_owned(),
                usage: syntax.usage.join(" or "),
            }),
        }
    }

    /// Whether the option is given, with or without a value.
    pub fn has(&self, option: &str) -> bool {
        self.given.iter().any(|&(key, _)| key == option)
    }

    /// Whether a flag is given. A flag takes no value.
    pub fn flag(&self, option: &'static str) -> Result<bool, NameError> {
        match self.given.iter().find(|&&(key, _)| key == option) {
            None => Ok(false),
            Some((_, None)) => Ok(true),
            Some((_, Some(value))) => Err(self.invalid(option, value, "a flag takes no value")),
        }
    }

    /// The text of an option, which must not be empty.
    pub fn text(&self, option: &'static str) -> Result<Option<&'a str>, NameError> {
        match self.given.iter().find(|&&(key, _)| key == option) {
            None => Ok(None),
            Some((_, None | Some(""))) => {
                Err(self.invalid(option, "", format_args!("write {option}=...")))
            }
            Some(&(_, value)) => Ok(value),
        }
    }

    /// The number of an option, which must lie in `range`.
    pub fn number<T>(
        &self,
        option: &'static str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, NameError>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.text(option)? else { return Ok(None) };
        match text.parse() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            Ok(_) | Err(_) => {
                let (low, high) = (range.start(), range.end());
                let takes_fractions = "0.5".parse::<T>().is_ok();
                let kind = if takes_fractions { "number" } else { "whole number" };
                Err(self.invalid(option, text, format_args!("it is a {kind} {low} to {high}")))
            }
        }
    }

    /// The error for an invalid value of an option.
    pub fn invalid(
        &self,
        option: &'static str,
        value: impl Display,
        remedy: impl Display,
    ) -> NameError {
        NameError::Value {
            name: self.name.to_owned(),
            option,
            value: value.to_string(),
            remedy: remedy.to_string(),
        }
    }

    /// The error for a missing option; `option` may name several of which one is required.
    pub fn missing(&self, option: &'static str, syntax: &PlayerSyntax) -> NameError {
        NameError::Missing { name: self.name.to_owned(), option, usage: syntax.usage.join(" or ") }
    }

    /// Refuses two options that exclude each other.
    pub fn exclusive(&self, first: &'static str, second: &'static str) -> Result<(), NameError> {
        if self.has(first) && self.has(second) {
            return Err(NameError::Conflict { name: self.name.to_owned(), first, second });
        }
        Ok(())
    }

    /// The error for a player that does not play `G`.
    pub fn other_game<G: Game>(&self, plays: &'static str) -> NameError {
        NameError::Game { name: self.name.to_owned(), game: G::NAME, plays }
    }

    /// The error for a player that plays the game, but not with this configuration.
    pub fn unfit(&self, problem: String, remedy: &'static str) -> NameError {
        NameError::Unfit { name: self.name.to_owned(), problem, remedy }
    }
}
