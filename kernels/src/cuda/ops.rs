//! One launcher an op. Shapes were checked by the op.

use super::{Addresses, At, run};
use crate::launch::{self, AttentionBuffers, AttentionShape, Element};
use crate::ops::cascade::Cascade;
use crate::ops::rotate_store::RotateStore;
use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaDType;
use candle_core::cuda_backend::cudarc::driver::{CudaSlice, DevicePtrMut, DeviceRepr};
use candle_core::{CudaDevice, CudaStorage, DType, Error, Result, Storage, Tensor, bail};
use half::{bf16, f16};

/// A new buffer of `count` numbers like `element`, filled by `fill`, which gets its address.
pub(super) fn filled(
    device: &CudaDevice,
    element: Element,
    count: usize,
    fill: impl FnOnce(u64) -> Result<()>,
) -> Result<CudaStorage> {
    match element {
        Element::F32 => filled_as::<f32>(device, count, fill),
        Element::F16 => filled_as::<f16>(device, count, fill),
        Element::Bf16 => filled_as::<bf16>(device, count, fill),
    }
}

pub(super) fn filled_as<T: CudaDType + DeviceRepr>(
    device: &CudaDevice,
    count: usize,
    fill: impl FnOnce(u64) -> Result<()>,
) -> Result<CudaStorage> {
    // SAFETY: the kernel that `fill` launches writes all of it before anything behind it in the stream reads it.
    let mut out: CudaSlice<T> = unsafe { device.alloc::<T>(count.max(1)) }?;
    {
        let stream = device.cuda_stream();
        let (address, _held) = out.device_ptr_mut(&stream);
        fill(address)?;
    }
    Ok(CudaStorage::wrap_cuda_slice(out, device.clone()))
}

/// The element type that all of `tensors` have.
fn element(op: &'static str, tensors: &[At<'_>]) -> Result<Element> {
    let dtype = tensors[0].0.dtype();
    match Element::of(dtype) {
        Some(element) if tensors.iter().all(|(storage, _)| storage.dtype() == dtype) => Ok(element),
        _ => {
            let found: Vec<_> = tensors.iter().map(|(storage, _)| storage.dtype()).collect();
            bail!("{op}: expected tensors of one type, f32, f16 or bf16, found {found:?}")
        }
    }
}

/// Calls `with` with the tensor's storage.
pub(super) fn on_cuda<R>(op: &'static str, tensor: &Tensor, with: impl FnOnce(At<'_>) -> Result<R>) -> Result<R> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cuda(storage) => with((storage, layout)),
        _ => Err(Error::Msg(format!("{op}: expected a tensor on the GPU, found one on {:?}", tensor.device()))),
    }
}

pub(crate) fn rms_norm(x: At<'_>, weight: At<'_>, eps: f32) -> Result<CudaStorage> {
    let (element, device) = (element("rms norm", &[x, weight])?, x.0.device().clone());
    let stream = device.cuda_stream();
    let mut at = Addresses::new(&stream);
    let (from, by) = (at.of("rms norm", x)?, at.of("rms norm", weight)?);
    let (count, hidden) = (x.1.shape().elem_count(), weight.1.shape().elem_count());
    filled(&device, element, count, |out| {
        run(&device, &launch::rms_norm(element, [from, by, out], count / hidden, hidden, eps))
    })
}

/// The sum and, behind it, its norm.
pub(crate) fn add_rms_norm(x: At<'_>, delta: At<'_>, weight: At<'_>, eps: f32) -> Result<CudaStorage> {
    const OP: &str = "add and norm";
    let (element, device) = (element(OP, &[x, delta, weight])?, x.0.device().clone());
    let stream = device.cuda_stream();
    let mut at = Addresses::new(&stream);
    let (from, add, by) = (at.of(OP, x)?, at.of(OP, delta)?, at.of(OP, weight)?);
    let (count, hidden) = (x.1.shape().elem_count(), weight.1.shape().elem_count());
    filled(&device, element, 2 * count, |sum| {
        let normed = sum + (count * x.0.dtype().size_in_bytes()) as u64;
        run(&device, &launch::add_rms_norm(element, [from, add, by, sum, normed], count / hidden, hidden, eps))
    })
}

