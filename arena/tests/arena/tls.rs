//! TLS: certificates of the arena and of its clients.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ouro_net::Generation;
use ouro_proto::arena_client::ArenaError;
use ouro_proto::{ArenaClient, Credential};
use ouro_service::access::{Accepts, Guard, RefusalCounts, Role, TokenFile};
use ouro_service::healthcheck;
use ouro_service::metrics::Metrics;
use ouro_testkit::certificates::{Authority, Pair, Validity, get_page};
use ouro_tls::{ClientFiles, ClientTls, KeyPairFiles, ServerTls};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;

use super::running::{Running, config, strong};

/// Far longer than a removed authority takes to count.
const DEADLINE: Duration = Duration::from_secs(60);

/// An arena whose clients have certificates, or tokens.
struct Private {
    arena: Running,
    ca: Authority,
    /// The authorities of clients. They verify the arena with the file of `ca`.
    client_ca: PathBuf,
    own: Pair,
    guard: Guard,
    tls: ServerTls,
    url: String,
}

impl Private {
    async fn start(folder: &Path, tokens: Option<&Path>) -> Self {
        let ca = Authority::new(folder, "ca");
        let own = ca.server("arena", &["127.0.0.1"], Validity::Now);
        let guard =
            Guard::new(Accepts { tokens, certificates: true, ..Accepts::default() }).unwrap();
        let client_ca = folder.join("clients.crt");
        std::fs::copy(&ca.certificate, &client_ca).unwrap();
        let tls = ServerTls::new(files(&own), Some(client_ca.clone())).unwrap();
        let mut config = config(&folder.join("arena"));
        (config.guard, config.server_tls) = (Some(guard.clone()), Some(tls.clone()));
        config.web = Some(([0, 0, 0, 0], 0).into());
        let arena = Running::start_with(config).await;
        let url = arena.endpoint.replace("http://", "https://");
        Self { arena, ca, client_ca, own, guard, tls, url }
    }

    /// A client with a certificate that names these URIs.
    fn client(&self, uris: &[&str]) -> ArenaClient {
        self.client_of(&self.ca, Some(uris))
    }

    /// A client with a certificate of this authority, or without one.
    fn client_of(&self, authority: &Authority, uris: Option<&[&str]>) -> ArenaClient {
        // Each has files of its own, because clients read renewed files.
        static CLIENTS: AtomicUsize = AtomicUsize::new(0);
        let name = format!("client-{}", CLIENTS.fetch_add(1, Ordering::Relaxed));
        let own = uris.map(|uris| files(&authority.client(&name, uris, Validity::Now)));
        let authorities = self.ca.certificate.clone();
        let tls = ClientTls::new(ClientFiles { authorities, own }).unwrap();
        ArenaClient::with_tls(&self.url, Some(&tls)).unwrap()
    }
}

fn files(pair: &Pair) -> KeyPairFiles {
    KeyPairFiles { certificate: pair.certificate.clone(), key: pair.key.clone() }
}

fn refusal<T: std::fmt::Debug>(result: Result<T, ArenaError>) -> (Code, String) {
    match result.unwrap_err() {
        ArenaError::Refused { code, message } => (code, message),
        other => (Code::Unavailable, other.to_string()),
    }
}

#[tokio::test]
async fn a_certificate_gives_its_role_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let private = Private::start(folder.path(), None).await;
    let mut learner = private.client(&["ouro://learner/gpu"]);
    let first = learner.publish(Generation(1), 10, strong(1)).await.unwrap();
    let mut actor = private.client(&["ouro://actor/a"]);
    assert!(actor.fetch_weights(&first).await.is_ok());
    let (code, text) = refusal(actor.publish(Generation(2), 10, strong(2)).await);
    assert_eq!(code, Code::PermissionDenied);
    // Actors may call the method, to return weights that the arena lost.
    assert!(text.contains("candidates come from a learner"), "{text}");
    let (code, _) =
        refusal(private.client(&["ouro://reader/me"]).publish(Generation(2), 10, strong(2)).await);
    assert_eq!(code, Code::PermissionDenied);

    // No certificate, none that names a caller, two names at once.
    let (code, text) = refusal(private.client_of(&private.ca, None).get_pool().await);
    assert_eq!(code, Code::Unauthenticated);
    assert!(text.contains("client certificate") && text.contains("deploy.tls_key"), "{text}");
    for uris in [&[][..], &["ouro://king/me"], &["ouro://actor/a", "ouro://learner/a"]] {
        let (code, text) = refusal(private.client(uris).get_pool().await);
        assert_eq!(code, Code::Unauthenticated, "{uris:?}");
        assert!(text.contains("this certificate names no caller"), "{text}");
    }
    // A certificate of another authority gets no connection.
    let foreign = Authority::new(folder.path(), "foreign");
    let error = private.client_of(&foreign, Some(&["ouro://admin/root"])).get_pool().await;
    assert!(error.unwrap_err().is_retryable());
    // A client without TLS, and one that expects another authority.
    let mut plain = ArenaClient::new(&private.arena.endpoint).unwrap();
    assert!(plain.get_pool().await.unwrap_err().is_retryable());
    let tls = ClientFiles { authorities: foreign.certificate.clone(), own: None };
    let tls = ClientTls::new(tls).unwrap();
    let mut suspicious = ArenaClient::with_tls(&private.url, Some(&tls)).unwrap();
    let error = suspicious.get_pool().await.unwrap_err().to_string();
    assert!(error.contains("UnknownIssuer"), "{error}");
    // An address that is to be private needs an authority.
    let mut unset = ArenaClient::new(&private.url).unwrap();
    let error = unset.get_pool().await.unwrap_err().to_string();
    assert!(error.contains("set deploy.tls_ca"), "{error}");

    let expected =
        RefusalCounts { missing: 1, invalid: 3, forbidden: 1, ..RefusalCounts::default() };
    assert_eq!(private.guard.refusals(), expected);
    let access =
        ouro_service::access::metrics::AccessSource::new([Some(private.guard)], Some(private.tls));
    let text = Metrics::default().with(access).render().unwrap();
    for line in [
        "ouro_access_calls_refused_total{reason=\"forbidden\",role=\"reader\",credential=\"me\"} 1",
        "ouro_access_calls_refused_total{reason=\"missing\",role=\"\",credential=\"\"} 1",
        "ouro_access_handshakes_refused_total{reason=\"invalid\"} 1",
        "ouro_access_certificate_expires_timestamp_seconds 64060588800",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let plain = text.lines().find(|line| line.contains("reason=\"plain\""));
    assert!(plain.is_some_and(|line| !line.ends_with(" 0")), "{text}");
    private.arena.stop().await;
}

