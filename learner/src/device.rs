//! The device that holds the tensors, always an explicit choice.
//!
//! GPUs are reached through wgpu: discrete, integrated, then virtual. An adapter that computes on
//! the CPU (lavapipe, llvmpipe, SwiftShader, WARP) does not count as a GPU unless the configuration
//! allows it. Without a GPU, `auto` trains on the CPU directly, which is faster than a software
//! adapter, and `vulkan` and `wgpu` are errors. Burn's default device is never used, because it
//! depends on the compiled features.

use std::time::Instant;

use burn_tensor::Device;

use ouro_proto::DeviceKind;

use crate::config::DeviceChoice;
use crate::error::TrainError;

#[cfg(feature = "gpu")]
use gpu::open as open_gpu;
pub use kernels::{KernelTime, KernelTimes};

#[cfg(feature = "gpu")]
mod gpu;
mod kernels;

/// A device and its name.
#[derive(Clone, Debug)]
pub struct TrainDevice {
    plain: Device,
    name: String,
    kind: DeviceKind,
    adapter: Option<Adapter>,
    /// A time before the first use of the device.
    opened: Instant,
}

/// What the driver says about a GPU.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Adapter {
    /// The device.
    pub name: String,
    /// Name of the driver.
    pub driver: String,
    /// Version of the driver.
    pub driver_version: String,
    /// Graphics API.
    pub api: String,
    /// Discrete, integrated, virtual, CPU or other.
    pub kind: String,
}

/// Why a device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No GPU was found.
    #[error(
        "device is {choice}, but this machine has no usable GPU ({reasons}); choose the CPU with --device cpu or deploy.device = \"cpu\""
    )]
    NoGpu {
        /// The requested device.
        choice: &'static str,
        /// Reason for each adapter.
        reasons: String,
    },
    /// The program was built without GPU support.
    #[error(
        "device is {choice}, but this program was built without the feature `gpu`; build with the feature, or choose the CPU with --device cpu or deploy.device = \"cpu\""
    )]
    NotBuilt {
        /// The requested device.
        choice: &'static str,
    },
}

impl DeviceError {
    /// The reason in a few words, for the name of a CPU that `auto` chose.
    fn brief(&self) -> &'static str {
        match self {
            Self::NoGpu { .. } => "no GPU was found",
            Self::NotBuilt { .. } => "built without the feature `gpu`",
        }
    }
}

impl TrainDevice {
    /// The CPU, through burn-flex.
    pub fn cpu() -> Self {
        Self {
            plain: Device::flex(),
            name: "cpu (burn-flex)".into(),
            kind: DeviceKind::Cpu,
            adapter: None,
            opened: Instant::now(),
        }
    }

    /// Opens the chosen device. Software adapters count only with `allow_software`. Do not call
    /// from an async thread, because opening a GPU can take seconds.
    pub fn choose(choice: DeviceChoice, allow_software: bool) -> Result<Self, DeviceError> {
        match choice {
            DeviceChoice::Cpu => Ok(Self::cpu()),
            DeviceChoice::Vulkan | DeviceChoice::Wgpu => open_gpu(choice, allow_software),
            DeviceChoice::Auto => Ok(open_gpu(choice, allow_software).unwrap_or_else(|error| {
                tracing::debug!(%error, "training on the CPU");
                let name = format!("cpu (burn-flex); {}", error.brief());
                Self { name, kind: DeviceKind::NoGpu, ..Self::cpu() }
            })),
        }
    }

    /// Any wgpu adapter, preferring real GPUs. For [parity](crate::parity) checks only.
    pub fn any_wgpu() -> Result<Self, DeviceError> {
        Self::choose(DeviceChoice::Vulkan, true)
    }

    /// The device without gradients. Tensors that need gradients are tracked one by one.
    pub fn plain(&self) -> &Device {
        &self.plain
    }

    /// The name that the backend reports. If `auto` chose the CPU, the name includes the reason.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Kind of the device.
    pub fn kind(&self) -> DeviceKind {
        self.kind
    }

    /// The GPU; `None` on the CPU.
    pub fn adapter(&self) -> Option<&Adapter> {
        self.adapter.as_ref()
    }

    /// Waits until the device has done all its work.
    pub fn wait(&self) -> Result<(), TrainError> {
        self.plain.sync().map_err(TrainError::read)
    }

    /// Does `work`, which must [`wait`](Self::wait) for the device at its end, and times its
    /// kernels. Other uses of the device at the same time are counted as well.
    pub fn time_kernels<T>(&self, work: impl FnOnce() -> T) -> (T, KernelTimes) {
        kernels::measure(self.opened, work)
    }

    /// Whether tensors live on the CPU, through burn-flex.
    pub fn is_cpu(&self) -> bool {
        matches!(self.kind, DeviceKind::Cpu | DeviceKind::NoGpu)
    }
}

/// Opens no GPU: the program was built without support.
#[cfg(not(feature = "gpu"))]
fn open_gpu(choice: DeviceChoice, _: bool) -> Result<TrainDevice, DeviceError> {
    Err(DeviceError::NotBuilt { choice: choice.name() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_there_whatever_the_machine_has() {
        let cpu = TrainDevice::choose(DeviceChoice::Cpu, false).expect("it needs nothing");
        assert!(cpu.is_cpu());
        let error = DeviceError::NoGpu { choice: "vulkan", reasons: "none found".into() };
        assert_eq!(
            error.to_string(),
            "device is vulkan, but this machine has no usable GPU (none found); choose the CPU with \
             --device cpu or deploy.device = \"cpu\""
        );
    }
}
