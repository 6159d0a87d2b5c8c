//! Files that cannot be used, renewed files, and handshakes over loopback.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ouro_testkit::certificates::{Authority, Pair, Validity};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use super::provider::provider;
use super::reload::Reloading;
use super::*;

fn files(pair: &Pair) -> KeyPairFiles {
    KeyPairFiles { certificate: pair.certificate.clone(), key: pair.key.clone() }
}

fn server(pair: &Pair, clients: Option<&Authority>) -> ServerTls {
    ServerTls::new(files(pair), clients.map(|one| one.certificate.clone())).unwrap()
}

fn client(services: &Authority, own: Option<&Pair>) -> ClientTls {
    let authorities = services.certificate.clone();
    ClientTls::new(ClientFiles { authorities, own: own.map(files) }).unwrap()
}

/// What both sides of a connection see: the server the client's certificate, the client an answer.
async fn meet(
    server: &ServerTls,
    client: &ClientTls,
    name: &str,
) -> (Result<Option<PeerCertificate>, HandshakeError>, Result<(), String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = async {
        let (stream, _) = listener.accept().await.unwrap();
        let limit = Duration::from_secs(20);
        let (mut stream, peer) = server.accept(stream, Protocol::Http2, limit).await?;
        let _ = stream.write_all(b"!").await;
        let _ = stream.shutdown().await;
        Ok(peer)
    };
    let connecting = async {
        let tcp = TcpStream::connect(address).await.unwrap();
        let name = name.to_owned().try_into().unwrap();
        let connector = TlsConnector::from(client.config());
        let stream = connector.connect(name, tcp).await;
        let mut stream = stream.map_err(|error| error.to_string())?;
        // With TLS 1.3, the server's refusal of a certificate comes after the handshake.
        let mut byte = [0];
        stream.read_exact(&mut byte).await.map(drop).map_err(|error| error.to_string())
    };
    tokio::join!(accepting, connecting)
}

#[tokio::test]
async fn both_sides_verify_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, foreign) =
        (Authority::new(folder.path(), "ca"), Authority::new(folder.path(), "foreign"));
    let service = server(&ca.server("arena", &["arena", "127.0.0.1"], Validity::Now), Some(&ca));
    let gpu = ca.client("gpu", &["ouro://actor/gpu"], Validity::Now);
    for name in ["arena", "127.0.0.1"] {
        let (seen, answered) = meet(&service, &client(&ca, Some(&gpu)), name).await;
        let seen = seen.unwrap().expect("a certificate");
        assert_eq!(seen.identities, ["ouro://actor/gpu"]);
        // 4000-01-01.
        assert_eq!((seen.expires, answered), (64_060_588_800, Ok(())));
    }
    let (seen, answered) = meet(&service, &client(&ca, None), "arena").await;
    assert_eq!((seen.unwrap(), answered), (None, Ok(())));

    // The client refuses a server of another name and one of another authority.
    let (seen, answered) = meet(&service, &client(&ca, None), "learner").await;
    let (error, text) = (seen.unwrap_err(), answered.unwrap_err());
    assert!(text.contains("not valid for name") && text.contains("learner"), "{text}");
    assert!(matches!(error, HandshakeError::Other(_)), "{error}");
    let (_, answered) = meet(&service, &client(&foreign, None), "arena").await;
    assert!(answered.unwrap_err().contains("UnknownIssuer"));

    // The server refuses a client of another authority.
    let forged = foreign.client("forged", &["ouro://admin/root"], Validity::Now);
    let (seen, answered) = meet(&service, &client(&ca, Some(&forged)), "arena").await;
    assert!(matches!(seen, Err(HandshakeError::Certificate(_))), "{seen:?}");
    assert!(answered.is_err());
    let counts = service.refusals();
    assert_eq!(
        counts,
        [("plain", 0), ("expired", 0), ("invalid", 1), ("timeout", 0), ("other", 2)]
    );
}

#[tokio::test]
async fn a_pinned_certificate_is_accepted_under_any_name_and_no_other_is() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Authority::new(folder.path(), "ca");
    let [own, other] = ["own", "other"].map(|name| ca.server(name, &["arena"], Validity::Now));
    let pinned = ClientTls::pinned(&own.certificate).unwrap();
    let (_, answered) = meet(&server(&own, None), &pinned, "127.0.0.1").await;
    assert_eq!(answered, Ok(()));
    let (_, answered) = meet(&server(&other, None), &pinned, "127.0.0.1").await;
    assert!(answered.is_err());
}

