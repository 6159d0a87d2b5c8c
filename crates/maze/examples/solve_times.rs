//! Times of the solver on boards from files or from the generator.
//!
//! ```text
//! solve_times search|backtracking|sat|mcts given|free SECONDS THREADS SOURCE…
//! ```
//!
//! A source is `WIDTHxHEIGHT:OBSTACLES:BOARDS`, for generated boards, or a file with one board a line
//! in the public format (`x=…&y=…&board=…`). With `free`, given starts are removed. The table has
//! one line for each source: boards, boards not solved within the seconds, and the times of all
//! boards. A board that is not solved counts as infinitely slow. Times are in seconds: of the processor
//! with one thread, so that a busy machine does not distort them, and of the clock with more.
//!
//! With `OURO_EACH=1` each board is printed as well.

#![expect(clippy::print_stdout, reason = "the table is the output")]

use std::time::{Duration, Instant};

use ouro_game::maze_dash::{Board, Solution, generate};
use ouro_maze::{Answer, Limits, Method};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [method, start, seconds, threads, sources @ ..] = words.as_slice() else {
        return Err(
            "usage: solve_times search|backtracking|sat|mcts given|free SECONDS THREADS SOURCE…"
                .into(),
        );
    };
    let method =
        Method::from_name(method).ok_or("methods are search, backtracking, sat and mcts")?;
    let limit = Duration::from_secs_f64(seconds.parse()?);
    let limits = Limits { threads: threads.parse()?, seed: 1 };
    let each = std::env::var_os("OURO_EACH").is_some();
    println!("| source | boards | failed | median | mean | p90 | max | nodes |");
    println!("|---|---|---|---|---|---|---|---|");
    for source in sources {
        let mut times = Vec::new();
        let mut nodes = 0;
        for (number, board) in boards(source)?.into_iter().enumerate() {
            let board = if start == "free" { board.with_start(None)? } else { board };
            let timer = Timer::start(limits.threads);
            let solved = method.solve(&board, limits, &|_| timer.elapsed() < limit);
            let seconds = timer.elapsed().as_secs_f64();
            times.push(match &solved.answer {
                Answer::Path(path) => {
                    Solution::from_path(&board, path).check(&board)?;
                    seconds
                }
                Answer::NoSolution if source.contains(".txt") => seconds,
                Answer::NoSolution => return Err(format!("board {number} refuted").into()),
                Answer::Stopped => f64::INFINITY,
            });
            nodes += solved.progress.nodes;
            if each {
                let word = match solved.answer {
                    Answer::Path(_) => "solved",
                    Answer::NoSolution => "refuted",
                    Answer::Stopped => "stopped",
                };
                println!("{number} {word} {seconds:.4} s {:?}", solved.progress);
            }
        }
        println!("{}", row(source, times, nodes));
    }
    Ok(())
}

/// Time since a start, of this thread's processor or of the clock.
enum Timer {
    Processor(Duration),
    Clock(Instant),
}

impl Timer {
    fn start(threads: usize) -> Self {
        if threads == 1 { Self::Processor(processor()) } else { Self::Clock(Instant::now()) }
    }

    fn elapsed(&self) -> Duration {
        match self {
            Self::Processor(start) => processor().saturating_sub(*start),
            Self::Clock(start) => start.elapsed(),
        }
    }
}

/// Processor time of this thread.
fn processor() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The boards of a source.
fn boards(source: &str) -> Result<Vec<Board>, Failure> {
    let numbers: Option<Vec<u64>> =
        source.split([':', 'x']).map(|word| word.parse().ok()).collect();
    if let Some([width, height, obstacles, boards]) = numbers.as_deref() {
        let make = |seed| generate(*width as usize, *height as usize, *obstacles as usize, seed);
        return (0..*boards).map(|seed| Ok(make(seed)?.0)).collect();
    }
    std::fs::read_to_string(source)?.lines().map(|line| Ok(line.parse()?)).collect()
}

/// The line of the table for a source.
fn row(source: &str, mut times: Vec<f64>, nodes: u64) -> String {
    times.sort_by(f64::total_cmp);
    let boards = times.len();
    let failed = times.iter().filter(|time| time.is_infinite()).count();
    let at = |share: usize| times.get((boards * share / 100).min(boards.saturating_sub(1)));
    let show = |time: Option<&f64>| match time {
        Some(time) if time.is_finite() => format!("{time:.4}"),
        _ => "-".to_owned(),
    };
    let mean = times.iter().sum::<f64>() / boards as f64;
    let [median, p90, max] = [at(50), at(90), at(100)].map(show);
    let mean = show(Some(&mean));
    format!("| {source} | {boards} | {failed} | {median} | {mean} | {p90} | {max} | {nodes} |")
}