pub(crate) fn swiglu(gate: At<'_>, up: At<'_>) -> Result<CudaStorage> {
    let (element, device) = (element("swiglu", &[gate, up])?, gate.0.device().clone());
    let stream = device.cuda_stream();
    let mut at = Addresses::new(&stream);
    let (gate, up) = (at.rows("swiglu", gate)?, at.rows("swiglu", up)?);
    let shape = [gate.rows, gate.width];
    filled(&device, element, gate.rows * gate.width, |out| {
        run(&device, &launch::swiglu(element, [gate.address, up.address, out], shape, [gate.stride, up.stride]))
    })
}

pub(crate) fn rope(x: At<'_>, cos: At<'_>, sin: At<'_>) -> Result<CudaStorage> {
    let (element, device) = (element("rope", &[x])?, x.0.device().clone());
    let (tokens, heads, dim) = x.1.shape().dims3()?;
    expect_f32("rope", &[cos, sin])?;
    let stream = device.cuda_stream();
    let mut at = Addresses::new(&stream);
    let (from, cos, sin) = (at.of("rope", x)?, at.of("rope", cos)?, at.of("rope", sin)?);
    filled(&device, element, tokens * heads * dim, |out| {
        run(&device, &launch::rope(element, [from, cos, sin, out], tokens, heads, dim))
    })
}

fn expect_f32(op: &'static str, tables: &[At<'_>]) -> Result<()> {
    match element(op, tables)? {
        Element::F32 => Ok(()),
        other => bail!("{op}: expected cosines and sines in f32, found {}", other.name()),
    }
}

