//! The machine, and what Vulkan needs to find its NVIDIA driver.
//!
//! Containers often have the driver's libraries without the file that names them to the Vulkan
//! loader, and without the loader. The kit has a loader and writes the file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Where libraries are, besides the folders in `LD_LIBRARY_PATH`.
const LIBRARIES: [&str; 8] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/local/lib",
    "usr/lib/x86_64-linux-gnu/nvidia/current",
    "usr/local/nvidia/lib64",
    "usr/local/nvidia/lib",
];

/// Where the loader looks for the files that name drivers.
const DRIVERS: [&str; 5] = [
    "etc/vulkan/icd.d",
    "usr/share/vulkan/icd.d",
    "usr/local/share/vulkan/icd.d",
    "usr/local/etc/vulkan/icd.d",
    "etc/xdg/vulkan/icd.d",
];

/// Where such files are on some machines, but the loader does not look.
const OTHER_DRIVERS: [&str; 2] =
    ["usr/local/nvidia/share/vulkan/icd.d", "usr/local/nvidia/etc/vulkan/icd.d"];

/// Variables that name drivers to the loader, the older one last.
const DRIVER_VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

const LOADER: &str = "libvulkan.so.1";

/// What the programs of the kit need on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vulkan {
    /// Variables to set.
    pub(crate) environment: Vec<(String, String)>,
    /// What was found, and what the kit did about the rest.
    pub(crate) notes: Vec<String>,
    /// Why there is no NVIDIA GPU for Vulkan, in one line; `None` if nothing is missing.
    pub(crate) missing: Option<String>,
}

/// A view of the machine's files.
pub(crate) struct Files<'a> {
    /// `/`, except in tests.
    pub(crate) root: &'a Path,
    /// `LD_LIBRARY_PATH`.
    pub(crate) library_path: String,
    /// The value of the first of the [`DRIVER_VARIABLES`] that is set.
    pub(crate) drivers: Option<String>,
}

impl Files<'static> {
    pub(crate) fn here() -> Self {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            root: Path::new("/"),
            library_path: value("LD_LIBRARY_PATH").unwrap_or_default(),
            drivers: DRIVER_VARIABLES.into_iter().find_map(value),
        }
    }
}

impl Files<'_> {
    fn library(&self, name: &str) -> Option<PathBuf> {
        let given = self.library_path.split(':').filter(|folder| !folder.is_empty());
        let given = given.map(PathBuf::from);
        let folders = given.chain(LIBRARIES.map(|folder| self.root.join(folder)));
        folders.map(|folder| folder.join(name)).find(|path| path.exists())
    }

    /// Driver files of the given folders, by name.
    fn driver_files(&self, folders: &[&str]) -> Vec<PathBuf> {
        let folders = folders.iter().map(|folder| self.root.join(folder));
        let entries = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
        files.sort();
        files
    }

    /// Prepares Vulkan. `kit` has the loader; a driver file is written to `out`.
    pub(crate) fn vulkan(&self, kit: &Path, out: &Path) -> Result<Vulkan> {
        let mut vulkan = Vulkan::default();
        let mut folders: Vec<String> = Vec::new();
        match self.library(LOADER) {
            Some(path) => vulkan.notes.push(format!("loader {}", path.display())),
            None => {
                vulkan.notes.push("no Vulkan loader is installed; using the kit's".to_owned());
                folders.push(kit.join("lib").display().to_string());
            }
        }
        // The first needs X libraries, which servers often lack. The second needs none.
        let with_display =
            ["libX11.so.6", "libXext.so.6"].iter().all(|one| self.library(one).is_some());
        let mut names = ["libGLX_nvidia.so.0", "libEGL_nvidia.so.0"];
        if !with_display {
            names.reverse();
        }
        let library = names.into_iter().find_map(|name| self.library(name));
        let is_nvidia = |path: &PathBuf| path.to_string_lossy().to_lowercase().contains("nvidia");
        let named = self.driver_files(&DRIVERS);
        for path in &named {
            vulkan.notes.push(format!("driver file {}", path.display()));
        }
        let other = self.driver_files(&OTHER_DRIVERS).into_iter().find(is_nvidia);
        if let Some(files) = &self.drivers {
            vulkan.notes.push(format!("driver files {files}, by the environment"));
        } else if named.iter().any(is_nvidia) {
            if library.is_none() {
                vulkan.missing = Some(format!("{}: {}", MISSING_LIBRARY, self.hint()));
            }
        } else if let Some(path) = other {
            vulkan
                .notes
                .push(format!("driver file {}, where the loader does not look", path.display()));
            vulkan.environment.push(("VK_DRIVER_FILES".into(), path.display().to_string()));
        } else if let Some(library) = &library {
            let path = out.join("nvidia_icd.json");
            let file = json!({
                "file_format_version": "1.0.1",
                "ICD": { "library_path": library, "api_version": "1.3.0" },
            });
            fs::write(&path, format!("{file:#}\n"))
                .with_context(|| format!("cannot write {}", path.display()))?;
            vulkan.notes.push(format!("no driver file names {}; wrote one", library.display()));
            vulkan.environment.push(("VK_DRIVER_FILES".into(), path.display().to_string()));
        } else {
            vulkan.missing = Some(format!("{}: {}", MISSING_LIBRARY, self.hint()));
        }
        if let Some(library) = library {
            vulkan.notes.push(format!("driver library {}", library.display()));
            let folder = library.parent().unwrap_or(self.root);
            if folder.starts_with(self.root.join("usr/local/nvidia")) || folder.ends_with("current")
            {
                folders.push(folder.display().to_string());
            }
        }
        folders.retain(|folder| !self.library_path.split(':').any(|given| given == folder));
        if !folders.is_empty() {
            folders.extend((!self.library_path.is_empty()).then(|| self.library_path.clone()));
            vulkan.environment.push(("LD_LIBRARY_PATH".into(), folders.join(":")));
        }
        Ok(vulkan)
    }

    /// The likely reason for a missing driver library.
    fn hint(&self) -> &'static str {
        if self.root.join("proc/driver/nvidia/version").exists()
            || self.root.join("dev/nvidiactl").exists()
        {
            "the kernel has the driver, so start the container with \
             NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility, or install libnvidia-gl"
        } else {
            "the kernel has no NVIDIA driver either"
        }
    }
}

