//! The overview of the run, in parts that are rendered again when they change.

use std::collections::BTreeMap;

use axum::extract::State;
use maud::{Markup, html};
use ouro_net::Generation;
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::{Estimate, Rating};

use super::chart::{Chart, Curve};
use super::page::{Refused, page, section};
use super::text::{elo, percent, time, to_champion};
use super::{Site, learner, matches};
use crate::error::CallError;
use crate::learner_watch::LearnerFigures;
use crate::state::ArenaState;

/// Maximum number of decisions in the list.
const DECISIONS: usize = 5;
/// Maximum number of matches in the list.
const MATCHES: usize = 8;
/// Maximum number of pool members in the list, which starts with the newest.
const MEMBERS: usize = 50;

/// A part of the page. The id of its element is its name in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The match at the gate, and the last decisions.
    Gate,
    /// Strength over time.
    Strength,
    /// The pool.
    Pool,
    /// All ratings.
    Ratings,
    /// The newest matches.
    Matches,
    /// State and figures of the learner.
    Learner,
    /// The actors that are connected to the learner.
    Actors,
}

impl Part {
    pub(super) const ALL: [Self; 7] = [
        Self::Gate,
        Self::Strength,
        Self::Pool,
        Self::Ratings,
        Self::Matches,
        Self::Learner,
        Self::Actors,
    ];

    /// Renders the part. Blocks.
    pub(super) fn draw(
        self,
        state: &ArenaState,
        figures: &LearnerFigures,
    ) -> Result<Markup, CallError> {
        match self {
            Self::Gate => gate(state),
            Self::Strength => strength(state),
            Self::Pool => pool(state),
            Self::Ratings => Ok(ratings(state)),
            Self::Matches => Ok(newest(state)),
            Self::Learner => Ok(learner::training(figures)),
            Self::Actors => Ok(learner::actors(figures)),
        }
    }
}

/// The page.
pub(super) async fn show(State(site): State<Site>) -> Result<Markup, Refused> {
    let figures = site.learner.clone();
    site.blocking(move |state| {
        let run = state.run();
        let rules = serde_json::to_string(&run.game).unwrap_or_default();
        let mut parts = Vec::new();
        for part in Part::ALL {
            parts.push(part.draw(state, &figures)?);
        }
        let content = html! {
            h1.game { (run.game.name().replace('_', " ")) }
            details { summary { "Rules, seed " (run.seed) } code { (rules) } }
            div #parts data-events="/events" { @for part in parts { (part) } }
            section aria-labelledby="news-title" {
                h2 #news-title { "News" }
                ol #news aria-live="polite" {
                    li.quiet { "New events appear here." }
                }
            }
        };
        Ok(page("Run", content))
    })
    .await
}

fn gate(state: &ArenaState) -> Result<Markup, CallError> {
    let decisions = state.store().last_decisions(DECISIONS)?;
    let now = match state.matches().at_gate() {
        None => html! { p.quiet { "No candidate is at the gate." } },
        Some((info, report)) => {
            let (first, second) = (info.key.first.to_string(), info.key.second.to_string());
            html! {
                p {
                    a href=(format!("/matches/{}", info.number)) { (first) " against " (second) }
                }
                progress max=(report.max_games) value=(report.games)
                    aria-label="Games that count, of at most" {
                    (report.games) " of " (report.max_games)
                }
                p.quiet { (report.games) " of at most " (report.max_games) " games" }
                p { (report.explain(&first, &second)) }
            }
        }
    };
    Ok(section(
        "gate",
        "At the gate",
        html! {
            (now)
            @if !decisions.is_empty() {
                h3 { "Last decisions" }
                ul.decisions { @for one in &decisions {
                    li { (time(one.decided_at)) " " (one.explanation) }
                } }
            }
        },
    ))
}

fn strength(state: &ArenaState) -> Result<Markup, CallError> {
    let table = state.ratings().table().borrow().clone();
    let by_name: BTreeMap<&str, &Rating> =
        table.ratings.iter().map(|row| (&*row.player, row)).collect();
    let checkpoints = state.store().checkpoints()?;
    let start = checkpoints.iter().map(|row| row.published_at).fold(f64::INFINITY, f64::min);
    let mut curve = Curve { marked: true, ..Curve::default() };
    for row in &checkpoints {
        if let Some(rating) = by_name.get(&*row.generation.to_string())
            && let Some(Estimate { value, low, high }) = rating.to_champion
            && low.is_finite()
            && high.is_finite()
        {
            curve.points.push(((row.published_at - start) / 60.0, rating.elo));
            curve.band.push((rating.elo + (low - value), rating.elo + (high - value)));
        }
    }
    let empty = curve.points.is_empty();
    let is_checkpoint = |row: &Rating| {
        row.player.parse::<crate::player_id::PlayerId>().is_ok_and(|id| id.generation().is_some())
    };
    let levels = table.ratings.iter().filter(|row| !is_checkpoint(row));
    let levels = levels.map(|row| (row.player.clone(), row.elo)).collect();
    let chart = Chart {
        title: "Elo of each generation at the time of its arrival, with 95 % intervals of its difference to the champion",
        across: "minutes since the first generation",
        up: "Elo",
        curves: vec![curve],
        levels,
    };
    Ok(section(
        "strength",
        "Strength",
        html! {
            @if empty {
                p.quiet { "No generation is rated yet." }
            } @else {
                (chart.draw())
                p.quiet {
                    "Each generation at the time of its arrival, from all " (table.games) " rated games. "
                    (table.anchor) " has 0. The band is the 95 % interval of the difference to the champion."
                }
            }
        },
    ))
}

