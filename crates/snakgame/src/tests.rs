//! Repairs and attachments of plans on small boards, and games that strategies join late.

use ouro_game::snakgame::{Board, Cell, Move, OfficialGame, generate};

use crate::attach::Attach;
use crate::field::{Field, NONE};
use crate::named::Named;
use crate::plan::{LISTS, Plan, UNPLANNED};
use crate::repair::Repair;
use crate::splice::Splice;

const SIDE: u16 = 12;

fn board(blocked: &[Cell]) -> Board {
    Board::new(SIDE, SIDE, blocked.iter().copied()).unwrap()
}

/// The cells of rows, line by line, every second one backwards.
fn rows(board: &Board, rows: std::ops::RangeInclusive<u16>) -> Vec<u32> {
    let cell = |row, column| board.index(Cell::new(row, column)) as u32;
    rows.flat_map(|row| {
        let columns: Vec<u16> =
            if row % 2 == 1 { (1..=SIDE).collect() } else { (1..=SIDE).rev().collect() };
        columns.into_iter().map(move |column| cell(row, column))
    })
    .collect()
}

fn start(plan: &mut Plan, list: u8, cells: &[u32]) {
    plan.start(list, cells[0]);
    cells[1..].iter().for_each(|&cell| plan.push(list, cell));
}

/// The cells of a list, after a check that they form a path through empty cells.
fn path(field: Field<'_>, plan: &Plan, list: u8) -> Vec<u32> {
    let (mut cells, mut cell) = (Vec::new(), plan.head(list));
    while cell != NONE {
        assert!(field.is_empty(cell) && plan.owner(cell) == list);
        if let Some(&last) = cells.last() {
            assert!(field.neighbours(last).contains(&cell), "a path moves step by step");
        }
        cells.push(cell);
        cell = plan.next(cell);
    }
    assert_eq!(cells.len().saturating_sub(1), plan.len(list));
    cells
}

#[test]
fn a_break_beside_free_cells_is_bypassed() {
    let broken = Cell::new(5, 6);
    let board = board(&[broken]);
    let field = Field::new(&board);
    let (mut plan, mut repair) = (Plan::new(field.len()), Repair::new(field.len()));
    let cells = rows(&board, 5..=5);
    start(&mut plan, 0, &cells);
    repair.mend(field, &mut plan, board.index(broken) as u32, &mut Vec::new());
    let mended = path(field, &plan, 0);
    assert_eq!((mended[0], mended.last()), (cells[0], cells.last()));
    // Three cells around the break replace it.
    assert_eq!(mended.len(), cells.len() + 2);
}

#[test]
fn breaks_of_a_full_plan_cost_few_cells_and_leave_paths() {
    for column in 1..=SIDE {
        let broken = Cell::new(6, column);
        let board = board(&[broken]);
        let field = Field::new(&board);
        let (mut plan, mut repair) = (Plan::new(field.len()), Repair::new(field.len()));
        start(&mut plan, 0, &rows(&board, 1..=SIDE));
        let mut freed = Vec::new();
        repair.mend(field, &mut plan, board.index(broken) as u32, &mut freed);
        let lists = (0..LISTS as u8).filter(|&list| plan.head(list) != NONE);
        let kept: usize = lists.map(|list| path(field, &plan, list).len()).sum();
        let all = usize::from(SIDE) * usize::from(SIDE);
        // A shortcut to the next row loses the cells up to the turn in both rows.
        assert!(
            kept + 2 * usize::from(SIDE) >= all,
            "column {column}: {kept} cells of {all} are planned"
        );
        freed.sort_unstable();
        freed.dedup();
        let empty = freed.iter().filter(|&&cell| field.is_empty(cell)).count();
        assert_eq!(kept + empty, all - 1, "column {column}: all other cells are freed");
    }
}

#[test]
fn a_fragment_beside_a_list_is_attached_to_its_tail() {
    let board = board(&[]);
    let field = Field::new(&board);
    let (mut plan, mut attach) = (Plan::new(field.len()), Attach::new(field.len()));
    start(&mut plan, 0, &rows(&board, 1..=3));
    // The fragment's ends are far from the list's tail, so both tails have to move.
    start(&mut plan, 2, &rows(&board, 4..=SIDE)[30..]);
    let before = plan.len(0) + plan.len(2);
    let head = plan.head(0);
    assert!(attach.attach(field, &mut plan, 0, &mut Vec::new()));
    assert_eq!((plan.head(0), plan.head(2)), (head, NONE));
    let joined = path(field, &plan, 0);
    assert!(joined.len() + 4 >= before, "{} cells of {before}", joined.len());
}

#[test]
fn a_fragment_out_of_reach_is_not_attached() {
    let wall: Vec<Cell> = (1..=SIDE).map(|column| Cell::new(4, column)).collect();
    let board = board(&wall);
    let field = Field::new(&board);
    let (mut plan, mut attach) = (Plan::new(field.len()), Attach::new(field.len()));
    start(&mut plan, 0, &rows(&board, 1..=3));
    start(&mut plan, 2, &rows(&board, 5..=SIDE));
    assert!(!attach.attach(field, &mut plan, 0, &mut Vec::new()));
    assert_eq!(path(field, &plan, 2).len(), 8 * usize::from(SIDE));
}

