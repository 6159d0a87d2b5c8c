//! Certificates and keys in PEM files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::certificate::{Purpose, check};
use crate::error::TlsError;
use crate::provider::provider;

/// Largest file of certificates or keys, in bytes. The certificates of a whole system fit.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The files of a certificate and of its private key, both PEM. Intermediate certificates follow
/// the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPairFiles {
    /// File of the certificate.
    pub certificate: PathBuf,
    /// File of the key.
    pub key: PathBuf,
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let read = || {
        // Reading a named pipe may block for ever.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a regular file; name a file"));
        }
        let mut bytes = Vec::new();
        // The byte beyond the limit reveals a larger file. Cut there, it would lose certificates.
        File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            let problem = format!("it has more than {MAX_FILE_BYTES} bytes; give a smaller bundle");
            return Err(io::Error::other(problem));
        }
        Ok(bytes)
    };
    read().map_err(TlsError::read(path))
}

/// The certificates in a file, at least one.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = read(path)?;
    let unusable = |problem: String| TlsError::NoCertificate { path: path.to_owned(), problem };
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| unusable(error.to_string()))?;
    if found.is_empty() { Err(unusable("none found".to_owned())) } else { Ok(found) }
}

/// The authorities in a file.
pub(crate) fn authorities(path: &Path) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| TlsError::NoCertificate {
            path: path.to_owned(),
            problem: error.to_string(),
        })?;
    }
    Ok(Arc::new(roots))
}

/// A certificate with its key, if they fit each other and are valid now.
pub(crate) fn key_pair(
    files: &KeyPairFiles,
    purpose: Purpose,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let KeyPairFiles { certificate, key } = files;
    let chain = certificates(certificate)?;
    check(&chain[0], certificate, purpose)?;
    let unusable = |problem: String| TlsError::NoKey { path: key.clone(), problem };
    let der = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| match error {
        pem::Error::NoItemsFound => unusable("none found".to_owned()),
        error => unusable(error.to_string()),
    })?;
    let pair = CertifiedKey::from_der(chain, der, &provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            TlsError::OtherKey { key: key.clone(), certificate: certificate.clone() }
        }
        error => unusable(error.to_string()),
    })?;
    Ok(Arc::new(pair))
}
