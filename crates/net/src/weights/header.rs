//! Header checks that the safetensors crate does not make.
//!
//! Its reader silently takes the last of several entries of one name, and its sums of offsets can
//! overflow. These checks run first: every name is unique, and every tensor ends within the values
//! of the file.

use std::collections::BTreeSet;
use std::fmt;

use ouro_game::error::brief;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::WeightsError;

/// Checks the header of a file with `values` bytes after it.
pub(super) fn check(header: &[u8], values: usize) -> Result<(), WeightsError> {
    let malformed = |error: serde_json::Error| WeightsError::Malformed(brief(&error.to_string()));
    let Header { names, last } = serde_json::from_slice(header).map_err(malformed)?;
    if let Some(name) = names.twice {
        return Err(WeightsError::NameTwice { name: brief(&name) });
    }
    match last {
        Some((end, name)) if end > values as u64 => {
            let name = brief(&name);
            Err(WeightsError::Malformed(format!("tensor {name} ends at byte {end} of {values}")))
        }
        _ => Ok(()),
    }
}

/// Names of an object's entries, and the first repeated name.
#[derive(Default)]
struct Names {
    seen: BTreeSet<String>,
    twice: Option<String>,
}

impl Names {
    fn add(&mut self, name: String) {
        if self.twice.is_none()
            && let Some(name) = self.seen.replace(name)
        {
            self.twice = Some(name);
        }
    }
}

/// The checked part of a header.
#[derive(Default)]
struct Header {
    /// Names of the header's entries; `twice` may also come from the metadata.
    names: Names,
    /// The end of the last tensor and its name.
    last: Option<(u64, String)>,
}

/// The checked part of a tensor's entry.
#[derive(Deserialize)]
struct Entry {
    data_offsets: [u64; 2],
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Header;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of tensors")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Header, M::Error> {
                let mut header = Header::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        let Metadata(metadata) = map.next_value()?;
                        header.names.twice = header.names.twice.or(metadata.twice);
                    } else {
                        let Entry { data_offsets: [_, end] } = map.next_value()?;
                        if header.last.as_ref().is_none_or(|(last, _)| end > *last) {
                            header.last = Some((end, name.clone()));
                        }
                    }
                    header.names.add(name);
                }
                Ok(header)
            }
        }

        from.deserialize_map(Read)
    }
}

/// The names of the metadata's entries.
struct Metadata(Names);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Names;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of strings")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Names, M::Error> {
                let mut names = Names::default();
                while let Some(name) = map.next_key::<String>()? {
                    names.add(name);
                    map.next_value::<IgnoredAny>()?;
                }
                Ok(names)
            }
        }

        from.deserialize_map(Read).map(Self)
    }
}
