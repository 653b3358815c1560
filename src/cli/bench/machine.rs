//! Where a model runs, and the memory that this process took.

use crate::llm::local::Local;
use moot_models::kernels::cpu;

/// The CPU table, or the device.
pub(super) fn device(llm: &Local) -> String {
    if llm.engine().model().decoder.is_on_cpu() {
        cpu::table().map_or("cpu".into(), |table| table.name.to_owned())
    } else {
        "gpu".into()
    }
}

/// Peak resident memory of this process; its current memory if the system does not report the peak.
pub(super) fn peak_resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map(|kib| kib * 1024).unwrap_or_else(|| {
        let mut system = sysinfo::System::new();
        let Ok(pid) = sysinfo::get_current_pid() else { return 0 };
        system.refresh_processes(sysinfo::ProcessesToUpdate::Some(&[pid]), true);
        system.process(pid).map_or(0, sysinfo::Process::memory)
    })
}
