//! Activations from one GPU to the next.

use candle_core::{Device, Result, Tensor};

/// `x` on `device`, another GPU.
///
/// The copy is work of the destination's stream, which is ordered neither behind the source's stream nor before it. So
/// the source is waited for first, or the copy could read what has not been computed yet; and the copy is waited for,
/// or the source's memory could be freed and written again before it was read.
pub(crate) fn moved(x: &Tensor, device: &Device) -> Result<Tensor> {
    in_order(|| x.device().synchronize(), || x.to_device(device), || device.synchronize())
}

/// The order of a move: the work before the copy is done before it begins, and the copy before the result is used.
fn in_order<T, E>(
    wait_for_source: impl FnOnce() -> std::result::Result<(), E>,
    copy: impl FnOnce() -> std::result::Result<T, E>,
    wait_for_copy: impl FnOnce() -> std::result::Result<(), E>,
) -> std::result::Result<T, E> {
    wait_for_source()?;
    let copied = copy()?;
    wait_for_copy()?;
    Ok(copied)
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
    fn a_copy_waits_for_the_computation_and_the_source_waits_for_the_copy() {
        let (from, to) = (RefCell::new(0), RefCell::new(0));
        let (source, destination) = (Stream::default(), Stream::default());
        source.push(|| *from.borrow_mut() = 7);
        let copy = || {
            destination.push(|| *to.borrow_mut() = *from.borrow());
            Ok(())
        };
        in_order(|| source.wait(), copy, || destination.wait()).expect("no stream fails");
        *from.borrow_mut() = 9;
        destination.wait().expect("no stream fails");
        assert_eq!(*to.borrow(), 7);
    }

    #[test]
    fn a_move_keeps_the_numbers() {
        let x = Tensor::new(&[1.0_f32, 2.0], &Device::Cpu).expect("two numbers");
        let y = moved(&x, &Device::Cpu).expect("the CPU is there");
        assert_eq!(y.to_vec1::<f32>().expect("two numbers"), [1.0, 2.0]);
    }
}
