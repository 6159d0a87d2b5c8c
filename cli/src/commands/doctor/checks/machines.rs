//! The machines: the space on their disks, and the device that trains.

use ouro_proto::DeviceKind;

use super::super::facts::Facts;
use super::super::finding::Finding;

/// Free space below which the run is about to pause, in bytes. The alert `OuroDiskFull` has the same.
const LEAST_SPACE: f64 = 1e9;
/// Free space that is worth a warning, in bytes.
const LITTLE_SPACE: f64 = 5e9;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let processes = facts.processes();
    let disks =
        processes.iter().filter_map(|(name, process)| Some(disk(name, process.disk_free_bytes?)));
    disks.chain(device(facts)).collect()
}

fn disk(name: &'static str, free: f64) -> Finding {
    let value = format!("{:.1} GB are free", free / 1e9);
    let remedy = "free space or enlarge the disk; on a full disk training and matches pause";
    match free {
        free if free < LEAST_SPACE => Finding::fail("disk", name, value, remedy),
        free if free < LITTLE_SPACE => Finding::warn("disk", name, value, remedy),
        _ => Finding::ok("disk", name, value),
    }
}

fn device(facts: &Facts) -> Option<Finding> {
    let report = &facts.learner()?.facts.now;
    let name = report.device.clone();
    Some(match report.device_kind? {
        DeviceKind::Cpu | DeviceKind::Gpu => Finding::ok("device", "learner", name),
        DeviceKind::NoGpu => Finding::warn(
            "device",
            "learner",
            name,
            "install the driver of the GPU, or set deploy.device = \"cpu\"",
        ),
        DeviceKind::Software => Finding::warn(
            "device",
            "learner",
            format!("{name} computes on the CPU"),
            "install the driver of the GPU, or set deploy.device = \"cpu\", which is faster",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::finding::Level::{Fail, Warn};
    use super::super::testing::{after, assert_one, of_arena, of_learner};
    use super::*;

    #[test]
    fn little_space_warns_and_no_space_fails() {
        for (free, level) in [(0.5e9, Fail), (3e9, Warn)] {
            assert_one(level, "disk", "arena", &["GB are free", "enlarge"], |facts| {
                let process = of_arena(facts).facts.now.process.as_mut();
                process.expect("it reports").disk_free_bytes = Some(free);
            });
        }
        let unknown = |facts: &mut Facts| {
            let process = of_learner(facts).facts.now.process.as_mut();
            process.expect("it reports").disk_free_bytes = None;
        };
        assert!(after(unknown).is_empty());
    }

    #[test]
    fn a_learner_without_its_gpu_is_found_and_one_on_the_cpu_by_choice_is_not() {
        for (kind, part) in [(DeviceKind::NoGpu, "driver"), (DeviceKind::Software, "computes on")] {
            assert_one(Warn, "device", "learner", &["NVIDIA", part], |facts| {
                of_learner(facts).facts.now.device_kind = Some(kind);
            });
        }
        let cpu =
            |facts: &mut Facts| of_learner(facts).facts.now.device_kind = Some(DeviceKind::Cpu);
        assert!(after(cpu).is_empty());
    }
}
