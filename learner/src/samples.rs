//! Training samples, one row per move of a learning seat.
//!
//! A [`Samples`] is a table of columns: one game's moves when it arrives, a batch when it
//! leaves the [window](crate::window). All columns have the same number of rows.

/// Sizes of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// Values in an observation, `C · H · W`.
    pub planes: usize,
    /// Size of the action space.
    pub actions: usize,
}

/// A table of moves. See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    shape: RowShape,
    /// Observations, `[rows, C · H · W]`.
    pub planes: Vec<f32>,
    /// Legal actions, `[rows, actions]`.
    pub legal: Vec<bool>,
    /// Actions taken, `[rows]`.
    pub actions: Vec<u32>,
    /// Probability that the actor chose each with, `[rows]`, in (0, 1].
    pub behaviour: Vec<f32>,
    /// Discounted return from each position on, `[rows]`.
    pub returns: Vec<f32>,
}

impl Samples {
    /// A table without rows.
    pub fn new(shape: RowShape) -> Self {
        Self::with_capacity(shape, 0)
    }

    /// A table without rows and with room for some.
    pub fn with_capacity(shape: RowShape, rows: usize) -> Self {
        Self {
            shape,
            planes: Vec::with_capacity(rows * shape.planes),
            legal: Vec::with_capacity(rows * shape.actions),
            actions: Vec::with_capacity(rows),
            behaviour: Vec::with_capacity(rows),
            returns: Vec::with_capacity(rows),
        }
    }

    /// Sizes of a row.
    pub fn shape(&self) -> RowShape {
        self.shape
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.actions.len()
    }

    /// Copies rows `from..to` of `other` to the end. Both tables have the same row shape.
    pub fn append(&mut self, other: &Self, from: usize, to: usize) {
        debug_assert_eq!(self.shape, other.shape, "tables of one network");
        let RowShape { planes, actions } = self.shape;
        self.planes.extend_from_slice(&other.planes[from * planes..to * planes]);
        self.legal.extend_from_slice(&other.legal[from * actions..to * actions]);
        self.actions.extend_from_slice(&other.actions[from..to]);
        self.behaviour.extend_from_slice(&other.behaviour[from..to]);
        self.returns.extend_from_slice(&other.returns[from..to]);
    }
}
