//! `moot._moot`: what the package `moot` for Python is written on. Requests and results are JSON; the package's dataclasses
//! are made of it.
#![allow(clippy::needless_pass_by_value, reason = "arguments of Python are passed by value")]

mod allocator;
mod call;
mod engine;
mod errors;
mod given;
mod method;
mod options;
mod records;
mod teller;
mod wait;

use pyo3::prelude::*;

#[pymodule]
mod _moot {
    use std::ffi::OsString;
    use std::path::PathBuf;

    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::method::Context;
    #[pymodule_export]
    use crate::options::option_fields;
    #[pymodule_export]
    use crate::records::records;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::allocator::keep_freed_memory();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Runs the program with a command line, its name first; returns its exit code.
    #[pyfunction]
    fn main(py: Python<'_>, typed: Vec<OsString>) -> u8 {
        py.detach(|| moot::program(typed))
    }

    /// Reads PDF files in processes of `program`, started with `arguments` and the last argument `read-pdf`.
    #[pyfunction]
    fn read_pdf_in(program: PathBuf, arguments: Vec<OsString>) {
        moot::retrieval::corpus::read_pdf_in(program, arguments);
    }
}
