//! Identities of certificates at the learner.

use ouro_learner::config::Config;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::push_response::Message as Answer;
use ouro_service::access::{Accepts, Guard};
use ouro_testkit::certificates::{Authority, Pair, Validity};
use ouro_tls::{ClientFiles, ClientTls, KeyPairFiles, ServerTls};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use super::actor::{Actor, Running, config, hello, won_game};

fn files(pair: &Pair) -> KeyPairFiles {
    KeyPairFiles { certificate: pair.certificate.clone(), key: pair.key.clone() }
}

/// Opens a stream under a name.
async fn open(channel: &Channel, name: &str, config: &Config) -> Result<Actor, Status> {
    let hello = wire::PushRequest { message: Some(Ask::Hello(hello(name, None, &config.game))) };
    let client = LearnerServiceClient::new(channel.clone());
    let mut actor = Actor::open_with(client, vec![hello], None).await?;
    match actor.answer().await? {
        Some(Answer::Welcome(_)) => Ok(actor),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_actor_pushes_under_the_name_of_its_certificate_only() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let ca = Authority::new(folder.path(), "ca");
    let own = ca.server("learner", &["127.0.0.1"], Validity::Now);
    let tls = ServerTls::new(files(&own), Some(ca.certificate.clone())).expect("valid files");
    let guard = Guard::new(Accepts { certificates: true, ..Accepts::default() }).expect("a guard");
    let base = config(&folder.path().join("learner"));
    let config = Config { server_tls: Some(tls), guard: Some(guard), ..base };
    let running = Running::start(config.clone()).await;
    let channel = async |uri: &str| {
        let client = ca.client(&uri.replace("://", "-").replace('/', "-"), &[uri], Validity::Now);
        let files = ClientFiles { authorities: ca.certificate.clone(), own: Some(files(&client)) };
        let tls = ClientTls::new(files).expect("valid files");
        let endpoint = Endpoint::from_shared(format!("https://{}", running.address));
        ouro_tls::connect(&endpoint.expect("a URL"), Some(&tls)).await.expect("a connection")
    };
    let gpu = channel("ouro://actor/gpu").await;
    for name in ["gpu", "gpu.7"] {
        let mut actor = open(&gpu, name, &config).await.expect("its own name");
        actor.push_honest(won_game(), "a welcome").await;
    }
    for name in ["other", "gpu7", "learner"] {
        let status = open(&gpu, name, &config).await.err().expect("another name");
        assert_eq!(status.code(), Code::PermissionDenied, "{status}");
        let text = format!("the certificate of gpu is not one of actor {name}; ");
        assert!(status.message().starts_with(&text), "{status}");
    }
    for uri in ["ouro://reader/gpu", "ouro://learner/gpu"] {
        let status = open(&channel(uri).await, "gpu", &config).await.err().expect("no actor");
        assert_eq!(status.code(), Code::PermissionDenied, "{uri}: {status}");
    }
    drop(gpu);
    running.stop().await;
}
