//! Changes as server-sent events: `swap` with the HTML of a part of the run's page, `say` with a
//! sentence.
//!
//! A stream starts with all parts, so a browser that reconnects is complete again. Changes are
//! collected for a moment, so a burst of events renders each part once.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use tokio::sync::{broadcast, mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;

use super::Site;
use super::overview::Part;
use super::page::Refused;
use crate::event::ArenaEvent;

/// How long changes are collected: unnoticed by a viewer, and longer than the bursts of events around a
/// decision.
const COLLECT: Duration = Duration::from_millis(250);
/// Events buffered for a slow browser; then the stream pauses.
const BUFFERED: usize = 16;

/// Answers with the events that `send` produces, until it ends or the arena stops. Answers with an
/// error if too many streams are open.
pub(super) fn stream<F>(site: Site, send: impl FnOnce(Site, mpsc::Sender<Event>) -> F) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let Ok(permit) = site.streams.clone().try_acquire_owned() else {
        let busy = "too many pages are open; close one";
        return (StatusCode::SERVICE_UNAVAILABLE, busy).into_response();
    };
    let (sender, receiver) = mpsc::channel(BUFFERED);
    let stop = site.stop.clone();
    let gone = sender.clone();
    let sending = send(site, sender);
    tokio::spawn(async move {
        let _permit = permit;
        tokio::select! {
            () = sending => {}
            () = stop.cancelled() => {}
            () = gone.closed() => {}
        }
    });
    let events = tokio_stream::StreamExt::map(ReceiverStream::new(receiver), Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// The events of the run's page.
pub(super) async fn watch(State(site): State<Site>) -> Response {
    stream(site, send_changes)
}

/// Which parts an event changes.
fn changed(event: &ArenaEvent) -> &'static [Part] {
    match event {
        ArenaEvent::Published(_) => &[Part::Pool],
        ArenaEvent::MatchStarted(_) => &[Part::Gate, Part::Matches],
        ArenaEvent::GateProgress { .. } => &[Part::Gate],
        ArenaEvent::Decided(_) | ArenaEvent::Promoted(_) => &[Part::Gate, Part::Pool],
        ArenaEvent::Rated(_) => &[Part::Strength, Part::Pool, Part::Ratings, Part::Matches],
    }
}

/// The sentence of an event; `None` if a part of the page or another event says the same.
fn sentence(event: &ArenaEvent) -> Option<String> {
    match event {
        ArenaEvent::GateProgress { .. } | ArenaEvent::Promoted(_) => None,
        ArenaEvent::Published(_)
        | ArenaEvent::MatchStarted(_)
        | ArenaEvent::Decided(_)
        | ArenaEvent::Rated(_) => Some(event.to_string()),
    }
}

/// Changes that are not sent yet.
#[derive(Default)]
struct Changes {
    parts: BTreeSet<Part>,
    sentences: Vec<String>,
}

impl Changes {
    fn add(&mut self, event: Result<ArenaEvent, broadcast::error::RecvError>) -> Option<()> {
        match event {
            Ok(event) => {
                self.parts.extend(changed(&event));
                self.sentences.extend(sentence(&event));
            }
            // A lost event may have changed any part.
            Err(broadcast::error::RecvError::Lagged(_)) => self.parts.extend(Part::ALL),
            Err(broadcast::error::RecvError::Closed) => return None,
        }
        Some(())
    }

    /// Waits for a change, then a moment for more.
    async fn collect(
        events: &mut broadcast::Receiver<ArenaEvent>,
        figures: &mut watch::Receiver<()>,
    ) -> Option<Self> {
        let mut changes = Self::default();
        tokio::select! {
            event = events.recv() => changes.add(event)?,
            Ok(()) = figures.changed() => { changes.parts.insert(Part::Learner); }
        }
        tokio::time::sleep(COLLECT).await;
        while let Ok(event) = events.try_recv() {
            changes.add(Ok(event))?;
        }
        Some(changes)
    }
}

async fn send_changes(site: Site, sender: mpsc::Sender<Event>) {
    let mut events = site.state.events();
    let mut figures = site.gauges.changes();
    let mut changes = Changes { parts: Part::ALL.into(), sentences: Vec::new() };
    loop {
        for sentence in changes.sentences {
            let event = Event::default().event("say").data(one_line(&sentence));
            if sender.send(event).await.is_err() {
                return;
            }
        }
        for html in render(&site, changes.parts).await.unwrap_or_default() {
            let event = Event::default().event("swap").data(one_line(&html));
            if sender.send(event).await.is_err() {
                return;
            }
        }
        match Changes::collect(&mut events, &mut figures).await {
            Some(next) => changes = next,
            None => return,
        }
    }
}

async fn render(site: &Site, parts: BTreeSet<Part>) -> Result<Vec<String>, Refused> {
    let gauges = site.gauges.clone();
    site.blocking(move |state| {
        parts.into_iter().map(|part| Ok(part.draw(state, &gauges)?.into_string())).collect()
    })
    .await
}

/// Removes carriage returns, which would end a line of an event.
fn one_line(text: &str) -> String {
    text.replace('\r', "")
}
