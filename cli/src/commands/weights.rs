//! A file of weights on the command line.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use ouro_arena::config::WeightsConfig;
use ouro_arena::store::WEIGHTS_FOLDER;
use ouro_net::{ContentHash, Weights};
use ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES;
use ouro_service::files::read_regular;

use super::included;
use crate::failure::Failure;

/// Reads and checks a file of weights, or [included] ones.
pub(super) fn read(path: &Path) -> Result<Weights, Failure> {
    Weights::from_safetensors(&bytes(path)?)
        .map_err(|error| Failure::data(format_args!("{}: {error}", path.display())))
}

/// The bytes of a file of weights, or of [included] ones.
pub(super) fn bytes(path: &Path) -> Result<Cow<'static, [u8]>, Failure> {
    let name = path.display().to_string();
    if let Some(included) = included::file(&name) {
        return Ok(included?.into());
    }
    let bytes = read_regular(path, DEFAULT_MAX_WEIGHTS_BYTES).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            return Failure::no_input(format_args!(
                "{name}: no weights are there; name a file of checkpoints/, or of arena/weights in a run"
            ));
        }
        if path.join("arena").is_dir() {
            return Failure::io(format_args!(
                "{name}: it is the folder of a run; name a file of weights: `ouro check {name}` shows \
                 the champion's"
            ));
        }
        Failure::read(&name, &error)
    });
    Ok(bytes?.into())
}

/// Where an arena with the data folder `arena` keeps these published weights.
pub(super) fn published(config: &WeightsConfig, arena: &Path, hash: ContentHash) -> String {
    let name = format!("{hash}.safetensors");
    match config {
        WeightsConfig::Files => arena.join(WEIGHTS_FOLDER).join(name).display().to_string(),
        WeightsConfig::Objects { url } => format!("{}/{name}", url.trim_end_matches('/')),
    }
}
