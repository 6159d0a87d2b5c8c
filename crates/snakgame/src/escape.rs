//! Ways out for an end of the snake that the opponent comes near.
//!
//! An end is lost when the opponent takes the last cells that connect it with the open part of the
//! board. If few ways without a common cell lead there, a few cells are enough for that. The number of
//! ways is found by augmenting paths (Ford and Fulkerson 1956) in a graph in which every cell has an
//! entry and an exit.

use std::collections::VecDeque;

use crate::field::{Field, NONE};

/// The opponent is near if one of his ends is at most so many steps away.
const NEAR: usize = 10;
/// A way leads out if it reaches a cell at least so many steps from the ends of the opponent.
const OUTSIDE: usize = 30;
/// More ways than these are safe.
const MOST_WAYS: u32 = 2;

/// An end with few ways out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Danger {
    /// Ways out without a common cell, at least one.
    pub(crate) ways: u32,
    /// Steps to the nearest end of the opponent.
    pub(crate) distance: usize,
    /// The first cell of a shortest way.
    pub(crate) step: u32,
}

/// One side of a cell in the graph of the search.
#[derive(Clone, Copy)]
enum Node {
    Entry(u32),
    Exit(u32),
}

impl Node {
    fn cell(self) -> u32 {
        match self {
            Self::Entry(cell) | Self::Exit(cell) => cell,
        }
    }

    fn index(self) -> usize {
        match self {
            Self::Entry(cell) => 2 * cell as usize,
            Self::Exit(cell) => 2 * cell as usize + 1,
        }
    }
}

/// Buffers of the search.
pub(crate) struct Escape {
    /// Number of the search that reached a node.
    seen: Vec<u32>,
    /// The node from which a node was reached; itself for the first.
    from: Vec<Node>,
    /// The cell before a cell on its way, valid where `used` has the number of the end.
    before: Vec<u32>,
    used: Vec<u32>,
    searches: u32,
    ends: u32,
    open: VecDeque<Node>,
}

impl Escape {
    pub(crate) fn new(cells: usize) -> Self {
        Self {
            seen: vec![0; 2 * cells],
            from: vec![Node::Exit(NONE); 2 * cells],
            before: vec![NONE; cells],
            used: vec![0; cells],
            searches: 0,
            ends: 0,
            open: VecDeque::new(),
        }
    }

    /// The danger for an end of the snake. `None` if the opponent is not near, if many ways lead out,
    /// or if none does.
    pub(crate) fn danger(
        &mut self,
        field: Field<'_>,
        end: u32,
        opponent: [u32; 2],
    ) -> Option<Danger> {
        let distance = opponent.map(|other| field.distance(other, end)).into_iter().min()?;
        if distance > NEAR {
            return None;
        }
        self.ends += 1;
        let step = self.augment(field, end, opponent)?;
        let mut ways = 1;
        while ways <= MOST_WAYS && self.augment(field, end, opponent).is_some() {
            ways += 1;
        }
        (ways <= MOST_WAYS).then_some(Danger { ways, distance, step })
    }

    /// Finds one more way and returns the first cell of the path that gave it.
    fn augment(&mut self, field: Field<'_>, end: u32, opponent: [u32; 2]) -> Option<u32> {
        let last = self.search(field, end, opponent)?;
        let mut to = last;
        loop {
            let from = self.from[to.index()];
            match (from, to) {
                // Back through a cell: it is on no way any more.
                (Node::Exit(cell), Node::Entry(next)) if cell == next => {
                    self.used[cell as usize] = 0;
                }
                (Node::Exit(cell), Node::Entry(next)) => {
                    self.used[next as usize] = self.ends;
                    self.before[next as usize] = cell;
                    if cell == end {
                        return Some(next);
                    }
                }
                _ => {}
            }
            to = from;
        }
    }

