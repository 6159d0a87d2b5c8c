//! Tokens: who may call, and when it ends.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ouro_net::Generation;
use ouro_proto::arena::v1::WatchPoolRequest;
use ouro_proto::arena::v1::pool_service_client::PoolServiceClient;
use ouro_proto::arena_client::ArenaError;
use ouro_proto::{ArenaClient, Credential};
use ouro_service::access::{Guard, RefusalCounts, Role, TokenFile};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;

use super::running::{Running, config, strong, uniform};

/// Far longer than a revocation takes to count.
const DEADLINE: Duration = Duration::from_secs(60);

/// A guarded arena, and the tokens file that it follows.
pub(super) struct Guarded {
    pub(super) arena: Running,
    guard: Guard,
    file: TokenFile,
    path: PathBuf,
}

impl Guarded {
    pub(super) async fn start(folder: &Path) -> Self {
        let path = folder.join("tokens.toml");
        let file = TokenFile::default();
        file.save(&path).unwrap();
        let guard = Guard::open(&path).unwrap();
        let mut config = config(&folder.join("arena"));
        config.guard = Some(guard.clone());
        config.web = Some(SocketAddr::from(([0, 0, 0, 0], 0)));
        Self { arena: Running::start_with(config).await, guard, file, path }
    }

    /// Creates a token and waits until it counts.
    pub(super) async fn token(&mut self, name: &str, role: Role) -> String {
        let token = self.file.create(name, role, None).unwrap().reveal();
        self.file.save(&self.path).unwrap();
        let mut client = self.client(&token);
        while is_refused(client.get_pool().await.map(drop), Code::Unauthenticated) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        token
    }

    pub(super) fn client(&self, token: &str) -> ArenaClient {
        self.arena.client.clone().credential(Credential::Text(token.to_owned()))
    }
}

fn is_refused(result: Result<(), ArenaError>, with: Code) -> bool {
    matches!(result, Err(ArenaError::Refused { code, .. }) if code == with)
}

#[tokio::test]
async fn each_role_may_do_what_it_is_for_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut guarded = Guarded::start(folder.path()).await;
    let mut tokens = Vec::new();
    for role in Role::ALL {
        tokens.push((role, guarded.token(role.name(), role).await));
    }
    let first = guarded.client(&tokens[1].1).publish(Generation(1), 10, strong(1)).await.unwrap();
    // An undecided candidate is dropped with its weights when a newer one arrives.
    guarded.arena.decided(Generation(1)).await;
    for (role, token) in &tokens {
        let mut client = guarded.client(token);
        let may = |roles: &[Role]| roles.contains(role) || *role == Role::Admin;
        let denied = |result| is_refused(result, Code::PermissionDenied);
        // A new generation, so that each is another candidate.
        let generation = 2 + Role::ALL.iter().position(|one| one == role).unwrap() as u32;
        let published = client.publish(Generation(generation), 10, uniform(generation)).await;
        assert_eq!(denied(published.map(drop)), !may(&[Role::Learner]), "{role} publishes");
        let copied = client.publish(Generation(1), 10, strong(1)).await;
        let publishers = [Role::Learner, Role::Actor];
        assert_eq!(denied(copied.map(drop)), !may(&publishers), "{role} returns a copy");
        let ratings = client.get_ratings().await.map(drop);
        assert_eq!(denied(ratings), !may(&[Role::Reader, Role::Learner]), "{role} asks for Elo");
        assert!(client.fetch_weights(&first).await.is_ok(), "{role} fetches weights");
        let seen = page(&guarded.arena, &format!("Authorization: Bearer {token}\r\n")).await;
        assert_eq!(seen.starts_with("HTTP/1.1 200 "), may(&[Role::Reader]), "{role}: {seen}");
    }
    guarded.arena.stop().await;
}

