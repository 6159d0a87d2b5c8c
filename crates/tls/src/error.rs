//! Why certificates cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// Why the files of a certificate cannot be used. Each names the file and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file has no certificate, or one that is damaged.
    #[error("{} has no usable certificate ({problem}); give a PEM file", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A file has no private key, or one of an unknown kind.
    #[error(
        "{} has no usable private key ({problem}); give a PEM file with an ECDSA, Ed25519 or RSA key",
        path.display()
    )]
    NoKey {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A private key is not the one of the certificate.
    #[error("the key in {} is not that of the certificate in {}; give the two that were made together",
        key.display(), certificate.display())]
    OtherKey {
        /// File of the key.
        key: PathBuf,
        /// File of the certificate.
        certificate: PathBuf,
    },
    /// The time of a certificate is over.
    #[error("the certificate in {} expired at {time}; renew it", path.display())]
    Expired {
        /// The file.
        path: PathBuf,
        /// The end of its validity.
        time: humantime::Rfc3339Timestamp,
    },
    /// The time of a certificate has not begun.
    #[error("the certificate in {} is valid from {time} on; check the clock", path.display())]
    NotYetValid {
        /// The file.
        path: PathBuf,
        /// The start of its validity.
        time: humantime::Rfc3339Timestamp,
    },
    /// The certificate is for another purpose.
    #[error("the certificate in {} is not one of a {purpose}: {problem}", path.display())]
    Purpose {
        /// The file.
        path: PathBuf,
        /// The purpose.
        purpose: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The library refuses the configuration.
    #[error("the certificates cannot be used: {0}")]
    Configuration(String),
}

impl TlsError {
    /// The file that the error is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. }
            | Self::NoCertificate { path, .. }
            | Self::NoKey { path, .. }
            | Self::OtherKey { key: path, .. }
            | Self::Expired { path, .. }
            | Self::NotYetValid { path, .. }
            | Self::Purpose { path, .. } => Some(path),
            Self::Configuration(_) => None,
        }
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read { path: path.to_owned(), source }
    }
}
