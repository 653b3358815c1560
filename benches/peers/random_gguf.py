"""A GGUF file of random weights with the header of a real one: its sizes, its types of blocks and its vocabulary.

    python benches/peers/random_gguf.py header MODEL.gguf HEADER      # the header alone, some megabytes
    python benches/peers/random_gguf.py fill HEADER OUT.gguf          # the file, with random weights

Speed does not depend on the weights' values, and a header can be carried where a model cannot. Needs numpy.
"""

import struct
import sys
from pathlib import Path

import numpy as np

# Elements and bytes of a block, and where its numbers of 16 bits are (a scale; a least value), by GGML's number of a type.
BLOCKS = {
    0: (1, 4, ()), 1: (1, 2, ()), 30: (1, 2, ()), 2: (32, 18, (0,)), 3: (32, 20, (0, 2)), 6: (32, 22, (0,)),
    7: (32, 24, (0, 2)), 8: (32, 34, (0,)), 12: (256, 144, (0, 2)), 13: (256, 176, (0, 2)), 14: (256, 210, (208,)),
}
# As models/src/weights/random.rs: the scale under which random bits have a deviation of 0.02, and the least value (in scales) that brings the mean to 0.
SCALES = {2: (4.61, 0), 3: (4.61, -7.5), 6: (9.23, 0), 7: (9.23, -15.5), 8: (73.9, 0), 12: (258, 7.5), 13: (527, 15.5),
          14: (1366, 0)}
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


class Reader:
    """Reads a header's fields in order."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, kind):
        value, = struct.unpack_from("<" + kind, self.data, self.at)
        self.at += struct.calcsize(kind)
        return value

    def string(self):
        length = self.number("Q")
        self.at += length
        return bytes(self.data[self.at - length:self.at])

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            of, count = self.number("I"), self.number("Q")
            if of in SIZES:
                self.at += SIZES[of] * count
            else:
                for _ in range(count):
                    self.value(of)
            return None
        if kind == 4:
            return self.number("I")
        self.at += SIZES[kind]
        return None


def header(data):
    """Tensors (name, elements, type, offset) and where their bytes begin."""
    reader = Reader(data)
    if bytes(data[:4]) != b"GGUF":
        sys.exit("expected a GGUF file")
    reader.at = 8
    tensors, fields = reader.number("Q"), reader.number("Q")
    alignment = 32
    for _ in range(fields):
        name = reader.string()
        value = reader.value(reader.number("I"))
        if name == b"general.alignment":
            alignment = value
    found = []
    for _ in range(tensors):
        name = reader.string().decode()
        elements = 1
        for _ in range(reader.number("I")):
            elements *= reader.number("Q")
        found.append((name, elements, reader.number("I"), reader.number("Q")))
    return found, -(-reader.at // alignment) * alignment


def weights(random, name, elements, kind):
    """The bytes of a tensor: norms and factors of layers are 1, biases 0; of Gemma 4's pairs of a head a quarter turns."""
    if kind not in BLOCKS:
        sys.exit(f"{name}: no random weights of type {kind} of GGML")
    block, size, places = BLOCKS[kind]
    if name == "rope_freqs.weight":
        return np.where(np.arange(elements) < elements // 4, 1, 1e30).astype(np.float32).tobytes()
    if name.endswith("_norm.weight") or name.endswith("layer_output_scale.weight") or name.endswith(".bias"):
        return np.full(elements, 0 if name.endswith(".bias") else 1, np.float32 if kind == 0 else np.float16).tobytes()
    if not places:
        numbers = random.standard_normal(elements, dtype=np.float32) * 0.02
        if kind == 30:
            return (numbers.view(np.uint32) >> 16).astype(np.uint16).tobytes()
        return numbers.astype(np.float32 if kind == 0 else np.float16).tobytes()
    data = np.frombuffer(random.bytes(elements // block * size), np.uint8).reshape(-1, size).copy()
    unit, least = SCALES[kind]
    for at, number in zip(places, (0.02 / unit, 0.02 / unit * least)):
        data[:, at:at + 2] = np.frombuffer(np.float16(number).tobytes(), np.uint8)
    return data.tobytes()


def main():
    """`header` or `fill`."""
    if len(sys.argv) != 4 or sys.argv[1] not in ("header", "fill"):
        sys.exit(__doc__.strip())
    source, target = Path(sys.argv[2]), Path(sys.argv[3])
    tensors, begin = header(memoryview(np.memmap(source, np.uint8, "r")))
    with source.open("rb") as file:
        first = file.read(begin).ljust(begin, b"\0")
    random = np.random.default_rng(1)
    with target.open("wb") as out:
        out.write(first)
        if sys.argv[1] == "fill":
            for name, elements, kind, offset in tensors:
                out.seek(begin + offset)
                out.write(weights(random, name, elements, kind))


if __name__ == "__main__":
    main()
