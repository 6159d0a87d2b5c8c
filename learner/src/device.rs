//! Where tensors live, chosen on purpose.
//!
//! A GPU is reached through wgpu, as a discrete, integrated or virtual GPU, in this order. An
//! adapter that computes on the CPU (lavapipe, llvmpipe, SwiftShader, WARP) is never taken for
//! one: `auto` then trains on the CPU directly, which is faster, and `gpu` is an error.
//! Burn's default device is never used: it depends on which features happen to be compiled in.

use burn::tensor::Device;

use crate::config::DeviceChoice;

/// A device with the name its backend gives it.
#[derive(Clone, Debug)]
pub struct TrainDevice {
    plain: Device,
    name: String,
}

/// Why there is no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No GPU was found.
    #[error(
        "device is gpu, but this machine has none that wgpu can use ({0}); set device = \"cpu\""
    )]
    NoGpu(String),
    /// This program cannot use GPUs.
    #[error("device is gpu, but this program was built without the feature `gpu`")]
    NotBuilt,
}

impl TrainDevice {
    /// The CPU, through burn-flex.
    pub fn cpu() -> Self {
        Self { plain: Device::flex(), name: "cpu (burn-flex)".into() }
    }

    /// The device for a choice. Opening a GPU takes up to seconds; not for an async thread.
    pub fn choose(choice: DeviceChoice) -> Result<Self, DeviceError> {
        match choice {
            DeviceChoice::Cpu => Ok(Self::cpu()),
            DeviceChoice::Gpu => gpu::open(),
            DeviceChoice::Auto => Ok(gpu::open().unwrap_or_else(|_| Self::cpu())),
        }
    }

    /// Any wgpu adapter, a software one if there is no other. For [parity](crate::parity)
    /// checks only.
    pub fn any_wgpu() -> Result<Self, DeviceError> {
        gpu::open().or_else(|_| gpu::software())
    }

    /// The device without gradients.
    pub fn plain(&self) -> &Device {
        &self.plain
    }

    /// The device with gradients.
    pub fn autodiff(&self) -> Device {
        self.plain.clone().autodiff()
    }

    /// What the backend calls it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(feature = "gpu")]
mod gpu {
    use std::sync::Mutex;

    #[cfg(not(target_vendor = "apple"))]
    use burn::tensor::wgpu::WgpuBackend;
    use burn::tensor::wgpu::wgpu::DeviceType;
    use burn::tensor::{Device, DeviceKind};

    use super::{DeviceError, TrainDevice};

    /// wgpu adapters that were opened: each can be initialised once in a process.
    static OPEN: Mutex<Vec<(DeviceKind, TrainDevice)>> = Mutex::new(Vec::new());

    /// Names of adapters that compute on the CPU, whatever type they report.
    const SOFTWARE: [&str; 5] = ["llvmpipe", "lavapipe", "swiftshader", "softpipe", "warp"];

    pub(super) fn open() -> Result<TrainDevice, DeviceError> {
        let kinds =
            [DeviceKind::DiscreteGpu(0), DeviceKind::IntegratedGpu(0), DeviceKind::VirtualGpu(0)];
        let mut reasons = Vec::new();
        for kind in kinds {
            match adapter(kind, false) {
                Ok(device) => return Ok(device),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(DeviceError::NoGpu(reasons.join("; ")))
    }

    pub(super) fn software() -> Result<TrainDevice, DeviceError> {
        adapter(DeviceKind::Cpu, true).map_err(DeviceError::NoGpu)
    }

    fn adapter(kind: DeviceKind, software_is_fine: bool) -> Result<TrainDevice, String> {
        let mut open = OPEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, device)) = open.iter().find(|(known, _)| *known == kind) {
            return Ok(device.clone());
        }
        // Elsewhere than on Apple's systems Vulkan is the one API that matters; asking OpenGL too
        // makes drivers complain on the terminal.
        let options = Device::wgpu_options().device_kind(kind.clone());
        #[cfg(not(target_vendor = "apple"))]
        let options = options.graphics_api(WgpuBackend::Vulkan);
        let (plain, setup) = options.init_with_setup().map_err(|error| brief(&error))?;
        let info = setup.adapter.get_info();
        let lower = info.name.to_lowercase();
        let software = info.device_type == DeviceType::Cpu
            || SOFTWARE.iter().any(|software| lower.contains(software));
        if software && !software_is_fine {
            return Err(format!("{} is a software adapter", info.name));
        }
        let label = if software { ", software" } else { "" };
        let name = format!("{} (wgpu {}{label})", info.name, info.backend);
        let device = TrainDevice { plain, name };
        open.push((kind, device.clone()));
        Ok(device)
    }

    /// The first clause of an error: the rest lists every adapter in full.
    fn brief(error: &impl std::fmt::Display) -> String {
        let text = error.to_string();
        text.split(", adapters").next().unwrap_or_default().to_owned()
    }
}

#[cfg(not(feature = "gpu"))]
mod gpu {
    use super::{DeviceError, TrainDevice};

    pub(super) fn open() -> Result<TrainDevice, DeviceError> {
        Err(DeviceError::NotBuilt)
    }

    pub(super) fn software() -> Result<TrainDevice, DeviceError> {
        Err(DeviceError::NotBuilt)
    }
}
