use ouro_game::record::Recorder;
use ouro_game::{ActionMask, connect_four};

use ouro_game::record::ReplayError;
use ouro_game::{Action, Game, GameConfig, GameRecord, GameVisitor, Rng, StepError, Turn};
use serde::Deserialize;

use super::board::BoardStyle;
use super::parts::Frame;
use super::raster::KEPT;
use super::*;

pub(in super::super) mod games;
pub(in super::super) mod large;

/// The frames of a game, read back from JSON.
#[derive(Debug, Deserialize)]
struct Animation {
    #[serde(skip, default = "text")]
    board_style: BoardStyle,
    frames: Vec<Frame>,
    every: usize,
    note: String,
}

/// Reads a text as the script does.
pub(super) fn apply(cells: &mut [u8], text: &str) {
    let (mut at, mut count) = (0, 0);
    for mark in text.bytes() {
        if mark.is_ascii_digit() {
            count = 10 * count + usize::from(mark - b'0');
            continue;
        }
        let end = at + count.max(1);
        if mark != KEPT {
            cells[at..end].fill(mark);
        }
        (at, count) = (end, 0);
    }
}

fn text() -> BoardStyle {
    BoardStyle::Text
}

fn animate(record: &GameRecord, players: &[String]) -> Result<Animation, ReplayError> {
    animate_within(record, players, usize::MAX)
}

fn animate_within(
    record: &GameRecord,
    players: &[String],
    most_bytes: usize,
) -> Result<Animation, ReplayError> {
    let json = recorded::animate_within(record, players, most_bytes)?;
    let animation: Animation = serde_json::from_slice(&json).unwrap();
    let board_style = still(record, players, 0)?.board_style;
    Ok(Animation { board_style, ..animation })
}

/// Records a game of these joint actions.
fn record(config: &GameConfig, seed: u64, plies: &[&[u32]]) -> GameRecord {
    struct Play<'a>(u64, &'a [&'a [u32]], &'a GameConfig);
    impl GameVisitor for Play<'_> {
        type Output = GameRecord;

        fn visit<G: Game>(self, game: G) -> GameRecord {
            let mut recorder = Recorder::new(&game, self.0);
            for ply in self.1 {
                let Turn::Move(movers) = game.turn(recorder.state()) else { break };
                let mut joint = vec![Action::default(); game.players()];
                movers.iter().zip(*ply).for_each(|(seat, &action)| joint[seat] = Action(action));
                recorder.advance(&game, &joint).unwrap();
            }
            recorder.into_record(self.2.clone())
        }
    }
    config.visit(Play(seed, plies, config)).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Two snakes of length 3 on 5 by 5 cells: one about to eat, one about to leave the board.
fn duel() -> GameConfig {
    let text = r#"{"game":"battlesnake","width":5,"height":5,"snakes":2,"minimum_food":0,
        "food_spawn_chance":0,"start":{"width":5,"height":5,"turn":0,"food":[[1,3]],"hazards":[],
        "snakes":[{"health":50,"body":[[1,2],[1,1],[2,1]]},{"health":90,"body":[[4,1],[4,2],[3,2]]}]}}"#;
    serde_json::from_str(text).unwrap()
}

const UP: u32 = 0;
const DOWN: u32 = 1;
const RIGHT: u32 = 3;

