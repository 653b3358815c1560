//! Memory for weights and KV pages, which are large and long-lived.

use half::f16;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// `count` zeros. The system provides the memory when it is first written, in huge pages if it has them: a decoding step
/// streams over all weights, and small pages would stop the prefetcher every 4 KiB. `None` if the system has too little
/// memory. Do not test for free memory by an allocation before: memory that was freed may be reused, and is then zeroed
/// by writing.
#[must_use]
pub fn try_zeroed(count: usize) -> Option<Vec<f16>> {
    let layout = Layout::array::<f16>(count).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the layout's size is not zero.
    let data = unsafe { alloc_zeroed(layout) };
    if data.is_null() {
        return None;
    }
    #[cfg(target_os = "linux")]
    advise_huge(data as usize, layout.size());
    // SAFETY: allocated by the global allocator with the layout of a vector of this capacity; zeros are numbers.
    Some(unsafe { Vec::from_raw_parts(data.cast(), count, count) })
}

/// Zeroed bytes that start at a cache line, backed as those of [`try_zeroed`].
pub(crate) struct Aligned {
    data: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory alone, as a `Vec<u8>` does.
unsafe impl Send for Aligned {}
// SAFETY: as above.
unsafe impl Sync for Aligned {}

impl Aligned {
    /// A cache line, which is also the widest vector.
    const LINE: usize = 64;

    pub(crate) fn zeroed(bytes: usize) -> Self {
        let layout =
            Layout::from_size_align(bytes.max(1), Self::LINE).expect("weights are within the address space (bug)");
        // SAFETY: the layout's size is not zero.
        let Some(data) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        #[cfg(target_os = "linux")]
        advise_huge(data.as_ptr() as usize, bytes);
        Self { data, layout }
    }

    /// All of it as numbers of one type.
    pub(crate) fn values<T: Number>(&self) -> &[T] {
        // SAFETY: aligned for any number, initialised, and any bits make one.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.layout.size() / size_of::<T>()) }
    }
}

/// A type of which any bits are a value.
pub(crate) trait Number: Copy {}
impl Number for u16 {}
impl Number for f32 {}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.data.as_ptr(), self.layout) }
    }
}

impl Deref for Aligned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the allocation has this size and was zeroed.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.layout.size()) }
    }
}

impl std::fmt::Debug for Aligned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

#[cfg(target_os = "linux")]
fn advise_huge(from: usize, bytes: usize) {
    const HUGE: usize = 2 << 20;
    let start = from.next_multiple_of(HUGE);
    let end = (from + bytes) / HUGE * HUGE;
    if start < end {
        // SAFETY: the range lies within what the caller allocated; the advice changes how it is backed, never what it
        // holds. It may be refused, and then nothing changes, so errors are ignored.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}
