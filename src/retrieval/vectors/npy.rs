//! NumPy's arrays (`numpy.save`), versions 1 to 3: two dimensions, rows first, f2, f4 or f8, little-endian.

use super::layout::{Fault, Layout, Number};
use std::fs::File;
use std::io::Read;

/// Bytes of a header at most; NumPy itself trusts no longer one.
const MOST: usize = 10_000;

pub(super) fn layout(file: &mut File) -> Result<Layout, Fault> {
    // Behind the four bytes of the mark: "PY", the version, and the header's length in 2 bytes (4 from version 2 on).
    let mut start = [0; 4];
    file.read_exact(&mut start).map_err(|e| Fault::ended(&e))?;
    let [b'P', b'Y', version, _] = start else {
        return Err(Fault::new("NumPy's mark", start.escape_ascii().to_string()));
    };
    let mut length = [0; 4];
    let bytes = match version {
        1 => 2,
        2 | 3 => 4,
        _ => return Err(Fault::new("version 1, 2 or 3", version.to_string())),
    };
    file.read_exact(&mut length[..bytes]).map_err(|e| Fault::ended(&e))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MOST {
        return Err(Fault::new("a header of at most 10,000 bytes", format!("{length} bytes")));
    }
    let mut header = vec![0; length];
    file.read_exact(&mut header).map_err(|e| Fault::ended(&e))?;
    let header = String::from_utf8_lossy(&header);
    let number = match value(&header, "descr") {
        Some("'<f2'") => Number::F16,
        Some("'<f4'") => Number::F32,
        Some("'<f8'") => Number::F64,
        other => return Err(Fault::new("numbers of '<f2', '<f4' or '<f8'", other.unwrap_or("none"))),
    };
    match value(&header, "fortran_order") {
        Some("False") => {}
        other => return Err(Fault::new("'fortran_order': False", other.unwrap_or("none"))),
    }
    let shape =
        header.split_once("'shape':").and_then(|(_, rest)| rest.trim_start().strip_prefix('(')?.split_once(')'));
    let shape = shape.map(|(shape, _)| shape).unwrap_or_default();
    let sizes: Option<Vec<u64>> =
        shape.split(',').map(str::trim).filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect();
    let Some([count, dimension]) = sizes.as_deref() else {
        return Err(Fault::new("a shape of two numbers", format!("({shape})")));
    };
    let offset = (8 + bytes + length) as u64;
    Ok(Layout { count: *count, dimension: *dimension, number, offset })
}

/// The value of a key that is a word or a quoted text.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    rest.split([',', '}']).next().map(str::trim)
}
