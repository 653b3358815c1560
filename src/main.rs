//! The program.

use moot::retrieval::corpus::read_pdf_in;
use std::process::ExitCode;

/// Activations come and go by the megabyte at every operation; the system's allocator returns each to the kernel and
/// faults it in again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Milliseconds for which the allocator keeps memory that was freed. With its own 10 it returns activations between two
/// steps; what loading has used is returned as well, a little later.
const KEEP: std::ffi::c_long = 10_000;

/// `mi_option_purge_delay` in mimalloc.h.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    // SAFETY: it sets a number, before there are other threads.
    #[allow(unsafe_code)]
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, KEEP);
    }
    if let Ok(program) = std::env::current_exe() {
        read_pdf_in(program, Vec::new());
    }
    ExitCode::from(moot::program(std::env::args_os()))
}
