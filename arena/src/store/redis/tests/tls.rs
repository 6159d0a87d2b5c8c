//! A server that speaks TLS and asks for the arena's certificate.

use std::fs;

use ouro_testkit::certificates::{Authority, Pair, Validity};

use super::*;

/// A server with a TLS port, and the authority of both sides.
struct Private {
    _server: Server,
    port: u16,
    ca: Authority,
    own: Pair,
    folder: tempfile::TempDir,
}

impl Private {
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let ca = Authority::new(folder.path(), "ca");
        let server = ca.server("redis", &["127.0.0.1"], Validity::Now);
        let own = ca.server("arena", &["arena"], Validity::Now);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let path = |path: &Path| path.display().to_string();
        let server = Server::start_with(&[
            "--tls-port",
            &port.to_string(),
            "--tls-cert-file",
            &path(&server.certificate),
            "--tls-key-file",
            &path(&server.key),
            "--tls-ca-cert-file",
            &path(&ca.certificate),
            "--tls-auth-clients",
            "yes",
        ])?;
        Some(Self { _server: server, port, ca, own, folder })
    }

    fn address(&self, ca: &Authority, own: Option<&Pair>) -> RedisAddress {
        let read = |path: &Path| fs::read(path).unwrap();
        let tls = RedisTls {
            authorities: Some(read(&ca.certificate)),
            own: own.map(|own| (read(&own.certificate), read(&own.key))),
        };
        RedisAddress {
            url: format!("rediss://arena@127.0.0.1:{}", self.port),
            password: Some(PASSWORD.to_owned()),
            name: "test".to_owned(),
            tls,
        }
    }
}

#[test]
fn results_are_stored_over_tls_and_both_sides_are_verified() {
    let Some(private) = Private::start() else { return };
    let address = private.address(&private.ca, Some(&private.own));
    let store = RedisStore::open(&address).unwrap();
    store.bind_run(&run(), RunId::of(b"run")).unwrap();
    store.add_checkpoint(&checkpoint(0)).unwrap();
    drop(store);
    assert_eq!(entries(&RedisStore::open(&address).unwrap()).len(), 2);

    let foreign = Authority::new(private.folder.path(), "foreign");
    let forged = foreign.server("forged", &["arena"], Validity::Now);
    let ping = |address: &RedisAddress| -> Result<String, String> {
        let mut connection = Connection::new(address).map_err(|error| error.to_string())?;
        connection.set_patience(Duration::ZERO);
        let ping = connection.run(|redis| redis::cmd("INFO").arg("server").query(redis));
        ping.map_err(|error| error.to_string())
    };
    ping(&address).unwrap();
    // Of another authority, on either side; without a certificate; under a name that is not its own.
    let error = ping(&private.address(&foreign, Some(&private.own))).unwrap_err();
    assert!(error.contains("certificate"), "{error}");
    assert!(ping(&private.address(&private.ca, Some(&forged))).is_err());
    assert!(ping(&private.address(&private.ca, None)).is_err());
    let other = address.url.replace("127.0.0.1", "localhost");
    let error = ping(&RedisAddress { url: other, ..address.clone() }).unwrap_err();
    assert!(error.contains("certificate"), "{error}");
    // A client without TLS on the port with it, and files that hold no certificate.
    let plain = address.url.replace("rediss://", "redis://");
    assert!(ping(&RedisAddress { url: plain, ..address.clone() }).is_err());
    let tls = RedisTls { authorities: Some(b"none".to_vec()), own: None };
    assert!(ping(&RedisAddress { tls, ..address }).is_err());
}
