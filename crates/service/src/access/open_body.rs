//! A body of a call that ends when the caller's credential does, and is read no faster than the
//! credential may send.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::HeaderMap;

use super::guard::revoked;
use super::identity::Identity;
use super::limits::MessageCounter;

/// How a body ends when the credential does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A request: the handler reads an error.
    Error,
    /// A response: the client reads the status in the trailers.
    Trailers,
}

/// A body of an open call. It ends when the caller's credential is revoked or expires, and holds the
/// place of the call until then. A request waits while the credential is beyond its rates.
pub(super) struct OpenBody {
    body: Body,
    identity: Identity,
    revoked: Pin<Box<WaitForCancellationFutureOwned>>,
    end: End,
    is_ended: bool,
    messages: MessageCounter,
    /// Nothing is read before this ends.
    pause: Option<Pin<Box<Sleep>>>,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl OpenBody {
    pub(super) fn new(
        body: Body,
        identity: Identity,
        permit: Arc<OwnedSemaphorePermit>,
        end: End,
    ) -> Self {
        let revoked = Box::pin(identity.revoked().clone().cancelled_owned());
        let messages = MessageCounter::default();
        Self {
            body,
            identity,
            revoked,
            end,
            is_ended: false,
            messages,
            pause: None,
            _permit: permit,
        }
    }

    /// Reads the next frame of a request, after the pause that those before caused.
    fn poll_request(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        if let Some(data) = data {
            let messages = self.messages.count(data);
            let wait = self.identity.receive(data.len() as u64, messages);
            self.pause = (!wait.is_zero()).then(|| Box::pin(sleep(wait)));
        }
        Poll::Ready(frame)
    }
}

impl HttpBody for OpenBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.is_ended {
            return Poll::Ready(None);
        }
        if self.revoked.as_mut().poll(context).is_pending() {
            return match self.end {
                End::Error => self.poll_request(context),
                End::Trailers => Pin::new(&mut self.body).poll_frame(context),
            };
        }
        self.is_ended = true;
        // Dropping the inner body ends what the handler still sends.
        self.body = Body::empty();
        let status = revoked(&self.identity);
        Poll::Ready(Some(match self.end {
            End::Error => Err(status),
            End::Trailers => {
                let mut trailers = HeaderMap::new();
                status.add_header(&mut trailers).map(|()| Frame::trailers(trailers))
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.is_ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
