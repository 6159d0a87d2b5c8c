//! GPUs through wgpu.

use std::sync::Mutex;
use std::time::Instant;

use burn_tensor::wgpu::WgpuBackend;
use burn_tensor::wgpu::wgpu::DeviceType;
use burn_tensor::{Device, DeviceKind};
use ouro_proto::DeviceKind as ReportedKind;

use super::{Adapter, DeviceChoice, DeviceError, TrainDevice};

/// Mark in the name of a software adapter.
const SOFTWARE_MARK: &str = ", software";

/// Opened adapters, kept because wgpu can initialise each only once per process.
static OPEN: Mutex<Vec<(DeviceKind, TrainDevice)>> = Mutex::new(Vec::new());

/// Names of adapters that compute on the CPU, regardless of the type that they report.
const SOFTWARE: [&str; 5] = ["llvmpipe", "lavapipe", "swiftshader", "softpipe", "warp"];

pub(super) fn open(choice: DeviceChoice, allow_software: bool) -> Result<TrainDevice, DeviceError> {
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
    if device.kind == ReportedKind::Software && !allow_software {
        return Err(format!("{} is a software adapter", device.name));
    }
    Ok(device)
}

fn initialise(kind: DeviceKind, choice: DeviceChoice) -> Result<TrainDevice, String> {
    let opened = Instant::now();
    let mut options = Device::wgpu_options().device_kind(kind);
    // Metal is the API on Apple's systems, Vulkan elsewhere. Probing OpenGL as well makes
    // drivers print warnings, so only `wgpu` does so.
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
    let (mark, kind) = match software {
        true => (SOFTWARE_MARK, ReportedKind::Software),
        false => ("", ReportedKind::Gpu),
    };
    let name = format!("{} (wgpu {}{mark})", info.name, info.backend);
    let adapter = Adapter {
        name: info.name,
        driver: info.driver,
        driver_version: info.driver_info,
        api: info.backend.to_string(),
        kind: format!("{:?}", info.device_type),
    };
    Ok(TrainDevice { plain, name, kind, adapter: Some(adapter), opened })
}

/// The first clause of an error. The rest would list every adapter in full.
fn brief(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    text.split(", adapters").next().unwrap_or_default().to_owned()
}
