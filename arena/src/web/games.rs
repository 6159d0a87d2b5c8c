//! Recorded games: one page with a player for each.
//!
//! The page is whole without the script: it shows one ply, and links lead to those around it. The
//! script fetches all frames once and turns them by itself.

use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use maud::{Markup, PreEscaped, html};
use ouro_game::record::ReplayError;
use serde::Deserialize;

use super::Site;
use super::chart::number;
use super::draw::{self, Film, Frame, MOST_PLIES, Stage, result};
use super::page::{Refused, page};
use crate::error::CallError;
use crate::store::{GameKey, StoredGame};

/// A game in a path.
type Place = Path<(u32, u32, u32)>;

/// Which ply a page shows.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct At {
    /// The ply; left out, the last.
    ply: Option<usize>,
}

fn key(Path((number, cluster, game)): Place) -> GameKey {
    GameKey { number, cluster, game }
}

/// Where the page of a game is.
pub(super) fn path(GameKey { number, cluster, game }: GameKey) -> String {
    format!("/games/{number}/{cluster}/{game}")
}

impl Site {
    /// Draws a game. Few at a time: each fills some megabytes.
    async fn film(&self, key: GameKey) -> Result<(StoredGame, Film), Refused> {
        let _turn = self.films.acquire().await.map_err(|_| CallError::Stopping)?;
        self.blocking(move |keeper| {
            let GameKey { number, cluster, game } = key;
            let gone = CallError::NoGame { number, cluster, game };
            let stored = keeper.store().game(key)?.ok_or(gone)?;
            let players: Vec<String> = stored.players.iter().map(ToString::to_string).collect();
            let film = draw::film(&stored.record, &players).map_err(|error: ReplayError| {
                CallError::Unreadable { number, cluster, game, reason: error.to_string() }
            })?;
            Ok((stored, film))
        })
        .await
    }
}

/// The page of a game.
pub(super) async fn show(
    State(site): State<Site>,
    place: Place,
    Query(At { ply }): Query<At>,
) -> Result<Markup, Refused> {
    let key = key(place);
    let (stored, film) = site.film(key).await?;
    let last = film.frames.len() - 1;
    let ply = ply.unwrap_or(last).min(last);
    let players: Vec<String> = stored.players.iter().map(ToString::to_string).collect();
    let title = players.join(" – ");
    let here = path(key);
    let cut = stored.record.plies.len() > MOST_PLIES;
    let content = html! {
        h1 { (title) }
        p.quiet {
            "Game " (key.game) " of seed " (key.cluster) ", "
            a href=(format!("/matches/{}", key.number)) { "match " (key.number) } ". "
            (results(&players, &stored))
            @if stored.truncated { " It was cut short." }
            @if cut { " The first " (MOST_PLIES) " turns are shown." }
        }
        (viewer(film.stage, &film.frames[ply], Source::Frames(format!("{here}/frames")), html! {
            nav.controls aria-label="Turns" data-controls="" {
                a data-go="first" href=(format!("{here}?ply=0")) title="First turn (Home)" { "|◀" }
                a data-go="back" href=(format!("{here}?ply={}", ply.saturating_sub(1)))
                    title="One turn back (left key)" { "◀" }
                button data-go="play" type="button" title="Play or pause (space)" hidden { "▶ Play" }
                a data-go="on" href=(format!("{here}?ply={}", (ply + 1).min(last)))
                    title="One turn on (right key)" { "▶" }
                a data-go="last" href=(format!("{here}?ply={last}")) title="Last turn (End)" { "▶|" }
                input data-go="slider" type="range" min="0" max=(last) value=(ply)
                    aria-label="Turn" hidden;
                label.speed hidden { "Speed "
                    select data-go="speed" {
                        option value="2" { "slow" }
                        option value="6" selected { "usual" }
                        option value="20" { "fast" }
                    }
                }
            }
        }))
    };
    Ok(page(&title, content))
}

/// Where the script finds more frames.
pub(super) enum Source {
    /// All of them, in one answer.
    Frames(String),
    /// A stream of them.
    Live(&'static str),
}

/// Board, seats and controls.
pub(super) fn viewer(stage: Stage, frame: &Frame, source: Source, controls: Markup) -> Markup {
    let (frames, live) = match source {
        Source::Frames(url) => (Some(url), None),
        Source::Live(url) => (None, Some(url)),
    };
    html! {
        div.viewer #viewer data-frames=[frames] data-live=[live] {
            div.stage { (stage.with(frame)) }
            div.beside {
                p #caption { (frame.caption) }
                ol.seats #seats { (PreEscaped(&frame.seats)) }
                (controls)
            }
        }
    }
}

/// Who came out how.
fn results(players: &[String], stored: &StoredGame) -> String {
    let seats = players.iter().zip(stored.outcomes.iter().zip(&stored.scores));
    let told = seats.map(|(player, (&outcome, &score))| {
        format!("{player} {} (score {})", result(outcome, &stored.outcomes), number(score.into()))
    });
    let told: Vec<String> = told.collect();
    format!("{}.", told.join(", "))
}

/// All frames, as JSON: a list of objects with `board`, `seats` and `caption`.
pub(super) async fn frames(State(site): State<Site>, place: Place) -> Result<Response, Refused> {
    let (_, film) = site.film(key(place)).await?;
    let json = serde_json::to_string(&film.frames).unwrap_or_default();
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}
