//! Where tensors live, chosen on purpose.
//!
//! A GPU is reached through wgpu, as a discrete, integrated or virtual GPU, in this order. An
//! adapter that computes on the CPU (lavapipe, llvmpipe, SwiftShader, WARP) is never taken for
//! one unless that is allowed by name: `auto` trains on the CPU directly, which is faster, and
//! asking for a GPU is an error. Burn's default device is never used: it depends on which
//! features happen to be compiled in.

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
        "device is {choice}, but this machine has no GPU that it can use ({reasons}); set device = \"cpu\""
    )]
    NoGpu {
        /// What was asked for.
        choice: &'static str,
        /// Why each adapter was not taken.
        reasons: String,
    },
    /// This program cannot use GPUs.
    #[error(
        "device is {choice}, but this program was built without the feature `gpu`; build it with that, or set device = \"cpu\""
    )]
    NotBuilt {
        /// What was asked for.
        choice: &'static str,
    },
}

impl DeviceError {
    /// Why there is no GPU in a few words, for whoever is content with the CPU.
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
        Self { plain: Device::flex(), name: "cpu (burn-flex)".into() }
    }

    /// The device for a choice; software adapters count only if `allow_software` says so. Opening
    /// a GPU takes up to seconds; not for an async thread.
    pub fn choose(choice: DeviceChoice, allow_software: bool) -> Result<Self, DeviceError> {
        match choice {
            DeviceChoice::Cpu => Ok(Self::cpu()),
            DeviceChoice::Vulkan | DeviceChoice::Wgpu => gpu::open(choice, allow_software),
            DeviceChoice::Auto => Ok(gpu::open(choice, allow_software).unwrap_or_else(|error| {
                tracing::debug!(%error, "training on the CPU");
                Self { name: format!("cpu (burn-flex); {}", error.brief()), ..Self::cpu() }
            })),
        }
    }

    /// Any wgpu adapter, a software one if there is no other. For [parity](crate::parity)
    /// checks only.
    pub fn any_wgpu() -> Result<Self, DeviceError> {
        Self::choose(DeviceChoice::Vulkan, true)
    }

    /// The device. It is one without gradients: tensors are tracked one by one.
    pub fn plain(&self) -> &Device {
        &self.plain
    }

    /// What the backend calls it, and how it was chosen.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is the CPU itself.
    pub fn is_cpu(&self) -> bool {
        self.name.starts_with("cpu")
    }
}

#[cfg(feature = "gpu")]
mod gpu {
    use std::sync::Mutex;

    use burn::tensor::wgpu::WgpuBackend;
    use burn::tensor::wgpu::wgpu::DeviceType;
    use burn::tensor::{Device, DeviceKind};

    use super::{DeviceChoice, DeviceError, TrainDevice};

    /// What the name of a software adapter says.
    const SOFTWARE_MARK: &str = ", software";

    /// wgpu adapters that were opened: each can be initialised once in a process.
    static OPEN: Mutex<Vec<(DeviceKind, TrainDevice)>> = Mutex::new(Vec::new());

    /// Names of adapters that compute on the CPU, whatever type they report.
    const SOFTWARE: [&str; 5] = ["llvmpipe", "lavapipe", "swiftshader", "softpipe", "warp"];

    pub(super) fn open(
        choice: DeviceChoice,
        allow_software: bool,
    ) -> Result<TrainDevice, DeviceError> {
        let real =
            [DeviceKind::DiscreteGpu(0), DeviceKind::IntegratedGpu(0), DeviceKind::VirtualGpu(0)];
        let software = allow_software.then_some(DeviceKind::Cpu);
        let mut reasons: Vec<String> = Vec::new();
        for kind in real.into_iter().chain(software) {
            match adapter(&kind, choice, allow_software) {
                Ok(device) => return Ok(device),
                Err(reason) if reasons.contains(&reason) => {}
                Err(reason) => reasons.push(reason),
            }
        }
        Err(DeviceError::NoGpu { choice: choice.name(), reasons: reasons.join("; ") })
    }

    fn adapter(
        kind: &DeviceKind,
        choice: DeviceChoice,
        allow_software: bool,
    ) -> Result<TrainDevice, String> {
        let mut open = OPEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = open.iter().find(|(known, _)| known == kind);
        let device = match known {
            Some((_, device)) => device.clone(),
            None => {
                let device = initialise(kind.clone(), choice)?;
                open.push((kind.clone(), device.clone()));
                device
            }
        };
        if device.name.contains(SOFTWARE_MARK) && !allow_software {
            return Err(format!("{} is a software adapter", device.name));
        }
        Ok(device)
    }

    fn initialise(kind: DeviceKind, choice: DeviceChoice) -> Result<TrainDevice, String> {
        let mut options = Device::wgpu_options().device_kind(kind);
        // On Apple's systems Metal is the one API that matters, elsewhere Vulkan; asking OpenGL
        // too makes drivers complain on the terminal, so that is only done on demand.
        if choice == DeviceChoice::Vulkan
            || choice == DeviceChoice::Auto && !cfg!(target_vendor = "apple")
        {
            options = options.graphics_api(WgpuBackend::Vulkan);
        }
        let (plain, setup) = options.init_with_setup().map_err(|error| brief(&error))?;
        let info = setup.adapter.get_info();
        let lower = info.name.to_lowercase();
        let software = info.device_type == DeviceType::Cpu
            || SOFTWARE.iter().any(|software| lower.contains(software));
        let mark = if software { SOFTWARE_MARK } else { "" };
        Ok(TrainDevice { plain, name: format!("{} (wgpu {}{mark})", info.name, info.backend) })
    }

    /// The first clause of an error: the rest lists every adapter in full.
    fn brief(error: &impl std::fmt::Display) -> String {
        let text = error.to_string();
        text.split(", adapters").next().unwrap_or_default().to_owned()
    }
}

#[cfg(not(feature = "gpu"))]
mod gpu {
    use super::{DeviceChoice, DeviceError, TrainDevice};

    pub(super) fn open(choice: DeviceChoice, _: bool) -> Result<TrainDevice, DeviceError> {
        Err(DeviceError::NotBuilt { choice: choice.name() })
    }
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
            "device is vulkan, but this machine has no GPU that it can use (none found); set device = \"cpu\""
        );
    }
}
