//! The set of empty cells: removal and uniform sampling in constant time.

use crate::rng::Rng;

/// Marks a cell that is not in the set.
const ABSENT: u32 = u32::MAX;

/// A set of cell indices. An array lists the members, and a second one their places in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EmptyCells {
    members: Vec<u32>,
    places: Vec<u32>,
}

impl EmptyCells {
    /// The indices below `count` that satisfy `is_member`, in ascending order.
    pub(super) fn new(count: usize, is_member: impl Fn(usize) -> bool) -> Self {
        let mut set = Self { members: Vec::new(), places: vec![ABSENT; count] };
        for index in (0..count).filter(|&index| is_member(index)) {
            set.places[index] = set.members.len() as u32;
            set.members.push(index as u32);
        }
        set
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }

    /// Removes `index`; no effect if it is not a member. The last member takes its place.
    pub(super) fn remove(&mut self, index: usize) {
        let place = self.places[index];
        if place == ABSENT {
            return;
        }
        self.places[index] = ABSENT;
        self.members.swap_remove(place as usize);
        if let Some(&moved) = self.members.get(place as usize) {
            self.places[moved as usize] = place;
        }
    }

    /// A uniform member; `None` if the set is empty.
    pub(super) fn sample(&self, rng: &mut Rng) -> Option<usize> {
        let place = rng.below(self.members.len() as u32) as usize;
        self.members.get(place).map(|&index| index as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_members_are_never_sampled_and_the_others_uniformly() {
        let mut set = EmptyCells::new(40, |index| index % 2 == 0);
        for index in [0, 38, 20, 20, 21] {
            set.remove(index);
        }
        assert_eq!(set.len(), 17);
        let mut rng = Rng::new(1, "test");
        let mut counts = [0_u32; 40];
        for _ in 0..17_000 {
            counts[set.sample(&mut rng).unwrap()] += 1;
        }
        for (index, &count) in counts.iter().enumerate() {
            let is_member = index % 2 == 0 && ![0, 20, 38].contains(&index);
            // Binomial(17000, 1/17): 1000 with deviation 30.7; 6 sigma.
            assert!(if is_member { count.abs_diff(1_000) < 185 } else { count == 0 }, "{counts:?}");
        }
    }

    #[test]
    fn an_empty_set_has_no_sample() {
        let mut set = EmptyCells::new(1, |_| true);
        set.remove(0);
        assert_eq!(set.sample(&mut Rng::new(1, "test")), None);
    }
}
