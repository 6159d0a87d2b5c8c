//! Recorded games of large boards, played well.

use ouro_game::maze_dash::{self, MazeDash, Solution, Style};
use ouro_game::record::Recorder;
use ouro_game::snakgame::{self, Large, Mode, OfficialGame, Snakgame, Words};
use ouro_game::{Action, ActionMask, Game, GameConfig, GameRecord, Rng, Turn};
use ouro_snakgame::Named;

/// Solves a generated board of Maze Dash by the generator's own path.
pub(in crate::web) fn maze(side: usize, obstacles: usize, seed: u64) -> GameRecord {
    let (board, path) =
        maze_dash::generate_in_style(side, side, obstacles, seed, Style::Standard).unwrap();
    let config = maze_dash::Config { board: Some(board.to_string()), ..Default::default() };
    let game = MazeDash::new(config.clone()).unwrap();
    let mut recorder = Recorder::new(&game, seed);
    for direction in Solution::from_path(&board, &path).moves {
        recorder.advance(&game, &[Action(direction as u32)]).unwrap();
    }
    recorder.into_record(GameConfig::MazeDash(config))
}

/// A game of SNAKGAME of a strategy against Chef, on a board of this many rows and columns.
pub(in crate::web) fn against_chef(named: Named, side: u16, seed: u64) -> GameRecord {
    let board = snakgame::generate(side, side, seed).unwrap();
    let mut official = OfficialGame::new(board, seed);
    let mut player = named.player(seed);
    let config = snakgame::Config {
        mode: Mode::Official,
        rows: side,
        columns: side,
        board_seed: Some(seed),
        ..Default::default()
    };
    let game = Large::new(config).unwrap();
    let mut recorder = Recorder::new(&game, seed);
    while !official.position().is_over() {
        let choice = player.choose(official.position());
        play(&game, &mut recorder, choice);
        if let Some(answer) = official.advance(choice).unwrap() {
            player.observe(official.position(), answer);
        }
    }
    recorder.into_record(GameConfig::Snakgame(game.config().clone()))
}

fn play<W: Words>(
    game: &Snakgame<W>,
    recorder: &mut Recorder<Snakgame<W>>,
    choice: snakgame::Move,
) {
    let action = game.move_action(recorder.state(), choice).unwrap();
    recorder.advance(game, &[action]).unwrap();
}

/// A duel of random players that extend their snakes while they can.
pub(in crate::web) fn duel(side: u16, seed: u64) -> GameRecord {
    let config = snakgame::Config { rows: side, columns: side, ..Default::default() };
    let game = Large::new(config).unwrap();
    let mut recorder = Recorder::new(&game, seed);
    let mut rng = Rng::new(seed, "choices");
    let extensions = game.config().cells() as u32..game.action_count() as u32;
    let mut mask = ActionMask::new(game.action_count());
    while let Turn::Move(movers) = game.turn(recorder.state()) {
        let seat = movers.iter().next().unwrap();
        game.legal(recorder.state(), seat, &mut mask);
        let possible: Vec<Action> =
            extensions.clone().map(Action).filter(|&action| mask.contains(action)).collect();
        let choice = match &possible[..] {
            [] => mask.iter().next().unwrap(),
            some => some[(rng.bits() % some.len() as u64) as usize],
        };
        let mut joint = [Action::default(); 2];
        joint[seat] = choice;
        recorder.advance(&game, &joint).unwrap();
    }
    recorder.into_record(GameConfig::Snakgame(game.config().clone()))
}
