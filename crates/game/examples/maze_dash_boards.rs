//! Figures of generated boards of Maze Dash: `maze_dash_boards WIDTH HEIGHT OBSTACLES BOARDS STYLE`,
//! where the style is `plain`, `standard` or `hard`.
//!
//! Prints one line for each board: slides and decisions of its solution, the share of stops at which
//! the next slide is forced, and the time of the generator. The last board is drawn.
#![expect(clippy::print_stdout, reason = "its lines are its output")]

use std::time::Instant;

use ouro_game::maze_dash::{Solution, Style, generate_in_style};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [width, height, obstacles, boards, style] = words.as_slice() else {
        return Err("usage: maze_dash_boards WIDTH HEIGHT OBSTACLES BOARDS STYLE".into());
    };
    let (width, height, obstacles) = (width.parse()?, height.parse()?, obstacles.parse()?);
    let style = Style::from_name(style)
        .ok_or_else(|| format!("style is {style}; write plain, standard or hard"))?;
    let mut drawn = String::new();
    for seed in 0..boards.parse()? {
        let begin = Instant::now();
        let (board, path) = generate_in_style(width, height, obstacles, seed, style)?;
        let time = begin.elapsed();
        let solution = Solution::from_path(&board, &path);
        let slides = solution.moves.len();
        let decisions = solution.decisions(&board)?.moves.len();
        let forced = 100 * (slides - decisions) / slides.max(1);
        println!("{seed}: {slides} slides, {decisions} decisions, {forced} % forced, {time:.3?}");
        drawn = board.to_string();
    }
    print!("{drawn}");
    Ok(())
}