    /// The exit of the first cell outside that a path reaches.
    fn search(&mut self, field: Field<'_>, end: u32, opponent: [u32; 2]) -> Option<Node> {
        self.searches += 1;
        self.open.clear();
        self.reach(Node::Exit(end), Node::Exit(end));
        while let Some(node) = self.open.pop_front() {
            let cell = node.cell();
            let is_used = self.used[cell as usize] == self.ends;
            match node {
                // A used cell is left only to the cell before it on its way.
                Node::Entry(_) if is_used => {
                    let before = self.before[cell as usize];
                    if before != end {
                        self.reach(Node::Exit(before), node);
                    }
                }
                Node::Entry(_) => self.reach(Node::Exit(cell), node),
                Node::Exit(_) => {
                    if !is_used && opponent.iter().all(|&at| field.distance(at, cell) >= OUTSIDE) {
                        return Some(node);
                    }
                    if is_used {
                        self.reach(Node::Entry(cell), node);
                    }
                    for near in field.neighbours(cell) {
                        let is_way = self.used[near as usize] == self.ends
                            && self.before[near as usize] == cell;
                        if field.is_empty(near) && !is_way {
                            self.reach(Node::Entry(near), node);
                        }
                    }
                }
            }
        }
        None
    }

    fn reach(&mut self, node: Node, from: Node) {
        let index = node.index();
        if self.seen[index] != self.searches {
            self.seen[index] = self.searches;
            self.from[index] = from;
            self.open.push_back(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouro_game::snakgame::{Board, Cell};

    const SIDE: u16 = 60;

    /// The danger for an end at (30, 10) on a board on which the cells are blocked.
    fn danger(blocked: impl IntoIterator<Item = Cell>, opponent: Cell) -> Option<(u32, Cell)> {
        let board = Board::new(SIDE, SIDE, blocked).unwrap();
        let field = Field::new(&board);
        let index = |cell| board.index(cell) as u32;
        let found = Escape::new(field.len()).danger(
            field,
            index(Cell::new(30, 10)),
            [index(opponent), index(opponent)],
        )?;
        Some((found.ways, board.cell(found.step as usize)))
    }

    /// Walls around a room with doors of one cell in its right wall.
    fn room(doors: &[u16]) -> Vec<Cell> {
        let ends = [25, 35].into_iter().flat_map(|row| (1..=14).map(move |column| (row, column)));
        let right = (26..35).filter(|row| !doors.contains(row)).map(|row| (row, 14));
        ends.chain(right).map(|(row, column)| Cell::new(row, column)).collect()
    }

    #[test]
    fn an_end_in_the_open_or_far_from_the_opponent_is_safe() {
        assert_eq!(danger([], Cell::new(30, 14)), None);
        assert_eq!(danger(room(&[30]), Cell::new(30, 25)), None);
    }

    #[test]
    fn the_ways_out_of_a_room_are_its_doors() {
        let opponent = Cell::new(30, 17);
        assert_eq!(danger(room(&[]), opponent), None);
        let (ways, step) = danger(room(&[28]), opponent).unwrap();
        assert_eq!(ways, 1);
        assert!(step == Cell::new(29, 10) || step == Cell::new(30, 11));
        assert_eq!(danger(room(&[28, 32]), opponent).unwrap().0, 2);
        assert_eq!(danger(room(&[27, 30, 33]), opponent), None);
    }

    #[test]
    fn a_second_way_is_found_where_the_shortest_way_blocks_it() {
        // The shortest way crosses from the upper to the lower passage; two ways need both ends.
        let mut walls = Vec::new();
        for column in 8..=58 {
            walls.push(Cell::new(28, column));
            walls.push(Cell::new(32, column));
            if column != 10 && column != 20 && column != 30 {
                walls.push(Cell::new(30, column));
            }
        }
        walls.extend([29, 30, 31].map(|row| Cell::new(row, 8)));
        walls.push(Cell::new(29, 25));
        let (ways, _) = danger(walls.iter().copied(), Cell::new(30, 7)).unwrap();
        assert_eq!(ways, 1, "the upper passage is closed, so one cell of the lower one is enough");
        walls.pop();
        assert_eq!(danger(walls, Cell::new(30, 7)).unwrap().0, 2);
    }
}
