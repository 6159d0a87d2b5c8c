//! The content of the panel of `ouro train`: events folded into lines of text.
//!
//! A [`View`] does not depend on a terminal. [`lines`](View::lines) depends only on the events so
//! far, the time and the width. No line exceeds the width.

use ouro_rating::Estimate;

use super::event::{Clock, Event, Match, Progress, Rated, Start};
use super::ratings::Difference;

/// Width of the column of names.
const NAME: usize = 12;
/// Maximum length of the gate's progress bar.
const BAR: usize = 24;

/// The state of a run, as far as events have reported it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct View {
    start: Start,
    progress: Progress,
    gate: Option<Match>,
    /// The difference of the best checkpoint to another one.
    difference: Option<Difference>,
    pause_reason: Option<String>,
    draining: bool,
}

impl View {
    /// Applies an event.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Start(start) => {
                self.progress.generation = start.generation;
                self.progress.step = start.step;
                self.progress.games = start.games;
                self.start = start.clone();
            }
            Event::Progress(progress) => {
                self.gate.clone_from(&progress.gate);
                self.progress = progress.clone();
            }
            Event::Promotion(decision) => {
                self.progress.pool = decision.pool;
                self.gate = None;
            }
            Event::Rejection(_) | Event::Dropped { .. } | Event::Overtaken { .. } => {
                self.gate = None;
            }
            Event::Pause { reason } => self.pause_reason = Some(reason.clone()),
            Event::Resumed => self.pause_reason = None,
            Event::Draining => self.draining = true,
            Event::End(_) => {}
        }
    }

    /// Updates the match at the gate.
    pub(super) fn note_gate(&mut self, played: Match) {
        self.gate = Some(played);
    }

    /// Updates the difference of the best checkpoint to another one.
    pub(super) fn note_difference(&mut self, difference: Option<Difference>) {
        self.difference = difference;
    }

    /// Returns the lines of the panel `seconds` after the start.
    pub(super) fn lines(&self, seconds: f64, width: usize) -> Vec<String> {
        let Self { start, progress, .. } = self;
        let mut rows = vec![
            ("run", format!("{}  {} in {}", Clock(seconds), start.game, start.run)),
            (
                "learned",
                format!(
                    "generation {}   step {}   games {}   pool {}",
                    progress.generation.0, progress.step, progress.games, progress.pool
                ),
            ),
            (
                "speed",
                format!(
                    "{:.1} games/s   {:.0} moves/s",
                    progress.games_per_second, progress.moves_per_second
                ),
            ),
            ("loss", self.loss()),
            ("gate", self.at_gate(width)),
            ("Elo", self.elo()),
            ("next", self.next()),
        ];
        if let Some(page) = &start.page {
            rows.push(("page", page.clone()));
        }
        let cut = |(name, what): (&str, String)| -> String {
            format!("{name:<NAME$}{what}").chars().take(width).collect()
        };
        rows.into_iter().map(cut).collect()
    }

    fn loss(&self) -> String {
        let Progress { loss, policy_loss, value_loss, entropy, .. } = self.progress;
        match (loss, policy_loss, value_loss, entropy) {
            (Some(loss), Some(policy), Some(value), Some(entropy)) => {
                format!("{loss:.3}   policy {policy:.3}   value {value:.3}   entropy {entropy:.3}")
            }
            _ if self.progress.step == 0 => "no step yet".to_owned(),
            _ => "none read since the start".to_owned(),
        }
    }

    /// Returns the row of the gate match: progress bar, games and score.
    fn at_gate(&self, width: usize) -> String {
        let Some(gate) = &self.gate else { return "no candidate".to_owned() };
        let percent = |share: f64| 100.0 * share;
        let score = match gate.games {
            0 => String::new(),
            _ => format!(
                "   {:.1} % ({:.1} to {:.1}), needs {:.1}",
                percent(gate.score),
                percent(gate.score_low),
                percent(gate.score_high),
                percent(gate.threshold)
            ),
        };
        let text = format!(" {}/{}{score}", gate.games, gate.max_games);
        // The numbers take precedence over the bar.
        let cells = width.saturating_sub(NAME + text.len() + 2).min(BAR);
        if cells < 4 {
            return text.trim_start().to_owned();
        }
        let share = f64::from(gate.games) / f64::from(gate.max_games.max(1));
        let full = ((share * cells as f64).round() as usize).min(cells);
        format!("[{}{}]{text}", "#".repeat(full), "-".repeat(cells - full))
    }

    /// Returns the row of the best checkpoint: its Elo, and its difference to another checkpoint, or
    /// its games if there is no other.
    fn elo(&self) -> String {
        let Some(best) = &self.progress.best else { return "no rating yet".to_owned() };
        let Rated { player, elo, elo_low, elo_high, games, .. } = best;
        let elo = with_margin(Estimate { value: *elo, low: *elo_low, high: *elo_high });
        match &self.difference {
            Some(Difference { to, elo: difference }) => {
                format!("{elo}   {player}, {} to {to}", with_margin(*difference))
            }
            None => format!("{elo}   {player}, over {games} games"),
        }
    }

    /// The next step of the run, or the reason why it is paused.
    fn next(&self) -> String {
        let Self { start, progress, .. } = self;
        if let Some(pause_reason) = &self.pause_reason {
            return format!("PAUSED: {pause_reason}");
        }
        if self.draining {
            return "draining; Ctrl-C again stops at once".to_owned();
        }
        let collected = progress.positions.min(start.min_positions);
        if progress.step == 0 && collected < start.min_positions {
            return format!("first step after {collected} of {} positions", start.min_positions);
        }
        let every = start.generation_steps.max(1);
        let training = format!(
            "generation {} after {} of {every} steps",
            progress.generation.next().0,
            progress.step % every
        );
        match &self.gate {
            Some(gate) => format!("{training}; {} plays {}", gate.candidate, gate.champion),
            None => training,
        }
    }
}

