//! The memory of this machine, and whether a model fits into it, checked before weights are loaded.

use crate::engine::EngineOptions;
use crate::error::{MootError, Result};
use moot_models::memory::{Footprint, Load, Needed};
use moot_models::source::Catalog;
use moot_models::{Device, LoadOptions, Residency};
use std::path::Path;

/// Agents and tokens for which a smaller model is proposed if a model does not fit.
const MODEST: (usize, usize) = (4, 2048);

/// A load of `agents` with `tokens` each and default options.
#[must_use]
pub fn load(agents: usize, tokens: usize) -> Load {
    Load { agents, tokens, step_tokens: EngineOptions::default().step_tokens, residency: Residency::default() }
}

/// Bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Memory {
    /// Of the machine, or of this process's control group.
    pub total: u64,
    /// Available now.
    pub available: u64,
}

impl Memory {
    /// The system's memory, limited by this process's control groups and by its address space (`ulimit -v`).
    #[must_use]
    pub fn here() -> Self {
        let mut system = sysinfo::System::new();
        system.refresh_memory();
        let machine = Self { total: system.total_memory(), available: system.available_memory() };
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut limits = group_limits(Path::new("/sys/fs/cgroup"), &groups);
        let read = |name: &str| std::fs::read_to_string(Path::new("/proc/self").join(name)).unwrap_or_default();
        limits.extend(address_space(&read("limits"), &read("status")));
        machine.within(limits)
    }

    /// Memory of the devices of `load`; `None` if a device does not report it. Several GPUs hold equal parts, so the smallest
    /// counts for each.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn of(load: &LoadOptions) -> Result<Option<Self>> {
        if load.device.is_cpu() {
            return Ok(Some(Self::here()));
        }
        let devices = [&load.device].into_iter().chain(&load.more_devices);
        let asked = devices.map(of_gpu).collect::<Result<Option<Vec<Self>>>>()?;
        let Some(asked) = asked else { return Ok(None) };
        let least = |of: fn(&Self) -> u64| asked.iter().map(of).min().unwrap_or(0) * asked.len() as u64;
        Ok(Some(Self { total: least(|memory| memory.total), available: least(|memory| memory.available) }))
    }

    fn within(self, limits: Vec<Self>) -> Self {
        limits.into_iter().fold(self, |memory, limit| Self {
            total: memory.total.min(limit.total),
            available: memory.available.min(limit.available),
        })
    }
}

fn of_gpu(device: &Device) -> Result<Option<Memory>> {
    let failed = |e| {
        let e = moot_models::kernels::without_backtrace(e);
        MootError::Engine(format!("asking {:?} for its memory: {e}", device.location()))
    };
    let told = moot_models::kernels::device_memory(device).map_err(failed)?;
    Ok(told.map(|(free, total)| Memory { total: total as u64, available: free as u64 }))
}

/// The limits of the control groups in `groups` (`/proc/self/cgroup`) and of their ancestors, under `root`. Handles both
/// cgroup versions, and containers that see their own group as the root.
fn group_limits(root: &Path, groups: &str) -> Vec<Memory> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        // The path is the rest of the line: it may hold colons.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        // Version 2 has one hierarchy, and no controllers in its line.
        let (root, names) = if controllers.is_empty() {
            (root.to_owned(), ["memory.max", "memory.current", "inactive_file", "active_file"])
        } else if controllers.split(',').any(|controller| controller == "memory") {
            // With `total_` version 1 counts the groups below a group too, as version 2 always does.
            let names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"];
            (root.join("memory"), names)
        } else {
            continue;
        };
        let inner = Path::new(path.trim_start_matches('/'));
        limits.extend(inner.ancestors().filter_map(|group| group_limit(&root.join(group), names)));
    }
    limits
}