#[tokio::test]
async fn a_replaced_authority_ends_streams_and_refuses_calls_on_open_connections() {
    let folder = tempfile::tempdir().unwrap();
    let private = Private::start(folder.path(), None).await;
    let mut actor = private.client(&["ouro://actor/a"]);
    let mut pool = actor.watch_pool().await.unwrap();
    pool.next().await.unwrap().expect("a first snapshot");

    let next = Authority::new(folder.path(), "next");
    std::fs::copy(&next.certificate, &private.client_ca).unwrap();
    let ended = tokio::time::timeout(DEADLINE, pool.next()).await.expect("the stream ends");
    let (code, text) = refusal(ended);
    assert_eq!(code, Code::Unauthenticated, "{text}");
    assert!(text.contains("the certificate of a was revoked"), "{text}");
    // The connection is still open.
    let (code, text) = refusal(actor.get_pool().await);
    assert_eq!(code, Code::Unauthenticated, "{text}");
    assert!(text.contains("an authority was removed from deploy.tls_client_ca"), "{text}");
    // A new one is refused in its handshake. A certificate of the new authority is accepted.
    actor.reconnect();
    assert!(actor.get_pool().await.unwrap_err().is_retryable());
    let mut renewed = private.client_of(&next, Some(&["ouro://actor/a"]));
    assert!(renewed.get_pool().await.is_ok());
    private.arena.stop().await;
}

#[tokio::test]
async fn tokens_and_certificates_serve_side_by_side_and_the_token_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    let mut file = TokenFile::default();
    let token = file.create("me", Role::Reader, None).unwrap().reveal();
    file.save(&path).unwrap();
    let private = Private::start(folder.path(), Some(&path)).await;
    let with_token =
        |client: ArenaClient, token: &str| client.credential(Credential::Text(token.to_owned()));
    let mut bare = with_token(private.client_of(&private.ca, None), &token);
    assert!(bare.get_ratings().await.is_ok());
    // The certificate of a learner does not lend its role to a reader's token, nor to a forged one.
    let mut both = with_token(private.client(&["ouro://learner/gpu"]), &token);
    let (code, text) = refusal(both.publish(Generation(1), 10, strong(1)).await);
    assert_eq!(code, Code::PermissionDenied);
    assert!(text.starts_with("a token of role reader"), "{text}");
    let forged = format!("me.{}", "0".repeat(64));
    let mut forged = with_token(private.client(&["ouro://learner/gpu"]), &forged);
    assert_eq!(refusal(forged.get_pool().await).0, Code::Unauthenticated);
    private.arena.stop().await;
}

#[tokio::test]
async fn the_page_speaks_tls_and_a_health_check_needs_no_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let private = Private::start(folder.path(), None).await;
    let port = private.arena.web.unwrap().port();
    let reader = private.ca.client("reader", &["ouro://reader/me"], Validity::Now);
    let seen = page(&private.ca, Some(&reader), port).await;
    assert!(seen.starts_with("HTTP/1.1 200 "), "{seen}");
    let seen = page(&private.ca, None, port).await;
    assert!(seen.starts_with("HTTP/1.1 401 "), "{seen}");
    let actor = private.ca.client("actor", &["ouro://actor/a"], Validity::Now);
    let seen = page(&private.ca, Some(&actor), port).await;
    assert!(seen.starts_with("HTTP/1.1 401 "), "{seen}");
    // A request without TLS gets no page.
    let mut plain = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));

    let address = private.arena.endpoint.trim_start_matches("http://").parse().unwrap();
    let pinned = ClientTls::pinned(&private.own.certificate).unwrap();
    healthcheck::check(address, Some(&pinned)).await.unwrap();
    let other = private.ca.server("other", &["127.0.0.1"], Validity::Now);
    let other = ClientTls::pinned(&other.certificate).unwrap();
    assert!(healthcheck::check(address, Some(&other)).await.is_err());
    assert!(healthcheck::check(address, None).await.is_err());
    private.arena.stop().await;
}

/// The answer to a request for the page.
async fn page(ca: &Authority, own: Option<&Pair>, port: u16) -> String {
    let (ca, own) = (ca.certificate.clone(), own.cloned());
    let asked = move || get_page(([127, 0, 0, 1], port).into(), &ca, own.as_ref());
    tokio::task::spawn_blocking(asked).await.unwrap().unwrap()
}
