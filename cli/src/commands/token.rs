//! `ouro token`: creates, lists and revokes the tokens that services accept.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, Subcommand};
use ouro_service::access::{Role, StoredToken, TokenFile, TokenFileError};
use serde::Serialize;

use super::record::is_same_file;
use crate::failure::Failure;
use crate::output::Output;

/// Create, list and revoke the tokens that services accept.
///
/// A token says who calls a service, and its role what the caller may do: an actor pushes games, a
/// learner publishes weights, a worker plays matches, a reader asks and sees the web page, an admin
/// may do everything. Services read the tokens file (deploy.tokens), which holds hashes only.
/// Clients read a file with their own token (deploy.token_file).
#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Create a token and print it. Nothing can show it again.
    ///
    /// Several actors may share a token named NAME as actors NAME.1, NAME.2 or the like, which then get
    /// no tokens of their own. A second token for the same name lets its holder change over before
    /// `revoke --keep-newest`.
    Create {
        /// Name of the holder: 1 to 64 letters, digits, `.`, `_` or `-`.
        name: String,
        /// What the holder is: actor, learner, worker, reader or admin.
        #[arg(long)]
        role: Role,
        /// Days until the token expires [default: it does not].
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=36_500))]
        days: Option<u32>,
        /// Write the token to this new file, which only its owner may read, instead of printing it.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        file: FileArgument,
    },
    /// List names, roles and times of all tokens.
    List {
        #[command(flatten)]
        file: FileArgument,
    },
    /// Remove the tokens of a name. Services end their calls within about a second.
    Revoke {
        /// Name of the holder.
        name: String,
        /// Keep the newest token of the name.
        #[arg(long)]
        keep_newest: bool,
        #[command(flatten)]
        file: FileArgument,
    },
}

/// The tokens file.
#[derive(Debug, Args)]
pub(crate) struct FileArgument {
    /// The tokens file of the services.
    #[arg(long, value_name = "FILE", env = "OURO_TOKENS", default_value = "tokens.toml")]
    tokens: PathBuf,
}

/// A new token.
#[derive(Debug, Serialize)]
struct Created {
    name: String,
    role: Role,
    expires: Option<u64>,
    /// Left out if it was written to a file.
    token: Option<String>,
}

/// What `revoke` did.
#[derive(Debug, Serialize)]
struct Revoked {
    name: String,
    revoked: usize,
}

impl Token {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Create { name, role, days, out, file: FileArgument { tokens } } => {
                if let Some(out) = &out {
                    check_out(out, &tokens)?;
                }
                let _lock = TokenFile::lock(&tokens);
                let mut file = TokenFile::load_or_empty(&tokens).map_err(failure)?;
                let token = file.create(&name, role, days).map_err(failure)?;
                let expires = file.tokens.last().and_then(|stored| stored.expires);
                let text = token.reveal();
                // The secret is in its place before a service accepts it.
                if let Some(out) = &out {
                    write_secret(out, &text)?;
                }
                file.save(&tokens).map_err(|error| {
                    // No service will accept the token, and its file would refuse the next try.
                    if let Some(out) = &out {
                        let _ = fs::remove_file(out);
                    }
                    failure(error)
                })?;
                let shown = out.is_none().then_some(text);
                let line = shown.as_ref().map(|token| format!("{token}\n")).unwrap_or_default();
                output.result(&Created { name, role, expires, token: shown }, line)?;
            }
            Self::List { file: FileArgument { tokens } } => {
                let file = TokenFile::load(&tokens).map_err(failure)?;
                let lines: String = file.tokens.iter().map(line).collect();
                output.result(&file.tokens, lines)?;
            }
            Self::Revoke { name, keep_newest, file: FileArgument { tokens } } => {
                let _lock = TokenFile::lock(&tokens);
                let mut file = TokenFile::load(&tokens).map_err(failure)?;
                let revoked = file.revoke(&name, keep_newest).map_err(failure)?;
                file.save(&tokens).map_err(failure)?;
                let text = format!("{revoked} of {name} revoked\n");
                output.result(&Revoked { name, revoked }, text)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A line of the list. Hashes are shortened to what tells two tokens apart.
fn line(token: &StoredToken) -> String {
    let StoredToken { name, role, sha256, created, expires } = token;
    let date = |seconds: u64| {
        // Rounded down to year 9999, the last that the format has.
        let seconds = Duration::from_secs(seconds.min(253_402_300_799));
        humantime::format_rfc3339_seconds(UNIX_EPOCH + seconds)
    };
    let created = date(*created);
    let expires = expires.map_or_else(|| "never".to_owned(), |expires| date(expires).to_string());
    format!("{name}  {role}  created {created}  expires {expires}  sha256 {:.8}\n", sha256)
}

/// Refuses a file of the new token that is the tokens file or its draft: the next write of the tokens file
/// would replace the token.
fn check_out(out: &Path, tokens: &Path) -> Result<(), Failure> {
    if is_same_file(out, tokens) || is_same_file(out, &TokenFile::draft(tokens)) {
        return Err(Failure::usage(format_args!(
            "--out is {}, where the tokens file {} is written; name another file with --out",
            out.display(),
            tokens.display()
        )));
    }
    Ok(())
}

/// Writes a secret to a new file that only its owner may read. Nothing is left of a file that cannot be
/// written to its end.
fn write_secret(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::io(format_args!(
            "{} exists, and a token never replaces a file; remove it or name another file with --out",
            path.display()
        )),
        _ => Failure::write(path.display(), "--out", &error),
    })?;
    let written = writeln!(file, "{text}").and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _ = fs::remove_file(path);
        Failure::write(path.display(), "--out", &error)
    })
}

fn failure(error: TokenFileError) -> Failure {
    match error {
        TokenFileError::Io { ref source, .. } if source.kind() == ErrorKind::NotFound => {
            Failure::no_input(error)
        }
        TokenFileError::Io { .. } => Failure::io(error),
        TokenFileError::Content { .. } => Failure::data(error),
        TokenFileError::OtherRole { .. }
        | TokenFileError::Overlap { .. }
        | TokenFileError::Unknown(_)
        | TokenFileError::Token(_) => Failure::usage(error),
    }
}
