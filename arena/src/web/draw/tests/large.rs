//! Whole games on large boards, as the script receives them.

use std::any::Any;

use ouro_game::catalog::ReplayVisitor;
use ouro_game::record::Replay;
use ouro_game::{maze_dash, snakgame};
use ouro_snakgame::Named;

use super::*;

const MIB: usize = 1 << 20;

/// Frames of a game, with the cells that the script has after the last of them.
fn play(record: &GameRecord) -> (Animation, Vec<u8>, usize) {
    let json = super::super::animate(record, &names(&["a player", "another player"])).unwrap();
    let animation: Animation = serde_json::from_slice(&json).unwrap();
    let BoardStyle::Canvas { width, height } = still(record, &[], 0).unwrap().board_style else {
        panic!("the board is small")
    };
    let mut cells = vec![b'?'; width * height];
    animation.frames.iter().for_each(|frame| apply(&mut cells, &frame.board));
    (animation, cells, json.len())
}

/// The marks that the last position has by the rules, without the links of bodies.
pub(in crate::web) fn last_position(record: &GameRecord) -> Vec<u8> {
    struct Last;
    impl ReplayVisitor for Last {
        type Output = Vec<u8>;

        fn visit<G: Game>(self, game: &G, replay: Replay<'_, G>) -> Vec<u8> {
            let state: &dyn Any = &replay.finish().unwrap();
            if let Some(state) = state.downcast_ref::<maze_dash::State>() {
                let rows = (0..state.height()).rev();
                let cells =
                    rows.flat_map(|y| (0..state.width()).map(move |x| y * state.width() + x));
                let mark = |cell| match (state.is_free(cell), state.is_left(cell)) {
                    (false, _) => b'#',
                    (true, true) => b'.',
                    (true, false) => b'A',
                };
                return cells.map(mark).collect();
            }
            let rules = (game as &dyn Any).downcast_ref::<snakgame::Large>().unwrap();
            let state = state.downcast_ref::<snakgame::State<Box<[u64]>>>().unwrap();
            let config = rules.config();
            let cells = (1..=config.rows)
                .flat_map(|row| (1..=config.columns).map(move |column| (row, column)));
            let mark = |(row, column)| {
                let cell = snakgame::Cell::new(row, column);
                match state.owner(cell) {
                    _ if state.is_empty(cell) => b'.',
                    None => b'#',
                    Some(snakgame::Side::First) => b'A',
                    Some(snakgame::Side::Second) => b'a',
                }
            };
            cells.map(mark).collect()
        }
    }
    record.replay(Last).unwrap()
}

/// Marks without the links of bodies.
fn unlinked(cells: &[u8]) -> Vec<u8> {
    let plain = |&mark: &u8| match mark {
        b'A'..=b'E' => b'A',
        b'a'..=b'e' => b'a',
        other => other,
    };
    cells.iter().map(plain).collect()
}

/// The bodies by their links: from each cell back to the start of its body. Returns the number of
/// starts and asserts that links stay on the board and within a seat.
fn starts(cells: &[u8], width: usize) -> usize {
    for (cell, &mark) in cells.iter().enumerate() {
        let letter = mark.to_ascii_lowercase();
        if !letter.is_ascii_lowercase() {
            continue;
        }
        let from = match letter {
            b'a' => cell,
            b'b' => cell - width,
            b'c' => cell + 1,
            b'd' => cell + width,
            _ => cell - 1,
        };
        assert!(from == cell || from / width == cell / width || from % width == cell % width);
        assert_eq!(unlinked(&[cells[from]]), unlinked(&[mark]));
    }
    cells.iter().filter(|mark| mark.eq_ignore_ascii_case(&b'a')).count()
}

/// Asserts what holds for every game that is shown ply by ply, and returns the bytes of its frames.
fn check(record: &GameRecord, snakes: usize) -> usize {
    let (animation, cells, bytes) = play(record);
    let plies = record.plies.len();
    assert_eq!((animation.frames.len(), animation.every), (plies + 1, 1));
    assert_eq!(animation.note, "");
    let last = animation.frames.last().unwrap();
    assert!(last.caption.starts_with(&format!("Turn {plies}: ")), "{}", last.caption);
    assert!(last.caption.ends_with("The game is over."), "{}", last.caption);
    assert_eq!(unlinked(&cells), last_position(record));
    let BoardStyle::Canvas { width, .. } = still(record, &[], 0).unwrap().board_style else {
        panic!("the board is small")
    };
    let heads = last.marks.matches(['H', 'h']).count();
    assert!((1..=2).contains(&heads) && last.marks.matches(['T', 't']).count() <= heads);
    assert_eq!(starts(&cells, width), snakes);
    bytes
}

/// The number of snakes of both sides at the end, by the texts beside the board.
fn snakes(record: &GameRecord) -> usize {
    let seats = still(record, &[], usize::MAX).unwrap().frame.seats;
    let numbers = seats.split("snakes ").skip(1).map(|rest| rest.split('<').next().unwrap());
    numbers.map(|number| number.parse::<usize>().unwrap()).sum()
}

#[test]
fn every_turn_of_a_contest_game_on_250_by_250_cells_is_shown_in_few_mebibytes() {
    let record = games::against_chef(Named::PlanRepair, 250, 1);
    assert!(record.plies.len() > 25_000, "{} turns of half of 60,000 cells", record.plies.len());
    let bytes = check(&record, snakes(&record));
    // Measured: 12.1 MB. As SVG, its last position alone takes 82 KB, and the game 1.7 GB.
    assert!(bytes < 15 * MIB, "{bytes} bytes");
}

