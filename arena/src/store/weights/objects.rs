//! Weights as objects of S3 and the like.
//!
//! An object is written as a whole or not at all. The object `run` names the run to which a prefix
//! belongs, because an arena removes weights that its results do not know. While it is missing, no
//! weights count as lost: a bucket that was lost may be filled again, and this object comes last.
//!
//! Requests are repeated with a growing delay for [`PATIENCE`]. A call then fails, and the arena pauses
//! until the store answers. Once the arena runs, refusals pass like outages: credentials may be
//! renewed, and no checkpoint may be set aside because of them.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientConfigKey, Error, ListResult, ObjectStore, ObjectStoreExt, PutMode,
    PutPayload, RetryConfig,
};
use ouro_net::{ContentHash, RunId};
use ouro_proto::text::brief;
use tokio::runtime::{Builder, Handle, Runtime};

use super::{WeightsError, WeightsStore, hash_in, name_of};

/// Time over which a request is repeated.
const PATIENCE: Duration = Duration::from_secs(10);

/// First and longest delay between two attempts.
const DELAYS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// Slowest transfer, in bytes per second. The longest time of a request follows from it.
const LEAST_RATE: u64 = 64 << 10;

/// Longest pause in the middle of an answer.
const SILENCE: &str = "10 seconds";

/// Longest time of a request for the client, which does not know the size. Shorter limits apply here.
const LONGEST: &str = "1 day";

/// The object that names the run.
const RUN: &str = "run";

/// Objects under a prefix of a bucket, or files of a folder with the same interface.
#[derive(Debug)]
pub struct WeightsObjects {
    name: String,
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    handle: Handle,
    /// Runs the requests. Empty during the drop only.
    runtime: Option<Runtime>,
}

impl Drop for WeightsObjects {
    fn drop(&mut self) {
        // A plain drop would wait for the threads, which asynchronous callers must not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl WeightsObjects {
    /// Opens `s3://BUCKET/PREFIX`, with credentials, region and endpoint from the variables of AWS, or
    /// `file:///FOLDER`. Fails if it cannot be listed.
    pub fn open(url: &str) -> Result<Self, WeightsError> {
        if let Some(("file", folder)) = url.split_once("://") {
            std::fs::create_dir_all(folder).map_err(|error| WeightsError::Unusable {
                store: url.to_owned(),
                problem: error.to_string(),
            })?;
        }
        Self::open_to_read(url)
    }

    /// Like [`open`](Self::open), but fails if the folder is not there.
    pub fn open_to_read(url: &str) -> Result<Self, WeightsError> {
        let unusable = |problem: String| WeightsError::Unusable { store: url.to_owned(), problem };
        let (store, prefix): (Arc<dyn ObjectStore>, &str) = match url.split_once("://") {
            Some(("s3", rest)) => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                let store = Self::bucket(AmazonS3Builder::from_env(), bucket, PATIENCE);
                (Arc::new(store.map_err(|error| unusable(one_line(&error)))?), prefix)
            }
            Some(("file", folder)) => {
                (Arc::new(files(folder).map_err(|error| unusable(one_line(&error)))?), "")
            }
            _ => return Err(unusable("give s3://BUCKET/PREFIX or file:///FOLDER".to_owned())),
        };
        let prefix = Path::parse(prefix).map_err(|error| unusable(brief(&error.to_string())))?;
        let objects = Self::on(store, prefix, url)?;
        objects.list().map_err(|error| {
            let hint = "check deploy.weights, the server and the variables AWS_*";
            unusable(format!("{}; {hint}", one_line(&error)))
        })?;
        Ok(objects)
    }

    /// Weights on any object store. `name` denotes it in messages.
    pub fn on(store: Arc<dyn ObjectStore>, prefix: Path, name: &str) -> Result<Self, WeightsError> {
        // The calls come from threads of several kinds, most of them without a runtime.
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("arena-objects")
            .enable_all()
            .build()
            .map_err(|source| WeightsError::Io { path: PathBuf::from(name), source })?;
        let (handle, runtime) = (runtime.handle().clone(), Some(runtime));
        Ok(Self { name: name.to_owned(), store, prefix, handle, runtime })
    }

    /// A bucket, with credentials, region and endpoint of `builder`. Requests are repeated for
    /// `patience`.
    pub fn bucket(
        builder: AmazonS3Builder,
        name: &str,
        patience: Duration,
    ) -> Result<AmazonS3, Error> {
        // The HTTP client brings no TLS provider. If another part of the program has installed one, that
        // one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let [init_backoff, max_backoff] = DELAYS;
        let backoff = BackoffConfig { init_backoff, max_backoff, base: 2.0 };
        let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
        let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
        let client = |builder: AmazonS3Builder, key, value: &str| {
            builder.with_config(AmazonS3ConfigKey::Client(key), value)
        };
        let builder = client(builder, ClientConfigKey::Timeout, LONGEST);
        let builder = client(builder, ClientConfigKey::ReadTimeout, SILENCE);
        // The endpoint says it already.
        let builder =
            if is_plain { client(builder, ClientConfigKey::AllowHttp, "true") } else { builder };
        builder
            .with_bucket_name(name)
            .with_retry(RetryConfig { backoff, max_retries: usize::MAX, retry_timeout: patience })
            .build()
    }

    /// Waits for a request that transfers `bytes` bytes.
    fn wait<T>(
        &self,
        bytes: u64,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let limit = 2 * PATIENCE + Duration::from_secs(bytes / LEAST_RATE);
        let answer = self.handle.block_on(async { tokio::time::timeout(limit, request).await });
        answer.unwrap_or_else(|elapsed| {
            Err(Error::Generic { store: "object store", source: Box::new(elapsed) })
        })
    }

