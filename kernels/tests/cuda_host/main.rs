//! The CUDA kernels on the host: the very sources and the very launches, under a C++ compiler and an emulation of
//! blocks, warps, tensor cores and asynchronous copies (`cuda_host/emulation.hpp`), against the references. What a GPU
//! adds to that, its own arithmetic and its timing, only a GPU shows.
//!
//! The ignored test changes the kernels, one line at a time, and requires that the others fail.
#![cfg(target_os = "linux")]
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::panic)]

mod attention;
mod blocks;
mod encoder;
mod host;
mod library;
mod linear;
mod mutants;
mod rows;
mod sample;