/// Limit and remaining memory of one group; page cache counts as free, because it can be reclaimed.
fn group_limit(folder: &Path, [limit, current, inactive, active]: [&str; 4]) -> Option<Memory> {
    let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    // Version 2 writes `max` where there is no limit, which is no number.
    let total = number(limit)?;
    let statistics = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let statistic = |name: &str| {
        let lines = statistics.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|(key, _)| *key == name).find_map(|(_, value)| value.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let used = number(current)?.saturating_sub(statistic(inactive).saturating_add(statistic(active)));
    Some(Memory { total, available: total.saturating_sub(used) })
}

/// The limit of this process's address space and what is left of it, from `/proc/self/limits` and `/proc/self/status`; `None`
/// where there is no limit. Mapped files, stacks and reserved arenas count too, so what is left is less than free memory.
fn address_space(limits: &str, status: &str) -> Option<Memory> {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    // The limit is in bytes, unlike `VmSize`, or `unlimited`, which is no number.
    let total: u64 = limit.split_whitespace().next()?.parse().ok()?;
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let used: u64 = used.split_whitespace().next()?.parse().ok()?;
    Some(Memory { total, available: total.saturating_sub(used.saturating_mul(1024)) })
}

/// Refuses a model that needs more memory than is available, with the numbers and a setting that would fit.
///
/// # Errors
/// [`MootError::Memory`].
pub fn check(name: &str, footprint: &Footprint, needed: Needed, memory: Memory) -> Result<()> {
    if needed.total() <= memory.available {
        return Ok(());
    }
    let fits = proposal(footprint, needed, memory);
    Err(MootError::Memory { name: name.to_owned(), needed, available: memory.available, fits })
}

/// The largest setting that fits: less KV memory, else a smaller model.
fn proposal(footprint: &Footprint, needed: Needed, memory: Memory) -> String {
    let rest = memory.available.saturating_sub(needed.weights).saturating_sub(needed.working);
    // One sequence with a document; less KV memory is not usable.
    let least = footprint.kv_bytes(1, 1024, EngineOptions::default().step_tokens);
    if rest >= least {
        let tokens = footprint.tokens_within(rest);
        return format!("--kv-memory {}M is the most that fits: {tokens} tokens over all agents", rest >> 20);
    }
    match largest(memory) {
        Some(alias) => format!("the largest model of the catalog that fits is {alias}"),
        None => "no model of the catalog fits; free some memory".to_owned(),
    }
}

/// The largest model of the catalog that fits with a modest load.
fn largest(memory: Memory) -> Option<String> {
    let plans = Catalog::embedded().models.into_iter().map(|entry| {
        let footprint = Footprint::planned(&entry.shape, &entry.quant);
        (footprint.parameters(), footprint.needed(&load(MODEST.0, MODEST.1)).total(), entry.alias)
    });
    let fitting = plans.filter(|(_, needed, _)| *needed <= memory.available);
    fitting.max_by_key(|(parameters, ..)| *parameters).map(|(.., alias)| alias)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const GIB: u64 = 1 << 30;

    fn planned(alias: &str) -> Footprint {
        let catalog = Catalog::embedded();
        let entry = catalog.find(alias).unwrap();
        Footprint::planned(&entry.shape, &entry.quant)
    }

    fn write(folder: &Path, files: &[(&str, &str)]) {
        std::fs::create_dir_all(folder).unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
    }

    #[test]
    fn a_limit_of_the_address_space_counts() {
        let limits =
            "Limit   Soft Limit  Hard Limit  Units\nMax address space         4294967296   unlimited   bytes\n";
        let status = "Name:\tmoot\nVmPeak:\t 9999 kB\nVmSize:\t 1048576 kB\n";
        let found = address_space(limits, status).unwrap();
        assert_eq!(found, Memory { total: 4 * GIB, available: 3 * GIB });
        assert_eq!(address_space(&limits.replace("4294967296", "unlimited"), status), None);
        assert_eq!(address_space("", ""), None);
    }

    #[test]
    fn the_tightest_group_counts_and_file_copies_are_free() {
        let root = tempfile::tempdir().unwrap();
        write(
            &root.path().join("a"),
            &[
                ("memory.max", "1000\n"),
                ("memory.current", "900\n"),
                ("memory.stat", "anon 100\ninactive_file 300\nactive_file 200\n"),
            ],
        );
        write(&root.path().join("a/b"), &[("memory.max", "max\n"), ("memory.current", "9\n")]);
        let limits = group_limits(root.path(), "0::/a/b\n");
        assert_eq!(limits, [Memory { total: 1000, available: 600 }]);
        let machine = Memory { total: 5000, available: 550 };
        assert_eq!(machine.within(limits), Memory { total: 1000, available: 550 });
    }

    #[test]
    fn groups_of_the_first_version_count_too() {
        let root = tempfile::tempdir().unwrap();
        // A container that sees its own group as the root: the path is the host's.
        write(
            &root.path().join("memory"),
            &[
                ("memory.limit_in_bytes", "500"),
                ("memory.usage_in_bytes", "200"),
                ("memory.stat", "total_inactive_file 50\n"),
            ],
        );
        let limits = group_limits(root.path(), "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n");
        assert_eq!(limits, [Memory { total: 500, available: 350 }]);
        assert!(group_limits(root.path(), "nonsense\n\n:::\n").is_empty());
    }

    #[test]
    fn this_machine_has_memory() {
        let memory = Memory::here();
        assert!(memory.available > 0 && memory.available <= memory.total, "{memory:?}");
    }

    #[test]
    fn a_model_that_cannot_fit_is_refused_with_what_would_fit() {
        let footprint = planned("llama-3.2-1b");
        let needed = footprint.needed(&load(1, 2048));
        let exactly = Memory { total: needed.total(), available: needed.total() };
        check("m", &footprint, needed, exactly).unwrap();
        let refusal = |load: Load, available| {
            let error = check("m", &footprint, footprint.needed(&load), Memory { total: available, available });
            let error = error.unwrap_err();
            (error.to_string(), error.hint().unwrap())
        };
        let (line, hint) = refusal(load(64, 2048), needed.total());
        assert!(line.starts_with("m needs ") && line.contains("keys and values"), "{line}");
        assert!(hint.contains("--kv-memory ") && hint.contains("tokens over all agents"), "{hint}");
        let (_, hint) = refusal(load(1, 2048), GIB);
        assert!(hint.contains("largest model of the catalog that fits is "), "{hint}");
        let (_, hint) = refusal(load(1, 2048), 1 << 20);
        assert!(hint.contains("free some memory"), "{hint}");
    }
}
