//! Checks the host name and the origin of a request.
//!
//! Another site can make its own host name resolve to the address of this machine and then read the
//! responses of this page (DNS rebinding). Requests are answered only if they name an IP address,
//! `localhost`, or a name that the settings allow. A request that a page of another origin makes is
//! refused.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The names that requests may use besides IP addresses and `localhost`.
#[derive(Clone, Debug)]
pub(super) struct AllowedNames(Arc<[String]>);

impl AllowedNames {
    pub(super) fn new(names: &[String]) -> Self {
        Self(names.iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Whether a request with these headers is answered.
    fn allow(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next())
        else {
            return false;
        };
        let name = name_of(host).to_ascii_lowercase();
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        is_address || name == "localhost" || self.0.contains(&name)
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether the request comes from a page of this host or from no page. Browsers send the origin
/// of requests that a script makes to another host.
fn is_own(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    origin.zip(host).is_some_and(|((_, origin), host)| origin.eq_ignore_ascii_case(host))
}

/// Refuses a request that names another host, or that a page of another host makes.
pub(super) async fn check(
    State(names): State<AllowedNames>,
    request: Request,
    next: Next,
) -> Response {
    if !is_own(request.headers()) {
        let text = "a page of another host asks for this one\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    if names.allow(request.headers()) {
        return next.run(request).await;
    }
    let text = "this page is asked under an unknown name; use its IP address or localhost, or add \
                the name to deploy.web_names\n";
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_another_host_is_refused() {
        let is_own = |origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "Ouro.example:8080".parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            is_own(&headers)
        };
        assert!(is_own(None) && is_own(Some("http://ouro.example:8080")));
        for origin in
            ["null", "http://evil.example", "http://ouro.example", "ouro.example:8080", ""]
        {
            assert!(!is_own(Some(origin)), "{origin}");
        }
    }

    #[test]
    fn only_addresses_and_allowed_names_are_answered() {
        let names = AllowedNames::new(&["Ouro.example".to_owned()]);
        let allows = |hosts: &[&str]| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, host.parse().unwrap());
            }
            names.allow(&headers)
        };
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "10.1.2.3",
            "[::1]:8080",
            "[::1]",
            "ouro.example",
            "OURO.example:80",
        ] {
            assert!(allows(&[host]), "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example:8080", "", "ouro.example:x", "1.2.3.4.5"]
        {
            assert!(!allows(&[host]), "{host}");
        }
        assert!(!allows(&[]) && !allows(&["localhost", "evil.example"]));
    }
}
