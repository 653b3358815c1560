//! The CUDA kernels on the host: the very sources and the very launches, under a C++ compiler and an emulation of
//! blocks, warps, tensor cores and asynchronous copies (`cuda_host/emulation.hpp`), against the references. What a GPU
//! adds to that, its own arithmetic and its timing, only a GPU shows.
//!
//! The ignored test changes the kernels, one line at a time, and requires that the others fail.
#![cfg(target_os = "linux")]
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::panic)]

#[path = "cuda_host/attention.rs"]
mod attention;
#[path = "cuda_host/encoder.rs"]
mod encoder;
#[path = "cuda_host/host.rs"]
mod host;
#[path = "cuda_host/linear.rs"]
mod linear;
#[path = "cuda_host/mutants.rs"]
mod mutants;
#[path = "cuda_host/rows.rs"]
mod rows;
#[path = "cuda_host/sample.rs"]
mod sample;
