//! Memory for what is large and long-lived: weights and KV pages.

/// `count` zeros that the system backs with memory when they are first written, in huge pages where it has them: a
/// decoding step streams over all weights, and small pages would stop the prefetcher every 4 KiB.
#[must_use]
pub fn zeroed(count: usize) -> Vec<f32> {
    let data = vec![0.0_f32; count];
    #[cfg(target_os = "linux")]
    advise_huge(&data);
    data
}

#[cfg(target_os = "linux")]
fn advise_huge(data: &[f32]) {
    const HUGE: usize = 2 << 20;
    let start = (data.as_ptr() as usize).next_multiple_of(HUGE);
    let end = (data.as_ptr() as usize + size_of_val(data)) / HUGE * HUGE;
    if start < end {
        // SAFETY: the range lies within `data`; the advice changes how it is backed, never what it holds. It may be
        // refused, and then nothing changes: no error is of interest.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}
