//! Who may call the services, and what a process presents to them.

use std::net::SocketAddr;
use std::path::Path;

use ouro_proto::credential::Credential;
use ouro_service::access::{Accepts, CredentialLimits, Guard, Token};
use ouro_service::{ExitStatus, Failure};

use super::Deployment;
use crate::error::SettingError;

impl Deployment {
    /// Checks that a port on `address`, which `key` sets, is guarded or only this machine reaches
    /// it.
    pub fn check_exposure(&self, key: &str, address: SocketAddr) -> Result<(), SettingError> {
        if address.ip().is_loopback() || self.is_guarded() || self.insecure {
            return Ok(());
        }
        let remedy = "other machines reach this address and nothing asks them who they are; set \
                      deploy.tokens (see `ouro token`) or deploy.tls_client_ca, or give --insecure \
                      in a private network";
        Err(SettingError::new(format!("deploy.{key}"), address, remedy))
    }

    /// The guard of a port on `address`, which `key` sets; `None` if everybody may call. `internal`
    /// is a token of this process's own parts. Reads the tokens file.
    pub fn guard(
        &self,
        key: &str,
        address: SocketAddr,
        internal: Option<&Token>,
    ) -> Result<Option<Guard>, Failure> {
        let invalid = |error| Failure::new(ExitStatus::BadConfiguration, error);
        self.check_exposure(key, address).map_err(invalid)?;
        self.check_client_ca().map_err(invalid)?;
        if !self.is_guarded() {
            return Ok(None);
        }
        let accepts = Accepts {
            tokens: self.tokens.as_deref(),
            internal,
            certificates: self.tls_client_ca.is_some(),
            limits: CredentialLimits::from(&self.limits),
        };
        Guard::new(accepts).map(Some).map_err(|error| {
            let path = self.tokens.as_deref().unwrap_or(Path::new(""));
            invalid(SettingError::new("deploy.tokens", path.display(), error.to_string()))
        })
    }

    /// Whether the services ask callers who they are.
    pub fn is_guarded(&self) -> bool {
        self.tokens.is_some() || self.tls_client_ca.is_some()
    }

    /// The token that this process presents to the services.
    pub fn credential(&self) -> Credential {
        self.token_file.clone().map_or(Credential::None, Credential::File)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_guarded_ports_and_loopback_are_open_unless_asked_for() {
        let open = SocketAddr::from(([0, 0, 0, 0], 1));
        let mut deploy = Deployment::default();
        assert!(deploy.check_exposure("arena", ([127, 0, 0, 1], 1).into()).is_ok());
        let error = deploy.check_exposure("arena", open).unwrap_err().to_string();
        assert!(error.starts_with("deploy.arena is 0.0.0.0:1; ") && error.contains("--insecure"));
        deploy.insecure = true;
        assert!(deploy.guard("arena", open, None).unwrap().is_none());
        (deploy.insecure, deploy.tls_client_ca) = (false, Some("/ca.crt".into()));
        assert!(deploy.check_exposure("arena", open).is_ok());
        let error = deploy.guard("arena", open, None).unwrap_err().to_string();
        assert!(error.ends_with("set deploy.tls_certificate and deploy.tls_key"), "{error}");
        deploy.tls_client_ca = None;
        (deploy.insecure, deploy.tokens) = (false, Some("/nonexistent/tokens.toml".into()));
        let error = deploy.guard("arena", open, None).unwrap_err().to_string();
        assert!(error.starts_with("deploy.tokens is /nonexistent/tokens.toml; "), "{error}");
    }
}
