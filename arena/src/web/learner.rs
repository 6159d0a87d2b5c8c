//! The parts of the overview about training: the learner's state and charts, and its actors.

use maud::{Markup, html};
use ouro_proto::{ConnectedActor, DeviatingActor, LearnerReport};

use super::chart::{Chart, Curve, number};
use super::page::section;
use crate::learner_watch::{LearnerFigures, LearnerView};

/// Maximum number of actors in the table.
const ACTORS: usize = 200;

/// State and charts of the learner.
pub(super) fn training(figures: &LearnerFigures) -> Markup {
    let (charts, view) = (figures.gauges.charts(), figures.view.borrow().clone());
    let across = match view.is_charted {
        true => "minutes since the first generation",
        false => "minutes of training",
    };
    let content = html! {
        (away(&view))
        @if let Some(report) = &view.report { (state(report)) }
        @if charts.is_empty() && view.address.is_none() {
            p.quiet { "No learner is known here." }
        }
        div.charts { @for chart in &charts {
            figure {
                figcaption {
                    (chart.name) ": "
                    @for (index, line) in chart.lines.iter().enumerate() {
                        @if index > 0 { ", " }
                        @if chart.lines.len() > 1 { (line.name) " " }
                        b { (number(line.last)) }
                    }
                    " " (chart.unit)
                }
                (Chart {
                    title: &chart.name,
                    across,
                    up: &chart.unit,
                    curves: chart.lines.iter().map(|line| Curve {
                        name: line.name.clone(),
                        points: line.points.iter().map(|&(at, value)| (at / 60.0, value)).collect(),
                        ..Curve::default()
                    }).collect(),
                    levels: Vec::new(),
                }.draw())
            }
        } }
    };
    section("learner", "Training", content)
}

/// Says that the learner does not answer.
fn away(view: &LearnerView) -> Markup {
    html! {
        @if let (Some(address), Some(error)) = (&view.address, &view.error) {
            p.warning role="status" {
                "The learner at " (address.trim_start_matches("http://")) " does not answer: "
                (error) ". "
                @if view.report.is_some() { "The figures are from before." }
            }
        }
    }
}

/// The state of training in words.
fn state(report: &LearnerReport) -> Markup {
    let refused: Vec<String> = report
        .refused
        .iter()
        .filter(|(_, games)| *games > 0)
        .map(|(reason, games)| format!("{reason} {games}"))
        .collect();
    html! {
        @if !report.condition.is_empty() {
            p.warning role="status" { "Training waits: " (report.condition) }
        }
        p.quiet {
            (report.algorithm) " on " (report.device) ", generation " (report.generation.0) ", step "
            (report.step) ". " (report.games) " games accepted, "
            @if refused.is_empty() { "none refused." } @else { "refused: " (refused.join(", ")) "." }
        }
    }
}

/// The actors that are connected to the learner.
pub(super) fn actors(figures: &LearnerFigures) -> Markup {
    let view = figures.view.borrow().clone();
    let content = html! {
        @match &view.report {
            None => p.quiet { "The learner lists its actors once it answers." },
            Some(report) if report.connected.is_empty() => {
                (deviating(report))
                p.quiet { "No actor is connected." }
            },
            Some(report) => (table(report)),
        }
    };
    section("actors", "Actors", content)
}

fn table(report: &LearnerReport) -> Markup {
    let shown = report.connected.len().min(ACTORS);
    let others = (report.actors as usize).saturating_sub(shown);
    let total: f64 = report.connected.iter().map(|actor| actor.positions_per_second).sum();
    html! {
        (deviating(report))
        p.quiet { (report.actors) " connected, " (number(total)) " positions/s." }
        div.wide tabindex="0" role="region" aria-labelledby="actors-title" { table {
            thead { tr {
                th scope="col" { "Actor" }
                th scope="col" { "Positions/s" }
                th scope="col" { "Games" }
                th scope="col" { "Refused" }
                th scope="col" { "Lag, generations" }
                th scope="col" { "Connected" }
                th scope="col" { "Program" }
                th scope="col" { "Deviates in" }
            } }
            tbody { @for actor in report.connected.iter().take(ACTORS) { (row(actor, report)) } }
        } }
        @if others > 0 { p.quiet { "and " (others) " more; GetStatus of the learner lists up to 1,000." } }
    }
}

