//! The gRPC server over loopback: health, both reflection versions, the drain.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use ouro_service::server::Limits;
use ouro_service::{Drain, GrpcServer, ServiceError};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::{v1, v1alpha};

type Running = JoinHandle<Result<Drain, ServiceError>>;

/// Starts a server with only the built-in services.
async fn start() -> (Channel, CancellationToken, Running) {
    let server = GrpcServer::bind("127.0.0.1:0".parse().unwrap(), Limits::default()).await.unwrap();
    let address = server.local_addr();
    let stop = CancellationToken::new();
    let running = tokio::spawn(server.run_until(stop.clone()));
    let channel =
        Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    (channel, stop, running)
}

#[tokio::test]
async fn health_turns_from_serving_to_not_serving_and_the_drain_is_clean() {
    let (channel, stop, running) = start().await;
    let mut client = HealthClient::new(channel);
    let request = HealthCheckRequest { service: String::new() };
    let mut watch = client.watch(request.clone()).await.unwrap().into_inner();
    let mut statuses = Vec::new();
    statuses.push(watch.message().await.unwrap().unwrap().status());
    assert_eq!(client.check(request).await.unwrap().into_inner().status(), ServingStatus::Serving);

    stop.cancel();
    while let Some(message) = watch.message().await.unwrap() {
        statuses.push(message.status());
    }
    assert_eq!(statuses, [ServingStatus::Serving, ServingStatus::NotServing]);
    drop(client);
    assert_eq!(running.await.unwrap().unwrap(), Drain::Clean);
}

#[tokio::test]
async fn reflection_v1_and_v1alpha_both_list_health() {
    let (channel, stop, running) = start().await;

    let ask = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
    };
    let mut answers = v1::server_reflection_client::ServerReflectionClient::new(channel.clone())
        .server_reflection_info(tokio_stream::once(ask))
        .await
        .unwrap()
        .into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let v1::server_reflection_response::MessageResponse::ListServicesResponse(list) = answer else {
        panic!("not a list of services: {answer:?}");
    };
    assert!(list.service.iter().any(|service| service.name == "grpc.health.v1.Health"));

    let ask = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1alpha::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
    };
    let mut answers = v1alpha::server_reflection_client::ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::once(ask))
        .await
        .unwrap()
        .into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let v1alpha::server_reflection_response::MessageResponse::ListServicesResponse(list) = answer
    else {
        panic!("not a list of services: {answer:?}");
    };
    assert!(list.service.iter().any(|service| service.name == "grpc.health.v1.Health"));

    drop(answers);
    stop.cancel();
    assert_eq!(running.await.unwrap().unwrap(), Drain::Clean);
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let taken = GrpcServer::bind("127.0.0.1:0".parse().unwrap(), Limits::default()).await.unwrap();
    let error = GrpcServer::bind(taken.local_addr(), Limits::default()).await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot listen on {}: ", taken.local_addr())));
}
