//! Which GPUs a build can use. Our kernels are compiled for several compute capabilities, with PTX for newer ones; Candle's
//! for one: its products of blocks as machine code without PTX, the others as PTX, which from 9.0 on no other capability
//! takes. Where a product of blocks is not compiled for the GPU it does nothing and reports nothing.

/// The kernels of Candle that a GPU can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usable {
    /// All of them.
    All,
    /// All but the products of blocks.
    Floats,
    /// None.
    Nothing,
}

/// Which kernels compiled for `built` a GPU of capability `found` can use.
#[must_use]
pub const fn usable(built: u32, found: u32) -> Usable {
    /// Capabilities from this on have kernels that are compiled for one of them alone.
    const APART: u32 = 90;
    if built == 0 || built == found {
        return Usable::All;
    }
    if built >= APART || found < built {
        return Usable::Nothing;
    }
    if found / 10 == built / 10 { Usable::All } else { Usable::Floats }
}

#[cfg(test)]
mod tests {
    use super::Usable::{All, Floats, Nothing};
    use super::usable;

    #[test]
    fn machine_code_runs_on_later_minor_versions_and_ptx_on_later_major_ones() {
        assert_eq!([usable(80, 80), usable(80, 86), usable(86, 89), usable(0, 120)], [All; 4]);
        assert_eq!([usable(80, 90), usable(89, 120)], [Floats; 2]);
        assert_eq!([usable(90, 80), usable(90, 100), usable(120, 121), usable(89, 86)], [Nothing; 4]);
    }
}
