//! A gRPC service behind a guard.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;

use super::guard::{Admission, Guard, Permissions};
use super::open_body::{End, OpenBody};
use crate::box_future::BoxFuture;
use crate::connections::ConnectionInfo;

/// A gRPC service whose calls a guard admits; all calls without a guard.
#[derive(Clone, Debug)]
pub(crate) struct Guarded<S> {
    service: S,
    guard: Option<Guard>,
    /// `None` permits every role every method.
    permissions: Option<Permissions>,
}

impl<S> Guarded<S> {
    pub(crate) fn new(service: S, guard: Option<Guard>, permissions: Option<Permissions>) -> Self {
        Self { service, guard, permissions }
    }
}

impl<S: NamedService> NamedService for Guarded<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Guarded<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<http::Response<Body>, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let Some(guard) = &self.guard else { return Box::pin(self.service.call(request)) };
        let method = request.uri().path();
        let roles = self.permissions.map(|permissions| {
            let listed = permissions.iter().find(|(path, _)| *path == method);
            listed.map_or(&[][..], |(_, roles)| roles)
        });
        let connection = request.extensions().get::<ConnectionInfo>();
        let peer = connection.map(|connection| &connection.peer);
        let admission = match guard.admit(request.headers(), peer, method, roles) {
            Ok(admission) => admission,
            Err(status) => return Box::pin(async move { Ok(status.into_http()) }),
        };
        let Admission { identity, permit } = admission;
        if let Some(connection) = connection {
            connection.set_admitted(identity.revoked());
        }
        // The call is open while either body is.
        let permit = Arc::new(permit);
        request.extensions_mut().insert(identity.clone());
        let request = request.map(|body| {
            Body::new(OpenBody::new(body, identity.clone(), permit.clone(), End::Error))
        });
        let response = self.service.call(request);
        Box::pin(async move {
            let wrap = |body| Body::new(OpenBody::new(body, identity, permit, End::Trailers));
            response.await.map(|response| response.map(wrap))
        })
    }
}
