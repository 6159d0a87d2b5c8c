//! The arena's web page: strength over time, the pool, the gate, matches, games.
//!
//! The server renders all pages as HTML and SVG. The stylesheet and the scripts are embedded in the
//! binary, so the page needs no internet access. The scripts replace changed parts, play recorded
//! games and draw large boards. The page is read-only; programs use gRPC.
//!
//! Like the gRPC server, the web server is bound first, then runs until a token is cancelled.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, Response, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::get;
use ouro_service::access::Guard;
use ouro_service::{Drain, HttpServer};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::learner_watch::LearnerFigures;
use crate::state::ArenaState;

mod assets;
mod chart;
mod draw;
mod events;
mod games;
pub mod gauges;
mod host;
mod large_body;
mod learner;
mod live;
mod login;
mod matches;
mod overview;
mod page;
mod text;

pub use gauges::{Gauge, Gauges};
use host::AllowedNames;

/// Content security policy: a page loads files of this program only.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'; object-src 'none'";

/// Maximum number of concurrent event streams; each holds a task and a buffer. Beyond the limit, a
/// page asks again every few seconds, and does not update until a stream is free.
const STREAMS: usize = 64;
/// Maximum number of recorded games that are rendered at once; each takes some megabytes.
const RENDERINGS: usize = 2;
/// Maximum number of recorded games whose frames are held until a client has read them; each takes
/// up to 64 MiB.
const LARGE_BODIES: usize = 8;

/// Who may ask for the page.
#[derive(Debug)]
pub(crate) struct WebAccess {
    /// Names of the host, besides IP addresses and `localhost`.
    pub(crate) names: Vec<String>,
    /// Asks for a login unless the page is on loopback.
    pub(crate) guard: Option<Guard>,
}

/// Everything that the pages need. Clones share it.
#[derive(Clone, Debug)]
struct Site {
    state: Arc<ArenaState>,
    learner: LearnerFigures,
    streams: Arc<Semaphore>,
    renderings: Arc<Semaphore>,
    large_bodies: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Site {
    fn new(state: Arc<ArenaState>, learner: LearnerFigures, stop: CancellationToken) -> Self {
        Self {
            state,
            learner,
            streams: Arc::new(Semaphore::new(STREAMS)),
            renderings: Arc::new(Semaphore::new(RENDERINGS)),
            large_bodies: Arc::new(Semaphore::new(LARGE_BODIES)),
            stop,
        }
    }
}

/// Serves the pages until `stop` is cancelled, then allows requests in flight up to `drain` to
/// finish.
///
/// `access` decides which requests are answered.
pub(crate) async fn serve(
    server: HttpServer,
    access: WebAccess,
    state: Arc<ArenaState>,
    learner: LearnerFigures,
    stop: CancellationToken,
    drain: Duration,
) -> Drain {
    let site = Site::new(state, learner, stop.clone());
    let address = server.local_addr();
    tracing::info!(%address, "serving the web page");
    let mut routes = routes(site);
    if let Some(guard) = access.guard.filter(|_| !address.ip().is_loopback()) {
        routes = routes.layer(from_fn_with_state(guard, login::check));
    }
    let names = AllowedNames::new(&access.names);
    let routes = routes.layer(from_fn_with_state(names, host::check));
    server.run_until(routes, stop, drain).await
}

fn routes(site: Site) -> Router {
    Router::new()
        .route("/", get(overview::show))
        .route("/matches", get(matches::list))
        .route("/matches/{number}", get(matches::show))
        .route("/games/{number}/{cluster}/{game}", get(games::show))
        .route("/games/{number}/{cluster}/{game}/frames", get(games::frames))
        .route("/live", get(live::show))
        .route("/live/events", get(live::watch))
        .route("/events", get(events::watch))
        .route("/assets/ouro.css", get(assets::stylesheet))
        .route("/assets/ouro.js", get(assets::script))
        .route("/assets/canvas.js", get(assets::canvas_script))
        .route("/assets/ouro.svg", get(assets::icon))
        .fallback(page::not_found)
        .layer(map_response(guarded))
        .with_state(site)
}

/// Adds the security headers to every response.
async fn guarded<B>(mut response: Response<B>) -> Response<B> {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // Pages change while a run continues, and another run may use the same port later.
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests;