    /// The objects under the prefix, without those of deeper folders.
    fn list(&self) -> Result<ListResult, Error> {
        self.wait(0, self.store.list_with_delimiter(Some(&self.prefix)))
    }

    fn get(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let found = self.wait(0, self.store.get(path))?;
        let size = found.meta.size;
        Ok(self.wait(size, found.bytes())?.into())
    }

    /// Writes an object that is not there.
    fn create(&self, path: &Path, text: &str) -> Result<(), Error> {
        let payload = || PutPayload::from(text.as_bytes().to_vec());
        let created = self.store.put_opts(path, payload(), PutMode::Create.into());
        match self.wait(0, created) {
            // A server without conditional writes. Only two first starts at the same time need them.
            Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => {
                self.wait(0, self.store.put(path, payload())).map(drop)
            }
            created => created.map(drop),
        }
    }

    fn path(&self, name: &str) -> Path {
        self.prefix.clone().join(name)
    }

    fn failed(&self, error: &Error) -> WeightsError {
        WeightsError::Unreachable { store: self.name.clone(), problem: one_line(error) }
    }
}

impl WeightsStore for WeightsObjects {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn write(&self, hash: ContentHash, bytes: &[u8]) -> Result<(), WeightsError> {
        let path = self.path(&name_of(hash));
        match self.get(&path) {
            Ok(found) if ContentHash::of(&found) == hash => return Ok(()),
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(self.failed(&error)),
        }
        // The content follows from the name, so a second writer can only write the same again.
        let payload = PutPayload::from(bytes.to_vec());
        let written = self.wait(bytes.len() as u64, self.store.put(&path, payload));
        written.map(drop).map_err(|error| self.failed(&error))
    }

    fn read(&self, hash: ContentHash) -> Result<Vec<u8>, WeightsError> {
        let path = self.path(&name_of(hash));
        let found = match self.get(&path) {
            Err(Error::NotFound { .. }) => {
                // S3 answers alike if the whole bucket is missing. That, and a bucket that is being
                // filled again, must not look as if the weights were lost. All other objects precede
                // `run`, so the second answer counts.
                self.recover()?;
                self.get(&path)
            }
            found => found,
        };
        let bytes = match found {
            Ok(bytes) => bytes,
            Err(Error::NotFound { .. }) => return Err(WeightsError::Missing(hash)),
            Err(error) => return Err(self.failed(&error)),
        };
        let found = ContentHash::of(&bytes);
        if found == hash {
            return Ok(bytes);
        }
        let path = format!("{}/{}", self.name.trim_end_matches('/'), name_of(hash)).into();
        Err(WeightsError::Damaged { path, found })
    }

    fn hashes(&self) -> Result<Vec<ContentHash>, WeightsError> {
        let listed = self.list().map_err(|error| self.failed(&error))?;
        let names = listed.objects.iter().filter_map(|object| object.location.filename());
        Ok(names.filter_map(hash_in).collect())
    }

    fn remove(&self, hash: ContentHash) -> Result<(), WeightsError> {
        let path = self.path(&name_of(hash));
        match self.wait(0, self.store.delete(&path)) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn bind_run(&self, run: RunId) -> Result<(), WeightsError> {
        let (path, text) = (self.path(RUN), run.to_string());
        let found = match self.get(&path) {
            Err(Error::NotFound { .. }) => match self.create(&path, &text) {
                Ok(()) => return Ok(()),
                // Another arena was faster.
                Err(Error::AlreadyExists { .. }) => self.get(&path),
                Err(error) => Err(error),
            },
            found => found,
        };
        let found = found.map_err(|error| self.failed(&error))?;
        let found = brief(&String::from_utf8_lossy(&found));
        match found == text {
            true => Ok(()),
            false => Err(WeightsError::OtherRun { store: self.name.clone(), found }),
        }
    }

    fn recover(&self) -> Result<(), WeightsError> {
        // Listing fails if the bucket is missing, which a read of one object does not show.
        self.list().map_err(|error| self.failed(&error))?;
        match self.get(&self.path(RUN)) {
            Ok(_) => Ok(()),
            Err(Error::NotFound { .. }) => Err(WeightsError::Unreachable {
                store: self.name.clone(),
                problem: format!(
                    "object `{RUN}` is missing; put the weights back, then this object"
                ),
            }),
            Err(error) => Err(self.failed(&error)),
        }
    }
}

fn files(folder: &str) -> Result<LocalFileSystem, Error> {
    Ok(LocalFileSystem::new_with_prefix(folder)?.with_fsync(true))
}

/// The part of `text` between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split_once(end).map(|(part, _)| part)
}

/// The answer of a server that refuses: status, code and message, without the XML around them.
fn answer(text: &str) -> Option<String> {
    let status = between(text, "status code: ", ":")?;
    let code = between(text, "<Code>", "</Code>")?;
    let message = between(text, "<Message>", "</Message>").unwrap_or_default();
    Some(brief(&format!("{status}: {code}: {message}")))
}

/// The error and its deepest cause.
fn one_line(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let (text, cause) = (error.to_string(), cause.to_string());
    if let Some(answer) = answer(&text).or_else(|| answer(&cause)) {
        return answer;
    }
    match text.contains(&cause) {
        true => brief(&text),
        false => format!("{}: {}", brief(&text), brief(&cause)),
    }
}
