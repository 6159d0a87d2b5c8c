//! The certificate that a client presents.

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use crate::authorities::Authorities;
use crate::certificate::expires;

/// Start of the URI that names the holder of a client's certificate: `ouro://ROLE/NAME`.
pub const IDENTITY_SCHEME: &str = "ouro://";

/// A client's certificate, verified against the authorities of the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The URIs of the scheme `ouro` that it names.
    pub identities: Vec<String>,
    /// End of its validity, in seconds since 1970.
    pub expires: u64,
    /// The authorities of the port at the handshake. `None` in tests without a port: the
    /// certificate stays current.
    pub authorities: Option<Authorities>,
}

impl PeerCertificate {
    /// Reads a certificate that was verified with these authorities.
    pub(crate) fn of(
        certificate: &CertificateDer<'_>,
        authorities: Option<Authorities>,
    ) -> Option<Self> {
        let parsed = EndEntityCert::try_from(certificate).ok()?;
        let ours = |uri: &&str| uri.starts_with(IDENTITY_SCHEME);
        Some(Self {
            identities: parsed.valid_uri_names().filter(ours).map(str::to_owned).collect(),
            expires: expires(certificate)?,
            authorities,
        })
    }

    /// Whether the port still accepts the authorities with which it verified the certificate. The
    /// time of the certificate does not matter here.
    pub fn is_current(&self) -> bool {
        self.authorities.as_ref().is_none_or(Authorities::is_current)
    }
}