const MISSING_LIBRARY: &str = "neither libGLX_nvidia.so.0 nor libEGL_nvidia.so.0 was found";

/// The machine in a report.
pub(crate) fn describe(vulkan: &Vulkan) -> Value {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, key: &str, mark: char| {
        let lines = text.lines().filter_map(|line| line.split_once(mark));
        let found = lines.map(|(name, value)| (name.trim(), value.trim().trim_matches('"')));
        found.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
    };
    let smi = Command::new("nvidia-smi")
        .args([
            "--query-gpu=name,driver_version,memory.total,vbios_version",
            "--format=csv,noheader",
        ])
        .output();
    let smi = smi.ok().filter(|output| output.status.success());
    json!({
        "system": field(&read("/etc/os-release"), "PRETTY_NAME", '='),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "cpu": field(&read("/proc/cpuinfo"), "model name", ':'),
        "cores": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        "memory": field(&read("/proc/meminfo"), "MemTotal", ':'),
        "nvidia_kernel_driver": read("/proc/driver/nvidia/version").lines().next(),
        "nvidia_smi": smi.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        "vulkan": vulkan.notes,
        "missing": vulkan.missing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these files, and the kit's own folders in it.
    fn prepared(files: &[&str], library_path: &str) -> (tempfile::TempDir, Vulkan) {
        let root = tempfile::tempdir().unwrap();
        for file in files.iter().copied().chain(["kit/lib/libvulkan.so.1", "out/log"]) {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let view =
            Files { root: root.path(), library_path: library_path.to_owned(), drivers: None };
        let vulkan = view.vulkan(&root.path().join("kit"), &root.path().join("out")).unwrap();
        (root, vulkan)
    }

    fn variable<'a>(vulkan: &'a Vulkan, name: &str) -> Option<&'a str> {
        let found = vulkan.environment.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    #[test]
    fn a_driver_without_its_file_gets_one_and_a_loader() {
        let library = "usr/lib/x86_64-linux-gnu/libEGL_nvidia.so.0";
        let (root, vulkan) = prepared(&[library, "usr/lib64/libGLX_nvidia.so.0"], "");
        assert_eq!(vulkan.missing, None);
        let written = fs::read_to_string(variable(&vulkan, "VK_DRIVER_FILES").unwrap()).unwrap();
        // Without the libraries of X the one for servers is named.
        let file: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(file["ICD"]["library_path"], root.path().join(library).to_str().unwrap());
        let kit = root.path().join("kit/lib").display().to_string();
        assert_eq!(variable(&vulkan, "LD_LIBRARY_PATH"), Some(kit.as_str()));
    }

    #[test]
    fn a_complete_machine_needs_nothing() {
        let files = [
            "usr/lib/x86_64-linux-gnu/libvulkan.so.1",
            "usr/lib/x86_64-linux-gnu/libGLX_nvidia.so.0",
            "usr/share/vulkan/icd.d/nvidia_icd.json",
        ];
        let (_, vulkan) = prepared(&files, "/other");
        assert_eq!((vulkan.environment, vulkan.missing), (vec![], None));
    }

    #[test]
    fn files_and_libraries_beside_the_usual_folders_are_named() {
        let files = [
            "usr/lib/x86_64-linux-gnu/libvulkan.so.1",
            "usr/local/nvidia/lib64/libGLX_nvidia.so.0",
            "usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json",
        ];
        let (root, vulkan) = prepared(&files, "/other");
        let driver = root.path().join(files[2]).display().to_string();
        assert_eq!(variable(&vulkan, "VK_DRIVER_FILES"), Some(driver.as_str()));
        let folder = format!("{}:/other", root.path().join("usr/local/nvidia/lib64").display());
        assert_eq!(variable(&vulkan, "LD_LIBRARY_PATH"), Some(folder.as_str()));
    }

    #[test]
    fn what_is_missing_is_one_line() {
        let (_, none) = prepared(&["usr/share/vulkan/icd.d/lvp_icd.x86_64.json"], "");
        let missing = none.missing.unwrap();
        assert!(missing.contains("no NVIDIA driver either"), "{missing}");
        let (_, compute) = prepared(&["proc/driver/nvidia/version"], "");
        let missing = compute.missing.unwrap();
        assert!(missing.contains("NVIDIA_DRIVER_CAPABILITIES"), "{missing}");
        assert!(!missing.contains('\n'));
    }
}
