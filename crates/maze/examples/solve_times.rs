//! Times of the solver: `solve_times SIDE OBSTACLES BOARDS given|free SECONDS THREADS`.
//!
//! Prints one line for each generated board, then the median. A board that is not solved within the
//! seconds counts as infinitely slow.

use std::time::{Duration, Instant};

use ouro_game::maze_dash::{Solution, generate};
use ouro_maze::{Answer, Limits, solve};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [side, obstacles, boards, start, seconds, threads] = words.as_slice() else {
        return Err("usage: solve_times SIDE OBSTACLES BOARDS given|free SECONDS THREADS".into());
    };
    let (side, obstacles) = (side.parse()?, obstacles.parse()?);
    let limit = Duration::from_secs_f64(seconds.parse()?);
    let limits = Limits { threads: threads.parse()?, seed: 1 };
    let mut times = Vec::new();
    for seed in 0..boards.parse()? {
        let begin = Instant::now();
        let (mut board, _) = generate(side, side, obstacles, seed)?;
        let generated = begin.elapsed();
        if start == "free" {
            board = board.with_start(None)?;
        }
        let begin = Instant::now();
        let solved = solve(&board, limits, &|_| begin.elapsed() < limit);
        let time = begin.elapsed();
        let word = match solved.answer {
            Answer::Path(path) => {
                Solution::from_path(&board, &path).check(&board)?;
                times.push(time.as_secs_f64());
                "solved"
            }
            Answer::NoSolution => return Err(format!("seed {seed}: refuted").into()),
            Answer::Stopped => {
                times.push(f64::INFINITY);
                "stopped"
            }
        };
        println!("{seed} {word} {time:.4?} {:?} generated in {generated:.3?}", solved.progress);
    }
    times.sort_by(f64::total_cmp);
    let failed = times.iter().filter(|time| time.is_infinite()).count();
    println!("median {:.4} s, {failed} of {} not solved", times[times.len() / 2], times.len());
    Ok(())
}