#[test]
fn every_turn_of_a_duel_on_250_by_250_cells_is_shown_below_half_the_limit() {
    let record = games::duel(250, 1);
    let plies = record.plies.len();
    assert_eq!(plies, 59_917);
    let bytes = check(&record, snakes(&record));
    // Measured: 27.8 MB.
    assert!(bytes < 32 * MIB, "{bytes} bytes");
}

#[test]
fn games_on_50_by_50_cells_take_less_than_half_a_mebibyte() {
    let contest = games::against_chef(Named::Editorial, 50, 2);
    let sizes = [check(&games::maze(50, 776, 1), 1), check(&contest, snakes(&contest))];
    // Measured: 214 KB and 455 KB.
    assert!(sizes.iter().all(|&bytes| bytes < MIB / 2), "{sizes:?} bytes");
}

#[test]
fn every_slide_on_the_largest_board_of_maze_dash_is_shown() {
    let record = games::maze(200, 12_400, 1);
    let bytes = check(&record, 1);
    assert_eq!(record.plies.len(), 13_886);
    // Measured: 3.6 MB.
    assert!(bytes < 4 * MIB, "{bytes} bytes");
}

#[test]
fn a_game_with_too_many_bytes_loses_turns_between_and_keeps_its_end() {
    for record in [games::against_chef(Named::Editorial, 50, 2), games::maze(30, 280, 1)] {
        let whole = animate(&record, &[]).unwrap();
        let bytes = recorded::animate_within(&record, &[], usize::MAX).unwrap().len();
        let plies = record.plies.len();
        for parts in [2, 7, 50] {
            let json = recorded::animate_within(&record, &[], bytes / parts).unwrap();
            let thinned: Animation = serde_json::from_slice(&json).unwrap();
            assert!(thinned.every >= parts, "{} for {parts}", thinned.every);
            assert_eq!(thinned.frames.len(), plies.div_ceil(thinned.every) + 1);
            let every = thinned.every;
            let note = format!("Of {plies} turns, 1 in {every} is shown, and the last.");
            assert_eq!(thinned.note, note);
            for (index, frame) in thinned.frames.iter().enumerate() {
                let same = &whole.frames[(index * every).min(plies)];
                assert_eq!((&frame.caption, &frame.seats), (&same.caption, &same.seats));
            }
        }
    }
    let record = games::against_chef(Named::Editorial, 50, 2);
    let json = recorded::animate_within(&record, &[], 100_000).unwrap();
    let thinned: Animation = serde_json::from_slice(&json).unwrap();
    let mut cells = vec![b'?'; 2_500];
    thinned.frames.iter().for_each(|frame| apply(&mut cells, &frame.board));
    assert_eq!(unlinked(&cells), last_position(&record));
    // One frame is the least even if it takes more.
    let json = recorded::animate_within(&record, &[], 0).unwrap();
    let least: Animation = serde_json::from_slice(&json).unwrap();
    assert_eq!(least.frames.len(), 2);
}

#[test]
fn a_page_of_a_large_board_has_a_canvas_a_legend_and_a_drawing_for_pages_without_the_script() {
    let record = games::against_chef(Named::Editorial, 50, 2);
    let Still { board_style, legend, frame, without_script } =
        still(&record, &names(&["a"]), 600).unwrap();
    let page = board_style.with_frame(&frame).into_string();
    let canvas = r#"<canvas class="board" id="frame" width="50" height="50" role="img" hidden aria-labelledby="caption" data-columns="50" data-rows="50" data-board=""#;
    assert!(page.starts_with(canvas), "{page}");
    let mut cells = vec![b'?'; 2_500];
    apply(&mut cells, &frame.board);
    let taken = cells.iter().filter(|mark| mark.is_ascii_uppercase()).count();
    assert_eq!(taken, 600, "one cell a turn");
    assert!(legend.contains(&("seat1", "Chef")) && legend.contains(&("wall", "blocked")));
    let drawing = without_script.unwrap();
    assert_eq!((&drawing.caption, &drawing.seats), (&frame.caption, &frame.seats));
    let page = board_style.without_script().with_frame(&drawing).into_string();
    assert!(page.contains(r#"viewBox="0 0 500 500""#) && page.contains(r#"class="runs seat1""#));
}

#[test]
fn a_live_game_on_a_canvas_sends_the_board_once_and_then_the_changes() {
    let record = games::duel(40, 3);
    let animation = animate(&record, &[]).unwrap();
    let mut renderer = live_renderer(&record.config, record.seed, Vec::new()).unwrap();
    assert_eq!(renderer.board_style(), BoardStyle::Canvas { width: 40, height: 40 });
    assert_eq!(renderer.frame(), animation.frames[0]);
    for (ply, frame) in record.plies.iter().zip(&animation.frames[1..]) {
        renderer.play(ply).unwrap();
        let sent = renderer.frame();
        assert!(sent.board.len() < 20, "{}", sent.board);
        assert_eq!(&sent, frame);
    }
}

#[test]
fn the_densest_frame_of_250_by_250_cells_stays_below_400_kilobytes() {
    let mut svg = String::new();
    for parity in 0..2 {
        grids::runs(&mut svg, "seat0", 250, 250, |x, row| (x + row) % 2 == parity);
    }
    assert!(svg.len() < 400_000, "{} bytes", svg.len());
}
