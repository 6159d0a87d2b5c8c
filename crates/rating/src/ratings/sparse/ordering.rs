//! The order in which rows are eliminated.
//!
//! The row with the fewest neighbours is eliminated first, since elimination connects all neighbours
//! of a row with each other (minimum degree: Markowitz 1957; Tinney and Walker 1967). The graph that
//! remains is kept as a quotient graph: an eliminated row stands for the edges between its neighbours
//! and is called an element. Degrees are upper bounds, and rows with the same neighbours are merged
//! (Amestoy, Davis and Duff 1996, "An approximate minimum degree ordering algorithm").

use super::graph::Graph;

/// Rows with more neighbours than this and than [`HUB_FACTOR`] `√n` are eliminated last. Eliminating
/// a neighbour scans all edges of such a row, which took quadratic time for an anchor that has
/// played everyone.
const HUB_DEGREE: f64 = 16.0;

/// See [`HUB_DEGREE`]; the value of Amestoy, Davis and Duff's program.
const HUB_FACTOR: f64 = 10.0;

/// All rows in the order of their elimination.
pub(super) fn minimum_degree(graph: &Graph) -> Vec<u32> {
    let degrees: Vec<usize> =
        (0..graph.rows() as u32).map(|row| graph.neighbours(row).len()).collect();
    // Rows without neighbours do not count: the order must not depend on them.
    let connected = degrees.iter().filter(|&&degree| degree > 0).count();
    let hub_degree = HUB_DEGREE.max(HUB_FACTOR * (connected as f64).sqrt());
    let mut hubs: Vec<u32> =
        (0..graph.rows() as u32).filter(|&row| degrees[row as usize] as f64 > hub_degree).collect();
    hubs.sort_by_key(|&row| degrees[row as usize]);
    let mut quotient = Quotient::new(graph, &hubs);
    while let Some(pivot) = quotient.next() {
        quotient.eliminate(pivot);
    }
    let mut order = quotient.order;
    order.extend(hubs);
    order
}

/// The quotient graph. A row is a variable, an element, or merged into another row.
struct Quotient {
    /// Adjacent variables of each variable, as far as no element connects them.
    neighbours: Vec<Vec<u32>>,
    /// Adjacent elements of each variable, in the order of their elimination.
    elements: Vec<Vec<u32>>,
    /// Variables that each element connects.
    members: Vec<Vec<u32>>,
    /// Rows that a variable stands for; 0 if it is no variable.
    weight: Vec<u32>,
    /// Rows that an element connects; 0 if it is no element.
    size: Vec<u32>,
    /// Upper bound of the number of rows adjacent to a variable.
    degree: Vec<u32>,
    /// Rows merged into each variable.
    merged: Vec<Vec<u32>>,
    /// Variables by degree. Entries are outdated if the degree has changed since.
    buckets: Vec<Vec<u32>>,
    /// No bucket before this one has an entry.
    least: usize,
    /// Members of the element that is being formed have its number plus 1.
    mark: Vec<u32>,
    /// Rows that are still to be eliminated, without hubs.
    remaining: u32,
    /// Rows of each element outside the one that is being formed.
    outside: Vec<u32>,
    /// The element for which `outside` holds, plus 1.
    counted: Vec<u32>,
    order: Vec<u32>,
}

impl Quotient {
    /// The graph without `hubs`.
    fn new(graph: &Graph, hubs: &[u32]) -> Self {
        let rows = graph.rows();
        let mut weight = vec![1; rows];
        for &hub in hubs {
            weight[hub as usize] = 0;
        }
        let remaining = (rows - hubs.len()) as u32;
        let kept = |row: &u32| weight[*row as usize] > 0;
        let neighbours: Vec<Vec<u32>> = (0..rows as u32)
            .map(|row| graph.neighbours(row).iter().copied().filter(kept).collect())
            .collect();
        let degree: Vec<u32> = neighbours.iter().map(|near| near.len() as u32).collect();
        let mut buckets = vec![Vec::new(); rows];
        // The last entry of a bucket is the first to be taken.
        for row in (0..rows as u32).rev().filter(kept) {
            buckets[degree[row as usize] as usize].push(row);
        }
        Self {
            neighbours,
            elements: vec![Vec::new(); rows],
            members: vec![Vec::new(); rows],
            weight,
            size: vec![0; rows],
            degree,
            merged: vec![Vec::new(); rows],
            buckets,
            least: 0,
            mark: vec![0; rows],
            remaining,
            outside: vec![0; rows],
            counted: vec![0; rows],
            order: Vec::with_capacity(rows),
        }
    }

    /// Takes the variable of least degree; the one that reached it last, if there are several.
    fn next(&mut self) -> Option<u32> {
        while let Some(bucket) = self.buckets.get_mut(self.least) {
            let Some(row) = bucket.pop() else {
                self.least += 1;
                continue;
            };
            let is_current = self.degree[row as usize] as usize == self.least;
            if is_current && self.weight[row as usize] > 0 {
                return Some(row);
            }
        }
        None
    }

