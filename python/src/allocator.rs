//! The allocator of the module, with the settings of the program (`src/main.rs`, which gives the reasons).

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Milliseconds for which the allocator keeps memory that was freed.
const KEEP: std::ffi::c_long = 10_000;

/// `mi_option_purge_delay` in mimalloc.h.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Keeps memory that was freed for some seconds. Called when the module is loaded.
pub(crate) fn keep_freed_memory() {
    // SAFETY: it sets a number; no other thread of this module runs yet.
    #[allow(unsafe_code)]
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, KEEP);
    }
}
