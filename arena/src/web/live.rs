//! The page of the game that is shown live.
//!
//! The arena plays faster than a person can watch. Each viewer therefore receives whole games at
//! its own pace. The first is the game in progress when the page opens. After its end, the viewer
//! receives the game in progress at that time.

use std::collections::VecDeque;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event;
use maud::{Markup, html};
use tokio::sync::{broadcast, mpsc};

use super::Site;
use super::draw::{self, LiveRenderer, Still, result};
use super::events::{Visitor, stream};
use super::games::{Source, viewer};
use super::page::{Refused, page};
use crate::showcase::{LiveEvent, LiveGame};

/// Minimum time for which a position is shown.
const PACE: Duration = Duration::from_millis(160);
/// Time for which the last position of a game is shown.
const AFTER: Duration = Duration::from_millis(1_500);

/// The page. It initially shows the first position of the run's seed; the stream delivers the
/// games.
pub(super) async fn show(State(site): State<Site>) -> Result<Markup, Refused> {
    let first = site.rendering(|state| {
        let run = state.run();
        // This cannot fail: the arena built the same rules when it started.
        Ok(draw::live_renderer(&run.game, run.seed, Vec::new()).map(still).ok())
    });
    let first = first.await?;
    let content = html! {
        h1 { "Live game" }
        (title(html! { "Waiting for the next game that the arena plays." }))
        @if let Some(first) = first {
            (viewer(&first, Source::Live("/live/events"), html! {}))
        }
        noscript { p { "Live games need the page's script." } }
    };
    Ok(page("Live game", content))
}

/// The first position.
fn still(mut renderer: Box<dyn LiveRenderer>) -> Still {
    Still {
        board_style: renderer.board_style(),
        legend: renderer.legend(),
        frame: renderer.frame(),
        without_script: None,
    }
}

/// The line above the board.
fn title(content: Markup) -> Markup {
    html! { p #live-title role="status" { (content) } }
}

/// The events of the page: `swap` with the line above the board, `frame` with a frame as JSON.
pub(super) async fn watch(State(site): State<Site>, visitor: Visitor) -> Response {
    stream(site, visitor, send_games)
}

async fn send_games(site: Site, sender: mpsc::Sender<Event>) {
    loop {
        let (so_far, events) = site.state.matches().live().subscribe();
        if send_game(&site, &sender, so_far.into(), events).await.is_none() {
            return;
        }
    }
}

/// Sends the next game to its end, or until the receiver loses events. `None` ends the stream; a
/// page that is still open then reconnects.
async fn send_game(
    site: &Site,
    sender: &mpsc::Sender<Event>,
    mut so_far: VecDeque<LiveEvent>,
    mut events: broadcast::Receiver<LiveEvent>,
) -> Option<()> {
    let mut shown: Option<(LiveGame, Box<dyn LiveRenderer>)> = None;
    loop {
        let event = match so_far.pop_front() {
            Some(event) => event,
            None => match events.recv().await {
                Ok(event) => event,
                Err(broadcast::error::RecvError::Lagged(_)) => return Some(()),
                Err(broadcast::error::RecvError::Closed) => return None,
            },
        };
        match (event, &mut shown) {
            (LiveEvent::Started(game), _) => {
                let start = game.clone();
                let renderer = site.rendering(move |_| {
                    let players = start.players.iter().map(ToString::to_string).collect();
                    Ok(draw::live_renderer(&start.config, start.seed, players).ok())
                });
                let mut renderer = renderer.await.ok()??;
                send(sender, "swap", &title(started(&game)).into_string()).await?;
                send(sender, "frame", &frame(&mut *renderer)).await?;
                shown = Some((game, renderer));
                tokio::time::sleep(PACE).await;
            }
            (LiveEvent::Moved { actions, .. }, Some((_, renderer))) => {
                renderer.play(&actions).ok()?;
                send(sender, "frame", &frame(&mut **renderer)).await?;
                tokio::time::sleep(PACE).await;
            }
            (LiveEvent::Ended { outcomes, .. }, Some((game, _))) => {
                send(sender, "swap", &title(over(game, &outcomes)).into_string()).await?;
                tokio::time::sleep(AFTER).await;
                return Some(());
            }
            // These events belong to a game whose start this viewer did not receive.
            (LiveEvent::Moved { .. } | LiveEvent::Ended { .. }, None) => {}
        }
    }
}

async fn send(sender: &mpsc::Sender<Event>, name: &str, data: &str) -> Option<()> {
    sender.send(Event::default().event(name).data(data)).await.ok()
}

fn frame(renderer: &mut dyn LiveRenderer) -> String {
    serde_json::to_string(&renderer.frame()).unwrap_or_default()
}

fn started(game: &LiveGame) -> Markup {
    let players: Vec<String> = game.players.iter().map(ToString::to_string).collect();
    let number = game.key.number;
    html! {
        (players.join(" – ")) ", " a href=(format!("/matches/{number}")) { "match " (number) } "."
    }
}

fn over(game: &LiveGame, outcomes: &[f32]) -> Markup {
    let seats = game.players.iter().zip(outcomes);
    let results: Vec<String> =
        seats.map(|(player, &outcome)| format!("{player} {}", result(outcome, outcomes))).collect();
    let number = game.key.number;
    html! {
        (results.join(", ")) ", in " a href=(format!("/matches/{number}")) { "match " (number) } "."
    }
}
