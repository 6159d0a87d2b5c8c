//! The game that is being played now.
//!
//! The arena plays faster than anybody can watch. Each watcher is shown whole games at a pace of
//! its own: the one that is being played when it comes, to its end, then the one that is being
//! played by then.

use std::collections::VecDeque;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event;
use maud::{Markup, html};
use tokio::sync::{broadcast, mpsc};

use super::Site;
use super::draw::{self, Reel, result};
use super::events::stream;
use super::games::{Source, viewer};
use super::page::page;
use crate::showcase::{LiveEvent, LiveGame};

/// Time that a position is shown for at least.
const PACE: Duration = Duration::from_millis(160);
/// Time that a last position is shown for.
const AFTER: Duration = Duration::from_millis(1_500);

/// The page of the game that is being played. It begins with the first position of the run's
/// seed; the stream brings what is played.
pub(super) async fn show(State(site): State<Site>) -> Markup {
    let run = site.keeper.run();
    // The rules were built when the arena started.
    let first = draw::reel(&run.game, run.seed, Vec::new()).ok();
    let content = html! {
        h1 { "Live game" }
        (title(html! { "Waiting for the next game that the arena plays." }))
        @if let Some(reel) = first {
            (viewer(reel.stage(), &reel.frame(), Source::Live("/live/events"), html! {}))
        }
        noscript { p { "Live games need the page's script." } }
    };
    page("Live game", content)
}

/// What is said above the board.
fn title(content: Markup) -> Markup {
    html! { p #live-title role="status" { (content) } }
}

/// The events of that page: `swap` with what is said above the board, `frame` with a frame as JSON.
pub(super) async fn watch(State(site): State<Site>) -> Response {
    stream(site, tell)
}

async fn tell(site: Site, sender: mpsc::Sender<Event>) {
    loop {
        let (so_far, told) = site.keeper.live().watch();
        if tell_game(&sender, so_far.into(), told).await.is_none() {
            return;
        }
    }
}

/// Tells the next game to its end, or as far as it can be followed. `None` ends the stream; a
/// browser that is still there then connects anew.
async fn tell_game(
    sender: &mpsc::Sender<Event>,
    mut so_far: VecDeque<LiveEvent>,
    mut told: broadcast::Receiver<LiveEvent>,
) -> Option<()> {
    let mut shown: Option<(LiveGame, Box<dyn Reel>)> = None;
    loop {
        let event = match so_far.pop_front() {
            Some(event) => event,
            None => match told.recv().await {
                Ok(event) => event,
                Err(broadcast::error::RecvError::Lagged(_)) => return Some(()),
                Err(broadcast::error::RecvError::Closed) => return None,
            },
        };
        match (event, &mut shown) {
            (LiveEvent::Started(game), _) => {
                let players = game.players.iter().map(ToString::to_string).collect();
                let reel = draw::reel(&game.config, game.seed, players).ok()?;
                send(sender, "swap", &title(begun(&game)).into_string()).await?;
                send(sender, "frame", &frame(&*reel)).await?;
                shown = Some((game, reel));
                tokio::time::sleep(PACE).await;
            }
            (LiveEvent::Moved { actions, .. }, Some((_, reel))) => {
                reel.play(&actions).ok()?;
                send(sender, "frame", &frame(&**reel)).await?;
                tokio::time::sleep(PACE).await;
            }
            (LiveEvent::Ended { outcomes, .. }, Some((game, _))) => {
                send(sender, "swap", &title(over(game, &outcomes)).into_string()).await?;
                tokio::time::sleep(AFTER).await;
                return Some(());
            }
            // Of a game whose start was told before this watcher came and that has ended since.
            (LiveEvent::Moved { .. } | LiveEvent::Ended { .. }, None) => {}
        }
    }
}

async fn send(sender: &mpsc::Sender<Event>, name: &str, data: &str) -> Option<()> {
    sender.send(Event::default().event(name).data(data)).await.ok()
}

fn frame(reel: &dyn Reel) -> String {
    serde_json::to_string(&reel.frame()).unwrap_or_default()
}

fn begun(game: &LiveGame) -> Markup {
    let players: Vec<String> = game.players.iter().map(ToString::to_string).collect();
    let number = game.key.number;
    html! {
        (players.join(" – ")) ", " a href=(format!("/matches/{number}")) { "match " (number) } "."
    }
}

fn over(game: &LiveGame, outcomes: &[f32]) -> Markup {
    let seats = game.players.iter().zip(outcomes);
    let told: Vec<String> =
        seats.map(|(player, &outcome)| format!("{player} {}", result(outcome, outcomes))).collect();
    let number = game.key.number;
    html! {
        (told.join(", ")) ", in " a href=(format!("/matches/{number}")) { "match " (number) } "."
    }
}
