//! The future of a function that is not generic.

use std::future::Future;
use std::pin::Pin;

/// The future of a function that is not generic.
///
/// The body of an `async fn` is compiled in each crate that polls it. Servers have large bodies, so
/// they return boxed futures, which are compiled once, in the crate of the server.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
