//! The port that answers `GET /metrics`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tonic::codegen::Service;
use tonic::codegen::http::{Method, Request, Response, StatusCode, header};

use super::process::ProcessSource;
use super::source::Metrics;
use crate::box_future::BoxFuture;
use crate::connections::ConnectionLimits;
use crate::error::ServiceError;
use crate::http::HttpServer;
use crate::process::{ExitStatus, Failure};

/// The media type of the format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Connections of the port: more than scrapers need, and few enough to come out of the files that a
/// process keeps for itself.
const CONNECTIONS: usize = 32;

/// Time for which a text is served again. It bounds what a flood of scrapes costs.
const KEPT: Duration = Duration::from_millis(100);

/// An open port that answers nothing yet.
#[derive(Debug)]
pub struct MetricsServer {
    server: HttpServer,
}

impl MetricsServer {
    /// Opens the port of a process, if its settings name one.
    pub async fn open(address: Option<SocketAddr>) -> Result<Option<Self>, Failure> {
        match address {
            Some(address) => Self::bind(address).await.map(Some).map_err(|error| {
                let error = format!("metrics: {error}, with --metrics or deploy.metrics");
                Failure::new(ExitStatus::Unavailable, error)
            }),
            None => Ok(None),
        }
    }

    /// Opens `address`; port 0 selects a free port.
    pub async fn bind(address: SocketAddr) -> Result<Self, ServiceError> {
        let limits = ConnectionLimits::default();
        let per_port = limits.per_port.min(CONNECTIONS);
        let limits = ConnectionLimits { per_port, per_address: per_port / 2, ..limits };
        let bound = HttpServer::bind(address, limits).await;
        let server = bound.map_err(|source| ServiceError::Bind { address, source })?;
        Ok(Self { server })
    }

    /// The address that was opened.
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// Answers until the handle is dropped. A drain does not end it, so that it can be observed.
    pub fn start(self, metrics: Metrics) -> AbortOnDropHandle<()> {
        tracing::info!(address = %self.local_addr(), "serving metrics");
        let endpoint = Endpoint(Arc::new(Text { metrics, kept: Mutex::default() }));
        AbortOnDropHandle::new(tokio::spawn(async move {
            self.server.run_until(endpoint, CancellationToken::new(), Duration::ZERO).await;
        }))
    }
}

/// Serves the series of this process and those that `add` adds. Does nothing without a port. The
/// process drains once `stop` is cancelled.
pub fn serve(
    server: Option<MetricsServer>,
    stop: &CancellationToken,
    add: impl FnOnce(Metrics) -> Metrics,
) -> Option<AbortOnDropHandle<()>> {
    let process = ProcessSource::new(stop.clone());
    server.map(|server| server.start(add(Metrics::default().with(process))))
}

/// The text of the series, rendered at most once per [`KEPT`].
#[derive(Debug)]
struct Text {
    metrics: Metrics,
    kept: Mutex<Option<(Instant, String)>>,
}

/// Answers requests.
#[derive(Clone, Debug)]
struct Endpoint(Arc<Text>);

impl Endpoint {
    async fn answer(self, method: Method, path: String) -> Response<String> {
        if path != "/metrics" {
            return status(StatusCode::NOT_FOUND, "only /metrics is here\n");
        }
        if method != Method::GET && method != Method::HEAD {
            return status(StatusCode::METHOD_NOT_ALLOWED, "use GET\n");
        }
        match self.text().await {
            Some(text) => {
                let mut response = Response::new(text);
                let value = header::HeaderValue::from_static(OPEN_METRICS);
                response.headers_mut().insert(header::CONTENT_TYPE, value);
                response
            }
            None => status(StatusCode::INTERNAL_SERVER_ERROR, "a series cannot be read\n"),
        }
    }

    async fn text(self) -> Option<String> {
        // Held while the text is rendered, so that concurrent scrapes render it once.
        let mut kept = self.0.kept.lock().await;
        if let Some((at, text)) = &*kept
            && at.elapsed() < KEPT
        {
            return Some(text.clone());
        }
        let shared = Arc::clone(&self.0);
        // Reading the use of the disk can block.
        let rendered = tokio::task::spawn_blocking(move || shared.metrics.render()).await;
        let text = rendered.ok()?.ok()?;
        *kept = Some((Instant::now(), text.clone()));
        Some(text)
    }
}

fn status(status: StatusCode, text: &str) -> Response<String> {
    let mut response = Response::new(text.to_owned());
    *response.status_mut() = status;
    response
}

impl Service<Request<Incoming>> for Endpoint {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let endpoint = self.clone();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        Box::pin(async move { Ok(endpoint.answer(method, path).await) })
    }
}