/// All cells of the lists, after a check that each list is a path.
fn planned(field: Field<'_>, plan: &Plan) -> Vec<u32> {
    let lists = (0..LISTS as u8).filter(|&list| plan.head(list) != NONE);
    lists.flat_map(|list| path(field, plan, list)).collect()
}

#[test]
fn a_diverted_list_begins_with_the_step_and_keeps_the_other_cells() {
    let board = board(&[]);
    let field = Field::new(&board);
    let cell = |row, column| board.index(Cell::new(row, column)) as u32;
    // From the middle of row 5 to the end of row 12; rows 1 to 4 belong to the other end.
    let own: Vec<u32> = rows(&board, 5..=SIDE)[5..].to_vec();
    let other = rows(&board, 1..=4);
    let right_of = |head: u32| head + 1;
    for (list_of_other, step) in
        [(1, cell(6, 6)), (1, cell(4, 6)), (2, cell(4, 6)), (1, right_of(own[0]))]
    {
        let (mut plan, mut repair) = (Plan::new(field.len()), Repair::new(field.len()));
        start(&mut plan, 0, &own);
        start(&mut plan, list_of_other, &other);
        let mut freed = Vec::new();
        repair.divert(field, &mut plan, 0, step, &mut freed);
        assert_eq!((plan.head(0), plan.next(own[0])), (own[0], step));
        let mut cells = planned(field, &plan);
        let free = freed.into_iter().filter(|&cell| field.is_empty(cell));
        cells.extend(free.filter(|&cell| plan.owner(cell) == UNPLANNED));
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), own.len() + other.len(), "every cell is planned or freed");
    }
}

#[test]
fn a_diverted_list_goes_on_from_an_open_cell() {
    let board = board(&[]);
    let field = Field::new(&board);
    let (mut plan, mut repair) = (Plan::new(field.len()), Repair::new(field.len()));
    let own = rows(&board, 7..=7);
    start(&mut plan, 0, &own);
    let up = own[0] - board.stride() as u32;
    repair.divert(field, &mut plan, 0, up, &mut Vec::new());
    let led = path(field, &plan, 0);
    assert_eq!((led[0], led[1], led.last()), (own[0], up, own.last()));
}

#[test]
fn a_list_goes_on_along_the_longer_part_of_a_fragment() {
    let board = board(&[]);
    let field = Field::new(&board);
    let (mut plan, mut splice) = (Plan::new(field.len()), Splice::new(field.len()));
    let (own, fragment) = (rows(&board, 1..=2), rows(&board, 3..=SIDE));
    start(&mut plan, 0, &own);
    start(&mut plan, 5, &fragment);
    assert_eq!(splice.run(field, &mut plan, 1, &mut Vec::new()), 1);
    assert_eq!(plan.head(0), own[0]);
    assert_eq!(path(field, &plan, 0).len(), own.len() + fragment.len());
    assert_eq!(plan.head(5), NONE);

    // Behind the middle of the fragment the way back to its head is longer.
    let mut plan = Plan::new(field.len());
    let last = rows(&board, 11..=SIDE);
    start(&mut plan, 0, &last);
    start(&mut plan, 5, &rows(&board, 1..=10)[..115]);
    assert_eq!(splice.run(field, &mut plan, 1, &mut Vec::new()), 1);
    let led = path(field, &plan, 0);
    assert!(led.len() > 110 && plan.tail(0) == rows(&board, 1..=1)[0], "{} cells", led.len());

    // A fragment that is no longer than the rest of the list stays one.
    let mut plan = Plan::new(field.len());
    start(&mut plan, 0, &rows(&board, 1..=6));
    start(&mut plan, 5, &rows(&board, 7..=9));
    plan.turn(0);
    assert_eq!(splice.run(field, &mut plan, 1, &mut Vec::new()), 0);
}

#[test]
fn every_strategy_joins_a_game_in_progress_with_an_extension_and_plays_to_its_end() {
    // Chef gives up his snake at random.
    let strategies = Named::ALL.into_iter().filter(|&named| named != Named::Chef);
    for named in strategies {
        for (seed, turns) in [1, 2, 3, 10, 30].into_iter().enumerate() {
            let seed = seed as u64;
            let mut game = OfficialGame::new(generate(14, 14, seed).unwrap(), seed);
            let mut earlier = Named::FewestFree.player(seed);
            while game.result().turns < turns || game.position().extensions().next().is_none() {
                game.advance(earlier.choose(game.position())).unwrap();
            }
            let mut strategy = named.player(seed);
            let first = strategy.choose(game.position());
            assert!(matches!(first, Move::Extend { .. }), "{named:?} after {turns}: {first}");
            let mut action = first;
            loop {
                if let Some(answer) = game.advance(action).unwrap() {
                    strategy.observe(game.position(), answer);
                }
                if game.position().is_over() {
                    break;
                }
                action = strategy.choose(game.position());
            }
            assert_ne!(action, Move::Exit, "{named:?}");
        }
    }
}
