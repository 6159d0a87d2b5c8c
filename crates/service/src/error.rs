//! Errors of this crate, and the conversion of errors to gRPC statuses.
//!
//! A service gives each error variant a gRPC code in [`IntoStatus::code`]; handlers never build a
//! `Status` themselves.

use std::net::SocketAddr;

use tonic::{Code, Status};

/// Error that stops a service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The port is taken, or the machine does not have the address.
    #[error("cannot listen on {address}: {source}; choose another address")]
    Bind {
        /// The requested address.
        address: SocketAddr,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The descriptors of a service do not decode, which is a bug of the build.
    #[error("descriptors for gRPC reflection are not valid: {0}")]
    Descriptors(#[from] tonic_reflection::server::Error),
    /// The listener failed while serving.
    #[error("gRPC server failed: {0}")]
    Serve(#[from] tonic::transport::Error),
    /// Signal handlers cannot be installed.
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
}

/// An error that a gRPC call returns.
pub trait IntoStatus: std::error::Error {
    /// The gRPC code of this variant.
    fn code(&self) -> Code;

    /// The status to send: the code, and the error with its causes on one line.
    fn status(&self) -> Status {
        Status::new(self.code(), chain(self))
    }
}

/// The texts of an error and its causes, joined by `: `. Skips a cause if the text already contains
/// it.
pub fn chain<E: std::error::Error + ?Sized>(error: &E) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer failed")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("inner {0}")]
    struct Inner(u8);

    impl IntoStatus for Outer {
        fn code(&self) -> Code {
            Code::NotFound
        }
    }

    #[test]
    fn a_status_carries_the_code_and_the_whole_chain() {
        let status = Outer(Inner(7)).status();
        assert_eq!(status.code(), Code::NotFound);
        assert_eq!(status.message(), "outer failed: inner 7");
    }
}
