//! Recorded games, each on a page with controls.
//!
//! Without the script, the page shows one ply with links to the neighbouring plies. The script
//! fetches all frames once and animates them.

use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use maud::{Markup, PreEscaped, html};
use ouro_game::record::ReplayError;
use serde::Deserialize;

use super::Site;
use super::chart::number;
use super::draw::{self, Animation, BoardStyle, Frame, result};
use super::page::{Refused, page};
use crate::error::CallError;
use crate::store::{GameKey, StoredGame};

/// The key of a game in a path.
type KeyPath = Path<(u32, u32, u32)>;

/// Query of a game page.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct At {
    /// The ply; without it, the last ply.
    ply: Option<usize>,
}

fn key(Path((number, cluster, game)): KeyPath) -> GameKey {
    GameKey { number, cluster, game }
}

/// The path of the page of a game.
pub(super) fn path(GameKey { number, cluster, game }: GameKey) -> String {
    format!("/games/{number}/{cluster}/{game}")
}

impl Site {
    /// Renders a game. A semaphore bounds the number of concurrent renderings, because each takes
    /// some megabytes.
    async fn animate(&self, key: GameKey) -> Result<(StoredGame, Animation), Refused> {
        let _permit = self.renderings.acquire().await.map_err(|_| CallError::Stopping)?;
        self.blocking(move |state| {
            let GameKey { number, cluster, game } = key;
            let gone = CallError::NoGame { number, cluster, game };
            let stored = state.store().game(key)?.ok_or(gone)?;
            let players: Vec<String> = stored.players.iter().map(ToString::to_string).collect();
            let animation =
                draw::animate(&stored.record, &players).map_err(|error: ReplayError| {
                    CallError::Unreadable { number, cluster, game, reason: error.to_string() }
                })?;
            Ok((stored, animation))
        })
        .await
    }
}

/// The page of a game.
pub(super) async fn show(
    State(site): State<Site>,
    key_path: KeyPath,
    Query(At { ply }): Query<At>,
) -> Result<Markup, Refused> {
    let key = key(key_path);
    let (stored, animation) = site.animate(key).await?;
    let last = animation.frames.len() - 1;
    let ply = ply.unwrap_or(last).min(last);
    let players: Vec<String> = stored.players.iter().map(ToString::to_string).collect();
    let title = players.join(" – ");
    let here = path(key);
    let is_cut = stored.record.plies.len() > last;
    let content = html! {
        h1 { (title) }
        p.quiet {
            "Game " (key.game) " of seed " (key.cluster) ", "
            a href=(format!("/matches/{}", key.number)) { "match " (key.number) } ". "
            (results(&players, &stored))
            @if stored.truncated { " It was truncated." }
            @if is_cut { " The first " (last) " turns are shown." }
        }
        (viewer(animation.board_style, &animation.frames[ply], Source::Frames(format!("{here}/frames")), html! {
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

/// Where the script fetches more frames.
pub(super) enum Source {
    /// All frames in one response.
    Frames(String),
    /// A stream of frames.
    Live(&'static str),
}

/// Board, seats and controls.
pub(super) fn viewer(
    board_style: BoardStyle,
    frame: &Frame,
    source: Source,
    controls: Markup,
) -> Markup {
    let (frames, live) = match source {
        Source::Frames(url) => (Some(url), None),
        Source::Live(url) => (None, Some(url)),
    };
    html! {
        div.viewer #viewer data-frames=[frames] data-live=[live] {
            div.background { (board_style.with_frame(frame)) }
            div.beside {
                p #caption { (frame.caption) }
                ol.seats #seats { (PreEscaped(&frame.seats)) }
                (controls)
            }
        }
    }
}

/// The result of each player.
fn results(players: &[String], stored: &StoredGame) -> String {
    let seats = players.iter().zip(stored.outcomes.iter().zip(&stored.scores));
    let results = seats.map(|(player, (&outcome, &score))| {
        format!("{player} {} (score {})", result(outcome, &stored.outcomes), number(score.into()))
    });
    let results: Vec<String> = results.collect();
    format!("{}.", results.join(", "))
}

/// All frames, as JSON: a list of objects with `board`, `seats` and `caption`.
pub(super) async fn frames(
    State(site): State<Site>,
    key_path: KeyPath,
) -> Result<Response, Refused> {
    let (_, animation) = site.animate(key(key_path)).await?;
    let json = serde_json::to_string(&animation.frames).unwrap_or_default();
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}
