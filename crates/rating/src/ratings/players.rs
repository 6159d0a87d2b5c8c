//! The numbers of players.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

/// Names by number: the anchor has number 0, the others follow in alphabetical order.
#[derive(Clone, Debug)]
pub(super) struct Players {
    names: Vec<String>,
}

impl Players {
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of a player.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        let (anchor, others) = self.names.split_first()?;
        if anchor == name {
            return Some(0);
        }
        others.binary_search_by(|other| other.as_str().cmp(name)).ok().map(|index| index + 1)
    }
}

/// Collects names. Each has a provisional number, since the final one depends on all names.
#[derive(Debug)]
pub(super) struct Names<'a> {
    names: Vec<&'a str>,
    /// With a fixed hasher. No result depends on the order of a map.
    numbers: HashMap<&'a str, u32, BuildHasherDefault<DefaultHasher>>,
}

impl<'a> Names<'a> {
    /// The anchor alone, with the provisional number 0.
    pub(super) fn new(anchor: &'a str) -> Self {
        let mut names = Self { names: Vec::new(), numbers: HashMap::default() };
        names.add(anchor);
        names
    }

    /// The provisional number of a name.
    pub(super) fn add(&mut self, name: &'a str) -> u32 {
        *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() as u32 - 1
        })
    }

    /// All players, and the final number of each provisional one.
    pub(super) fn into_players(self) -> (Players, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.names.len() as u32).collect();
        order[1..].sort_unstable_by_key(|&number| self.names[number as usize]);
        let mut numbers = vec![0; order.len()];
        for (number, &provisional) in order.iter().enumerate() {
            numbers[provisional as usize] = number as u32;
        }
        let names = order.iter().map(|&number| self.names[number as usize].to_owned()).collect();
        (Players { names }, numbers)
    }
}