/// The actors whose games deviate, connected or not.
fn deviating(report: &LearnerReport) -> Markup {
    html! {
        @for DeviatingActor { name, quantity, residual, games } in report.deviating.iter().take(ACTORS) {
            p.warning role="status" {
                "Actor " (name) " deviates: the " (quantity) " of its " (games) " compared games differ \
                from those of all others by " (number(*residual)) " standard deviations."
            }
        }
    }
}

fn deviation<'a>(report: &'a LearnerReport, name: &str) -> Option<&'a DeviatingActor> {
    report.deviating.iter().find(|actor| actor.name == name)
}

fn row(actor: &ConnectedActor, report: &LearnerReport) -> Markup {
    let lag = actor.generation.map(|generation| generation.lag(report.generation));
    html! {
        tr {
            th scope="row" { (actor.name) }
            td { (number(actor.positions_per_second)) }
            td { (actor.games) }
            td { (actor.refused) }
            td { @match lag { Some(lag) => (lag), None => "–" } }
            td { (length(actor.seconds)) }
            td { (actor.program) }
            td { @match deviation(report, &actor.name) { Some(found) => (found.quantity), None => "–" } }
        }
    }
}

/// A length of time in its largest unit.
fn length(seconds: f64) -> String {
    // The cast saturates, and NaN becomes 0.
    match seconds as u64 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ouro_net::Generation;
    use ouro_replay::RefusalReason;
    use tokio::sync::watch;

    use super::*;
    use crate::web::Gauges;

    fn figures(view: LearnerView) -> LearnerFigures {
        LearnerFigures { gauges: Gauges::default(), view: watch::channel(view).1 }
    }

    fn report() -> LearnerReport {
        let actor = ConnectedActor {
            name: "gpu-1".to_owned(),
            program: "<ouro-actor/1>".to_owned(),
            seconds: 7_300.0,
            games: 12,
            positions_per_second: 31.25,
            refused: 3,
            generation: Some(Generation(5)),
            ..ConnectedActor::default()
        };
        LearnerReport {
            generation: Generation(7),
            refused: vec![(RefusalReason::Stale, 3), (RefusalReason::Replay, 0)],
            actors: 1,
            connected: vec![actor],
            ..LearnerReport::default()
        }
    }

    #[test]
    fn every_actor_is_a_row_with_its_rate_lag_refusals_and_program() {
        let view = LearnerView { report: Some(Arc::new(report())), ..LearnerView::default() };
        let html = actors(&figures(view)).into_string();
        for cell in ["gpu-1", "31.25", "12", "3", "2", "2 h", "&lt;ouro-actor/1&gt;"] {
            assert!(html.contains(&format!(">{cell}</t")), "{cell}: {html}");
        }
    }

    #[test]
    fn an_actor_that_deviates_is_named_connected_or_not() {
        let eve = |name: &str| DeviatingActor {
            name: name.to_owned(),
            quantity: "outcomes".to_owned(),
            residual: 12.5,
            games: 300,
        };
        let mut report = report();
        report.deviating = vec![eve("<eve>"), eve("gpu-1")];
        let shown = |report: &LearnerReport| {
            let report = Some(Arc::new(report.clone()));
            actors(&figures(LearnerView { report, ..LearnerView::default() })).into_string()
        };
        let html = shown(&report);
        let said = "Actor &lt;eve&gt; deviates: the outcomes of its 300 compared games differ from \
                    those of all others by 12.5 standard deviations.";
        assert!(html.contains(said), "{html}");
        assert_eq!(html.matches("<td>outcomes</td>").count(), 1);
        report.connected.clear();
        assert!(shown(&report).contains("Actor gpu-1 deviates"));
    }

    #[test]
    fn a_learner_that_is_away_is_named_and_its_last_state_stays() {
        let view = LearnerView {
            address: Some("http://learner:50062".into()),
            report: Some(Arc::new(report())),
            error: Some("connection refused".to_owned()),
            is_charted: true,
        };
        let html = training(&figures(view)).into_string();
        assert!(
            html.contains("The learner at learner:50062 does not answer: connection refused. ")
        );
        assert!(html.contains("generation 7") && html.contains("refused: stale 3."), "{html}");
        let html = actors(&figures(LearnerView::default())).into_string();
        assert!(html.contains("once it answers"), "{html}");
    }
}
