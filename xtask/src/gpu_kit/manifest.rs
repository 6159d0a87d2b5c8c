//! What a kit contains: programs built with different features, and the backends that they are.
//!
//! Features of burn decide at compile time between WGSL and SPIR-V, and whether kernels are fused
//! and tuned. Only fusion can be switched off later, by an environment variable.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// Makes a program with fusion run every operation by itself.
const NO_FUSION: (&str, &str) = ("BURN_FUSION_MAX_EXPLORATIONS", "0");

/// A build of `ouro`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// As released.
    Plain,
    /// SPIR-V with fusion and autotune.
    Spirv,
    /// WGSL with fusion and autotune.
    Wgsl,
}

impl Variant {
    pub(crate) const ALL: [Self; 3] = [Self::Plain, Self::Spirv, Self::Wgsl];

    /// Whether a kit has this variant unless others are chosen. A variant is a long build.
    pub(crate) fn is_default(self) -> bool {
        self != Self::Wgsl
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Spirv => "spirv",
            Self::Wgsl => "wgsl",
        }
    }

    pub(crate) fn by_name(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        let known = Self::ALL.map(Self::name).join(", ");
        found.with_context(|| format!("variant {name:?} is unknown; known are {known}"))
    }

    /// Cargo features of `ouro-cli`, besides the default ones.
    pub(crate) fn features(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Spirv => "spirv,fusion,autotune",
            Self::Wgsl => "fusion,autotune",
        }
    }

    /// The program in the kit.
    pub(crate) fn program(self) -> String {
        format!("bin/ouro-{}", self.name())
    }

    /// The backends of this program.
    pub(crate) fn backends(self) -> Vec<Backend> {
        let backend = |name: &str, note: &str, environment: &[(&str, &str)]| Backend {
            name: name.to_owned(),
            note: note.to_owned(),
            program: self.program(),
            environment: environment
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            limit: None,
        };
        match self {
            Self::Plain => vec![backend("wgpu", "WGSL, as released", &[])],
            Self::Spirv => vec![
                backend("vulkan-autotune", "SPIR-V, autotune", &[NO_FUSION]),
                backend("vulkan-autotune-fusion", "SPIR-V, autotune, fusion", &[]),
            ],
            Self::Wgsl => vec![
                backend("wgpu-autotune", "WGSL, autotune", &[NO_FUSION]),
                backend("wgpu-autotune-fusion", "WGSL, autotune, fusion", &[]),
            ],
        }
    }
}

/// A way to train on the GPU.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Backend {
    pub(crate) name: String,
    /// What distinguishes this backend.
    pub(crate) note: String,
    /// Relative to the kit.
    pub(crate) program: String,
    pub(crate) environment: Vec<(String, String)>,
    /// Seconds, if other than those that the run chooses.
    pub(crate) limit: Option<f64>,
}

/// The contents of `kit.json`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    /// The commit of the programs.
    pub(crate) commit: String,
    /// Cargo profile of the programs.
    pub(crate) profile: String,
    pub(crate) backends: Vec<Backend>,
}

const FILE: &str = "kit.json";

impl Manifest {
    pub(crate) fn write(&self, kit: &Path) -> Result<()> {
        let path = kit.join(FILE);
        let text = format!("{:#}\n", self.json());
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    pub(crate) fn read(kit: &Path) -> Result<Self> {
        let path = kit.join(FILE);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    pub(crate) fn json(&self) -> Value {
        let backends = self.backends.iter().map(|backend| {
            let environment: serde_json::Map<String, Value> = backend
                .environment
                .iter()
                .map(|(key, value)| (key.clone(), value.as_str().into()))
                .collect();
            json!({
                "name": backend.name,
                "note": backend.note,
                "program": backend.program,
                "environment": environment,
                "limit_seconds": backend.limit,
            })
        });
        let backends: Vec<Value> = backends.collect();
        json!({ "commit": self.commit, "profile": self.profile, "backends": backends })
    }

    fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let word = |value: &Value, key: &str| -> Result<String> {
            match value[key].as_str() {
                Some(word) => Ok(word.to_owned()),
                None => bail!("{key} is missing"),
            }
        };
        let backend = |value: &Value| -> Result<Backend> {
            let environment = value["environment"].as_object().into_iter().flatten();
            Ok(Backend {
                name: word(value, "name")?,
                note: word(value, "note")?,
                program: word(value, "program")?,
                environment: environment
                    .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                    .collect(),
                limit: value["limit_seconds"].as_f64(),
            })
        };
        let backends = value["backends"].as_array().context("backends are missing")?;
        Ok(Self {
            commit: word(&value, "commit")?,
            profile: word(&value, "profile")?,
            backends: backends.iter().map(backend).collect::<Result<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let manifest = Manifest {
            commit: "abc".into(),
            profile: "dist".into(),
            backends: Variant::ALL.into_iter().flat_map(Variant::backends).collect(),
        };
        assert_eq!(Manifest::parse(&manifest.json().to_string()).unwrap(), manifest);
        let names: Vec<&str> = manifest.backends.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "wgpu",
                "vulkan-autotune",
                "vulkan-autotune-fusion",
                "wgpu-autotune",
                "wgpu-autotune-fusion"
            ]
        );
        assert!(Manifest::parse("{}").is_err());
    }
}
