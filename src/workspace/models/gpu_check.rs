//! The self-test of a GPU, once for a card, a driver and a program.

use crate::error::{MootError, Result};
use crate::files::{outputs, private_folder};
use crate::llm::remote::Notice;
use moot_models::kernels::{self, Failure, KernelGroup};
use moot_models::{Device, source};
use sha2::{Digest, Sha256};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Tests `device`, unless this program passed on such a card before. Kernels of ours that are wrong are not used from
/// now on, and `notice` gets a line for each group; what replaces them is tested as well.
///
/// # Errors
/// [`MootError::Usage`] with what is wrong.
pub(super) fn check(device: &Device, notice: &Notice) -> Result<()> {
    let Some(description) = described(device)? else { return Ok(()) };
    let passed = passed(&description);
    if passed.as_ref().is_some_and(|passed| passed.exists()) {
        return Ok(());
    }
    notice.tell(&format!("testing {description}, once"));
    let failures = kernels::self_test(device);
    if failures.is_empty() {
        // Where an earlier test of this process found kernels wrong, this one was of what replaces them.
        let of_kernels = KernelGroup::ALL.into_iter().all(|group| kernels::has_kernels(device, group));
        if let Some(passed) = passed.filter(|_| of_kernels) {
            // Without a cache it is tested again.
            let _ = keep(&passed, &description);
        }
        return Ok(());
    }
    let Some(groups) = failures.iter().map(|failure| failure.group).collect::<Option<Vec<KernelGroup>>>() else {
        return Err(refused(&description, &listed(&failures)));
    };
    groups.iter().copied().for_each(kernels::distrust);
    let wrong = kernels::self_test(device);
    if !wrong.is_empty() {
        let found = format!("{}; without these kernels: {}", listed(&failures), listed(&wrong));
        return Err(refused(&description, &found));
    }
    for (failure, group) in failures.iter().zip(groups) {
        notice.tell(&format!("note: {description}: {failure}; {}", group.replacement()));
    }
    Ok(())
}

fn listed(failures: &[Failure]) -> String {
    failures.iter().map(Failure::to_string).collect::<Vec<String>>().join("; ")
}

fn refused(description: &str, wrong: &str) -> MootError {
    MootError::Usage(format!(
        "{description}: its self-test failed ({wrong}); `moot doctor` repeats the test of the kernels"
    ))
}

/// Notes in `passed` that a card of this description passed.
fn keep(passed: &Path, description: &str) -> Result<()> {
    let failed = |e| MootError::io(passed, "write", e);
    passed.parent().map_or(Ok(()), private_folder).map_err(failed)?;
    outputs::write(passed, format!("{description}\n").as_bytes())
}

/// Removes the mark of [`check`], after a test of `device` that failed: it is tested again before its next use.
///
/// # Errors
/// The file cannot be removed.
pub(crate) fn forget(device: &Device) -> Result<()> {
    described(device)?.and_then(|description| passed(&description)).map_or(Ok(()), |passed| remove(&passed))
}

fn remove(passed: &Path) -> Result<()> {
    match std::fs::remove_file(passed) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(MootError::io(passed, "remove", e)),
        _ => Ok(()),
    }
}

fn described(device: &Device) -> Result<Option<String>> {
    let failed = |e| MootError::Usage(format!("the GPU: {}", kernels::without_backtrace(e)));
    kernels::gpu_description(device).map_err(failed)
}

/// The file that marks that this program passed on a card of this description. The program's hash is kept beside those
/// of models, and is computed again where the file has changed. In Python the program is the interpreter, so the version
/// counts too.
fn passed(description: &str) -> Option<PathBuf> {
    let cache = source::default_cache().ok()?;
    let program = source::model_hash(&std::env::current_exe().ok()?, &cache).ok()?;
    let version = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    Some(marker(&cache, description, version.lines().next().unwrap_or_default(), &program))
}

/// The file in `cache` for a card, a driver and a program's hash. Drivers of one CUDA version, which the description has,
/// differ in the first line of their version file; where there is no such file, `driver` is empty.
fn marker(cache: &Path, description: &str, driver: &str, program: &str) -> PathBuf {
    let of = format!("{description}\n{driver}\n{program}\n{}", env!("CARGO_PKG_VERSION"));
    let name: String = Sha256::digest(of).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    cache.join("gpus").join(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_mark_is_for_one_driver_and_is_removed_where_a_test_fails() {
        let cache = tempfile::tempdir().unwrap();
        let of = |driver: &str| marker(cache.path(), "a card", driver, "a program");
        let passed = of("NVRM version: 580.159");
        assert!(passed != of("NVRM version: 580.200") && passed != of(""));
        keep(&passed, "a card").unwrap();
        assert!(passed.exists());
        remove(&passed).unwrap();
        assert!(!passed.exists());
        remove(&passed).unwrap();
        // A folder is no mark.
        std::fs::create_dir(&passed).unwrap();
        assert!(remove(&passed).is_err());
    }
}
