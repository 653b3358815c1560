//! Activations from one GPU to the next.

use candle_core::{Device, Result, Tensor};
use moot_kernels::free_on;

/// `x` on `device`, another GPU. `x` is freed, in its own GPU's context, since that of `device` is current behind the
/// copy.
///
/// The copy is work of the destination's stream, which is ordered neither behind the source's stream nor before it. So
/// the source is waited for first, or the copy could read what has not been computed yet; and the copy is waited for,
/// or the source's memory could be freed and written again before it was read.
pub(crate) fn moved(x: Tensor, device: &Device) -> Result<Tensor> {
    let from = x.device().clone();
    in_order(
        x,
        || from.synchronize(),
        |x: &Tensor| x.to_device(device),
        || device.synchronize(),
        |x: Tensor| free_on(&from, x),
    )
}

/// The order of a move: the work before the copy is done before it begins, and the copy before the source is freed and
/// the result used.
fn in_order<S, T, E>(
    source: S,
    wait_for_source: impl FnOnce() -> std::result::Result<(), E>,
    copy: impl FnOnce(&S) -> std::result::Result<T, E>,
    wait_for_copy: impl FnOnce() -> std::result::Result<(), E>,
    free: impl FnOnce(S),
) -> std::result::Result<T, E> {
    let copied = wait_for_source().and_then(|()| copy(&source)).and_then(|copied| wait_for_copy().map(|()| copied));
    free(source);
    copied
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Work that was given to a GPU's stream and is done when the stream is waited for.
    #[derive(Default)]
    struct Stream<'a>(RefCell<Vec<Box<dyn FnOnce() + 'a>>>);

    impl<'a> Stream<'a> {
        fn push(&self, work: impl FnOnce() + 'a) {
            self.0.borrow_mut().push(Box::new(work));
        }

        fn wait(&self) -> std::result::Result<(), String> {
            self.0.take().into_iter().for_each(|work| work());
            Ok(())
        }
    }

    #[test]
    fn a_copy_waits_for_the_computation_and_the_source_is_freed_behind_the_copy() {
        let (from, to) = (RefCell::new(0), RefCell::new(0));
        let (source, destination) = (Stream::default(), Stream::default());
        source.push(|| *from.borrow_mut() = 7);
        let copy = |_: &()| {
            destination.push(|| *to.borrow_mut() = *from.borrow());
            Ok(())
        };
        // Memory that is freed is written again.
        let free = |()| *from.borrow_mut() = 9;
        in_order((), || source.wait(), copy, || destination.wait(), free).expect("no stream fails");
        assert_eq!((*to.borrow(), *from.borrow()), (7, 9));
    }

    #[test]
    fn the_source_is_freed_where_a_copy_fails() {
        let freed = RefCell::new(false);
        let copy = |_: &()| Err::<(), _>("no memory");
        let failed = in_order((), || Ok(()), copy, || Ok(()), |()| *freed.borrow_mut() = true);
        assert_eq!(failed, Err("no memory"));
        assert!(freed.into_inner());
    }

    #[test]
    fn a_move_keeps_the_numbers() {
        let x = Tensor::new(&[1.0_f32, 2.0], &Device::Cpu).expect("two numbers");
        let y = moved(x, &Device::Cpu).expect("the CPU is there");
        assert_eq!(y.to_vec1::<f32>().expect("two numbers"), [1.0, 2.0]);
    }
}