#[tokio::test]
async fn a_client_certificate_that_expires_while_it_runs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Authority::new(folder.path(), "ca");
    let service = server(&ca.server("arena", &["arena"], Validity::Now), Some(&ca));
    let gpu = ca.client("gpu", &["ouro://actor/gpu"], Validity::Now);
    let running = client(&ca, Some(&gpu));
    // A client refuses to start with an expired certificate, so only one that runs can present it.
    let expired = ca.client("old", &["ouro://actor/gpu"], Validity::Expired);
    let config = unchecked(&ca.certificate, &expired);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = async {
        let (stream, _) = listener.accept().await.unwrap();
        service.accept(stream, Protocol::Http2, Duration::from_secs(20)).await
    };
    let connecting = async {
        let tcp = TcpStream::connect(address).await.unwrap();
        let name = "arena".to_owned().try_into().unwrap();
        let stream = TlsConnector::from(config).connect(name, tcp).await;
        let mut byte = [0];
        stream.unwrap().read_exact(&mut byte).await
    };
    let (seen, read) = tokio::join!(accepting, connecting);
    assert!(matches!(seen, Err(HandshakeError::Expired)), "{seen:?}");
    assert!(read.unwrap_err().to_string().contains("CertificateExpired"));
    assert_eq!(service.refusals()[1], ("expired", 1));
    let (seen, _) = meet(&service, &running, "arena").await;
    assert!(seen.unwrap().is_some());
}

/// A client that presents a certificate without checking it first.
fn unchecked(authority: &Path, own: &Pair) -> Arc<rustls::ClientConfig> {
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject;
    let chain = files::certificates(&own.certificate).unwrap();
    let key = PrivateKeyDer::from_pem_file(&own.key).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(files::authorities(authority).unwrap());
    let mut config = config.with_client_auth_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

#[tokio::test]
async fn a_client_without_tls_and_a_silent_one_are_refused_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Authority::new(folder.path(), "ca");
    let service = server(&ca.server("arena", &["arena"], Validity::Now), None);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let open = async || {
        let address = listener.local_addr().unwrap();
        let (stream, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        (stream.unwrap(), accepted.unwrap().0)
    };
    let (mut plain, accepted) = open().await;
    plain.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let refused = service.accept(accepted, Protocol::Http2, Duration::from_secs(20)).await;
    assert!(matches!(refused, Err(HandshakeError::Plain)), "{refused:?}");
    let (_silent, accepted) = open().await;
    let refused = service.accept(accepted, Protocol::Http2, Duration::from_millis(20)).await;
    assert!(matches!(refused, Err(HandshakeError::TimeIsOver)), "{refused:?}");
    let counts = service.refusals();
    assert_eq!(
        counts,
        [("plain", 1), ("expired", 0), ("invalid", 0), ("timeout", 1), ("other", 0)]
    );
}

#[test]
fn each_error_names_the_file_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Authority::new(folder.path(), "ca");
    let pair = |name: &str, validity| ca.server(name, &["arena"], validity);
    let (good, other) = (pair("good", Validity::Now), pair("other", Validity::Now));
    let error = |certificate: &Path, key: &Path| {
        let own = KeyPairFiles { certificate: certificate.to_owned(), key: key.to_owned() };
        ServerTls::new(own, None).unwrap_err().to_string()
    };
    let path = |name: &str| folder.path().join(name);
    let none = error(&path("none.crt"), &good.key);
    assert!(none.contains("none.crt cannot be read: "), "{none}");
    let folder_error = error(folder.path(), &good.key);
    assert!(folder_error.ends_with("it is not a regular file; name a file"), "{folder_error}");
    let swapped = error(&good.key, &good.certificate);
    assert!(swapped.contains("good.key has no usable certificate (none found)"), "{swapped}");
    let no_key = error(&good.certificate, &good.certificate);
    assert!(no_key.contains("good.crt has no usable private key (none found)"), "{no_key}");
    let unfit = error(&good.certificate, &other.key);
    assert!(unfit.contains("other.key is not that of the certificate in "), "{unfit}");
    let expired = pair("expired", Validity::Expired);
    let expired = error(&expired.certificate, &expired.key);
    assert!(
        expired.ends_with("expired.crt expired at 2021-01-01T00:00:00Z; renew it"),
        "{expired}"
    );
    let later = pair("later", Validity::Later);
    let later = error(&later.certificate, &later.key);
    assert!(later.contains("is valid from 3999-01-01T00:00:00Z on; check the clock"), "{later}");
    let wrong = ca.client("gpu", &["ouro://actor/gpu"], Validity::Now);
    let wrong = error(&wrong.certificate, &wrong.key);
    assert!(wrong.contains("gpu.crt is not one of a server: "), "{wrong}");
    fs::write(path("cut.crt"), "-----BEGIN CERTIFICATE-----\nAAAA\n").unwrap();
    let cut = error(&path("cut.crt"), &good.key);
    assert!(cut.contains("cut.crt has no usable certificate"), "{cut}");
    fs::write(path("bad.crt"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    let bad = error(&path("bad.crt"), &good.key);
    assert!(bad.contains("bad.crt has no usable certificate"), "{bad}");
    let authorities = path("bad.crt");
    let bad = ClientTls::new(ClientFiles { authorities, own: None }).unwrap_err().to_string();
    assert!(bad.contains("bad.crt has no usable certificate"), "{bad}");
}

#[test]
fn a_bundle_that_is_too_large_is_refused_instead_of_cut() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Authority::new(folder.path(), "ca");
    let path = folder.path().join("large.crt");
    let mut bundle = fs::read_to_string(&ca.certificate).unwrap();
    bundle.push_str(&"# comment\n".repeat(1 << 17));
    bundle.truncate(1 << 20);
    let client = || ClientTls::new(ClientFiles { authorities: path.clone(), own: None });
    fs::write(&path, &bundle).unwrap();
    client().unwrap();
    bundle.push('\n');
    fs::write(&path, &bundle).unwrap();
    let error = client().unwrap_err().to_string();
    let expected =
        "large.crt cannot be read: it has more than 1048576 bytes; give a smaller bundle";
    assert!(error.ends_with(expected), "{error}");
}

fn replace(pair: &Pair, with: &Pair) {
    for (old, new) in [(&pair.certificate, &with.certificate), (&pair.key, &with.key)] {
        let bytes = fs::read(new).unwrap();
        fs::write(old, bytes).unwrap();
        touch(old);
    }
}

/// Gives a file a time of its own: two writes may fall into one tick of the file system's clock.
fn touch(path: &PathBuf) {
    let file = fs::File::options().append(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.set_modified(modified + Duration::from_secs(5)).unwrap();
}

#[tokio::test]
async fn renewed_files_count_from_the_next_connection_on() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, next) = (Authority::new(folder.path(), "ca"), Authority::new(folder.path(), "next"));
    let own = ca.server("own", &["arena"], Validity::Now);
    let service = server(&own, None);
    let (old, new) = (client(&ca, None), client(&next, None));
    assert_eq!(meet(&service, &old, "arena").await.1, Ok(()));
    assert!(meet(&service, &new, "arena").await.1.is_err());

    replace(&own, &next.server("renewed", &["arena"], Validity::Now));
    service.expire();
    assert_eq!(meet(&service, &new, "arena").await.1, Ok(()));
    assert!(meet(&service, &old, "arena").await.1.is_err());
    // The clients follow their files too.
    fs::copy(&next.certificate, &ca.certificate).unwrap();
    touch(&ca.certificate);
    old.expire();
    assert_eq!(meet(&service, &old, "arena").await.1, Ok(()));

    // Files that cannot be used change nothing.
    fs::write(&own.key, "").unwrap();
    service.expire();
    assert_eq!(meet(&service, &new, "arena").await.1, Ok(()));
}

