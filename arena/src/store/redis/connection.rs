//! A connection to Redis that is opened again after a failure.

use std::time::{Duration, Instant};

use ouro_service::Backoff;
use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind};

use super::super::error::StoreError;
use super::{RedisAddress, RedisTls};

/// Time for a connection.
const CONNECT: Duration = Duration::from_secs(2);
/// Time for an answer. With `appendfsync always`, a write is answered after its fsync.
const RESPONSE: Duration = Duration::from_secs(5);
/// Time over which a command is repeated before it fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// Parts of the errors of a command that the user may not run in a script: of Redis 7.0, and of later
/// versions.
const FORBIDDEN_IN_SCRIPT: [&str; 2] =
    ["The user executing the script can't run this command", "ACL failure in script"];

/// Examines a server. Returns why it must not be used, with the remedy; `None` if it may be used.
pub(super) type Check = fn(&mut redis::Connection) -> RedisResult<Option<String>>;

/// The connection. See the [module](self).
pub(crate) struct Connection {
    client: redis::Client,
    open: Option<redis::Connection>,
    /// Examines the server each time the connection is opened.
    check: Option<Check>,
    /// The server, for messages; without a password.
    name: String,
    patience: Duration,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Connection {
    /// A connection that is opened with the first command.
    pub(crate) fn new(address: &RedisAddress) -> Result<Self, StoreError> {
        let refused = |error: RedisError| {
            // The URL may hold a password, so it is not repeated.
            StoreError::Server { store: "redis".to_owned(), problem: error.to_string() }
        };
        let info = redis::IntoConnectionInfo::into_connection_info(address.url.as_str());
        let mut info = info.map_err(refused)?;
        if let Some(password) = &address.password {
            let settings = info.redis_settings().clone().set_password(password);
            info = info.set_redis_settings(settings);
        }
        let name = format!("redis at {}", info.addr());
        let client = match info.addr() {
            redis::ConnectionAddr::TcpTls { .. } => {
                let RedisTls { authorities: root_cert, own } = address.tls.clone();
                let client_tls = own.map(|(client_cert, client_key)| redis::ClientTlsConfig {
                    client_cert,
                    client_key,
                });
                let certificates = redis::TlsCertificates { client_tls, root_cert };
                redis::Client::build_with_tls(info, certificates)
            }
            _ => redis::Client::open(info),
        };
        let client = client.map_err(refused)?;
        Ok(Self { client, open: None, check: None, name, patience: PATIENCE })
    }

    /// The server, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs a command, and repeats it on new connections while the server cannot be reached or
    /// refuses writes for the moment. The command must be idempotent, because a lost answer repeats
    /// it. A server that fails the check does not see the command, and it is not repeated.
    pub(crate) fn run<T>(
        &mut self,
        command: impl Fn(&mut redis::Connection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        let (start, mut backoff) = (Instant::now(), Backoff::default());
        loop {
            let failure = match self.attempt(&command) {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            // A connection that failed may still deliver the answer to the failed command.
            self.open = None;
            let error = match failure {
                Failure::Redis(error) if is_passing(&error) => error,
                failure => {
                    let (store, problem) = (self.name.clone(), failure.problem());
                    return Err(StoreError::Server { store, problem });
                }
            };
            let delay = backoff.next_delay();
            if start.elapsed() + delay > self.patience {
                let (store, problem) = (self.name.clone(), error.to_string());
                return Err(StoreError::Unreachable { store, problem });
            }
            std::thread::sleep(delay);
        }
    }

    fn attempt<T>(
        &mut self,
        command: &impl Fn(&mut redis::Connection) -> RedisResult<T>,
    ) -> Result<T, Failure> {
        let connection = match &mut self.open {
            Some(connection) => connection,
            closed => {
                let mut connection = self.client.get_connection_with_timeout(CONNECT)?;
                connection.set_read_timeout(Some(RESPONSE))?;
                connection.set_write_timeout(Some(RESPONSE))?;
                // A server that was started again may have other settings.
                if let Some(check) = self.check
                    && let Some(problem) = check(&mut connection)?
                {
                    return Err(Failure::Unfit(problem));
                }
                closed.insert(connection)
            }
        };
        command(connection).map_err(Failure::Redis)
    }

    /// Examines the server each time the connection is opened, before the first command.
    pub(super) fn set_check(&mut self, check: Check) {
        self.check = Some(check);
    }

    /// Changes the time over which commands are repeated, and returns the previous one.
    pub(crate) fn set_patience(&mut self, patience: Duration) -> Duration {
        std::mem::replace(&mut self.patience, patience)
    }
}

/// Why a command failed.
enum Failure {
    Redis(RedisError),
    /// The server failed the check: the problem with its remedy.
    Unfit(String),
}

impl Failure {
    /// The problem, for an operator.
    fn problem(self) -> String {
        match self {
            Self::Redis(error) => problem(&error),
            Self::Unfit(problem) => problem,
        }
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

/// An error that needs an operator, with its remedy if the cause is the user or the password.
fn problem(error: &RedisError) -> String {
    let text = error.to_string();
    let is_forbidden = error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
        || FORBIDDEN_IN_SCRIPT.iter().any(|part| text.contains(part));
    match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) => "it refuses the user or the password; correct \
             deploy.store and the file deploy.store_password_file"
            .to_owned(),
        (_, Some("NOAUTH")) => "it asks for a password; set deploy.store_password_file".to_owned(),
        _ if is_forbidden => format!("{text}; give the user the rules of deploy/redis/users.acl"),
        _ => text,
    }
}

/// Whether the same command may succeed later.
fn is_passing(error: &RedisError) -> bool {
    use ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, ReadOnly, TryAgain};
    let is_server = matches!(
        error.kind(),
        ErrorKind::Server(BusyLoading | ClusterDown | MasterDown | ReadOnly | TryAgain)
    );
    // MISCONF: the disk of the server refuses writes. OOM: its memory is used up.
    let is_full = matches!(error.code(), Some("MISCONF" | "OOM" | "BUSY"));
    error.is_io_error() || is_server || is_full
}