/// A figure with half the width of its interval, such as `+212 ± 31`.
fn with_margin(Estimate { value, low, high }: Estimate) -> String {
    format!("{value:+.0} ± {:.0}", (high - low) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouro_net::Generation;

    fn started() -> View {
        let mut view = View::default();
        view.note(&Event::Start(Start {
            new: true,
            run: "runs/duel-7x7".to_owned(),
            game: "battlesnake".to_owned(),
            page: Some("http://127.0.0.1:8080".to_owned()),
            generation_steps: 100,
            min_positions: 4_096,
            ..Start::default()
        }));
        view
    }

    fn at_gate() -> Match {
        Match {
            candidate: "generation-12".to_owned(),
            champion: "generation-11".to_owned(),
            games: 100,
            max_games: 400,
            wins: 60,
            draws: 5,
            losses: 35,
            score: 0.625,
            score_low: 0.531,
            score_high: 0.711,
            threshold: 0.55,
        }
    }

    fn running() -> View {
        let mut view = started();
        view.note(&Event::Progress(Progress {
            generation: Generation(12),
            step: 1_240,
            games: 5_321,
            positions: 90_000,
            games_per_second: 8.25,
            moves_per_second: 412.4,
            loss: Some(2.3141),
            policy_loss: Some(1.8),
            value_loss: Some(0.5141),
            entropy: Some(0.9),
            pool: 4,
            best: Some(Rated {
                player: "generation-11".to_owned(),
                elo: 312.4,
                elo_low: 280.0,
                elo_high: 344.4,
                games: 900,
                score: 0.8,
                to_champion: None,
            }),
            gate: Some(at_gate()),
            ..Progress::default()
        }));
        let elo = Estimate { value: 45.0, low: 27.0, high: 63.0 };
        view.note_difference(Some(Difference { to: "generation-9".to_owned(), elo }));
        view
    }

    #[test]
    fn a_run_in_full_swing_is_eight_lines() {
        let expected = "\
run         01:02:03  battlesnake in runs/duel-7x7
learned     generation 12   step 1240   games 5321   pool 4
speed       8.2 games/s   412 moves/s
loss        2.314   policy 1.800   value 0.514   entropy 0.900
gate        [######------------------] 100/400   62.5 % (53.1 to 71.1), needs 55.0
Elo         +312 ± 32   generation-11, +45 ± 18 to generation-9
next        generation 13 after 40 of 100 steps; generation-12 plays generation-11
page        http://127.0.0.1:8080";
        assert_eq!(running().lines(3_723.0, 100).join("\n"), expected);
    }

    #[test]
    fn a_new_run_shows_what_the_first_step_needs() {
        let lines = started().lines(0.0, 100);
        assert!(lines[3].ends_with("no step yet") && lines[4].ends_with("no candidate"));
        assert!(lines[5].ends_with("no rating yet"), "{lines:?}");
        assert_eq!(lines[6], "next        first step after 0 of 4096 positions");
    }

    #[test]
    fn a_resumed_run_shows_its_pool_and_its_rating_and_no_loss_before_the_first_step() {
        let mut view = running();
        let (loss, gate) = (None, None);
        let stored = Progress { loss, gate, seconds: 0.0, ..view.progress.clone() };
        view.note(&Event::Progress(stored));
        let (generation, step) = (Generation(12), 1_240);
        view.note(&Event::Start(Start { generation, step, games: 5_321, ..view.start.clone() }));
        let lines = view.lines(0.0, 100);
        assert_eq!(lines[1], "learned     generation 12   step 1240   games 5321   pool 4");
        assert_eq!(lines[3], "loss        none read since the start");
        assert!(lines[5].starts_with("Elo         +312 ± 32   generation-11"), "{lines:?}");
    }

    #[test]
    fn the_only_promoted_checkpoint_has_its_games_and_no_difference() {
        let mut view = running();
        view.note_difference(None);
        let elo = &view.lines(0.0, 100)[5];
        assert_eq!(elo, "Elo         +312 ± 32   generation-11, over 900 games");
    }

    #[test]
    fn the_row_of_ratings_fits_a_usual_terminal_also_late_in_a_run() {
        let mut view = running();
        if let Some(best) = &mut view.progress.best {
            best.player = "generation-2345".to_owned();
            (best.elo, best.elo_low, best.elo_high) = (2_345.0, 1_234.0, 3_456.0);
        }
        let elo = Estimate { value: 345.0, low: 222.0, high: 468.0 };
        view.note_difference(Some(Difference { to: "generation-1234".to_owned(), elo }));
        let expected = "Elo         +2345 ± 1111   generation-2345, +345 ± 123 to generation-1234";
        // One column less than 80: the screen leaves the last one free.
        assert_eq!(view.lines(0.0, 79)[5], expected);
    }

    #[test]
    fn no_line_exceeds_the_terminal_and_the_bar_shrinks_first() {
        for width in [0, 1, 12, 20, 40, 60, 80, 200] {
            for line in running().lines(0.0, width) {
                assert!(line.chars().count() <= width, "{width}: {line:?}");
            }
        }
        let narrow = &running().lines(0.0, 60)[4];
        assert_eq!(narrow, "gate        100/400   62.5 % (53.1 to 71.1), needs 55.0");
    }

    #[test]
    fn a_condition_and_the_drain_are_shown_and_a_verdict_clears_the_gate() {
        let next = |view: &View| view.lines(0.0, 100)[6].clone();
        let mut view = running();
        view.note(&Event::Pause { reason: "the disk is full".to_owned() });
        assert_eq!(next(&view), "next        PAUSED: the disk is full");
        view.note(&Event::Resumed);
        assert!(next(&view).contains("after 40 of 100 steps"));
        view.note(&Event::Dropped { generation: Generation(12), reason: "too old".to_owned() });
        assert!(view.lines(0.0, 100)[4].ends_with("no candidate"));
        view.note(&Event::Draining);
        assert_eq!(next(&view), "next        draining; Ctrl-C again stops at once");
    }
}
