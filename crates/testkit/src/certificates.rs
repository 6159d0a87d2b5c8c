//! Certificates of tests: authorities, and what they sign, as PEM files.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A certificate authority whose files are in a folder.
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    /// File of its certificate.
    pub certificate: PathBuf,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Pair {
    /// File of the certificate.
    pub certificate: PathBuf,
    /// File of the key.
    pub key: PathBuf,
}

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Now and for many years.
    Now,
    /// In a year that is over.
    Expired,
    /// From a later year on.
    Later,
}

impl Authority {
    /// A new authority with its certificate in `folder`, `NAME.crt`.
    pub fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new([]).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let own = params.self_signed(&key).expect("it signs itself");
        let certificate = folder.join(format!("{name}.crt"));
        fs::write(&certificate, own.pem()).expect("it is written");
        Self { folder: folder.to_owned(), issuer: Issuer::new(params, key), certificate }
    }

    /// A certificate of a service with these host names and addresses, `NAME.crt` and `NAME.key`.
    pub fn server(&self, name: &str, hosts: &[&str], validity: Validity) -> Pair {
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect::<Vec<_>>();
        let mut params = CertificateParams::new(hosts).expect("names of hosts");
        // A service is a client of the others too.
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(name, params, validity)
    }

    /// A certificate of a client with these URIs, such as `ouro://actor/gpu`.
    pub fn client(&self, name: &str, uris: &[&str], validity: Validity) -> Pair {
        let mut params = CertificateParams::new([]).expect("no names");
        let uri = |uri: &&str| SanType::URI((*uri).try_into().expect("a URI"));
        params.subject_alt_names = uris.iter().map(uri).collect();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(name, params, validity)
    }

    fn sign(&self, name: &str, mut params: CertificateParams, validity: Validity) -> Pair {
        params.distinguished_name.push(DnType::CommonName, name);
        let (first, last) = match validity {
            Validity::Now => (2020, 4000),
            Validity::Expired => (2020, 2021),
            Validity::Later => (3999, 4000),
        };
        params.not_before = date_time_ymd(first, 1, 1);
        params.not_after = date_time_ymd(last, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("it is signed");
        let path = |kind: &str| self.folder.join(format!("{name}.{kind}"));
        let pair = Pair { certificate: path("crt"), key: path("key") };
        fs::write(&pair.certificate, signed.pem()).expect("it is written");
        fs::write(&pair.key, key.serialize_pem()).expect("it is written");
        pair
    }
}

/// Asks for the page at `/` by HTTPS and returns the answer. The client trusts the authority of the
/// file `ca` and presents `own`.
///
/// # Errors
///
/// The handshake failed, or the connection broke.
pub fn get_page(address: SocketAddr, ca: &Path, own: Option<&Pair>) -> io::Result<String> {
    let read = |path: &Path| CertificateDer::from_pem_file(path).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(read(ca)).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let config = match own {
        None => config.with_no_client_auth(),
        Some(own) => {
            let key = PrivateKeyDer::from_pem_file(&own.key).expect("a key");
            let config = config.with_client_auth_cert(vec![read(&own.certificate)], key);
            config.expect("a certificate and its key")
        }
    };
    let name = ServerName::from(address.ip());
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(client, TcpStream::connect(address)?);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    // The server may close without the end of TLS; the answer is complete by then.
    match stream.read_to_string(&mut answer) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(answer),
    }
}
