//! The options of a player that are tuned: their bounds on the command line, and names with other
//! values.

use std::fmt;

use ouro_players::registry::{KNOWN, Options};
use serde::Serialize;

use super::path::Header;
use super::spsa::{Parameter, Schedule, Tuner};

/// `NAME in LOW..HIGH`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bounds(Parameter);

impl Bounds {
    /// Parses the argument of the command line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let remedy = "write NAME in LOW..HIGH, such as 'length in 0.0..50.0'";
        let parts = text.split_once(" in ").and_then(|(name, range)| {
            let (low, high) = range.split_once("..")?;
            Some((name.trim(), low.trim(), high.trim()))
        });
        let Some((name, low, high)) = parts else { return Err(remedy.to_owned()) };
        let number = |text: &str| {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| format!("{text:?} is not a number; {remedy}"))
        };
        let whole = [low, high].iter().all(|text| text.parse::<i64>().is_ok());
        let (low, high) = (number(low)?, number(high)?);
        if low >= high {
            return Err(format!("{low} is not below {high}; {remedy}"));
        }
        if name.is_empty() {
            return Err(remedy.to_owned());
        }
        Ok(Self(Parameter { name: name.to_owned(), low, high, whole }))
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameter { name, low, high, whole } = &self.0;
        match whole {
            true => write!(f, "{name} in {low}..{high}"),
            false => write!(f, "{name} in {low:?}..{high:?}"),
        }
    }
}

/// A player with options that are tuned.
#[derive(Clone, Debug)]
pub(super) struct Tuned {
    /// The name without these options: the part before the braces, and the other options.
    player: String,
    others: Vec<String>,
    parameters: Vec<Parameter>,
    /// Where the options start.
    pub(super) start: Vec<f64>,
}

/// How far an option moved.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    pub(super) option: String,
    pub(super) start: f64,
    pub(super) end: f64,
}

impl Tuned {
    /// The player `name` with the options of `bounds`. The error names the option and the remedy.
    pub(super) fn new(name: &str, bounds: &[Bounds]) -> Result<Self, String> {
        let options = Options::parse(name).map_err(|error| error.to_string())?;
        let given: Vec<&str> = match name.split_once('{') {
            Some((_, rest)) => rest.strip_suffix('}').unwrap_or(rest).split(',').collect(),
            None => Vec::new(),
        };
        let value = |key: &str| {
            given.iter().find_map(|one| one.split_once('=').filter(|(found, _)| *found == key))
        };
        let known = KNOWN.iter().find(|known| known.name == options.player());
        let defaults = known.map_or(&[][..], |known| known.defaults);
        let mut start = Vec::with_capacity(bounds.len());
        for (index, Bounds(parameter)) in bounds.iter().enumerate() {
            let Parameter { name: key, low, high, .. } = parameter;
            if bounds[..index].iter().any(|Bounds(earlier)| earlier.name == *key) {
                return Err(format!("{key} is tuned twice; name it once"));
            }
            let at = match value(key) {
                Some((_, text)) => text
                    .parse()
                    .map_err(|_| format!("{key}={text} is not a number; only numbers are tuned"))?,
                None => match defaults.iter().find(|(known, _)| known == key) {
                    Some(&(_, default)) => default,
                    None => return Err(unknown(name, key, defaults)),
                },
            };
            if !(*low..=*high).contains(&at) {
                return Err(format!(
                    "{key} starts at {at}, outside {low}..{high}; widen the bounds, or write \
                     {key}=NUMBER in the player"
                ));
            }
            start.push(at);
        }
        let is_tuned = |one: &&str| {
            let key = one.split_once('=').map_or(*one, |(key, _)| key);
            bounds.iter().any(|Bounds(parameter)| parameter.name == key)
        };
        let others = given.iter().filter(|one| !one.is_empty() && !is_tuned(one));
        Ok(Self {
            player: options.player().to_owned(),
            others: others.map(|&one| one.to_owned()).collect(),
            parameters: bounds.iter().map(|Bounds(parameter)| parameter.clone()).collect(),
            start,
        })
    }

    /// The player with these values.
    pub(super) fn name(&self, values: &[f64]) -> String {
        let tuned = self.parameters.iter().zip(values);
        let tuned = tuned
            .map(|(parameter, value)| format!("{}={}", parameter.name, parameter.played(*value)));
        let options: Vec<String> = self.others.iter().cloned().chain(tuned).collect();
        format!("{}{{{}}}", self.player, options.join(","))
    }

