//! Table of the strategies: `snakgame_table SIDE|small|large SEEDS STRATEGY...`.
//!
//! Prints for each strategy the mean score in millions, its share of the one-snake bound, the CPU
//! time of the longest game, and the ratio of mean scores to the editorial's method on the same
//! seeds with a 95 % interval by the jackknife.

use ouro_game::snakgame::{
    Board, BoardType, OfficialResult, generate, generate_official, one_snake_bound, play_official,
};
use ouro_snakgame::Named;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn board(size: &str, seed: u64) -> Result<Board> {
    Ok(match size {
        "small" => generate_official(BoardType::Small, seed),
        "large" => generate_official(BoardType::Large, seed),
        side => generate(side.parse()?, side.parse()?, seed)?,
    })
}

/// CPU time of this process, so that other processes do not disturb the times.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The games of one strategy: result, bound and seconds of each.
fn games(named: Named, size: &str, seeds: u64) -> Result<Vec<(OfficialResult, u64, f64)>> {
    let game = |seed| {
        let board = board(size, seed)?;
        let bound = one_snake_bound(board.empty_count());
        let mut player = named.player(seed);
        let start = cpu_seconds();
        let result = play_official(board, seed, player.as_mut())?;
        Ok((result, bound, cpu_seconds() - start))
    };
    (1..=seeds).map(game).collect()
}

/// Ratio of sums and half of its 95 % interval, by leaving one pair out at a time.
fn ratio(scores: &[f64], base: &[f64]) -> (f64, f64) {
    let (sum, base_sum): (f64, f64) = (scores.iter().sum(), base.iter().sum());
    let left_out: Vec<f64> =
        scores.iter().zip(base).map(|(score, base)| (sum - score) / (base_sum - base)).collect();
    let count = scores.len() as f64;
    let mean = left_out.iter().sum::<f64>() / count;
    let squares: f64 = left_out.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    (sum / base_sum, 1.96 * (squares * (count - 1.0) / count).sqrt())
}

#[expect(clippy::print_stdout, reason = "the table is the output")]
fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [size, seeds, names @ ..] = words.as_slice() else {
        return Err("usage: snakgame_table SIDE|small|large SEEDS STRATEGY...".into());
    };
    let seeds = seeds.parse()?;
    let scores = |games: &[(OfficialResult, u64, f64)]| -> Vec<f64> {
        games.iter().map(|(result, ..)| result.score as f64).collect()
    };
    let base = scores(&games(Named::Editorial, size, seeds)?);
    println!("strategy      score/M  share  snakes  longest s  ratio to the editorial");
    for name in names {
        let named = Named::find(name).ok_or_else(|| format!("no strategy {name}"))?;
        let games = games(named, size, seeds)?;
        let count = games.len() as f64;
        let own = scores(&games);
        let share: f64 =
            games.iter().map(|(result, bound, _)| result.score as f64 / *bound as f64).sum();
        let snakes: u32 = games.iter().map(|(result, ..)| result.snakes).sum();
        let longest = games.iter().map(|(.., seconds)| *seconds).fold(0.0, f64::max);
        let (ratio, half) = ratio(&own, &base);
        println!(
            "{name:12} {:8.3} {:6.3} {:7.1} {longest:10.2}  {ratio:.3} ± {half:.3}",
            own.iter().sum::<f64>() / count / 1e6,
            share / count,
            f64::from(snakes) / count,
        );
    }
    Ok(())
}
