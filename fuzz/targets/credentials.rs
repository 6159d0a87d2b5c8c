//! Any text is a tokens file, or is refused in one line. What is accepted can be written and read
//! back, changed and used.
//!
//! An input whose first byte is 0 is a header `authorization`: it admits a caller only if it holds the
//! whole secret. With 1 it holds the URIs of a certificate, one per line: they admit a caller only if
//! exactly one names a role and a name, and then in no other role.
#![no_main]

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use ouro_service::access::{Accepts, CredentialLimits, Guard, Role, TokenFile, TokenFileError};
use ouro_service::connections::PeerInfo;
use ouro_tls::{IDENTITY_SCHEME, PeerCertificate};
use tonic::codegen::http::{HeaderMap, HeaderValue};

/// The secret of `me`, and SHA-256 of its text.
const SECRET: &str = "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f";
const DIGEST: &str = "7152f9958a983e3313fb2498d743af1e83a0ff5999650fd341f0368d1678992c";
/// `me:SECRET` and `me:me.SECRET` in base64.
const BASIC: [&str; 2] = [
    "bWU6MGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZg==",
    "bWU6bWUuMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZjBmMGYwZg==",
];

const LIMITS: CredentialLimits = CredentialLimits {
    open_calls: 1_024,
    calls_per_second: u32::MAX,
    messages_per_second: u32::MAX,
    bytes_per_second: 1 << 40,
    invalid_per_minute: u32::MAX,
    suspension: std::time::Duration::ZERO,
};

/// A guard that knows one token, and a file for others.
struct Fixture {
    guard: Guard,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("tokens.toml");
        let text = format!(
            "[[token]]\nname = \"me\"\nrole = \"actor\"\nsha256 = \"{DIGEST}\"\ncreated = 1\n"
        );
        std::fs::write(&path, text).expect("there is space");
        let accepts = Accepts { tokens: Some(&path), limits: LIMITS, ..Accepts::default() };
        let guard = Guard::new(accepts).expect("it is a tokens file");
        assert!(admits(&guard, format!("Bearer me.{SECRET}").as_bytes()));
        assert!(BASIC.iter().all(|text| admits(&guard, format!("Basic {text}").as_bytes())));
        Fixture { guard, path, _folder: folder }
    })
}

fn admits(guard: &Guard, header: &[u8]) -> bool {
    let Ok(value) = HeaderValue::from_bytes(header) else { return false };
    let headers = HeaderMap::from_iter([(tonic::codegen::http::header::AUTHORIZATION, value)]);
    assert!(guard.visitor(&headers, None, &[Role::Learner]).is_none(), "it is another role");
    guard.visitor(&headers, None, &[Role::Actor]).is_some()
}

fn check_header(header: &[u8]) {
    let has = |text: &str| header.windows(text.len()).any(|part| part == text.as_bytes());
    if admits(&fixture().guard, header) {
        assert!(has(&format!("me.{SECRET}")) || BASIC.iter().any(|text| has(text)));
    }
}

fn check_certificate(text: &str) {
    let identities = text.lines().filter(|uri| uri.starts_with(IDENTITY_SCHEME));
    let identities: Vec<String> = identities.map(str::to_owned).collect();
    let expected = match &identities[..] {
        [uri] => holder(uri),
        _ => None,
    };
    let certificate = PeerCertificate { identities, expires: u64::MAX, authorities: None };
    let peer = PeerInfo { certificate: Some(Arc::new(certificate)), ..PeerInfo::default() };
    let accepts = Accepts { certificates: true, limits: LIMITS, ..Accepts::default() };
    let guard = Guard::new(accepts).expect("it reads no file");
    for role in Role::ALL {
        let may = expected.is_some_and(|own| own == role || own == Role::Admin);
        let visitor = guard.visitor(&HeaderMap::new(), Some(&peer), &[role]);
        assert_eq!(visitor.is_some(), may, "{text:?}: {role}");
    }
}

/// The role in a URI that names a role and a name.
fn holder(uri: &str) -> Option<Role> {
    let parts: Vec<&str> = uri.split('/').collect();
    let ["ouro:", "", role, name] = parts[..] else { return None };
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return None;
    }
    Role::ALL.into_iter().find(|known| known.name() == role)
}

/// Writes a new file. Some file systems write to the disk at once what truncates an old one, which
/// takes a millisecond.
fn replace(path: &Path, content: &[u8]) {
    std::fs::remove_file(path).expect("it is there");
    std::fs::write(path, content).expect("there is space");
}

fn check_file(text: &[u8]) {
    let path = &fixture().path;
    replace(path, text);
    let mut file = match TokenFile::load(path) {
        Ok(file) => file,
        Err(error) => {
            let text = error.to_string();
            assert!(matches!(error, TokenFileError::Content { .. }), "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
            return;
        }
    };
    let guard = Guard::open(path).expect("the same file was loaded");
    let counted: u32 = guard.roles().iter().map(|(_, count, _)| count).sum();
    assert!(counted as usize <= file.tokens.len());
    replace(path, toml::to_string(&file).expect("it is plain data").as_bytes());
    assert_eq!(TokenFile::load(path).expect("what was written reads back"), file);
    while let Some(token) = file.tokens.first().cloned() {
        let before = file.tokens.len();
        let created = file.create(&token.name, token.role, Some(u32::MAX));
        assert_eq!(created.expect("it has the role already").name(), token.name);
        assert!(file.revoke(&token.name, false).expect("it has a token") >= 2);
        assert!(file.tokens.len() < before);
    }
}

fuzz_target!(|bytes: &[u8]| match bytes.split_first() {
    Some((0, header)) => check_header(header),
    Some((1, uris)) => {
        if let Ok(text) = std::str::from_utf8(uris) {
            check_certificate(text);
        }
    }
    _ => check_file(bytes),
});