fn pool(state: &ArenaState) -> Result<Markup, CallError> {
    let table = state.ratings().table().borrow().clone();
    let rating = |generation: Generation| {
        let name = generation.to_string();
        table.ratings.iter().find(|row| row.player == name)
    };
    let promoted: BTreeMap<Generation, f64> =
        state.store().promotions()?.iter().map(|one| (one.generation, one.promoted_at)).collect();
    let checkpoints = state.store().checkpoints()?;
    let is_member = |row: &&Checkpoint| {
        matches!(row.status, CheckpointStatus::Pool | CheckpointStatus::Champion)
    };
    let members: Vec<&Checkpoint> = checkpoints.iter().rev().filter(is_member).collect();
    let count = |status| checkpoints.iter().filter(|row| row.status == status).count();
    let older = members.len().saturating_sub(MEMBERS);
    Ok(section(
        "pool",
        "Pool",
        html! {
            p.quiet {
                (members.len()) " promoted, " (count(CheckpointStatus::Rejected)) " rejected, "
                (count(CheckpointStatus::Candidate)) " undecided."
            }
            @for (generation, reason) in state.weights().unreadable() {
                p.warning role="status" { (generation) " is set aside: " (reason) }
            }
            @if !members.is_empty() {
                div.wide tabindex="0" role="region" aria-labelledby="pool-title" { table {
                    thead { tr {
                        th scope="col" { "Generation" }
                        th scope="col" { "To the champion" }
                        th scope="col" { "Elo" }
                        th scope="col" { "Rated games" }
                        th scope="col" { "Parent" }
                        th scope="col" { "Steps" }
                        th scope="col" { "Promoted, UTC" }
                    } }
                    tbody { @for row in members.iter().take(MEMBERS) {
                        @let rating = rating(row.generation);
                        tr {
                            th scope="row" {
                                (row.generation.0)
                                @if row.status == CheckpointStatus::Champion {
                                    " " span.champion { "champion" }
                                }
                            }
                            td { (rating.map_or_else(|| "–".to_owned(), to_champion)) }
                            td { (rating.map_or_else(|| "–".to_owned(), elo)) }
                            td { (rating.map_or(0, |rating| rating.games)) }
                            td { @match row.parent { Some(parent) => (parent.0), None => "–" } }
                            td { (row.step) }
                            td { @match promoted.get(&row.generation) {
                                Some(&at) => (time(at)),
                                None => "–",
                            } }
                        }
                    } }
                } }
            }
            @if older > 0 { p.quiet { "and " (older) " older ones; ListCheckpoints of the gRPC API lists all." } }
        },
    ))
}

fn ratings(state: &ArenaState) -> Markup {
    let table = state.ratings().table().borrow().clone();
    let content = html! {
        @if table.ratings.is_empty() {
            p.quiet { "No player is rated yet." }
        } @else {
            details {
                summary { (table.ratings.len()) " players, " (table.games) " games" }
                p.quiet {
                    "With 95 % intervals. Elo is the difference to " (table.anchor) "."
                    @if let Some(champion) = &table.champion { " The champion is " (champion) "." }
                }
                div.wide tabindex="0" role="region" aria-labelledby="ratings-title" { table {
                    thead { tr {
                        th scope="col" { "Player" }
                        th scope="col" { "To the champion" }
                        th scope="col" { "Elo" }
                        th scope="col" { "Games" }
                        th scope="col" { "Points" }
                    } }
                    tbody { @for row in &table.ratings { tr {
                        th scope="row" { (row.player) }
                        td { (to_champion(row)) }
                        td { (elo(row)) }
                        td { (row.games) }
                        td { (percent(row.score)) }
                    } } }
                } }
            }
        }
    };
    section("ratings", "Ratings", content)
}

fn newest(state: &ArenaState) -> Markup {
    let rows = matches::newest(state, None, MATCHES);
    let workers = *state.workers().borrow();
    let content = html! {
        @match workers {
            0 => {}
            1 => p.quiet { "1 worker helps to play the matches." },
            _ => p.quiet { (workers) " workers help to play the matches." },
        }
        @if rows.is_empty() {
            p.quiet { "No match has started." }
        } @else {
            (matches::table(&rows, "matches-title"))
            p { a href="/matches" { "All matches" } }
        }
    };
    section("matches", "Matches", content)
}