#[test]
fn a_duel_is_drawn_with_heads_food_and_the_snake_that_just_died() {
    let animation =
        animate(&record(&duel(), 1, &[&[UP, DOWN], &[UP, RIGHT]]), &names(&["a", "<b>"]));
    let animation = animation.unwrap();
    assert_eq!(animation.board_style, BoardStyle::Cells { width: 5, height: 5 });
    let [first, _, last] = &animation.frames[..] else {
        panic!("{} frames", animation.frames.len())
    };
    let face = r#"<rect class="head" x="-4" y="-4" width="8.6" height="8" rx="3.2"/><circle class="eye" cx="1.6" cy="-1.9" r="1.3"/><circle class="eye" cx="1.6" cy="1.9" r="1.3"/><circle class="pupil" cx="2.1" cy="-1.9" r=".6"/><circle class="pupil" cx="2.1" cy="1.9" r=".6"/></g></g>"#;
    assert_eq!(
        first.board,
        format!(
            r#"<circle class="food" cx="15" cy="15" r="2.5"/><g class="seat0"><path class="body" d="M15 25v10h10"/><g transform="translate(15 25) rotate(270)">{face}<g class="seat1"><path class="body" d="M45 35v-10h-10"/><g transform="translate(45 35) rotate(90)">{face}"#
        )
    );
    assert_eq!(first.caption, "Turn 0.");
    assert!(first.seats.contains("health 50") && first.seats.contains("length 3"));
    assert!(first.seats.contains("&lt;b&gt;") && !first.seats.contains("<b>"));
    // The dead snake is drawn at its last position, faded and below the other snake, and the game
    // is over.
    assert!(last.board.starts_with(r#"<g class="seat1 dead"><path class="body" d="M45 45v-20"/>"#));
    assert!(last.board.contains(r#"<g class="seat0"><path class="body" d="M15 5v30"/>"#));
    assert_eq!(last.caption, "Turn 2: up, right. The game is over.");
    assert!(last.seats.contains("left the board, turn 2") && last.seats.contains("won"));
    let page = animation.board_style.with_frame(first).into_string();
    assert!(
        page.contains(r#"viewBox="0 0 50 50" role="img""#) && page.contains("<g id=\"frame\">")
    );
}

#[test]
fn stones_are_drawn_where_they_fall_and_the_row_that_wins_is_marked() {
    let config = GameConfig::ConnectFour(connect_four::Config::default());
    let moves: [&[u32]; 7] = [&[0], &[6], &[1], &[6], &[2], &[6], &[3]];
    let animation = animate(&record(&config, 1, &moves), &names(&["a", "b"])).unwrap();
    assert_eq!(animation.board_style, BoardStyle::Holes { width: 7, height: 6 });
    let board = |ply: usize| animation.frames[ply].board.as_str();
    assert_eq!(board(0), "");
    assert_eq!(board(1), r#"<circle class="stone seat0 new" cx="5" cy="55" r="4"/>"#);
    assert!(board(4).contains(r#"<circle class="stone seat1 new" cx="65" cy="45" r="4"/>"#));
    assert!(board(7).ends_with(r#"<path class="won" d="M5 55L35 55"/>"#));
}

#[test]
fn marks_of_tic_tac_toe_are_drawn_with_row_one_at_the_bottom() {
    let config = GameConfig::by_name("tic_tac_toe").unwrap();
    let animation = animate(&record(&config, 1, &[&[0], &[8]]), &names(&["a", "b"])).unwrap();
    let board = &animation.frames[2].board;
    assert_eq!(
        board,
        r#"<circle class="mark seat1 new" cx="25" cy="5" r="3"/><path class="mark seat0" d="M2 22l6 6m0-6l-6 6"/>"#
    );
    assert_eq!(animation.frames[2].caption, "Turn 2: c3.");
}

#[test]
fn a_snake_alone_is_drawn_with_its_apple_on_boards_of_either_size() {
    let head = |frame: &Frame| -> (i32, i32) {
        let (_, place) = frame.board.split_once("translate(").unwrap();
        let (x, y) = place.split_once(')').unwrap().0.split_once(' ').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    for size in [4, 12] {
        let text = format!(r#"{{"game":"snake","size":{size}}}"#);
        let config = serde_json::from_str(&text).unwrap();
        let animation = animate(&record(&config, 1, &[&[UP], &[RIGHT]]), &names(&["a"])).unwrap();
        assert_eq!(animation.board_style, BoardStyle::Cells { width: size, height: size });
        assert_eq!(animation.frames[0].board.matches("food").count(), 1);
        assert_eq!(animation.frames.len(), 3);
        let [(x, y), up, right] = [0, 1, 2].map(|ply| head(&animation.frames[ply]));
        assert_eq!((up, right), ((x, y - 10), (x + 10, y - 10)));
        let frame = &animation.frames[2];
        assert!(frame.seats.contains("length 2 of"), "{}", frame.seats);
        assert!(frame.seats.contains("step 2 of"), "{}", frame.seats);
    }
}

/// A Maze Dash board of 3 by 2 cells with an obstacle, from its text.
fn dash() -> GameConfig {
    let text = r##"{"game":"maze_dash","board":".#.\nS.."}"##;
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_maze_is_drawn_with_its_obstacles_and_the_path_from_start_to_head() {
    let animation = animate(&record(&dash(), 1, &[&[RIGHT], &[UP]]), &names(&["a"])).unwrap();
    assert_eq!(animation.board_style, BoardStyle::Cells { width: 3, height: 2 });
    let wall = r#"<path class="runs wall" transform="translate(0 5) scale(10)" d="M1 0h1"/>"#;
    let path = |d: &str, x: i32, y: i32| {
        format!(
            r#"{wall}<g class="seat0"><path class="body" d="{d}"/><circle class="start" cx="5" cy="15" r="4"/><circle class="end" cx="{x}" cy="{y}" r="4"/></g>"#
        )
    };
    assert_eq!(animation.frames[0].board, path("M5 15h0", 5, 15));
    assert_eq!(animation.frames[2].board, path("M5 15h0h20v-10", 25, 5));
    let seats = &animation.frames[2].seats;
    assert!(seats.contains("4 of 5 cells, 80 %") && seats.contains("slides 2"), "{seats}");
}

#[test]
fn sides_of_snakgame_are_drawn_with_blocked_cells_and_ends() {
    let text = r##"{"game":"snakgame","rows":2,"columns":4,"board":["..#.","#..#"]}"##;
    let config: GameConfig = serde_json::from_str(text).unwrap();
    let animation = animate(&random(&config, 1, 2), &names(&["a", "b"])).unwrap();
    assert_eq!(animation.board_style, BoardStyle::Cells { width: 4, height: 2 });
    let wall =
        r#"<path class="runs wall" transform="translate(0 5) scale(10)" d="M2 0h1M0 1h1m2 0h1"/>"#;
    assert_eq!(animation.frames[0].board, wall);
    let last = &animation.frames[2];
    assert!(last.board.starts_with(wall), "{}", last.board);
    for seat in ["seat0", "seat1"] {
        assert_eq!(last.board.matches(&format!(r#"class="runs {seat}""#)).count(), 1);
        assert_eq!(last.board.matches(&format!(r#"class="end {seat}""#)).count(), 1);
    }
    assert!(last.seats.contains("score 0") && last.seats.contains("snakes 1"), "{}", last.seats);
}

/// Records at most `plies` plies of random play.
fn random(config: &GameConfig, seed: u64, plies: usize) -> GameRecord {
    struct Play<'a>(&'a GameConfig, u64, usize);
    impl GameVisitor for Play<'_> {
        type Output = GameRecord;

        fn visit<G: Game>(self, game: G) -> GameRecord {
            let mut recorder = Recorder::new(&game, self.1);
            let mut rng = Rng::new(self.1, "choices");
            let mut mask = ActionMask::new(game.action_count());
            for _ in 0..self.2 {
                let Turn::Move(movers) = game.turn(recorder.state()) else { break };
                let mut joint = vec![Action::default(); game.players()];
                for seat in movers.iter() {
                    game.legal(recorder.state(), seat, &mut mask);
                    let legal: Vec<Action> = mask.iter().collect();
                    joint[seat] = legal[(rng.bits() % legal.len() as u64) as usize];
                }
                recorder.advance(&game, &joint).unwrap();
            }
            recorder.into_record(self.0.clone())
        }
    }
    config.visit(Play(config, seed, plies)).unwrap()
}

#[test]
fn live_games_of_maze_dash_and_snakgame_are_rendered_like_their_records() {
    let maze = (dash(), record(&dash(), 1, &[&[RIGHT], &[UP]]));
    let snakes: GameConfig = serde_json::from_str(r#"{"game":"snakgame"}"#).unwrap();
    let snakes = (snakes.clone(), random(&snakes, 5, 12));
    for (config, record) in [maze, snakes] {
        let animation = animate(&record, &[]).unwrap();
        let mut renderer = live_renderer(&config, record.seed, Vec::new()).unwrap();
        let mut frames = vec![renderer.frame()];
        for ply in &record.plies {
            renderer.play(ply).unwrap();
            frames.push(renderer.frame());
        }
        assert_eq!((renderer.board_style(), frames), (animation.board_style, animation.frames));
    }
}

#[test]
fn other_games_are_rendered_as_text() {
    let (board, seats, caption) = ("x.\n.o".to_owned(), String::new(), String::new());
    let frame = Frame { board, marks: String::new(), seats, caption };
    let page = BoardStyle::Text.with_frame(&frame).into_string();
    assert_eq!(page, "<pre class=\"board\" id=\"frame\">x.\n.o</pre>");
}

#[test]
fn a_live_game_is_rendered_like_its_record() {
    let plies: [&[u32]; 2] = [&[UP, DOWN], &[UP, RIGHT]];
    let players = names(&["a", "b"]);
    let animation = animate(&record(&duel(), 1, &plies), &players).unwrap();
    let mut renderer = live_renderer(&duel(), 1, players).unwrap();
    let mut frames = vec![renderer.frame()];
    for ply in plies {
        renderer.play(&[Action(ply[0]), Action(ply[1])]).unwrap();
        frames.push(renderer.frame());
    }
    assert_eq!((renderer.board_style(), frames), (animation.board_style, animation.frames));
    assert_eq!(renderer.play(&[Action(0)]), Err(StepError::GameOver));
}

#[test]
fn a_record_that_does_not_replay_is_refused() {
    let mut broken = record(&duel(), 1, &[&[UP, DOWN]]);
    broken.digests[1] ^= 1;
    let error = animate(&broken, &[]).unwrap_err();
    assert!(matches!(error, ReplayError::Digest { .. }), "{error}");
}

#[test]
fn seats_that_share_the_best_outcome_drew() {
    for draw in [0.0, -0.5, -1.0] {
        assert_eq!(result(draw, &[draw, draw]), "drew");
        assert_eq!(result(-1.0, &[draw.max(-0.9), draw.max(-0.9), -1.0]), "lost");
    }
    assert_eq!((result(1.0, &[1.0, -1.0]), result(-1.0, &[1.0, -1.0])), ("won", "lost"));
    assert_eq!(result(0.2, &[0.4, 0.2]), "came out ahead");
}

#[test]
fn a_single_player_wins_loses_or_ends() {
    for (outcome, expected) in [(1.0, "won"), (0.3, "ended"), (0.0, "ended"), (-1.0, "lost")] {
        assert_eq!(result(outcome, &[outcome]), expected);
    }
}