    /// The least and the greatest point.
    pub(super) fn corners(&self) -> [Vec<f64>; 2] {
        let least = self.parameters.iter().map(|parameter| parameter.low);
        let greatest = self.parameters.iter().map(|parameter| parameter.high);
        [least.collect(), greatest.collect()]
    }

    /// The state of a run.
    pub(super) fn tuner(&self, header: &Header, values: Vec<f64>, done: u32) -> Tuner {
        let Header { iterations, rate, seed, .. } = *header;
        Tuner::new(self.parameters.clone(), Schedule { iterations, rate, seed }, values, done)
    }

    /// The options with their first and last values.
    pub(super) fn changes(&self, end: &[f64]) -> Vec<Change> {
        let all = self.parameters.iter().zip(&self.start).zip(end);
        all.map(|((parameter, &start), &end)| Change {
            option: parameter.name.clone(),
            start: parameter.played(start),
            end: parameter.played(end),
        })
        .collect()
    }

    /// Names and values of a point, as played.
    pub(super) fn played<'a>(
        &'a self,
        values: &'a [f64],
    ) -> impl Iterator<Item = (&'a str, f64)> + 'a {
        let all = self.parameters.iter().zip(values);
        all.map(|(parameter, value)| (parameter.name.as_str(), parameter.played(*value)))
    }
}

fn unknown(player: &str, key: &str, defaults: &[(&str, f64)]) -> String {
    let known: Vec<&str> = defaults.iter().map(|(key, _)| *key).collect();
    match known.is_empty() {
        true => format!("{player} has no number {key}; write {key}=NUMBER in the player"),
        false => format!(
            "{player} has no number {key}; known are {}, or write {key}=NUMBER in the player",
            known.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(text: &str) -> Bounds {
        Bounds::parse(text).expect(text)
    }

    #[test]
    fn bounds_are_read_and_written_and_whole_numbers_have_no_point() {
        for text in ["length in 0.0..50.0", "hungry in 1..100", "lead in -1..2"] {
            assert_eq!(bounds(text).to_string(), text);
        }
        assert!(bounds("hungry in 1..100").0.whole && !bounds("length in 0..0.5").0.whole);
        for (text, part) in [
            ("length", "NAME in LOW..HIGH"),
            ("length in 3", "NAME in LOW..HIGH"),
            (" in 3..4", "NAME in LOW..HIGH"),
            ("length in 5..5", "5 is not below 5"),
            ("length in a..5", "\"a\" is not a number"),
            ("length in 0..inf", "\"inf\" is not a number"),
        ] {
            let error = Bounds::parse(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_name_keeps_its_other_options_and_starts_where_it_says() {
        let all = [bounds("length in 0.0..50.0"), bounds("hungry in 1..100")];
        let tuned = Tuned::new("minimax{depth=4,hungry=40}", &all).expect("known");
        assert_eq!(tuned.start, [0.0, 40.0]);
        assert_eq!(tuned.name(&[12.34567, 55.6]), "minimax{depth=4,length=12.3457,hungry=56}");
        assert_eq!(tuned.corners(), [[0.0, 1.0], [50.0, 100.0]]);
        // A number that no table knows is tuned from where the name sets it.
        let free = Tuned::new("mcts{sims=16,tremble=0.2}", &[bounds("tremble in 0.0..1.0")]);
        assert_eq!(free.expect("given").start, [0.2]);
        let file = Tuned::new("minimax{depth=1,weights=a}}", &[bounds("length in 0..50")]);
        assert_eq!(file.expect("known").name(&[3.0]), "minimax{depth=1,weights=a},length=3}");
    }

    #[test]
    fn what_cannot_be_tuned_is_refused_with_the_remedy() {
        for (player, options, part) in [
            ("minimax{depth=4}", &["width in 0..9"][..], "known are food, hazard, hungry"),
            ("random", &["width in 0..9"], "write width=NUMBER in the player"),
            ("minimax{depth=4,food=x}", &["food in 0..9"], "food=x is not a number"),
            ("minimax{depth=4}", &["food in 0..9"], "food starts at 20, outside 0..9"),
            ("minimax{depth=4}", &["lead in 0..20", "lead in 0..99"], "tuned twice"),
            ("minimax{depth=4", &["lead in 0..20"], "minimax{depth=4"),
        ] {
            let all: Vec<Bounds> = options.iter().map(|text| bounds(text)).collect();
            let error = Tuned::new(player, &all).expect_err(player);
            assert!(error.contains(part), "{error}");
        }
    }
}