#[tokio::test]
async fn without_a_valid_token_nothing_is_answered_and_every_refusal_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut guarded = Guarded::start(folder.path()).await;
    let token = guarded.token("me", Role::Reader).await;
    let before = guarded.guard.refusals();
    let mut stranger = guarded.arena.client.clone();
    let error = stranger.get_ratings().await.unwrap_err().to_string();
    assert!(error.contains("ouro token create"), "{error}");
    let forged = token.replace(&token[3..], &"0".repeat(64));
    let other = token.replacen("me.", "you.", 1);
    for token in [forged.as_str(), &other, "me", "", "a.b.c"] {
        let refused = guarded.client(token).get_pool().await.map(drop);
        assert!(is_refused(refused, Code::Unauthenticated), "{token}");
    }
    let after = guarded.guard.refusals();
    let expected =
        RefusalCounts { missing: before.missing + 1, invalid: before.invalid + 5, ..before };
    assert_eq!(after, expected);
    guarded.arena.stop().await;
}

#[tokio::test]
async fn an_open_stream_ends_when_its_token_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let mut guarded = Guarded::start(folder.path()).await;
    let token = guarded.token("gpu", Role::Actor).await;
    let kept = guarded.token("kept", Role::Actor).await;
    let channel = guarded.arena.channel().await;
    let watch = async |token: &str| {
        let credential = Credential::Text(token.to_owned());
        let mut client = PoolServiceClient::with_interceptor(channel.clone(), credential);
        let mut snapshots = client.watch_pool(WatchPoolRequest {}).await.unwrap().into_inner();
        snapshots.message().await.unwrap().unwrap();
        snapshots
    };
    let (mut ended, mut going_on) = (watch(&token).await, watch(&kept).await);
    guarded.file.revoke("gpu", false).unwrap();
    guarded.file.save(&guarded.path).unwrap();
    let status = ended.message().await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated, "{status}");
    assert!(status.message().contains("the token of gpu was revoked"), "{status}");
    assert!(is_refused(guarded.client(&token).get_pool().await.map(drop), Code::Unauthenticated));
    let learner = guarded.token("learner", Role::Learner).await;
    guarded.client(&learner).publish(Generation(1), 10, strong(1)).await.unwrap();
    going_on.message().await.unwrap().expect("the other stream goes on");
    guarded.arena.stop().await;
}

/// Requests a page and returns the connection on which it is answered.
async fn request(arena: &Running, path: &str, header: &str) -> TcpStream {
    let port = arena.web.unwrap().port();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let start = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    stream.write_all(format!("{start}{header}\r\n").as_bytes()).await.unwrap();
    stream
}

/// The answer to a request for the run's page.
async fn page(arena: &Running, header: &str) -> String {
    let mut answer = String::new();
    request(arena, "/", header).await.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn the_events_of_a_page_end_when_the_token_of_its_visitor_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let mut guarded = Guarded::start(folder.path()).await;
    let token = guarded.token("me", Role::Reader).await;
    let login = format!("Authorization: Bearer {token}\r\n");
    let mut streams = Vec::new();
    for path in ["/events", "/live/events"] {
        let mut stream = request(&guarded.arena, path, &login).await;
        let mut status = [0; 13];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 200 ", "{path}");
        streams.push(stream);
    }
    guarded.file.revoke("me", false).unwrap();
    guarded.file.save(&guarded.path).unwrap();
    for mut stream in streams {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut rest)).await;
        ended.expect("the stream ends").unwrap();
    }
    guarded.arena.stop().await;
}

#[tokio::test]
async fn a_page_beyond_loopback_asks_for_a_login_and_refuses_foreign_pages() {
    let folder = tempfile::tempdir().unwrap();
    let mut guarded = Guarded::start(folder.path()).await;
    let token = guarded.token("me", Role::Reader).await;
    let answer = page(&guarded.arena, "").await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("www-authenticate: basic"), "{answer}");
    let login = format!("Authorization: Bearer {token}\r\n");
    assert!(page(&guarded.arena, &login).await.starts_with("HTTP/1.1 200 "));
    let foreign = format!("{login}Origin: http://evil.example\r\n");
    assert!(page(&guarded.arena, &foreign).await.starts_with("HTTP/1.1 403 "));
    let own = format!("{login}Origin: http://localhost\r\n");
    assert!(page(&guarded.arena, &own).await.starts_with("HTTP/1.1 200 "));
    guarded.arena.stop().await;
}
