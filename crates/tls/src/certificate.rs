//! What a certificate says: its purpose and its time.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage};

use crate::error::TlsError;

/// What a certificate is to be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Server,
    Client,
}

impl Purpose {
    fn usage(self) -> KeyUsage {
        match self {
            Self::Server => KeyUsage::server_auth(),
            Self::Client => KeyUsage::client_auth(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// Checks the time and the purpose of a certificate. Without an authority the check of a valid
/// certificate ends with [`Error::UnknownIssuer`].
fn validity(certificate: &CertificateDer<'_>, time: UnixTime, purpose: Purpose) -> Error {
    let checked = EndEntityCert::try_from(certificate).and_then(|certificate| {
        let algorithms = webpki::ALL_VERIFICATION_ALGS;
        certificate.verify_for_usage(algorithms, &[], &[], time, purpose.usage(), None, None)?;
        Ok(())
    });
    checked.err().unwrap_or(Error::UnknownIssuer)
}

/// End of the validity of a certificate, in seconds since 1970.
pub(crate) fn expires(certificate: &CertificateDer<'_>) -> Option<u64> {
    // No certificate is valid for ever: its time has at most four digits for the year.
    let end = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX / 2));
    match validity(certificate, end, Purpose::Client) {
        Error::CertExpired { not_after, .. } => Some(not_after.as_secs()),
        _ => None,
    }
}

/// Checks that the certificate in the file at `path` is valid now.
pub(crate) fn check(
    certificate: &CertificateDer<'_>,
    path: &Path,
    purpose: Purpose,
) -> Result<(), TlsError> {
    let path = path.to_owned();
    match validity(certificate, UnixTime::now(), purpose) {
        Error::UnknownIssuer => Ok(()),
        Error::CertExpired { not_after, .. } => {
            Err(TlsError::Expired { path, time: readable(not_after) })
        }
        Error::CertNotValidYet { not_before, .. } => {
            Err(TlsError::NotYetValid { path, time: readable(not_before) })
        }
        error @ (Error::BadDer | Error::TrailingData(_) | Error::InvalidCertValidity) => {
            Err(TlsError::NoCertificate { path, problem: error.to_string() })
        }
        error => {
            Err(TlsError::Purpose { path, purpose: purpose.name(), problem: error.to_string() })
        }
    }
}

fn readable(time: UnixTime) -> humantime::Rfc3339Timestamp {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
    humantime::format_rfc3339_seconds(time.unwrap_or(SystemTime::UNIX_EPOCH))
}
