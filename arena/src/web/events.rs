//! Server-sent events for the run's page: `swap` carries the HTML of a changed part, `say` carries
//! a sentence.
//!
//! A stream starts with all parts, so a browser that reconnects shows the current state. Changes
//! are collected for a moment, so a burst of events renders each part once.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use ouro_service::access::Identity;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;

use super::Site;
use super::overview::Part;
use super::page::Refused;
use crate::event::ArenaEvent;
use crate::figures::StreamKind;
use crate::learner_watch::LearnerView;

/// Time for which changes are collected: too short for a viewer to notice, and longer than the
/// bursts of events around a decision.
const COLLECT: Duration = Duration::from_millis(250);
/// Events that are buffered for a slow browser. A full buffer pauses the stream.
const BUFFERED: usize = 16;

/// Who logged in to see a page; `None` if the page needs no login.
pub(super) type Visitor = Option<Extension<Identity>>;

/// Waits until the credential of a visitor is revoked or has expired.
async fn revoked(visitor: Visitor) {
    match visitor {
        Some(Extension(identity)) => identity.revoked().cancelled().await,
        None => std::future::pending().await,
    }
}

/// Responds with the events that `send` produces, until `send` ends, the credential of `visitor`
/// does not count any more or the arena stops. Responds with an error if too many streams are open.
pub(super) fn stream<F>(
    site: Site,
    visitor: Visitor,
    send: impl FnOnce(Site, mpsc::Sender<Event>) -> F,
) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let Ok(permit) = site.streams.clone().try_acquire_owned() else {
        let busy = "too many pages are open; close one";
        return (StatusCode::SERVICE_UNAVAILABLE, busy).into_response();
    };
    let (sender, receiver) = mpsc::channel(BUFFERED);
    let stop = site.stop.clone();
    let watching = site.state.figures().watch(StreamKind::Page);
    let gone = sender.clone();
    let sending = send(site, sender);
    tokio::spawn(async move {
        let _open = (permit, watching);
        tokio::select! {
            () = sending => {}
            () = stop.cancelled() => {}
            () = revoked(visitor) => {}
            () = gone.closed() => {}
        }
    });
    let events = tokio_stream::StreamExt::map(ReceiverStream::new(receiver), Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// The events of the run's page.
pub(super) async fn watch(State(site): State<Site>, visitor: Visitor) -> Response {
    stream(site, visitor, send_changes)
}

/// Which parts an event changes.
fn changed(event: &ArenaEvent) -> &'static [Part] {
    match event {
        ArenaEvent::Published(_) => &[Part::Pool],
        ArenaEvent::MatchStarted(_) => &[Part::Gate, Part::Matches],
        ArenaEvent::GateProgress { .. } => &[Part::Gate],
        // The decisions of these candidates have changed the parts.
        ArenaEvent::Overtaken(_) => &[],
        ArenaEvent::Decided(_) => &[Part::Gate, Part::Pool],
        // All differences to the champion change.
        ArenaEvent::Promoted(_) => &[Part::Gate, Part::Pool, Part::Strength, Part::Ratings],
        ArenaEvent::Rated(_) => &[Part::Strength, Part::Pool, Part::Ratings, Part::Matches],
    }
}

/// The sentence of an event; `None` if a part of the page or another event carries the same
/// information.
fn sentence(event: &ArenaEvent) -> Option<String> {
    match event {
        ArenaEvent::GateProgress { .. } | ArenaEvent::Promoted(_) => None,
        ArenaEvent::Decided(decision) if decision.is_overtaken() => None,
        ArenaEvent::Published(_)
        | ArenaEvent::MatchStarted(_)
        | ArenaEvent::Decided(_)
        | ArenaEvent::Overtaken(_)
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
    fn add(&mut self, event: Result<ArenaEvent, RecvError>) -> Option<()> {
        match event {
            Ok(event) => {
                self.parts.extend(changed(&event));
                self.sentences.extend(sentence(&event));
            }
            // A lost event may have changed any part.
            Err(RecvError::Lagged(_)) => self.parts.extend(Part::ALL),
            Err(RecvError::Closed) => return None,
        }
        Some(())
    }

    /// Returns the next change and the changes within [`COLLECT`] after it; `None` if the sender of
    /// events is dropped.
    async fn collect(
        events: &mut broadcast::Receiver<ArenaEvent>,
        figures: &mut watch::Receiver<()>,
        learner: &mut watch::Receiver<LearnerView>,
        workers: &mut watch::Receiver<u32>,
    ) -> Option<Self> {
        let mut changes = Self::default();
        tokio::select! {
            event = events.recv() => changes.add(event)?,
            Ok(()) = figures.changed() => { changes.parts.insert(Part::Learner); }
            Ok(()) = learner.changed() => changes.parts.extend([Part::Learner, Part::Actors]),
            Ok(()) = workers.changed() => { changes.parts.insert(Part::Matches); }
        }
        tokio::time::sleep(COLLECT).await;
        loop {
            match events.try_recv() {
                Ok(event) => changes.add(Ok(event))?,
                Err(TryRecvError::Lagged(count)) => changes.add(Err(RecvError::Lagged(count)))?,
                // If the sender is gone, the next call returns `None`.
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Some(changes),
            }
        }
    }
}

async fn send_changes(site: Site, sender: mpsc::Sender<Event>) {
    let mut events = site.state.events();
    let mut figures = site.learner.gauges.changes();
    let mut learner = site.learner.view.clone();
    let mut workers = site.state.workers().subscribe();
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
        match Changes::collect(&mut events, &mut figures, &mut learner, &mut workers).await {
            Some(next) => changes = next,
            None => return,
        }
    }
}

async fn render(site: &Site, parts: BTreeSet<Part>) -> Result<Vec<String>, Refused> {
    let figures = site.learner.clone();
    site.blocking(move |state| {
        parts.into_iter().map(|part| Ok(part.draw(state, &figures)?.into_string())).collect()
    })
    .await
}

/// Removes carriage returns, which would end a line of an event.
fn one_line(text: &str) -> String {
    text.replace('\r', "")
}
