//! Builds the programs of the kit and packs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::manifest::Manifest;
use super::options::BuildOptions;
use crate::shell::{self, cargo, root, say, target};

/// Largest size of the packed kit.
const MOST_BYTES: u64 = 60_000_000;

const NAME: &str = "ouro-gpu-kit";

/// Files of the repository that the kit contains, with their place in it.
const SCRIPTS: [(&str, &str); 4] = [
    ("deploy/gpu-kit/run.sh", "run.sh"),
    ("deploy/gpu-kit/torch_steps.py", "torch_steps.py"),
    ("bench/learner_vs_pytorch.py", "learner_vs_pytorch.py"),
    ("docs/gpu.md", "README.md"),
];

/// Where Linux distributions have the Vulkan loader.
const LOADERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/libvulkan.so.1",
    "/usr/lib/aarch64-linux-gnu/libvulkan.so.1",
    "/usr/lib64/libvulkan.so.1",
    "/usr/lib/libvulkan.so.1",
];

/// Builds every variant and packs the kit as `target/ouro-gpu-kit.tar.gz`.
pub(crate) fn run(options: &BuildOptions) -> Result<()> {
    let kit = target().join(NAME);
    if kit.exists() {
        fs::remove_dir_all(&kit).with_context(|| format!("cannot remove {}", kit.display()))?;
    }
    fs::create_dir_all(kit.join("bin"))?;
    fs::create_dir_all(kit.join("lib"))?;
    let loader = LOADERS.iter().find(|path| Path::new(path).exists());
    let loader = loader.context("libvulkan.so.1 is missing; install the package libvulkan1")?;
    fs::copy(loader, kit.join("lib/libvulkan.so.1"))?;
    copy_scripts(&kit)?;

    let profile = options.profile.as_str();
    let built = target().join(if profile == "dev" { "debug" } else { profile });
    for &variant in &options.variants {
        say(&format!("building the variant {}", variant.name()));
        let mut build = cargo(&["build", "--locked", "--profile", profile, "-p", "ouro-cli"]);
        build.args(["--bin", "ouro", "--features", variant.features()]);
        shell::run(build)?;
        copy(&built.join("ouro"), &kit.join(variant.program()))?;
    }
    let mut build = cargo(&["build", "--locked", "--profile", profile]);
    build.args(["-p", "ouro-actor", "--example", "bench_selfplay"]);
    shell::run(build)?;
    copy(&built.join("examples/bench_selfplay"), &kit.join("bin/bench_selfplay"))?;
    let mut build = cargo(&["build", "--locked", "--profile", profile, "-p", "xtask"]);
    build.args(["--bin", "xtask"]);
    shell::run(build)?;
    copy(&built.join("xtask"), &kit.join("bin/kit"))?;

    let backends = options.variants.iter().flat_map(|variant| variant.backends()).collect();
    let manifest = Manifest { commit: commit()?, profile: profile.to_owned(), backends };
    manifest.write(&kit)?;
    let packed = pack(&kit)?;
    for entry in sizes(&kit)? {
        say(&entry);
    }
    let size = fs::metadata(&packed)?.len();
    say(&format!("{}: {:.1} MB", packed.display(), megabytes(size)));
    ensure!(size <= MOST_BYTES, "the kit is larger than {:.0} MB", megabytes(MOST_BYTES));
    Ok(())
}

/// Copies the scripts and the page that explains them.
pub(crate) fn copy_scripts(kit: &Path) -> Result<()> {
    for (from, to) in SCRIPTS {
        copy(&root().join(from), &kit.join(to))?;
    }
    Ok(())
}

/// The commit that is checked out.
pub(crate) fn commit() -> Result<String> {
    let output = Command::new("git")
        .current_dir(root())
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .output()
        .context("cannot run git describe")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Copies a file with its permissions.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Packs the folder with gzip, which every machine can unpack.
fn pack(kit: &Path) -> Result<PathBuf> {
    let packed = kit.with_extension("tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["--use-compress-program", "gzip -9", "--owner=0", "--group=0"]);
    tar.arg("-C").arg(kit.parent().unwrap_or(kit)).arg("-cf").arg(&packed).arg(NAME);
    shell::run(tar)?;
    Ok(packed)
}

/// A line per file of the kit.
fn sizes(kit: &Path) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for folder in ["bin", "lib"] {
        for entry in fs::read_dir(kit.join(folder))? {
            let entry = entry?;
            let size = megabytes(entry.metadata()?.len());
            lines.push(format!("{size:>6.1} MB  {folder}/{}", entry.file_name().to_string_lossy()));
        }
    }
    lines.sort();
    Ok(lines)
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
