//! A guarded port beside peers without a credential. They come from two loopback addresses, which
//! other systems have only after a configuration.
#![cfg(target_os = "linux")]

use std::error::Error;
use std::net::Ipv4Addr;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use super::*;
use crate::access::{Role, TokenFile};

/// Time until a connection without an admitted call is closed.
const ADMISSION: Duration = Duration::from_secs(5);

/// Opens a connection from a loopback address.
async fn connect(address: SocketAddr, from: Ipv4Addr) -> Result<Channel, Box<dyn Error>> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
    Ok(endpoint.local_address(Some(from.into())).connect().await?)
}

/// A stream of questions that a token admits.
struct Caller {
    _client: ServerReflectionClient<Channel>,
    questions: mpsc::Sender<ServerReflectionRequest>,
    answers: Streaming<ServerReflectionResponse>,
}

impl Caller {
    /// Opens a connection with one stream. The first question is answered.
    async fn open(
        address: SocketAddr,
        from: Ipv4Addr,
        token: &str,
    ) -> Result<Self, Box<dyn Error>> {
        let (questions, receiver) = mpsc::channel(1);
        let mut request = Request::new(ReceiverStream::new(receiver));
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse()?);
        let mut client = ServerReflectionClient::new(connect(address, from).await?);
        let answers = client.server_reflection_info(request).await?.into_inner();
        let mut caller = Self { _client: client, questions, answers };
        caller.ask().await?;
        Ok(caller)
    }

    async fn ask(&mut self) -> Result<(), Box<dyn Error>> {
        let message_request = Some(MessageRequest::ListServices(String::new()));
        let question = ServerReflectionRequest { host: String::new(), message_request };
        self.questions.send(question).await?;
        self.answers.message().await?.ok_or("the stream ended")?;
        Ok(())
    }
}

/// A guarded port with two tokens, and the file of the tokens.
struct Port {
    address: SocketAddr,
    file: TokenFile,
    path: std::path::PathBuf,
    tokens: [String; 2],
    stop: CancellationToken,
    running: tokio::task::JoinHandle<Result<Drain, ServiceError>>,
    _folder: tempfile::TempDir,
}

impl Port {
    async fn open(connections: ConnectionLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let mut file = TokenFile::default();
        let tokens =
            ["old", "new"].map(|name| file.create(name, Role::Reader, None).unwrap().reveal());
        file.save(&path).unwrap();
        let keepalive = Duration::from_millis(50);
        let limits = Limits { connections, keepalive, ..Limits::default() };
        let server = GrpcServer::bind(([127, 0, 0, 1], 0).into(), limits).await.unwrap();
        let server = server.guarded(Some(Guard::open(&path).unwrap()));
        let (address, stop) = (server.local_addr(), CancellationToken::new());
        let running = tokio::spawn(server.run_until(stop.clone()));
        Self { address, file, path, tokens, stop, running, _folder: folder }
    }
}

#[tokio::test]
async fn a_large_message_to_the_health_service_is_refused() {
    let port = Port::open(ConnectionLimits::default()).await;
    let channel = connect(port.address, Ipv4Addr::LOCALHOST).await.unwrap();
    let service = "a".repeat(2 << 10);
    let refused = HealthClient::new(channel).check(HealthCheckRequest { service }).await;
    assert_eq!(refused.unwrap_err().code(), tonic::Code::OutOfRange);
    port.stop.cancel();
    port.running.await.unwrap().unwrap();
}

#[tokio::test]
async fn connections_of_a_revoked_credential_are_closed() {
    let limits = ConnectionLimits {
        per_port: 2,
        per_address: 2,
        admission: Duration::from_secs(1),
        ..ConnectionLimits::default()
    };
    let mut port = Port::open(limits).await;
    let [old, new] = port.tokens.clone();
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(Caller::open(port.address, Ipv4Addr::LOCALHOST, &old).await.unwrap());
    }
    // The port is full until the credential is revoked, although its streams end at once.
    assert!(Caller::open(port.address, Ipv4Addr::LOCALHOST, &new).await.is_err());
    port.file.tokens.retain(|token| token.name != "old");
    port.file.save(&port.path).unwrap();
    let freed = async {
        while Caller::open(port.address, Ipv4Addr::LOCALHOST, &new).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), freed).await.expect("a slot gets free");
    drop(held);
    port.stop.cancel();
    port.running.await.unwrap().unwrap();
}

#[tokio::test]
async fn peers_without_a_credential_do_not_keep_a_caller_with_one_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    let mut file = TokenFile::default();
    let token = file.create("me", Role::Reader, None).unwrap().reveal();
    file.save(&path).unwrap();
    let limits = Limits {
        connections: ConnectionLimits {
            per_port: 4,
            per_address: 2,
            admission: ADMISSION,
            ..ConnectionLimits::default()
        },
        // The peers answer many pings within the time.
        keepalive: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = GrpcServer::bind(([127, 0, 0, 1], 0).into(), limits).await.unwrap();
    let server = server.guarded(Some(Guard::open(&path).unwrap()));
    let (address, stop) = (server.local_addr(), CancellationToken::new());
    let running = tokio::spawn(server.run_until(stop.clone()));
    let [first, second] = [1, 2].map(|host| Ipv4Addr::new(127, 0, 0, host));

    let mut early = Caller::open(address, first, &token).await.unwrap();
    let mut silent = Vec::new();
    for from in [first, second, second] {
        let channel = connect(address, from).await.unwrap();
        // The answer shows that the connection has a slot.
        HealthClient::new(channel.clone()).check(HealthCheckRequest::default()).await.unwrap();
        silent.push(channel);
    }
    // The port is full until the time of the others is over.
    let late = async {
        while Caller::open(address, first, &token).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(10 * ADMISSION, late).await.expect("a slot gets free");
    // An admitted call keeps the connection, which is older than those that were closed.
    early.ask().await.unwrap();
    drop((early, silent));
    stop.cancel();
    assert_eq!(running.await.unwrap().unwrap(), Drain::Clean);
}
