//! The kernels of each instruction set as tables of function pointers, and the choice among them.
//!
//! A new kernel is its body, generic over [`Lanes`](super::lanes::Lanes), and one row of `kernels!`.

use super::quantise::RowChunk;
use super::*;
use std::ops::Range;
use std::sync::OnceLock;

/// Calls the macro `$then` with its arguments and one row for each kernel: `name(arguments) -> result = body;`.
///
/// A body is compiled for each of these tables, with its instructions enabled; `with_vnni` and `with_tiles` take most kernels
/// of another. It may name `L`, the table's lanes,
/// and the sizes of its register tiles: `ROWS` of floats or int16, `INT8_ROWS` by `INT8_VECTORS` of int8, `BF16_ROWS` of bf16, `KEY_QUERIES`
/// and `VALUE_QUERIES` that share a loaded key or value, `KEY_PAGES` that share a query's number, `SCAN_ROWS` that four
/// queries are compared with, independent `SUMS` that hide the latency of an addition, and `DELTA_BLOCKS` of columns of a
/// recurrent state that share a loaded query and key.
macro_rules! kernels {
    ($then:ident! $($given:tt)*) => {
        $then! {
            $($given)*
            linear(call: &LinearCall<'_>, panels: Range<usize>, rows: Range<usize>) = linear::run::<L, ROWS>;
            block_linear(call: &BlockCall<'_>, panels: Range<usize>, rows: Range<usize>)
                = block_linear::run::<L, INT8_ROWS, INT8_VECTORS, INT8_FEW>;
            linear_i16(call: &Int16Call<'_>, panels: Range<usize>, rows: Range<usize>) = int16::run::<L, ROWS>;
            quantise_i8(x: &[f32], out: RowChunk<'_>) = quantise::run::<L>;
            bf16_linear(call: &TileCall<'_>, panels: Range<usize>, rows: Range<usize>, sums: *mut SumTile)
                = bf16::run::<L, BF16_ROWS>;
            round_bf16(x: &[f32], out: *mut u16) = bf16::round::<L>;
            quantise_i16(x: &[f32], values: *mut i16, scales: *mut f32) = int16::quantise::<L>;
            attention(call: &AttentionCall<'_>, tile: &Tile<Visit>, task: &Task)
                = attention::floats::run::<L, KEY_QUERIES, KEY_PAGES, VALUE_QUERIES>;
            bf16_attention(call: &AttentionCall<'_>, tile: &Tile<BlockVisit>, task: &Task, scratch: &mut BlockScratch)
                = attention::rounded::run_by_lanes::<L, BF16_ROWS>;
            bidirectional(call: &BidirectionalCall<'_>, text: Range<usize>, head: usize, scratch: &mut Scratch)
                = bidirectional::run::<L, ROWS>;
            swiglu(gate: &[f32], up: &[f32], out: *mut f32) = gated::run::<L, { gated::SILU }>;
            geglu(gate: &[f32], up: &[f32], out: *mut f32) = gated::run::<L, { gated::GELU_TANH }>;
            sigmoid_gate(gate: &[f32], up: &[f32], out: *mut f32) = gated::run::<L, { gated::SIGMOID }>;
            clamped_swiglu(gate: &[f32], up: &[f32], out: *mut f32) = gated::run::<L, { gated::CLAMPED_SILU }>;
            causal_conv(rows: &[&[f32]], weights: &[f32], out: *mut f32) = conv::silu::<L>;
            gated_conv(rows: &[&[f32]], weights: &[f32], gate: &[f32], out: *mut f32) = conv::gated::<L>;
            unit_norm(x: &mut [f32], scale: f32) = delta::unit_norm::<L>;
            delta_rule(call: &DeltaCall<'_>, state: *mut f32, blocks: Range<usize>, tokens: Range<usize>)
                = delta::run::<L, DELTA_BLOCKS>;
            norm(x: &[f32], residual: Option<Residual<'_>>, weight: &[f32], eps: f32, out: *mut f32) = norm::run::<L>;
            add_norm(x: &[f32], residual: &[f32], norm: LayerNorm<'_>, out: *mut f32) = rowwise::add_norm::<L>;
            bias_activation(row: &mut [f32], bias: &[f32], activation: Activation) = rowwise::bias_activation::<L>;
            rope(x: &[f32], cos: &[f32], sin: &[f32], out: *mut f32) = rope::run::<L>;
            exp(x: &mut [f32]) = exp::run::<L>;
            scan(call: &ScanCall<'_>, rows: Range<usize>, out: &mut [f32]) = scan::run::<L, SCAN_ROWS>;
            read(data: &[f32]) -> f32 = limits::read::<L, SUMS>;
            multiply(rounds: usize) -> f32 = limits::multiply::<L, SUMS>;
            multiply_i8(rounds: usize) -> f32 = limits::multiply_i8::<L, SUMS>;
        }
    };
}

/// Declares [`Table`]: a function pointer for each kernel.
macro_rules! table_type {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:expr;)*) => {
        /// The kernels of one instruction set.
        pub struct Table {
            /// "amx", "avx512", "avx-vnni", "avx2", "neon" or "portable".
            pub name: &'static str,
            /// Rows of an int8 task are a multiple of this, unless there are fewer.
            pub(crate) tile_rows: usize,
            /// Whether products of bf16 are faster than those of int8.
            pub(crate) bf16_tiles: bool,
            /// Panels of an int8 task are a multiple of this, unless there are fewer or few rows.
            pub(crate) tile_panels: usize,
            $(pub(crate) $name: unsafe fn($($type),*) $(-> $result)?,)*
        }
    };
}
kernels!(table_type!);

impl Table {
    /// The kernel of `activation(gate) * up`: as many values as `gate` has, to where there is room for them.
    pub(crate) fn gated(&self, activation: Gate) -> unsafe fn(&[f32], &[f32], *mut f32) {
        match activation {
            Gate::Silu => self.swiglu,
            Gate::GeluTanh => self.geglu,
            Gate::Sigmoid => self.sigmoid_gate,
            Gate::ClampedSilu => self.clamped_swiglu,
        }
    }
}

/// Sizes of register tiles, as `kernels!` explains them.
struct Tiles {
    rows: usize,
    int8: [usize; 2],
    few: usize,
    bf16: usize,
    queries: [usize; 2],
    key_pages: usize,
    scan_rows: usize,
    sums: usize,
    delta_blocks: usize,
}

/// Declares a module with a [`Table`]: its name, lanes, tile sizes and, in brackets, the target features that its kernels
/// are compiled for. The compiler divides a package's code among threads by modules: those of these tables, and those of their lanes
/// (`Ints::outlined`).
macro_rules! table {
    (
        $module:ident $table:literal, $lanes:ty, $tiles:expr, $features:tt
        $($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:expr;)*
    ) => {
        mod $module {
            use super::*;

            type L = $lanes;
            const TILES: Tiles = $tiles;
            const ROWS: usize = TILES.rows;
            const INT8_ROWS: usize = TILES.int8[0];
            const INT8_VECTORS: usize = TILES.int8[1];
            const INT8_FEW: usize = TILES.few;
            const BF16_ROWS: usize = TILES.bf16;
            const KEY_QUERIES: usize = TILES.queries[0];
            const VALUE_QUERIES: usize = TILES.queries[1];
            const KEY_PAGES: usize = TILES.key_pages;
            const SCAN_ROWS: usize = TILES.scan_rows;
            const SUMS: usize = TILES.sums;
            const DELTA_BLOCKS: usize = TILES.delta_blocks;
            $(compiled_for! { $features unsafe fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: a `Table` is only reachable through `tables`, which checked the features; the rest is the
                // caller's.
                unsafe { $body($($argument),*) }
            } })*
            pub(super) const TABLE: Table = Table { name: $table, tile_rows: 12, tile_panels: 1, bf16_tiles: false, $($name),* };
        }
    };
}

/// The function behind the brackets, compiled for the target features in them.
macro_rules! compiled_for {
    ([] $($function:tt)*) => { $($function)* };
    ([$features:literal] $($function:tt)*) => { #[target_feature(enable = $features)] $($function)* };
}

// int8 tiles are smaller than the others, because integers and sums both need registers. With AVX2 and NEON eight
// vectors of sixteen lanes fit the registers; AVX2's int8 tile is as large as its narrow products allow, and its sums
// wait in L1 while they are made.
const PORTABLE_TILES: Tiles = Tiles {
    rows: 2,
    int8: [2, 1],
    few: 2,
    bf16: 2,
    queries: [4, 1],
    key_pages: 1,
    scan_rows: 1,
    sums: 6,
    delta_blocks: 1,
};
#[cfg(target_arch = "aarch64")]
const NEON_TILES: Tiles = Tiles {
    rows: 3,
    int8: [2, 1],
    few: 2,
    bf16: 2,
    queries: [4, 1],
    key_pages: 1,
    scan_rows: 1,
    sums: 6,
    delta_blocks: 1,
};
#[cfg(target_arch = "x86_64")]
const AVX2_TILES: Tiles = Tiles {
    rows: 3,
    int8: [4, 1],
    few: 2,
    bf16: 2,
    queries: [4, 1],
    key_pages: 1,
    scan_rows: 1,
    sums: 6,
    delta_blocks: 1,
};
#[cfg(target_arch = "x86_64")]
const AVX512_TILES: Tiles = Tiles {
    rows: 12,
    int8: [6, 2],
    few: 8,
    bf16: 4,
    queries: [8, 4],
    key_pages: 2,
    scan_rows: 4,
    sums: 12,
    delta_blocks: 2,
};

#[cfg(target_arch = "x86_64")]
kernels!(table! portable "portable", lanes::Sse2, PORTABLE_TILES, []);
#[cfg(not(target_arch = "x86_64"))]
kernels!(table! portable "portable", lanes::Portable, PORTABLE_TILES, []);
#[cfg(all(test, target_arch = "x86_64"))]
kernels!(table! plain "plain", lanes::Portable, PORTABLE_TILES, []);
#[cfg(target_arch = "x86_64")]
kernels!(table! avx2 "avx2", lanes::Avx2, AVX2_TILES, ["avx2,fma,f16c"]);
#[cfg(target_arch = "aarch64")]
kernels!(table! neon "neon", lanes::Neon, NEON_TILES, ["neon,dotprod"]);
#[cfg(target_arch = "x86_64")]
kernels!(table! avx512 "avx512", lanes::Avx512, AVX512_TILES, ["avx512f,avx512bw,avx512vnni"]);

/// The table that every machine can run. SSE2 is part of x86-64; elsewhere it is plain Rust.
pub(super) static PORTABLE: Table = portable::TABLE;
/// Plain Rust, the definition of all results: tests compare the others with it.
#[cfg(all(test, target_arch = "x86_64"))]
static PLAIN: Table = plain::TABLE;
#[cfg(target_arch = "x86_64")]
static AVX2: Table = avx2::TABLE;
#[cfg(target_arch = "x86_64")]
static AVX_VNNI: Table = with_vnni::TABLE;
#[cfg(target_arch = "aarch64")]
static NEON: Table = neon::TABLE;
#[cfg(target_arch = "x86_64")]
static AVX512: Table = avx512::TABLE;
/// AVX-512's, with products of int8 and of bf16, and attention of bf16, by tiles.
#[cfg(target_arch = "x86_64")]
pub(super) static AMX: Table = with_tiles::TABLE;

/// AVX2's table with the products of integers that AVX-VNNI has: all other kernels are the same code.
#[cfg(target_arch = "x86_64")]
mod with_vnni {
    use super::*;

    // A product takes fewer registers than AVX2's.
    const INT8_ROWS: usize = 6;
    const INT8_FEW: usize = 3;

    #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
    unsafe fn block_linear(call: &BlockCall<'_>, panels: Range<usize>, rows: Range<usize>) {
        // SAFETY: a `Table` is only reachable through `tables`, which checked the features; the rest is the caller's.
        unsafe { block_linear::run::<lanes::AvxVnni, INT8_ROWS, 1, INT8_FEW>(call, panels, rows) }
    }

    #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
    unsafe fn linear_i16(call: &Int16Call<'_>, panels: Range<usize>, rows: Range<usize>) {
        // SAFETY: as above.
        unsafe { int16::run::<lanes::AvxVnni, { AVX2_TILES.rows }>(call, panels, rows) }
    }

    #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
    unsafe fn multiply_i8(rounds: usize) -> f32 {
        // SAFETY: as above.
        unsafe { limits::multiply_i8::<lanes::AvxVnni, { AVX2_TILES.sums }>(rounds) }
    }

    pub(super) const TABLE: Table = Table { name: "avx-vnni", block_linear, linear_i16, multiply_i8, ..avx2::TABLE };
}

#[cfg(target_arch = "x86_64")]
mod with_tiles {
    use super::*;

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn block_linear(call: &BlockCall<'_>, panels: Range<usize>, rows: Range<usize>) {
        // SAFETY: a `Table` is only reachable through `tables`, which checked the features; the rest is the caller's.
        unsafe {
            if rows.len() <= block_linear::FEW {
                return (AVX512.block_linear)(call, panels, rows);
            }
            amx::run::<lanes::Avx512, _>(&mut amx::Hardware, call, panels, rows);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn bf16_linear(call: &TileCall<'_>, panels: Range<usize>, rows: Range<usize>, sums: *mut SumTile) {
        // SAFETY: as above.
        unsafe { amx::run_bf16::<lanes::Avx512, _>(&mut amx::Hardware, call, panels, rows, sums) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn bf16_attention(
        call: &AttentionCall<'_>,
        tile: &Tile<BlockVisit>,
        task: &Task,
        scratch: &mut BlockScratch,
    ) {
        // SAFETY: as above.
        unsafe { amx::run_attention::<lanes::Avx512, _>(&mut amx::Hardware, call, tile, task, scratch) }
    }

    unsafe fn multiply_i8(rounds: usize) -> f32 {
        // SAFETY: as above.
        unsafe { amx::multiply_i8(&mut amx::Hardware, rounds) }
    }

    pub(super) const TABLE: Table = Table {
        name: "amx",
        tile_rows: amx::ROWS,
        tile_panels: amx::PANELS,
        bf16_tiles: true,
        bf16_attention,
        bf16_linear,
        block_linear,
        multiply_i8,
        ..avx512::TABLE
    };
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every table this machine can run, best first.
#[must_use]
pub fn tables() -> Vec<&'static Table> {
    let mut found = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let has_512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        if has_512 && is_x86_feature_detected!("avx512vnni") {
            found.extend(amx::offered().then_some(&AMX));
            found.push(&AVX512);
        }
        let has_2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        if has_2 && is_x86_feature_detected!("f16c") {
            found.extend(is_x86_feature_detected!("avxvnni").then_some(&AVX_VNNI));
            found.push(&AVX2);
        }
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("dotprod") {
        found.push(&NEON);
    }
    found.push(&PORTABLE);
    #[cfg(all(test, target_arch = "x86_64"))]
    found.push(&PLAIN);
    found
}

/// The table in use: the best, or the one that `MOOT_CPU` names.
///
/// # Errors
/// `MOOT_CPU` names a table that this machine cannot run; the message lists those it can.
pub fn table() -> Result<&'static Table, String> {
    choice().as_ref().map(|choice| choice.table).map_err(Clone::clone)
}

/// Why the table in use is not the best that this machine can run, where `MOOT_CPU` did not ask for it.
#[must_use]
pub fn remark() -> Option<&'static str> {
    choice().as_ref().ok().and_then(|choice| choice.remark.as_deref())
}

/// Whether the table in use multiplies activations of bf16 faster than int8, by AMX's tiles.
#[must_use]
pub fn has_bf16_tiles() -> bool {
    table().is_ok_and(|table| table.bf16_tiles)
}

/// The table in use and the remark about it.
#[derive(Debug)]
pub(super) struct Choice {
    pub table: &'static Table,
    pub remark: Option<String>,
}

fn choice() -> &'static Result<Choice, String> {
    static CHOSEN: OnceLock<Result<Choice, String>> = OnceLock::new();
    CHOSEN.get_or_init(|| choose(std::env::var("MOOT_CPU").ok().as_deref(), &tables()))
}

/// The table that `forced` names, or the best of `tables` that gives the same bits as the next.
pub(super) fn choose(forced: Option<&str>, tables: &[&'static Table]) -> Result<Choice, String> {
    let known = || tables.iter().map(|table| table.name).collect::<Vec<_>>().join(", ");
    if let Some(name) = forced.filter(|name| !name.is_empty()) {
        let table = tables.iter().copied().find(|table| table.name == name);
        let table = table.ok_or_else(|| format!("MOOT_CPU={name}: this machine can run {}", known()))?;
        return Ok(Choice { table, remark: None });
    }
    #[cfg(target_arch = "x86_64")]
    if let [best, next, ..] = *tables
        && best.name == AMX.name
        && !amx::agree(best, next)
    {
        // Checked once in each process, because the kernels were tested on one kind of processor with AMX only.
        let (name, next_name) = (best.name, next.name);
        let remark =
            format!("the {name} kernels give other bits than {next_name} on this processor: {next_name} is used");
        return Ok(Choice { table: next, remark: Some(remark) });
    }
    Ok(Choice { table: tables[0], remark: None })
}
