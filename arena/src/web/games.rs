//! Recorded games, each on a page with controls.
//!
//! Without the script, the page shows one ply with links to the neighbouring plies. The script
//! fetches the frames once and animates them.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use maud::{Markup, PreEscaped, html};
use ouro_game::GameRecord;
use ouro_game::record::ReplayError;
use serde::Deserialize;

use super::Site;
use super::chart::number;
use super::draw::{self, Still, result};
use super::large_body::large_body;
use super::page::{Refused, page};
use crate::error::CallError;
use crate::store::{GameKey, StoredGame};

/// Number of turns above which a game can be played at more than 20 frames a second.
const MANY: usize = 1_000;

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
    /// Renders a game with `render`, which gets its record and its players.
    async fn render<T: Send + 'static>(
        &self,
        key: GameKey,
        render: impl FnOnce(&GameRecord, &[String]) -> Result<T, ReplayError> + Send + 'static,
    ) -> Result<(StoredGame, T), Refused> {
        self.rendering(move |state| {
            let GameKey { number, cluster, game } = key;
            let gone = CallError::NoGame { number, cluster, game };
            let stored = state.store().game(key)?.ok_or(gone)?;
            let rendered = render(&stored.record, &names(&stored)).map_err(|error| {
                CallError::Unreadable { number, cluster, game, reason: error.to_string() }
            })?;
            Ok((stored, rendered))
        })
        .await
    }
}

/// The players' names.
fn names(stored: &StoredGame) -> Vec<String> {
    stored.players.iter().map(ToString::to_string).collect()
}

/// The page of a game.
pub(super) async fn show(
    State(site): State<Site>,
    key_path: KeyPath,
    Query(At { ply }): Query<At>,
) -> Result<Markup, Refused> {
    let key = key(key_path);
    let ply = ply.unwrap_or(usize::MAX);
    let (stored, still) =
        site.render(key, move |record, players| draw::still(record, players, ply)).await?;
    let last = stored.record.plies.len();
    let ply = ply.min(last);
    let players = names(&stored);
    let title = players.join(" – ");
    let here = path(key);
    let content = html! {
        h1 { (title) }
        p.quiet {
            "Game " (key.game) " of seed " (key.cluster) ", "
            a href=(format!("/matches/{}", key.number)) { "match " (key.number) } ". "
            (results(&players, &stored))
            @if stored.truncated { " It was truncated." }
            " " span #note {}
        }
        (viewer(&still, Source::Frames(format!("{here}/frames")), html! {
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
                        @if last > MANY {
                            option value="100" { "very fast" }
                            option value="1000" { "fastest" }
                        }
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

/// Board, legend, seats and controls.
pub(super) fn viewer(still: &Still, source: Source, controls: Markup) -> Markup {
    let (frames, live) = match source {
        Source::Frames(url) => (Some(url), None),
        Source::Live(url) => (None, Some(url)),
    };
    let Still { board_style, legend, frame, without_script } = still;
    let class = if board_style.is_canvas() { "viewer large" } else { "viewer" };
    html! {
        div class=(class) #viewer data-frames=[frames] data-live=[live] {
            div.background {
                (board_style.with_frame(frame))
                @if let Some(frame) = without_script {
                    noscript { (board_style.without_script().with_frame(frame)) }
                }
                @if !legend.is_empty() {
                    ul.legend aria-label="Legend" {
                        @for (class, text) in *legend {
                            li class=(class) { span.swatch {} (text) }
                        }
                    }
                }
            }
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

/// The frames, as JSON: see [`draw::animate`].
pub(super) async fn frames(
    State(site): State<Site>,
    key_path: KeyPath,
) -> Result<Response, Refused> {
    // The slot comes first, so that no rendered frames wait for one.
    let slot = Arc::clone(&site.large_bodies).acquire_owned().await;
    let slot = slot.map_err(|_| CallError::Stopping)?;
    let (_, json) = site.render(key(key_path), draw::animate).await?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CONTENT_LENGTH, HeaderValue::from(json.len())),
    ];
    Ok((headers, large_body(json, slot)).into_response())
}
