//! Limits that a worker puts on itself, where the system has them.

use std::time::Duration;

/// Bytes of address space of a worker. The budgets allow some 1.5 GiB.
pub(super) const MEMORY: u64 = 3 << 30;

/// Processor time for a file of `bytes`.
pub(super) fn processor_time(bytes: usize) -> Duration {
    Duration::from_secs(30 + (bytes >> 20) as u64)
}

/// Time for a file of `bytes`, waiting for the processor included.
pub(super) fn time(bytes: usize) -> Duration {
    4 * processor_time(bytes)
}

/// Limits memory, and forbids core dumps.
#[cfg(unix)]
pub(super) fn limit_memory() {
    use nix::sys::resource::Resource;
    #[cfg(not(any(target_os = "freebsd", target_os = "netbsd", target_os = "openbsd")))]
    lower(Resource::RLIMIT_AS, MEMORY);
    #[cfg(any(target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))]
    lower(Resource::RLIMIT_DATA, MEMORY);
    lower(Resource::RLIMIT_CORE, 0);
}

/// Limits processor time to that for a file of `bytes`, counted from now.
#[cfg(unix)]
pub(super) fn limit_time(bytes: usize) {
    use nix::sys::resource::{Resource, UsageWho, getrusage};
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return };
    let used = usage.user_time().tv_sec() + usage.system_time().tv_sec();
    // A second may have begun.
    lower(Resource::RLIMIT_CPU, used.unsigned_abs() + processor_time(bytes).as_secs() + 1);
}

/// Sets a limit that can be raised again, up to the one that the process was started with.
#[cfg(unix)]
fn lower(resource: nix::sys::resource::Resource, to: u64) {
    use nix::sys::resource::{getrlimit, setrlimit};
    // Without the limit the worker is as safe as the program without workers.
    if let Ok((_, most)) = getrlimit(resource) {
        let _ = setrlimit(resource, to.min(most), most);
    }
}

#[cfg(not(unix))]
pub(super) fn limit_memory() {}

#[cfg(not(unix))]
pub(super) fn limit_time(_: usize) {}