    /// Eliminates a variable, which becomes an element.
    fn eliminate(&mut self, pivot: u32) {
        self.put_in_order(pivot);
        let mut members = self.connect(pivot);
        for &row in &members {
            self.count_outside(pivot, row);
        }
        let mut bounds: Vec<u32> = Vec::with_capacity(members.len());
        members.retain(|&row| {
            let bound = self.prune(pivot, row);
            bounds.extend(bound);
            bound.is_some()
        });
        let total: u32 = members.iter().map(|&row| self.weight[row as usize]).sum();
        self.merge_equals(&members);
        for (&row, bound) in members.iter().zip(bounds) {
            let row = row as usize;
            if self.weight[row] > 0 {
                let (inside, others) =
                    (total - self.weight[row], self.remaining - self.weight[row]);
                let degree = bound.min(self.degree[row]) + inside;
                self.degree[row] = degree.min(others);
                self.buckets[self.degree[row] as usize].push(row as u32);
                self.least = self.least.min(self.degree[row] as usize);
                self.elements[row].push(pivot);
            }
        }
        members.retain(|&row| self.weight[row as usize] > 0);
        self.size[pivot as usize] = total;
        self.members[pivot as usize] = members;
    }

    /// Appends a variable and the rows merged into it to the order.
    fn put_in_order(&mut self, row: u32) {
        self.remaining -= self.weight[row as usize];
        self.weight[row as usize] = 0;
        self.order.push(row);
        self.order.append(&mut self.merged[row as usize]);
    }

    /// The variables adjacent to a pivot. The elements adjacent to the pivot end.
    fn connect(&mut self, pivot: u32) -> Vec<u32> {
        let mut members = Vec::new();
        let mut add = |rows: Vec<u32>| {
            for row in rows {
                if self.weight[row as usize] > 0 && self.mark[row as usize] != pivot + 1 {
                    self.mark[row as usize] = pivot + 1;
                    members.push(row);
                }
            }
        };
        add(std::mem::take(&mut self.neighbours[pivot as usize]));
        for element in std::mem::take(&mut self.elements[pivot as usize]) {
            self.size[element as usize] = 0;
            add(std::mem::take(&mut self.members[element as usize]));
        }
        members
    }

    /// Deducts a member of the new element from the other elements that connect it.
    fn count_outside(&mut self, pivot: u32, row: u32) {
        let (size, weight) = (&self.size, self.weight[row as usize]);
        let elements = &mut self.elements[row as usize];
        elements.retain(|&element| size[element as usize] > 0);
        for &element in elements.iter() {
            let element = element as usize;
            if self.counted[element] != pivot + 1 {
                self.counted[element] = pivot + 1;
                self.outside[element] = self.size[element];
            }
            self.outside[element] -= weight;
        }
    }

    /// Removes what the new element covers from the lists of a member. Returns a bound of the number
    /// of adjacent rows outside the element. A member without such rows is eliminated at once.
    fn prune(&mut self, pivot: u32, row: u32) -> Option<u32> {
        let (outside, weight, mark) = (&self.outside, &self.weight, &self.mark);
        let size = &mut self.size;
        self.elements[row as usize].retain(|&element| {
            if outside[element as usize] == 0 {
                size[element as usize] = 0;
            }
            outside[element as usize] > 0
        });
        let is_apart = |other: u32| weight[other as usize] > 0 && mark[other as usize] != pivot + 1;
        self.neighbours[row as usize].retain(|&other| is_apart(other));
        let behind = self.elements[row as usize].iter().map(|&one| outside[one as usize]);
        let beside = self.neighbours[row as usize].iter().map(|&one| weight[one as usize]);
        let bound: u32 = behind.chain(beside).sum();
        if bound == 0 {
            self.put_in_order(row);
            return None;
        }
        Some(bound)
    }

    /// Merges members of the new element that are adjacent to the same rows and elements.
    fn merge_equals(&mut self, members: &[u32]) {
        let sum = |list: &[u32]| list.iter().fold(0, |sum: u32, &one| sum.wrapping_add(one));
        let key = |row: u32| {
            let (near, far) = (&self.neighbours[row as usize], &self.elements[row as usize]);
            (near.len(), far.len(), sum(near).wrapping_add(sum(far)))
        };
        let mut keyed: Vec<_> =
            members.iter().enumerate().map(|(i, &row)| (key(row), i, row)).collect();
        keyed.sort_unstable();
        for group in keyed.chunk_by(|a, b| a.0 == b.0) {
            for (index, &(_, _, first)) in group.iter().enumerate() {
                if self.weight[first as usize] == 0 {
                    continue;
                }
                for &(_, _, second) in &group[index + 1..] {
                    if self.weight[second as usize] > 0 && self.is_equal(first, second) {
                        self.merge(first, second);
                    }
                }
            }
        }
    }

    /// Whether two members of the new element are adjacent to the same rows. Both lists of each have
    /// a fixed order.
    fn is_equal(&self, first: u32, second: u32) -> bool {
        let [first, second] = [first as usize, second as usize];
        self.neighbours[first] == self.neighbours[second]
            && self.elements[first] == self.elements[second]
    }

    fn merge(&mut self, first: u32, second: u32) {
        let [kept, gone] = [first as usize, second as usize];
        self.weight[kept] += self.weight[gone];
        self.weight[gone] = 0;
        let mut rows = std::mem::take(&mut self.merged[gone]);
        self.merged[kept].push(second);
        self.merged[kept].append(&mut rows);
    }
}
