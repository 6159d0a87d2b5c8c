//! Weights as safetensors files.
//!
//! A file holds the tensors as little-endian F32 and one metadata entry, [`METADATA_KEY`], whose
//! value is a JSON document with format version, spec, meta and content hash. There is a single
//! entry because the bytes of a file must follow from its weights alone: files are addressed by
//! their hash, and the order of several entries would not be fixed.
//!
//! There are two hashes. The SHA-256 of all bytes of a file, header included, is its name
//! ([`ContentHash`]). The content hash in the document covers the tensors, which are the bytes
//! after the header. It ties the tensors to their description, so that a file assembled from two
//! others is refused. It also identifies the same network in another generation. Files of version
//! 1 have no content hash and are still read.
//!
//! Reading trusts no input. A header is refused if it is longer than [`MAX_HEADER_BYTES`], repeats
//! a name, or has a tensor past the end. The spec is validated, and the tensors are compared with
//! the bytes present, before memory for values is allocated. A file therefore costs at most its
//! own size plus a small multiple of its header. Errors repeat names and other text of a file in
//! short, on one line.

use std::collections::{BTreeMap, HashMap};

use ouro_game::error::brief;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use super::{Weights, WeightsError, WeightsMeta, check_meta, header};
use crate::hash::ContentHash;
use crate::spec::NetSpec;

/// The metadata entry that holds everything but the tensors.
pub const METADATA_KEY: &str = "ouro";

/// The version that this code writes, and the newest version that it reads.
pub const FORMAT_VERSION: u32 = 2;

/// Longest header that is read.
pub const MAX_HEADER_BYTES: usize = 256 << 10;

/// Most dimensions of a shape in a message; a file may declare many thousands.
const SHOWN_DIMENSIONS: usize = 8;

/// The document under [`METADATA_KEY`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    spec: NetSpec,
    meta: WeightsMeta,
    /// [`ContentHash`] of the bytes after the header; since version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

impl Weights {
    /// The file's bytes. The same weights give the same bytes.
    pub fn to_safetensors(&self) -> Vec<u8> {
        let bytes: Vec<Vec<u8>> = self
            .tensors
            .iter()
            .map(|values| values.iter().flat_map(|value| value.to_le_bytes()).collect())
            .collect();
        let mut views: Vec<(String, TensorView<'_>)> = self
            .spec
            .tensors()
            .into_iter()
            .zip(&bytes)
            .map(|(tensor, bytes)| {
                let view = TensorView::new(Dtype::F32, tensor.shape, bytes)
                    .expect("every tensor has the length of its shape");
                (tensor.name, view)
            })
            .collect();
        // The format orders tensors of one type by name.
        views.sort_by(|(left, _), (right, _)| left.cmp(right));
        let content: Vec<u8> = views.iter().flat_map(|(_, view)| view.data()).copied().collect();
        let document = Document {
            version: FORMAT_VERSION,
            spec: self.spec.clone(),
            meta: self.meta.clone(),
            content: Some(ContentHash::of(&content).to_string()),
        };
        let document =
            serde_json::to_string(&document).expect("strings and integers serialise to JSON");
        let metadata = HashMap::from([(METADATA_KEY.to_owned(), document)]);
        safetensors::serialize(views, Some(metadata))
            .expect("names are distinct and the header is far below the format's limit")
    }

    /// Reads a file strictly: it must hold exactly the tensors of its spec, all F32 and finite,
    /// with the content hash of the metadata.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Self, WeightsError> {
        let (header, values) = split(bytes)?;
        header::check(header, values.len())?;
        let malformed = |error: safetensors::SafeTensorError| {
            WeightsError::Malformed(brief(&error.to_string()))
        };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(malformed)?;
        let Document { spec, meta, content, .. } = document(header.metadata().as_ref())?;
        spec.validate()?;
        check_meta(&meta)?;

        // Ordered by name, so that of several errors the same one is always reported.
        let file = SafeTensors::deserialize(bytes).map_err(malformed)?;
        let mut present: BTreeMap<String, TensorView<'_>> = file.tensors().into_iter().collect();
        let mut views = Vec::with_capacity(present.len());
        for tensor in spec.tensors() {
            let Some(view) = present.remove(&tensor.name) else {
                return Err(WeightsError::TensorMissing { name: tensor.name });
            };
            if view.dtype() != Dtype::F32 {
                let dtype = view.dtype().to_string();
                return Err(WeightsError::TensorType { name: tensor.name, dtype });
            }
            if view.shape() != tensor.shape {
                return Err(WeightsError::TensorShape {
                    name: tensor.name,
                    got: dimensions(view.shape()),
                    expected: tensor.shape,
                });
            }
            views.push(view);
        }
        if let Some(name) = present.into_keys().next() {
            return Err(WeightsError::TensorExtra { name: brief(&name) });
        }
        let tensors = views.iter().map(|view| floats(view.data())).collect();
        let weights = Self::from_tensors(spec, meta, tensors)?;
        if let Some(expected) = content {
            let got = ContentHash::of(values).to_string();
            if got != expected {
                let expected = brief(&expected);
                return Err(WeightsError::ContentMismatch { got, expected });
            }
        }
        Ok(weights)
    }
}

/// Splits a file into header and values. The first 8 bytes hold the header's length; a longer
/// header than allowed is refused before it is parsed.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), WeightsError> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(WeightsError::Malformed(format!(
            "{} bytes cannot hold the header's length",
            bytes.len()
        )));
    };
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER_BYTES as u64 {
        return Err(WeightsError::HeaderTooLarge { bytes: length, max: MAX_HEADER_BYTES });
    }
    rest.split_at_checked(length as usize).ok_or_else(|| {
        let present = rest.len();
        WeightsError::Malformed(format!("the header has {length} bytes, {present} are there"))
    })
}

fn document(metadata: Option<&HashMap<String, String>>) -> Result<Document, WeightsError> {
    /// Read first, so that a newer file is reported as newer instead of unreadable.
    #[derive(Deserialize)]
    struct Head {
        version: u32,
    }
    let missing = WeightsError::MetadataMissing { key: METADATA_KEY };
    let metadata = metadata.ok_or(missing.clone())?;
    let text = metadata.get(METADATA_KEY).ok_or(missing)?;
    if metadata.len() != 1 {
        return Err(WeightsError::MetadataExtra { count: metadata.len(), key: METADATA_KEY });
    }
    let invalid =
        |error: serde_json::Error| WeightsError::MetadataInvalid(brief(&error.to_string()));
    let head: Head = serde_json::from_str(text).map_err(invalid)?;
    if head.version == 0 || head.version > FORMAT_VERSION {
        return Err(WeightsError::Version { got: head.version, newest: FORMAT_VERSION });
    }
    let document: Document = serde_json::from_str(text).map_err(invalid)?;
    match (head.version, &document.content) {
        (1, Some(_)) => Err(WeightsError::MetadataInvalid("version 1 has no content".into())),
        (2.., None) => Err(WeightsError::MetadataInvalid("content is missing".into())),
        _ => Ok(document),
    }
}

/// The dimensions of a tensor in a file, for a message.
fn dimensions(shape: &[usize]) -> String {
    match shape.split_at_checked(SHOWN_DIMENSIONS) {
        Some((first, more)) if !more.is_empty() => {
            format!("{first:?} and {} more dimensions", more.len())
        }
        _ => format!("{shape:?}"),
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (words, rest) = bytes.as_chunks::<4>();
    debug_assert!(rest.is_empty(), "an F32 tensor has four bytes a value");
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}