#[tokio::test]
async fn a_certificate_stays_current_until_an_authority_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, next) = (Authority::new(folder.path(), "ca"), Authority::new(folder.path(), "next"));
    let [old, new] = [&ca, &next].map(|one| fs::read_to_string(&one.certificate).unwrap());
    let path = folder.path().join("clients.crt");
    let own = ca.server("arena", &["arena"], Validity::Now);
    fs::write(&path, &old).unwrap();
    let service = ServerTls::new(files(&own), Some(path.clone())).unwrap();
    let replace = |authorities: &str| {
        fs::write(&path, authorities).unwrap();
        touch(&path);
        service.expire();
    };
    let gpu = client(&ca, Some(&ca.client("gpu", &["ouro://actor/gpu"], Validity::Now)));
    let first = meet(&service, &gpu, "arena").await.0.unwrap().expect("a certificate");

    let both = format!("{old}{new}");
    for authorities in [old.as_str(), &both, "no certificate", &both] {
        replace(authorities);
        assert!(first.is_current(), "{authorities}");
    }
    let second = meet(&service, &gpu, "arena").await.0.unwrap().expect("a certificate");
    assert!(second.is_current());
    assert_ne!(first, second, "it was verified with one authority more");

    replace(&new);
    assert!(!first.is_current() && !second.is_current());
    let (seen, _) = meet(&service, &gpu, "arena").await;
    assert!(matches!(seen, Err(HandshakeError::Certificate(_))), "{seen:?}");
}

#[test]
fn files_that_failed_to_load_are_tried_again_without_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("value");
    fs::write(&path, "old").unwrap();
    let is_failing = Arc::new(AtomicBool::new(false));
    let (file, fails) = (path.clone(), Arc::clone(&is_failing));
    // Fails as if permissions were wrong: correcting them changes neither time nor length.
    let load = move || {
        if fails.load(Ordering::Relaxed) {
            return Err(TlsError::Configuration("it fails in this test".to_owned()));
        }
        fs::read_to_string(&file).map_err(TlsError::read(&file))
    };
    let value = Reloading::new(vec![path.clone()], load).unwrap();
    let look = || {
        value.expire();
        value.get()
    };
    assert_eq!((look().as_str(), value.warned()), ("old", None));

    is_failing.store(true, Ordering::Relaxed);
    fs::write(&path, "new").unwrap();
    touch(&path);
    assert_eq!(look().as_str(), "old");
    let first = value.warned();
    assert!(first.is_some());
    // Each look tries again, but only a change is reported again.
    assert_eq!((look().as_str(), value.warned()), ("old", first));
    touch(&path);
    assert_eq!(look().as_str(), "old");
    assert_ne!(value.warned(), first);

    is_failing.store(false, Ordering::Relaxed);
    assert_eq!((look().as_str(), value.warned()), ("new", None));
}
