//! Certificates of this process, and of those that it talks to.

use std::path::Path;

use ouro_service::{ExitStatus, Failure};
use ouro_tls::{ClientFiles, ClientTls, KeyPairFiles, ServerTls, TlsError};

use super::{Address, Deployment};
use crate::error::SettingError;

impl Deployment {
    /// The URL of a service at `address`: `https` if services are verified.
    pub fn url(&self, address: &Address) -> String {
        let scheme = if self.tls_ca.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    /// How ports of this process prove who they are; `None` without TLS. Reads the files.
    pub fn server_tls(&self) -> Result<Option<ServerTls>, Failure> {
        let Some(own) = self.key_pair() else { return Ok(None) };
        let tls = ServerTls::new(own, self.tls_client_ca.clone());
        tls.map(Some).map_err(|error| self.refused(error))
    }

    /// How this process verifies services, and what it presents to them; `None` without TLS. Reads
    /// the files.
    pub fn client_tls(&self) -> Result<Option<ClientTls>, Failure> {
        let Some(authorities) = self.tls_ca.clone() else { return Ok(None) };
        let tls = ClientTls::new(ClientFiles { authorities, own: self.key_pair() });
        tls.map(Some).map_err(|error| self.refused(error))
    }

    /// How this process verifies its own ports; `None` without TLS. Reads the file.
    pub fn own_tls(&self) -> Result<Option<ClientTls>, Failure> {
        let Some(path) = &self.tls_certificate else { return Ok(None) };
        ClientTls::pinned(path).map(Some).map_err(|error| self.refused(error))
    }

    fn key_pair(&self) -> Option<KeyPairFiles> {
        let (certificate, key) = (self.tls_certificate.clone()?, self.tls_key.clone()?);
        Some(KeyPairFiles { certificate, key })
    }

    /// Names the key of the file that the error is about.
    fn refused(&self, error: TlsError) -> Failure {
        let keys = [
            ("tls_certificate", &self.tls_certificate),
            ("tls_key", &self.tls_key),
            ("tls_ca", &self.tls_ca),
            ("tls_client_ca", &self.tls_client_ca),
        ];
        let of_error = |path: &Path| {
            keys.into_iter().find(|(_, file)| file.as_deref() == Some(path)).map(|(key, _)| key)
        };
        let key = error.path().and_then(of_error).unwrap_or("tls_certificate");
        let value = error.path().unwrap_or(Path::new("")).display();
        let error = SettingError::new(format!("deploy.{key}"), value, &error);
        Failure::new(ExitStatus::BadConfiguration, error)
    }

    /// Checks that the keys go together.
    pub(super) fn validate_tls(&self) -> Result<(), SettingError> {
        let needs = |key: &str, path: &Path, other: &str| {
            let remedy = format!("it needs deploy.{other}; set both or neither");
            Err(SettingError::new(format!("deploy.{key}"), path.display(), remedy))
        };
        let pairs = [
            ("tls_certificate", &self.tls_certificate, "tls_key", &self.tls_key),
            ("store_certificate", &self.store_certificate, "store_key", &self.store_key),
        ];
        for (first, one, second, other) in pairs {
            match (one, other) {
                (Some(path), None) => return needs(first, path, second),
                (None, Some(path)) => return needs(second, path, first),
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that a service which identifies clients by certificates has one itself.
    pub(super) fn check_client_ca(&self) -> Result<(), SettingError> {
        match (&self.tls_client_ca, &self.tls_certificate) {
            (Some(path), None) => {
                let remedy = "clients present certificates only to a service that has one; set \
                              deploy.tls_certificate and deploy.tls_key";
                Err(SettingError::new("deploy.tls_client_ca", path.display(), remedy))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_and_its_key_are_set_together() {
        let mut deploy = Deployment { tls_key: Some("/k".into()), ..Deployment::default() };
        let error = deploy.validate().unwrap_err().to_string();
        assert_eq!(
            error,
            "deploy.tls_key is /k; it needs deploy.tls_certificate; set both or neither"
        );
        deploy.tls_certificate = Some("/c".into());
        assert!(deploy.validate().is_ok());
        deploy.store_certificate = Some("/s".into());
        let error = deploy.validate().unwrap_err().to_string();
        assert!(error.starts_with("deploy.store_certificate is /s; "), "{error}");
    }

    #[test]
    fn an_error_names_the_key_and_the_file() {
        let ca = Some("/none/ca.crt".into());
        let deploy = Deployment { tls_ca: ca, ..Deployment::default() };
        let error = deploy.client_tls().unwrap_err().to_string();
        let start = "deploy.tls_ca is /none/ca.crt; /none/ca.crt cannot be read: ";
        assert!(error.starts_with(start), "{error}");
        assert_eq!(deploy.url(&deploy.arena), "https://127.0.0.1:50061");
        assert_eq!(Deployment::default().url(&deploy.arena), "http://127.0.0.1:50061");
    }
}
