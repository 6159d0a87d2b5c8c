//! What changes, as server-sent events: `swap` with the HTML of a part of the run's page, `say`
//! with a sentence.
//!
//! A stream begins with all parts, so that a browser that was cut off is whole again, and gathers
//! what changes for a moment, so that a burst of events draws each part once.

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

/// How long changes are gathered.
const GATHER: Duration = Duration::from_millis(250);
/// Events that wait for a slow browser; then the stream waits.
const WAITING: usize = 16;

/// Answers with the events that `tell` sends, until it ends or the arena stops; with an error if
/// too many are listening.
pub(super) fn stream<F>(site: Site, tell: impl FnOnce(Site, mpsc::Sender<Event>) -> F) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let Ok(place) = site.streams.clone().try_acquire_owned() else {
        let busy = "too many pages are open; close one";
        return (StatusCode::SERVICE_UNAVAILABLE, busy).into_response();
    };
    let (sender, receiver) = mpsc::channel(WAITING);
    let stop = site.stop.clone();
    let gone = sender.clone();
    let telling = tell(site, sender);
    tokio::spawn(async move {
        let _place = place;
        tokio::select! {
            () = telling => {}
            () = stop.cancelled() => {}
            () = gone.closed() => {}
        }
    });
    let events = tokio_stream::StreamExt::map(ReceiverStream::new(receiver), Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// The events of the run's page.
pub(super) async fn watch(State(site): State<Site>) -> Response {
    stream(site, tell)
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

/// The sentence of an event, unless a part of the page or another event says the same.
fn sentence(event: &ArenaEvent) -> Option<String> {
    match event {
        ArenaEvent::GateProgress { .. } | ArenaEvent::Promoted(_) => None,
        ArenaEvent::Published(_)
        | ArenaEvent::MatchStarted(_)
        | ArenaEvent::Decided(_)
        | ArenaEvent::Rated(_) => Some(event.to_string()),
    }
}

/// What is told next.
#[derive(Default)]
struct News {
    parts: BTreeSet<Part>,
    sentences: Vec<String>,
}

impl News {
    fn add(&mut self, event: Result<ArenaEvent, broadcast::error::RecvError>) -> Option<()> {
        match event {
            Ok(event) => {
                self.parts.extend(changed(&event));
                self.sentences.extend(sentence(&event));
            }
            // What was missed may have changed anything.
            Err(broadcast::error::RecvError::Lagged(_)) => self.parts.extend(Part::ALL),
            Err(broadcast::error::RecvError::Closed) => return None,
        }
        Some(())
    }

    /// Waits for something to tell, then a moment for more.
    async fn gather(
        events: &mut broadcast::Receiver<ArenaEvent>,
        figures: &mut watch::Receiver<()>,
    ) -> Option<Self> {
        let mut news = Self::default();
        tokio::select! {
            event = events.recv() => news.add(event)?,
            Ok(()) = figures.changed() => { news.parts.insert(Part::Learner); }
        }
        tokio::time::sleep(GATHER).await;
        while let Ok(event) = events.try_recv() {
            news.add(Ok(event))?;
        }
        Some(news)
    }
}

async fn tell(site: Site, sender: mpsc::Sender<Event>) {
    let mut events = site.keeper.events();
    let mut figures = site.gauges.changes();
    let mut news = News { parts: Part::ALL.into(), sentences: Vec::new() };
    loop {
        for sentence in news.sentences {
            let event = Event::default().event("say").data(one_line(&sentence));
            if sender.send(event).await.is_err() {
                return;
            }
        }
        for html in draw(&site, news.parts).await.unwrap_or_default() {
            let event = Event::default().event("swap").data(one_line(&html));
            if sender.send(event).await.is_err() {
                return;
            }
        }
        match News::gather(&mut events, &mut figures).await {
            Some(next) => news = next,
            None => return,
        }
    }
}

async fn draw(site: &Site, parts: BTreeSet<Part>) -> Result<Vec<String>, Refused> {
    let gauges = site.gauges.clone();
    site.blocking(move |keeper| {
        parts.into_iter().map(|part| Ok(part.draw(keeper, &gauges)?.into_string())).collect()
    })
    .await
}

/// Events hold no carriage returns, which would end a line of theirs.
fn one_line(text: &str) -> String {
    text.replace('\r', "")
}
