//! The stylesheet, the scripts and the icon, embedded in the binary.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

const STYLESHEET: &str = include_str!("../../assets/ouro.css");
const SCRIPT: &str = include_str!("../../assets/ouro.js");
const CANVAS_SCRIPT: &str = include_str!("../../assets/canvas.js");
const ICON: &str = include_str!("../../assets/ouro.svg");

pub(super) async fn stylesheet() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLESHEET)
}

pub(super) async fn script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)
}

pub(super) async fn canvas_script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], CANVAS_SCRIPT)
}

pub(super) async fn icon() -> impl IntoResponse {
    ([(CONTENT_TYPE, "image/svg+xml")], ICON)
}