pub(crate) fn rotate_store(
    projected: [At<'_>; 3],
    to: &RotateStore<'_>,
    slots: &Tensor,
    shape: [usize; 3],
) -> Result<CudaStorage> {
    const OP: &str = "rotate and store";
    let device = projected[0].0.device().clone();
    let (tokens, [heads, _, dim]) = (projected[0].1.dims()[0], shape);
    // A missing tensor is replaced by the key cache, whose address is then not used.
    let ([q_bias, k_bias, v_bias], [q_norm, k_norm]) = (to.biases, to.norms);
    let wanted = [q_bias, k_bias, v_bias, q_norm, k_norm];
    let optional = wanted.map(|tensor| tensor.unwrap_or(to.k_cache));
    let tensors = [&[to.cos, to.sin, slots, to.k_cache, to.v_cache][..], &optional].concat();
    let guards: Vec<_> = tensors.iter().map(|tensor| tensor.storage_and_layout()).collect();
    let mut others = Vec::with_capacity(guards.len());
    for (storage, layout) in &guards {
        let Storage::Cuda(storage) = &**storage else { bail!("{OP}: a tensor is not on the GPU") };
        others.push((storage, *layout));
    }
    expect_f32(OP, &others[..2])?;
    let element = element(OP, &[&projected[..], &others[3..]].concat())?;
    let stream = device.cuda_stream();
    let mut at = Addresses::new(&stream);
    let addresses = others.iter().map(|other| at.of(OP, *other)).collect::<Result<Vec<u64>>>()?;
    let given = |i: usize| if wanted[i].is_some() { addresses[5 + i] } else { 0 };
    let mut parts = [launch::Projected::default(); 3];
    for (i, (part, tensor)) in parts.iter_mut().zip(projected).enumerate() {
        let rows = at.rows(OP, tensor)?;
        let norm = if i < 2 { given(3 + i) } else { 0 };
        *part = launch::Projected { rows: rows.address, stride: rows.stride, bias: given(i), norm };
    }
    let [cos, sin, slots, k_cache, v_cache] = [0, 1, 2, 3, 4].map(|i| addresses[i]);
    filled(&device, element, tokens * heads * dim, |q_out| {
        // The caches are written through shared borrows: only this stream uses them, and it runs in order.
        let call = launch::RotateStore { projected: parts, cos, sin, slots, q_out, k_cache, v_cache };
        run(&device, &launch::rotate_store(&call, element, tokens, shape, to.norm_eps))
    })
}

pub(crate) fn attention(
    [q, k, v]: [At<'_>; 3],
    sinks: Option<&Tensor>,
    shape: &AttentionShape,
    cascade: &Cascade,
    [words, partial]: [&Tensor; 2],
) -> Result<CudaStorage> {
    const OP: &str = "attention";
    let (element, device) = (element(OP, &[q, k, v])?, q.0.device().clone());
    let stream = device.cuda_stream();
    let guard = sinks.map(Tensor::storage_and_layout);
    let sinks = match guard.as_ref().map(|(storage, layout)| (&**storage, *layout)) {
        None => None,
        Some((Storage::Cuda(storage), layout)) if storage.dtype() == DType::F32 => Some((storage, layout)),
        Some(_) => bail!("{OP}: expected sinks in f32 on the GPU"),
    };
    on_cuda(OP, words, |words| {
        on_cuda(OP, partial, |partial| {
            let mut at = Addresses::new(&stream);
            let (q_at, k_at, v_at) = (at.of(OP, q)?, at.of(OP, k)?, at.of(OP, v)?);
            // The spans' results are written through a shared borrow: only this stream uses them.
            let (plan, partial) = (at.of(OP, words)?, at.of(OP, partial)?);
            let sinks = sinks.map_or(Ok(0), |sinks| at.of(OP, sinks))?;
            if [q_at, k_at, v_at].iter().any(|at| !at.is_multiple_of(16)) {
                bail!("{OP}: expected addresses in multiples of 16, found {q_at:#x}, {k_at:#x}, {v_at:#x}");
            }
            filled(&device, element, q.1.shape().elem_count(), |out| {
                let buffers = AttentionBuffers { q: q_at, k: k_at, v: v_at, out, sinks, partial, plan };
                launch::attention(element, shape, &buffers, cascade).iter().try_for_each(|launch| run(&device, launch))
            })
        })
    })
}

pub(crate) fn linear(x: At<'_>, w: At<'_>) -> Result<CudaStorage> {
    let (element, device) = (element("linear", &[x, w])?, x.0.device().clone());
    let (outputs, inputs) = w.1.shape().dims2()?;
    let rows = x.1.shape().elem_count() / inputs.max(1);
    let stream = device.cuda_stream();
    let mut at = Addresses::new(&stream);
    let (x_at, w_at) = (at.of("linear", x)?, at.of("linear", w)?);
    filled(&device, element, rows * outputs, |y| {
        match launch::linear(element, [x_at, w_at, y], rows, inputs, outputs) {
            Some(launch) => run(&device, &launch),
            None => bail!(
                "linear, exact: expected f16 or bf16, inputs in multiples of 8 and addresses of 16, found {}, {inputs} and \
                 {x_at:#x}, {w_at:#x}",
                element.name()
            ),
        }
    })
}

pub(crate) fn sample(logits: At<'_>, masks: &Tensor, choices: &Tensor, vocab: usize) -> Result<CudaStorage> {
    let device = logits.0.device().clone();
    expect_f32("sample", &[logits])?;
    let (rows, stride) = logits.1.shape().dims2()?;
    let stream = device.cuda_stream();
    on_cuda("sample", masks, |masks| {
        on_cuda("sample", choices, |choices| {
            let mut at = Addresses::new(&stream);
            let from = at.of("sample", logits)?;
            let (masks, choices) = (at.of("sample", masks)?, at.of("sample", choices)?);
            filled_as::<u32>(&device, rows, |tokens| {
                let pointers = [from, masks, choices, tokens];
                run(&device, &launch::sample(pointers, rows, vocab, stride, vocab.div_ceil(32)))
            })
        })
    })
}
