//! Principal variations while the search runs.

use super::Step;

/// The best line found below each ply of the current path.
#[derive(Debug, Default)]
pub(super) struct PrincipalVariations(Vec<Vec<Step>>);

impl PrincipalVariations {
    /// Forgets the line below a ply, which is at most one deeper than ever before.
    #[inline]
    pub(super) fn clear(&mut self, ply: usize) {
        match self.0.get_mut(ply) {
            Some(line) => line.clear(),
            None => self.0.resize(ply + 1, Vec::new()),
        }
    }

    /// The best line below `ply` is now `step`, then the line below the next ply.
    pub(super) fn improve(&mut self, ply: usize, step: Step) {
        let (above, below) = self.0.split_at_mut(ply + 1);
        if let Some(line) = above.last_mut() {
            line.clear();
            line.push(step);
            line.extend(below.first().into_iter().flatten());
        }
    }

    /// The line below a ply.
    pub(super) fn get(&self, ply: usize) -> &[Step] {
        self.0.get(ply).map_or(&[], Vec::as_slice)
    }
}
