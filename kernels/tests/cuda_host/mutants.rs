//! Whether the tests beside this one can fail: the kernels with one line changed, each an error that a GPU would run
//! without a message.

use crate::library::SOURCES;
use std::path::Path;
use std::process::{Command, Stdio};

/// File, the line, and its replacement.
const MUTANTS: [(&str, &str, &str); 71] = [
    ("norm.cu", "/ (float)hidden", "/ (float)(hidden + 1)"),
    (
        "norm.cu",
        "if (thread % 32 == 0) sums[thread / 32] = squares;\n  __syncthreads();",
        "if (thread % 32 == 0) sums[thread / 32] = squares;",
    ),
    ("norm.cu", "kept[i] = vector;", ""),
    ("rotary.cu", "b * c + a * s", "b * c - a * s"),
    ("rotary.cu", "sine[angles + d], to[d * PAGE]", "sine[angles + d], to[d]"),
    ("rotary.cu", "if (!weight) return;", "return;"),
    ("rotary.cu", "bias + index * dim", "bias"),
    ("rotary.cu", "(size_t)token * stride + index * dim", "(size_t)token * stride"),
    ("rotary.cu", "narrow<T>(head.biased(d))", "head.x[d]"),
    ("rotary.cu", "(i - heads) % kv_heads", "0"),
    ("swiglu.cu", "i = vectors * N + first", "i = vectors * N + first + 1"),
    ("swiglu.cu", "up += row * up_stride", "up += row * width"),
    ("swiglu.cu", "blockIdx.x % pieces", "blockIdx.x"),
    ("attention.cuh", "key <= position && position", "key < position && position"),
    ("attention.cu", "row[i] >= visit_row && ", ""),
    ("attention.cu", "visit < count && at < keys ?", "visit < count ?"),
    ("attention.cu", "visit <= warp", "visit < warp"),
    ("attention.cu", "if (complete[threadIdx.x]) *count = 0;", ""),
    ("attention.cu", "begins + own.rows > first_row", "begins + own.rows > first_row + 1"),
    ("attention.cu", "loaded_from != from || loaded != taken", "loaded == 0"),
    ("attention.cu", "for (uint32_t &matrix : step) matrix = transposed(matrix);", ""),
    ("attention.cu", "warp % STEPS * 16", "0"),
    ("attention.cuh", "position - key < window ?", "position - key <= window ?"),
    ("attention.cuh", "load(sinks + head) * LOG2_E", "load(sinks + head)"),
    ("attention.cuh", "return s.before / fold", "return 1.0f / fold"),
    ("attention.cu", "return first <= span && span <= last;", "return span <= last;"),
    ("attention.cu", "plane + share * TOGETHER * 16 + at * DIM", "plane + at * DIM"),
    ("attention.cu", "== spans.last - spans.first", "== spans.last"),
    ("attention_chunk.cuh", "(visit.index + 1) * PAGE > first", "visit.index * PAGE > first"),
    ("attention_chunk.cuh", "part * (OWN / 8) + pair * 2", "pair * 2"),
    ("attention_chunk.cuh", "key < visit.keys", "true"),
    ("attention_chunk.cuh", "copies_done<STAGES - 2>();", "copies_done<STAGES - 1>();"),
    ("attention_chunk.cuh", "copies_done<STAGES - 2>();\n    __syncthreads();", "copies_done<STAGES - 2>();"),
    ("attention_chunk.cuh", "visit.index * PAGE <= last", "visit.index * PAGE < last"),
    ("attention.cuh", "values[n][i] = values[n][i] * shrink[i / 2]", "values[n][i] = values[n][i] * shrink[i % 2]"),
    ("attention.cuh", "s.before = before == negative_infinity() ? 0.0f : exp2_fast(before - s.max)", "s.before = 1.0f"),
    ("attention_chunk.cuh", "if (over || visits[i].index / SPAN != span)", "if (over)"),
    ("attention_chunk.cuh", "pair * 2 + lane / 16;", "pair * 2;"),
    ("attention_chunk.cuh", "return d * 2 + (piece ^ (d >> 2 & 1));", "return d + (piece ^ (d >> 2 & 1));"),
    ("attention.cu", "spans.last - spans.first + 1", "spans.last - spans.first"),
    ("encoder.cu", "first + key < block.end ? score : -INFINITY", "score"),
    ("encoder.cu", "total = total * shrink;", ""),
    (
        "encoder.cu",
        "values[key][d + n] = there ? v[from] : 0.0f;\n      }\n    }\n    __syncthreads();",
        "values[key][d + n] = there ? v[from] : 0.0f;\n      }\n    }",
    ),
    ("encoder.cu", "if (!real) return;", ""),
    ("encoder.cu", "- mean;", ";"),
    ("linear.cu", "(step + 1) * STEP % length == 0", "(step + 1) * STEP % (2 * length) == 0"),
    ("linear.cu", "row + r < rows && at < end", "row + r < rows"),
    (
        "linear.cu",
        "((section(0) + section(1)) + section(2)) + section(3)",
        "(section(0) + section(1)) + (section(2) + section(3))",
    ),
    ("linear.cu", "b[n / 2][n % 2 * 2 + 1]", "b[n / 2][n % 2 * 2]"),
    ("blocks.cu", "((2 * o + s) * 8 + 4 * i)", "((2 * o + s) * 8)"),
    ("blocks.cu", "2 * (2 * s + i)", "2 * (2 * i + s)"),
    ("blocks.cu", "(16 * i + 8)", "(16 * i)"),
    ("blocks.cu", "-low_half(head[o] >> 16)", "low_half(head[o] >> 16)"),
    ("blocks.cu", "low_half(head[0] >> 16 * o)", "low_half(head[0])"),
    ("blocks.cu", "(float)(int8_t)", "(float)(uint8_t)"),
    ("blocks.cu", "low[0].x[2 * o + s] >> 4 * i", "low[0].x[2 * o + s] >> 4 * s"),
    ("blocks.cu", "unit % UNITS * UNIT", "0"),
    ("blocks.cu", "y + outputs_a", "y"),
    ("blocks.cu", "blockIdx.x - of_a", "blockIdx.x"),
    ("blocks.cu", "stride + tile * 8 + g]", "stride + tile * 8 + t]"),
    ("blocks.cu", "o * (outputs / 2) + blockIdx.y * 8", "blockIdx.y * 8"),
    ("blocks.cu", "part[j] = 0.0f;", ""),
    ("blocks.cu", "of_x[j % 2]", "of_x[j / 2]"),
    ("blocks.cu", "if (warp >= half && warp < 2 * half)", "if (warp > half && warp < 2 * half)"),
    ("blocks.cu", "if (next + i >= end) break;", ""),
    ("blocks.cu", "load(ahead[i], next + i + AHEAD)", "load(ahead[i], next + i)"),
    ("sample.cu", "rank == ranks[thread] && other < ids[thread]", "rank == ranks[thread] && other > ids[thread]"),
    ("sample.cu", "while (bin > 0 && scratch[bin] < left)", "while (bin > 0 && scratch[bin] <= left)"),
    ("sample.cu", "(uint64_t)parts[2][bin] << 22", "(uint64_t)parts[2][bin] << 21"),
    ("sample.cu", "mask[id / 32] >> (id % 32) & 1", "mask[id / 32] >> (id % 31) & 1"),
    ("sample.cu", "if (sum <= at && at < sum + mine)", "if (sum < at && at < sum + mine)"),
];

#[test]
#[ignore = "compiles the kernels once a mutant: some minutes"]
fn every_mutant_is_noticed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda");
    let mut missed = Vec::new();
    for (file, from, to) in MUTANTS {
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(&root).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
        let source = std::fs::read_to_string(root.join(file)).unwrap();
        assert!(source.contains(from), "{file} has no {from}");
        std::fs::write(folder.path().join(file), source.replacen(from, to, 1)).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .env(SOURCES, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        if status.success() {
            missed.push(format!("{file}: {from} -> {to}"));
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:#?}");
}
