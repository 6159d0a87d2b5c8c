//! CPU time of groups of threads.

use std::fs;

/// CPU-seconds of two groups of threads of this process so far.
///
/// The second group is the threads named `clients`, the first all other threads. The calling thread
/// counts in neither group. `None` if the system has no `/proc`.
pub(super) fn seconds(clients: &str) -> Option<(f64, f64)> {
    let own = fs::read_link("/proc/thread-self").ok()?;
    let (mut others, mut named) = (0.0, 0.0);
    for task in fs::read_dir("/proc/self/task").ok()? {
        let task = task.ok()?.path();
        if task.file_name() == own.file_name() {
            continue;
        }
        // A thread may end between the listing and the reads.
        let Ok(name) = fs::read_to_string(task.join("comm")) else { continue };
        let Ok(times) = fs::read_to_string(task.join("schedstat")) else { continue };
        let nanoseconds: f64 = times.split_whitespace().next()?.parse().ok()?;
        let group = if name.trim_end() == clients { &mut named } else { &mut others };
        *group += nanoseconds * 1e-9;
    }
    Some((others, named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_for_the_group_of_its_thread() {
        let work = || (0_u64..20_000_000).fold(1_u64, |sum, one| sum.wrapping_mul(31) ^ one);
        let measured = std::thread::Builder::new().name("bench-test".to_owned()).spawn(move || {
            std::hint::black_box(work());
            // Another thread measures while this one still exists.
            std::thread::spawn(|| seconds("bench-test")).join()
        });
        let measured = measured.expect("a thread").join().expect("no panic").expect("no panic");
        if let Some((_, named)) = measured {
            assert!(named > 0.0, "{named}");
        }
    }
}
