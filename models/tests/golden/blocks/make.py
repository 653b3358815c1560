"""Make a GGUF file with a matrix of every element type, and what the `gguf` package dequantises it to.

    python make.py            # writes beside this file; needs numpy, gguf, safetensors

`blocks.gguf` has one tensor a type, called by the type's name: [2, 512] of random blocks. Bits of quantised types are
drawn evenly, so that every value of every field occurs; scales are drawn about 0.01, of either sign. MXFP4's scales are
powers of two from 2^-24 to 2^15, those that f16 holds.
`blocks.expected.safetensors` has the same names, f32.
"""

from pathlib import Path

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize, quantize
from safetensors.numpy import save_file

HERE = Path(__file__).parent
ROWS, COLUMNS = 2, 512
TYPES = "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4".split()
# Where a block's f16 numbers lie, in bytes.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108]}
SCALES |= {"Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": []}


def random_blocks(name, kind, generator):
    if name not in SCALES:
        return quantize(generator.standard_normal((ROWS, COLUMNS)).astype(np.float32), kind)
    size, width = GGML_QUANT_SIZES[kind]
    blocks = generator.integers(0, 256, (ROWS, COLUMNS // size, width), dtype=np.uint8)
    for at in SCALES[name]:
        scales = (0.01 * generator.standard_normal(blocks.shape[:2])).astype(np.float16)
        blocks[:, :, at : at + 2] = scales[..., None].view(np.uint8)
    if name == "MXFP4":
        blocks[:, :, 0] = generator.integers(128 - 24, 128 + 16, blocks.shape[:2])
    return blocks.reshape(ROWS, -1)


def main():
    generator = np.random.Generator(np.random.PCG64(5))
    writer = gguf.GGUFWriter(str(HERE / "blocks.gguf"), "none")
    expected = {}
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        blocks = random_blocks(name, kind, generator)
        writer.add_tensor(name, blocks, raw_dtype=kind)
        expected[name] = np.ascontiguousarray(dequantize(blocks, kind).astype(np.float32))
        assert expected[name].shape == (ROWS, COLUMNS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file(expected, str(HERE / "blocks.expected.safetensors"))


if __name__ == "__main__":
    main()
