//! A file of weights on the command line.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use ouro_net::Weights;
use ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES;
use ouro_service::files::read_regular;

use super::included;
use crate::failure::Failure;

/// Reads and checks a file of weights, or [included] ones.
pub(super) fn read(path: &Path) -> Result<Weights, Failure> {
    let name = path.display().to_string();
    let bytes: Cow<'_, [u8]> = match included::file(&name) {
        Some(bytes) => bytes?.into(),
        None => read_file(path, &name)?.into(),
    };
    Weights::from_safetensors(&bytes)
        .map_err(|error| Failure::data(format_args!("{name}: {error}")))
}

fn read_file(path: &Path, name: &str) -> Result<Vec<u8>, Failure> {
    read_regular(path, DEFAULT_MAX_WEIGHTS_BYTES).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            return Failure::no_input(format_args!(
                "{name}: no weights are there; name a file of checkpoints/, or of arena/weights in a run"
            ));
        }
        Failure::read(name, &error)
    })
}
