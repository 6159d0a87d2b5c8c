//! Refused requests: a status and one line of text.

use std::fmt::Display;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ouro_game::battlesnake::api::ApiError;

use super::session::SessionError;

/// Most characters of the text, which may quote the request.
const CHARS: usize = 300;

/// Why a request gets no answer.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, text: impl Display) -> Self {
        let text = text.to_string();
        let printable = text.chars().map(|one| if one.is_control() { ' ' } else { one });
        Self { status, text: printable.take(CHARS).collect() }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}

impl From<SessionError> for Refusal {
    fn from(error: SessionError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, self.text + "\n").into_response()
    }
}
