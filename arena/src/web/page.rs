//! Parts of all pages: head, navigation, errors, and access to the blocking store.

use std::sync::Arc;

use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};
use ouro_service::error::chain;

use super::Site;
use crate::error::CallError;
use crate::state::ArenaState;

/// A page that cannot be shown.
#[derive(Debug)]
pub(super) struct Refused(pub(super) CallError);

impl<E: Into<CallError>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match &self.0 {
            CallError::NoMatch(_) | CallError::NoGame { .. } => StatusCode::NOT_FOUND,
            CallError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        error_page(status, &chain(&self.0)).into_response()
    }
}

impl Site {
    /// Renders a page outside the threads of the runtime, because the store blocks.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ArenaState) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, Refused> {
        let state = self.state.clone();
        let result = tokio::task::spawn_blocking(move || work(&state)).await;
        Ok(result.map_err(|_| CallError::Stopping)??)
    }

    /// Runs work that takes some megabytes, as one of a bounded number at once.
    ///
    /// A disconnected client drops this future, but does not end the work. The work therefore holds the
    /// permit.
    pub(super) async fn rendering<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ArenaState) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, Refused> {
        let permit = Arc::clone(&self.renderings).acquire_owned().await;
        let permit = permit.map_err(|_| CallError::Stopping)?;
        self.blocking(move |state| {
            let _permit = permit;
            work(state)
        })
        .await
    }
}

/// A whole page.
pub(super) fn page(title: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Ouro" }
                link rel="icon" href="/assets/ouro.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/ouro.css";
                script src="/assets/canvas.js" defer {}
                script src="/assets/ouro.js" defer {}
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    a.home href="/" { "Ouro" }
                    nav aria-label="Pages" {
                        a href="/" { "Run" }
                        a href="/matches" { "Matches" }
                        a href="/live" { "Live game" }
                    }
                    span #link role="status" {}
                }
                main #content { (content) }
            }
        }
    }
}

/// A titled part of a page. The id of its title is that of the part with `-title`.
pub(super) fn section(id: &str, title: &str, content: Markup) -> Markup {
    let title_id = format!("{id}-title");
    html! {
        section id=(id) aria-labelledby=(title_id) { h2 id=(title_id) { (title) } (content) }
    }
}

/// A page with an error.
fn error_page(status: StatusCode, message: &str) -> (StatusCode, Markup) {
    let title = status.canonical_reason().unwrap_or("Error");
    let content = html! {
        h1 { (title) }
        p { (message) "." }
        p { a href="/" { "To the run" } }
    };
    (status, page(title, content))
}

/// The answer to an unknown path.
pub(super) async fn not_found(uri: Uri) -> impl IntoResponse {
    // Cut, because the path comes from an untrusted client.
    let path: String = uri.path().chars().take(200).collect();
    error_page(StatusCode::NOT_FOUND, &format!("there is no page {path} here"))
}
