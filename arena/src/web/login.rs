//! The login of a page that other machines reach.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ouro_service::access::{Guard, Role};
use ouro_service::connections::PeerInfo;

/// Roles that see the page; an admin does too.
const READERS: &[Role] = &[Role::Reader];

/// Asks for the name and the secret of a token, as HTTP Basic user and password (RFC 7617). A
/// browser with a reader's certificate is not asked. An admitted request has the caller's
/// [`Identity`](ouro_service::access::Identity) among its extensions.
pub(super) async fn check(
    State(guard): State<Guard>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<PeerInfo>();
    if let Some(visitor) = guard.visitor(request.headers(), peer, READERS) {
        request.extensions_mut().insert(visitor);
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Basic realm=\"Ouro\", charset=\"UTF-8\"")];
    let text = "log in with the name and the secret of a reader's token; `ouro token create` makes \
                one\n";
    (StatusCode::UNAUTHORIZED, challenge, text).into_response()
}
